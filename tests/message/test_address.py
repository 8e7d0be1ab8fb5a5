"""When two addresses are one."""

from __future__ import annotations

from postroom.message.address import folded


def test_ascii_case_does_not_matter() -> None:
    assert folded("Alice@Friends.Example") == "alice@friends.example"


def test_no_other_letter_becomes_one_of_ours() -> None:
    assert folded("\u212aelvin@x.example") != folded("kelvin@x.example")
