from __future__ import annotations

import pytest

from postroom.programs.sandbox.telegram_objects import canonical_chat, chat_object


@pytest.mark.parametrize(
    ("given", "kept"),
    [(42, "42"), ("42", "42"), (" 42 ", "42"), (-100123, "-100123"), ("@Some_Channel", "@some_channel")],
)
def test_one_chat_has_one_spelling(given: object, kept: str) -> None:
    assert canonical_chat(given) == kept


@pytest.mark.parametrize("given", [None, "", 0, "0", "042", True, 4.2, "@x", "Ada", [42], "4 2", "٤٢", "9" * 19])
def test_what_can_be_no_chat_is_none(given: object) -> None:
    assert canonical_chat(given) is None


@pytest.mark.parametrize(("chat_id", "kind"), [("42", "private"), ("-42", "group"), ("@some_channel", "channel")])
def test_a_chat_has_a_number_and_a_kind(chat_id: str, kind: str) -> None:
    chat = chat_object(chat_id)

    assert isinstance(chat["id"], int) and chat["type"] == kind
    assert chat == chat_object(chat_id)
