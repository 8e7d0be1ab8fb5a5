"""What the sandbox's file keeps: for whom, how much, and whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tests.sandbox.hand_clock import START_US

from postroom.sandbox import ledger as ledgers
from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.records import Callback, ReceivedMail, TelegramMessage

HELLO = TelegramMessage(place="42", text="a secret", at_us=START_US)


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "sandbox.db"
    SandboxLedger(path).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_message_whose_update_cannot_be_written_is_not_kept() -> None:
    ledger = SandboxLedger()

    def fail(_: object) -> tuple[str, dict[str, object]]:
        raise LookupError

    with pytest.raises(LookupError):
        ledger.keep(HELLO, fail)

    assert ledger.count(TelegramMessage) == 0
    ledger.close()


def test_nothing_kept_shows_its_text_in_its_repr() -> None:
    ledger = SandboxLedger()
    message = ledger.keep(HELLO)
    mail = ledger.keep(ReceivedMail(sender="a@x", recipients=("b@x",), subject="a secret", body="a secret"))

    assert "secret" not in repr(message) + repr(mail)
    ledger.close()


@pytest.mark.requirement("house:sandbox-is-bounded")
def test_each_chat_keeps_its_last_messages_and_the_queue_its_last_updates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "KEPT_PER_PLACE", 150)
    monkeypatch.setattr(ledgers, "MOST_WAITING", 50)
    ledger = SandboxLedger()
    quiet = ledger.keep(TelegramMessage(place="7", text="alone"))
    first = ledger.keep(HELLO)
    ledger.press(first, "x", from_id=None, now_us=START_US, announce=lambda _: ("callback_query", {}))
    for number in range(998):
        ledger.keep(TelegramMessage(place="42", text=str(number)), lambda _: ("message", {}))

    kept = ledger.shown(TelegramMessage, place="42")
    assert (len(kept), kept[-1].text) == (150, "997")
    assert ledger.one(TelegramMessage, quiet.number) == quiet
    assert ledger.shown(Callback) == []
    assert len(ledger.updates.fetch(offset=0, limit=1000, kinds=["message", "callback_query"], now_us=0)) == 50
    ledger.close()
