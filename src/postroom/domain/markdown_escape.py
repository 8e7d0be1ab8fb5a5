"""Plain words within Markdown."""

from __future__ import annotations

import re
import string
from typing import Final

_SIGNS: Final = re.compile(f"[{re.escape(string.punctuation)}]")
_INDENT: Final = re.compile(r"^[ \t]+", re.MULTILINE)  # of four spaces, code would be made


def as_markdown(text: str) -> str:
    """What is read as exactly these characters, but for white space at the start of lines."""
    return _INDENT.sub("", _SIGNS.sub(r"\\\g<0>", text))
