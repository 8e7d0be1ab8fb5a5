"""Secrets at rest."""

from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidTag

from postroom.system.seal import Seal


def test_what_is_sealed_can_be_opened_again() -> None:
    sealed = Seal(b"k" * 32).seal("hunter2 🚀", "q1")

    assert "hunter2" not in sealed
    assert Seal(b"k" * 32).unseal(sealed, "q1") == "hunter2 🚀"
    assert Seal(b"k" * 32).seal("hunter2 🚀", "q1") != sealed


def test_another_key_or_another_question_opens_nothing() -> None:
    sealed = Seal(b"k" * 32).seal("hunter2", "q1")

    with pytest.raises(InvalidTag):
        Seal(b"x" * 32).unseal(sealed, "q1")
    with pytest.raises(InvalidTag):
        Seal(b"k" * 32).unseal(sealed, "q2")
