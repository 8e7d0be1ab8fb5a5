from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.people.names.normalise import fold, keys_of, normalise, romanise, skeletons


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        pytest.param("  Bob\tMiller ", "bob miller", id="spaces"),
        pytest.param("O’Connor", "oconnor", id="apostrophe"),
        pytest.param("Müller-Lüdenscheidt", "müller lüdenscheidt", id="hyphen"),
        pytest.param("ＢＯＢ", "bob", id="full width"),
        pytest.param("प्रिया", "प्रिया", id="Indic vowel signs stay"),
        pytest.param("李明", "李明", id="two characters"),
    ],
)
def test_a_name_is_brought_to_one_writing(text: str, normal: str) -> None:
    assert normalise(text) == normal


@pytest.mark.parametrize(
    ("text", "folded"),
    [("josé garcía", "jose garcia"), ("łukasz", "lukasz"), ("γιώργος", "γιωργοσ"), ("straße", "strasse")],
)
def test_optional_marks_may_be_left_out(text: str, folded: str) -> None:
    assert fold(normalise(text)) == folded


@pytest.mark.parametrize(
    ("text", "latin"),
    [("김민준", "kim minjun"), ("李明", "li ming"), ("Иван", "ivan"), ("이서연", "lee seoyeon")],
)
def test_every_script_has_latin_letters(text: str, latin: str) -> None:
    assert romanise(normalise(text)) == latin


def test_alike_sounds_have_one_skeleton_in_common() -> None:
    assert set(skeletons("khalid")) & set(skeletons("khaled"))


@given(st.text(max_size=60))
def test_bringing_a_name_to_one_writing_twice_changes_nothing(text: str) -> None:
    once = normalise(text)

    assert normalise(once) == once
    keys_of(text)  # whatever it is, it has keys
