"""What Discord makes of a message's content, read by its documentation and not by our code."""

from __future__ import annotations

import re

_LINK = r"""(?:https?|steam)://[^\s<\ufeff]+[^\s<\ufeff.,:;"'\]]"""
_TOKENS = re.compile(rf"(?P<link>{_LINK})|\\(?P<literal>[^0-9A-Za-z\s])|(?P<plain>.)", re.DOTALL)
_ACTIVE = re.compile(
    r"\*|_|~|\||`|<|\[|@|:[\w+~-]+:|\\(?=[^0-9A-Za-z\s])|(?:^|(?<=\n))[ \t]*(?:[>#+-]|[0-9]+\.)", re.MULTILINE
)


def seen(content: str) -> str:
    """As Discord shows it: a backslash before a sign is not shown, but within a link it is."""
    return "".join(m["link"] or m["literal"] or m["plain"] for m in _TOKENS.finditer(content))


def markup(content: str) -> list[str]:
    """What is left for Discord to take for markup, with everything literal blanked out."""
    blanked = "".join("\0" if m["link"] or m["literal"] else m["plain"] for m in _TOKENS.finditer(content))
    return [found[0] for found in _ACTIVE.finditer(blanked)]
