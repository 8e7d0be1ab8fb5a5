from __future__ import annotations

import pytest

from postroom.world.channels.graphemes import is_boundary, is_single

FAMILY = "👨‍👩‍👧"
WALES = "🏴\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f"


@pytest.mark.parametrize(
    "text",
    ["a", "é", "e\u0301", "👍🏽", FAMILY, "🇫🇷", "❤️", WALES, "\u1112\u1161\u11ab", "\r\n"],
    ids=["ascii", "composed", "combining", "skin tone", "zwj", "flag", "selector", "tags", "jamo", "crlf"],
)
def test_what_people_see_as_one_character_is_one(text: str) -> None:
    assert is_single(text)


@pytest.mark.parametrize("text", ["", "ab", "👍👍", "🇫🇷🇩🇪", FAMILY + "!"])
def test_two_characters_are_not_one(text: str) -> None:
    assert not is_single(text)


def test_flags_are_cut_between_pairs_only() -> None:
    flags = "🇫🇷🇩🇪🇮🇹"

    assert [index for index in range(7) if is_boundary(flags, index)] == [0, 2, 4, 6]
