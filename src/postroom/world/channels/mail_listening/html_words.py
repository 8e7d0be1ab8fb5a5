"""What a person wrote in an HTML mail, as text: without markup, hidden parts and the mail it answers."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from typing import Final

_LONGEST: Final = 100_000
_UNSEEN: Final = re.compile(r"<(style|script|head|title)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.I | re.S)
_UNENDED: Final = re.compile(r"<(?![^<>]*>)")
"""No tag; the library would look for the end of each of them up to the end of the mail."""
_QUOTES: Final = ("gmail_quote", "gmail_attr", "gmail_extra", "moz-cite-prefix", "yahoo_quoted", "protonmail_quote")
_REST_IS_QUOTED: Final = ("divrplyfwdmsg", "appendonsend", "mail-editor-reference-message-container")
_LINE_BEFORE: Final = frozenset(["p", "div", "tr", "table", "ul", "ol", "li", "h1", "h2", "h3", "h4", "pre"])
_EMPTY: Final = frozenset(["br", "hr", "img", "input", "meta", "link", "area", "base", "col", "source", "wbr"])
_HIDDEN: Final = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


def html_words(html: str) -> str:
    reader = _Words()
    reader.feed(_UNENDED.sub("&lt;", _UNSEEN.sub(" ", html[: 4 * _LONGEST])[:_LONGEST]))
    reader.close()
    lines = (" ".join(line.split()) for line in "".join(reader.words).splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Words(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.words: list[str] = []
        self._left_out: list[str] = []
        """The tags that are open since one began whose content is left out, and how many there are of each."""
        self._open: Counter[str] = Counter()
        self._over = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if given.get("id", "").lower() in _REST_IS_QUOTED:
            self._over = True
        if tag == "br" or tag in _LINE_BEFORE:
            self._say("\n")
        if tag not in _EMPTY and (self._left_out or _is_left_out(tag, given)):
            self._left_out.append(tag)
            self._open[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        if self._open[tag]:
            ended = ""
            while ended != tag:
                ended = self._left_out.pop()
                self._open[ended] -= 1
        elif tag in _LINE_BEFORE:
            self._say("\n")

    def handle_data(self, data: str) -> None:
        self._say(re.sub(r"\s+", " ", data))

    def _say(self, words: str) -> None:
        if not self._left_out and not self._over:
            self.words.append(words)


def _is_left_out(tag: str, given: dict[str, str]) -> bool:
    classes = given.get("class", "").lower().split()
    is_quote = tag == "blockquote" or any(one in _QUOTES for one in classes)
    return is_quote or _HIDDEN.search(given.get("style", "")) is not None
