from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.markdown_texts import inked

from postroom.kernel.text.markdown import parse
from postroom.kernel.text.markdown_tokens import TABLE, is_target, tokens_of
from postroom.kernel.text.rich import RichText

MANY = 20_000
HOSTILE = {
    "open brackets": "[a\n" * 2_000 + "a\n" * 7_000,
    "images": "![```\n" * 1_111 + "x" * 6_000 + "* **" * 1_500,
    "emphasis in brackets": "[*" * 2_000 + "a *" * 5_000,
}


@pytest.mark.parametrize("url", ["https://", "http:///x", "https://[x", "mailto:", "ftp://a.example", "https://a b"])
def test_a_target_is_a_whole_address_of_a_known_kind(url: str) -> None:
    assert not is_target(url)


@pytest.mark.requirement("content:bounded-parsing")
@pytest.mark.parametrize("source", [text[:MANY] for text in HOSTILE.values()], ids=list(HOSTILE))
def test_what_takes_too_many_steps_is_shown_as_it_was_written(source: str) -> None:
    assert tokens_of(source) is None
    assert parse(source) == RichText(source)


@pytest.mark.requirement("content:bounded-parsing")
def test_a_table_is_one_token_however_many_cells_it_would_have() -> None:
    source = ("|a" * 1_000 + "\n" + "|-" * 1_000 + "\n" + "a\n" * 8_000)[:MANY]

    tokens = tokens_of(source) or ()
    assert [token.type for token in tokens] == [TABLE]
    assert inked(parse(source).text) == inked(source)


def test_a_report_full_of_links_is_far_from_the_bound() -> None:
    assert len(parse("[a link](https://a.example/) *and* " * 550).links) == 550


@pytest.mark.parametrize("after", ["", "\n\nText", "\n> quote", "\n- item", "\n    code", "\n# Heading"])
def test_a_table_ends_where_another_block_begins(after: str) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"

    [token, *_] = tokens_of(f"{table}{after}") or ()
    assert (token.type, token.map) == (TABLE, [0, 3])


@pytest.mark.requirement("content:bounded-parsing")
@settings(deadline=None, max_examples=40)
@given(st.lists(st.text(alphabet="[]()!*_~`<>|-a \n", min_size=1, max_size=6), min_size=1, max_size=3))
def test_any_pattern_repeated_to_the_longest_message_is_read_or_shown_as_it_is(units: list[str]) -> None:
    source = "".join((unit * MANY)[: MANY // len(units)] for unit in units)

    assert [sign for sign in parse(source).text if sign == "a"] == ["a"] * source.count("a")
