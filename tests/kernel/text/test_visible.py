"""What a text hides is named where it stands."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroom.kernel.text.visible import Hidden, findings, reveal


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("abc\u202exyz", "abc⟦U+202E RIGHT-TO-LEFT OVERRIDE⟧xyz", id="override"),
        pytest.param(
            "a\u2066b\u2069", "a⟦U+2066 LEFT-TO-RIGHT ISOLATE⟧b⟦U+2069 POP DIRECTIONAL ISOLATE⟧", id="isolate"
        ),
        pytest.param("pay\u200bpal", "pay⟦U+200B ZERO WIDTH SPACE⟧pal", id="zero width space"),
        pytest.param("pay\u200dpal", "pay⟦U+200D ZERO WIDTH JOINER⟧pal", id="joiner between Latin letters"),
        pytest.param("a\ufeffb", "a⟦U+FEFF ZERO WIDTH NO-BREAK SPACE⟧b", id="byte order mark"),
        pytest.param("so\u00adft", "so⟦U+00AD SOFT HYPHEN⟧ft", id="soft hyphen"),
        pytest.param("x\U000e0061\U000e0062", "x⟦U+E0061 TAG a⟧⟦U+E0062 TAG b⟧", id="tag letters"),
        pytest.param("x\ufe01", "x⟦U+FE01 VARIATION SELECTOR-2⟧", id="variation selector"),
        pytest.param("x\U000e0101", "x⟦U+E0101 VARIATION SELECTOR-18⟧", id="far variation selector"),
        pytest.param("a\x1b[2Kb", "a⟦U+001B⟧[2Kb", id="terminal escape"),
        pytest.param("a\rb", "a⟦U+000D⟧b", id="carriage return"),
        pytest.param("a\u2028b", "a⟦U+2028 LINE SEPARATOR⟧b", id="line separator"),
        pytest.param("a\u3164b", "a⟦U+3164 HANGUL FILLER⟧b", id="filler"),
        pytest.param("p\u0430ypal", "p\u0430⟦U+0430 CYRILLIC SMALL LETTER A⟧ypal", id="Cyrillic a in a Latin word"),
        pytest.param(
            "gοοgle", "gο⟦U+03BF GREEK SMALL LETTER OMICRON⟧ο⟦U+03BF GREEK SMALL LETTER OMICRON⟧gle", id="Greek"
        ),
        pytest.param("ｏk", "ｏ⟦U+FF4F FULLWIDTH LATIN SMALL LETTER O⟧k", id="a wide copy of a letter"),
    ],
)
def test_what_is_hidden_is_shown_by_name(text: str, shown: str) -> None:
    assert reveal(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "See you at eight!\n\tBring cake.",
        "Привет, как дела? Увидимся в 8.",
        "Γεια σου, τι κάνεις;",
        "שלום עולם",
        "مرحبا بالعالم",
        "می\u200cخواهم",
        "क्\u200dष",
        "日本語のメッセージ",
        "👨\u200d👩\u200d👧 and ❤\ufe0f and 👍🏽",
        "1\ufe0f\u20e3",
        "Zoë Müller, café",
    ],
)
def test_honest_text_in_any_language_is_left_alone(text: str) -> None:
    assert findings(text) == ()
    assert reveal(text) == text


def test_a_whole_word_that_only_looks_latin_is_found_in_a_latin_text() -> None:
    found = findings("Please log in to your \u0440\u0430\u0443 account today")

    assert {one.kind for one in found} == {Hidden.LOOK_ALIKE}
    assert len(found) == 3


@given(st.text())
def test_findings_are_in_order_and_stand_where_they_say(text: str) -> None:
    found = findings(text)

    assert [one.position for one in found] == sorted({one.position for one in found})
    assert all(text[one.position] == one.character for one in found)


@given(st.text())
def test_revealing_leaves_no_control_behind(text: str) -> None:
    assert [one for one in findings(reveal(text)) if one.kind in (Hidden.BIDI, Hidden.CONTROL)] == []
