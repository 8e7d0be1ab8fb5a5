"""Text in pieces: nothing is lost, and nothing that hides reaches the page as itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from postroom.console.words import Piece, pieces
from postroom.kernel.text.visible import findings


def test_plain_text_is_one_piece() -> None:
    assert pieces("Hello, world") == [Piece("Hello, world")]
    assert pieces("") == []


def test_a_hidden_character_stands_by_its_name_and_a_look_alike_beside_it() -> None:
    assert pieces("a\u202eb p\u0430y") == [
        Piece("a"),
        Piece("", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        Piece("b p"),
        Piece("\u0430", "U+0430 CYRILLIC SMALL LETTER A"),
        Piece("y"),
    ]


@given(st.text(alphabet=st.sampled_from("ab \n\u202e\u200b\u0430\u2066\u00ad👍")))
def test_every_finding_is_named_and_the_rest_is_untouched(text: str) -> None:
    shown = pieces(text)

    assert [one.name for one in shown if one.name] == [found.name for found in findings(text)]
    hidden = {found.position for found in findings(text)}
    assert "".join(one.text for one in shown if not one.name) == "".join(
        letter for place, letter in enumerate(text) if place not in hidden
    )
