"""The tokens behind buttons."""

from __future__ import annotations

import re

from postroom.domain.presentation import TokenAction
from postroom.work.questions.tokens import hash_of, kept_token, token_of

KEY = b"k" * 32


def test_a_button_has_the_same_token_whenever_it_is_made() -> None:
    made = [token_of(KEY, "c1", 1, TokenAction.OPTION, "ship") for _ in range(2)]

    assert made[0] == made[1]
    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", made[0])


def test_another_card_wording_action_option_or_key_is_another_token() -> None:
    tokens = {
        token_of(KEY, "c1", 1, TokenAction.OPTION, "ship"),
        token_of(KEY, "c2", 1, TokenAction.OPTION, "ship"),
        token_of(KEY, "c1", 2, TokenAction.OPTION, "ship"),
        token_of(KEY, "c1", 1, TokenAction.TOGGLE, "ship"),
        token_of(KEY, "c1", 1, TokenAction.OPTION, "wait"),
        token_of(KEY, "c1", 1, TokenAction.SEND, None),
        token_of(b"x" * 32, "c1", 1, TokenAction.OPTION, "ship"),
    }

    assert len(tokens) == 7


def test_only_its_hash_is_kept() -> None:
    token = token_of(KEY, "c1", 1, TokenAction.OPTION, "ship")
    kept = kept_token(token, "c1", 1, TokenAction.OPTION, "ship")

    assert token not in str(kept)
    assert kept.hash == hash_of(token)
    assert hash_of("\ud800 whatever a client sends")
