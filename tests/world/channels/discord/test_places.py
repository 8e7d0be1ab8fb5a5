from __future__ import annotations

import pytest

from postroom.world.channels.discord.places import address, made_at_us


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("290926798999357250", "290926798999357250"),
        (" 42 ", "42"),
        ("0042", "42"),
        ("user:80351110224678912", "user:80351110224678912"),
        ("USER:7", "user:7"),
        ("user:007", "user:7"),
        (str(2**64 - 1), str(2**64 - 1)),
    ],
)
def test_a_place_has_one_spelling(text: str, canonical: str) -> None:
    assert address(text) == canonical
    assert address(canonical) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "0", "user:", "user:0", "user:x", "user:1:2", "role:7", "-1", "#general", "@ada", "１２", str(2**64), "1 2"],
)
def test_anything_else_is_no_place(text: str) -> None:
    assert address(text) is None


def test_a_number_tells_when_it_was_given() -> None:
    assert made_at_us("175928847299117063") == 1_462_015_105_796_000  # the example of Discord's reference
