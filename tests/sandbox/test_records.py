"""Several bots of one household in its sandbox: each fetches what is its own."""

from __future__ import annotations

import pytest

from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.records import SANDBOX_TOKEN, bot_name, sandbox_token


def test_a_token_names_its_bot() -> None:
    assert [bot_name(sandbox_token(name)) for name in ("", "work", "a-b_c")] == ["", "work", "a-b_c"]
    assert bot_name("4242:sandbox-work") == ""
    assert sandbox_token() == SANDBOX_TOKEN


@pytest.mark.requirement("chan:sandbox-accounts")
def test_what_is_done_to_a_message_is_for_the_bot_that_sent_it() -> None:
    ledger = SandboxLedger()
    telegram = ledger.telegram
    card = telegram.keep(chat_id="42", text="?", now_us=1, bot="work")
    telegram.press(card, "yes", now_us=1, announce=lambda _: ("callback_query", {"of": "work"}))
    telegram.keep(
        chat_id="42",
        text="no",
        now_us=1,
        reply_to=card.message_id,
        from_person=True,
        announce=lambda _: ("message", {"of": "work"}),
    )
    telegram.keep(chat_id="42", text="hi", now_us=1, from_person=True, announce=lambda _: ("message", {"of": ""}))
    kinds = ["message", "callback_query"]

    both = [telegram.updates(offset=0, limit=9, kinds=kinds, bot=bot) for bot in ("", "work")]
    confirmed = telegram.updates(offset=4, limit=9, kinds=kinds, bot="")
    untouched = telegram.updates(offset=0, limit=9, kinds=kinds, bot="work")
    ledger.close()

    assert both == [
        [{"update_id": 3, "message": {"of": ""}}],
        [{"update_id": 1, "callback_query": {"of": "work"}}, {"update_id": 2, "message": {"of": "work"}}],
    ]
    assert (confirmed, untouched) == ([], both[1])
