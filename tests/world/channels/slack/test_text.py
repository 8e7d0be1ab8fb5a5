from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.world.channels.slack.text import PART_LIMIT, escaped, parts, shortened, typed, with_mark
from postroom.world.channels.telegram_text import utf16_length

HOSTILE = ["<!channel>", "<@U1>", "<!subteam^S1>", "<https://evil.example|home.example>", "a & b", "<!date^1^{date}|x>"]


@pytest.mark.requirement("house:slack-text-is-data")
@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_slack_would_read_as_more_than_text_is_left(text: str) -> None:
    assert not {"<", ">"} & set(escaped(text))
    assert typed(escaped(text)) == text


@given(st.text(alphabet=st.sampled_from("ab &<>\n😀é"), min_size=1, max_size=9000))
def test_every_part_fits_after_escaping_and_nothing_visible_is_lost(text: str) -> None:
    pieces = parts(text)

    assert all(utf16_length(escaped(piece)) <= PART_LIMIT for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_a_text_of_ampersands_is_cut_where_it_fits() -> None:
    assert [len(piece) for piece in parts("&" * 1500)] == [600, 600, 300]


def test_a_few_signs_that_are_written_longer_do_not_make_many_parts_of_few() -> None:
    text = "Tom & Ann say hello. " * 280

    assert len(parts(text)) == 3


def test_the_mark_of_a_repetition_has_a_part_of_its_own_when_there_is_no_room() -> None:
    assert with_mark(["short"], "(again)") == ["short\n\n(again)"]
    assert with_mark(["x" * PART_LIMIT], "(again)") == ["x" * PART_LIMIT, "(again)"]


def test_what_is_too_long_is_shortened_by_what_it_is_written_as() -> None:
    assert shortened("a & b", 75) == "a &amp; b"
    assert utf16_length(shortened("a & b " * 30, 75)) <= 75
    assert shortened("x" * 100, 75) == "x" * 74 + "…"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("Yes &amp; no", "Yes & no"),
        ("&amp;lt;", "&lt;"),
        ("see <https://home.example/a>", "see https://home.example/a"),
        ("see <http://home.example|home.example>", "see home.example"),
        ("<mailto:ada@example.org|ada@example.org>", "ada@example.org"),
        ("ask <@U2>", "ask @U2"),
        ("ask <@U2|bob> in <#C2|general>", "ask @bob in #general"),
        ("<!here> and <!subteam^S1|@team>", "@here and @team"),
        (":+1: or :thumbsup:", "👍 or 👍"),
        ("at 12:30:45 :unknown_one:", "at 12:30:45 :unknown_one:"),
        ("<@UBOT> Yes", "Yes"),
        ("<@UBOT>, yes", "yes"),
    ],
)
def test_a_persons_words_are_read_as_they_were_typed(written: str, meant: str) -> None:
    assert typed(written, "UBOT") == meant
