"""Markdown as the library reads it, with what we allow: in bounded time, with links to known places alone."""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

LONGEST_TARGET: Final = 1024  # a longer one would be more than some providers take for a whole message
_MOST_STEPS: Final = 12_500  # some 80 ms; 20,000 characters of a report take 3,000, of nothing but short bullets 12,000
_LOOKING_AHEAD: Final = 3  # steps: what is inside of brackets is looked at as a whole before it is read
TABLE: Final = "table"
_DEEPEST: Final = 40
_STEPS: Final = "steps"
_TARGET: Final = re.compile(r"(?:https?://|mailto:|tel:)[!-~]+", re.IGNORECASE)
_ENDS_TARGET: Final = frozenset('<>`\\"')  # in somebody's markup


def tokens_of(source: str) -> Sequence[Token] | None:
    """None when it is nested too deep, where the library would leave things out, or would take too long to read."""
    steps: dict[str, Any] = {_STEPS: 0}
    try:
        tokens = _PARSER.parse(source, steps)
    except _TooManyStepsError:
        return None
    return None if any(token.level + 1 >= _DEEPEST for token in tokens) else tokens


def is_target(url: str) -> bool:
    """Whether a link may lead there."""
    if len(url) > LONGEST_TARGET or not _TARGET.fullmatch(url) or not _ENDS_TARGET.isdisjoint(url):
        return False
    try:
        return not url.lower().startswith("http") or bool(urlsplit(url).hostname)
    except ValueError:
        return False


class _TooManyStepsError(Exception):
    pass


class _CountingParser(ParserInline):
    """The library looks for the end of each bracket anew; without a bound that grows with the square of the text."""

    def skipToken(self, state: StateInline) -> None:
        if state.pos in state.cache:
            _count(state.env, 1)
        super().skipToken(state)


def _count(env: MutableMapping[str, Any], steps: int) -> None:
    env[_STEPS] += steps
    if env[_STEPS] > _MOST_STEPS:
        raise _TooManyStepsError


def _count_block(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Asked before every rule, also where the library only looks whether a block ends: lists and quotes do it often."""
    _count(state.env, 1)
    return False


def _count_inline(state: StateInline, silent: bool) -> bool:
    _count(state.env, _LOOKING_AHEAD if silent else 1)
    return False


def _whole_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """One token for all of it: it is shown as it was written, and its cells could be more than its characters."""
    if not table(state, start, end, True):
        return False
    if not silent:
        token = state.push(TABLE, "", 0)
        token.map = [start, _table_end(state, start + 2, end)]
        state.line = token.map[1]
    return True


def _table_end(state: StateBlock, line: int, end: int) -> int:
    """The first line that is no row, by the rules of the library."""
    before, state.parentType = state.parentType, "table"
    others = state.md.block.ruler.getRules("blockquote")
    while line < end and state.sCount[line] >= state.blkIndent:
        ends = state.isEmpty(line) or state.is_code_block(line)
        if ends or any(rule(state, line, end, True) for rule in others):
            break
        line += 1
    state.parentType = before
    return line


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": _DEEPEST})
    rules = parser.get_active_rules()["inline"], parser.get_active_rules()["inline2"]
    parser.inline = _CountingParser()
    parser.inline.ruler.enableOnly(list(rules[0]))
    parser.inline.ruler2.enableOnly(list(rules[1]))
    parser.inline.ruler.before("text", "count", _count_inline)
    parser.block.ruler.before("table", "count", _count_block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    parser.block.ruler.at("table", _whole_table, {"alt": ["paragraph", "reference"]})
    parser.enable(["strikethrough", "table"]).disable(["reference", "entity", "html_block", "html_inline"])
    parser.validateLink = is_target  # type: ignore[method-assign]
    # Otherwise the text of <https://…/%E2%80%AE> would have a sign in it that hides.
    parser.normalizeLinkText = lambda link: link  # type: ignore[method-assign]
    return parser


_PARSER: Final = _parser()
