"""`${VARIABLE}` stands for a variable, in any text however deep."""

from __future__ import annotations

from postroom.system.settings.variables import MissingVariable, resolve


def test_every_text_is_looked_at_and_nothing_else() -> None:
    missing: list[MissingVariable] = []
    written = {"a": "${ONE}-${TWO}", "b": ["${ONE}", 3], "c": {"d": True, "e": "$ONE ${} ${1X}"}}

    assert resolve(written, {"ONE": "1", "TWO": "2"}, missing) == {
        "a": "1-2",
        "b": ["1", 3],
        "c": {"d": True, "e": "$ONE ${} ${1X}"},
    }
    assert missing == []


def test_a_value_is_not_read_again() -> None:
    assert resolve("${ONE}", {"ONE": "${TWO}", "TWO": "2"}, []) == "${TWO}"


def test_what_is_missing_is_noted_with_its_key() -> None:
    missing: list[MissingVariable] = []

    resolve({"a": {"b": ["x", "${GONE}${AWAY}"]}}, {}, missing, "top")

    assert missing == [MissingVariable("top.a.b.1", "GONE"), MissingVariable("top.a.b.1", "AWAY")]
