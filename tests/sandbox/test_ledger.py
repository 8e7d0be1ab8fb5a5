from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tests.sandbox.hand_clock import START_US

from postroom.sandbox.ledger import SandboxLedger
from postroom.sandbox.records import ReceivedMail


def test_what_was_kept_and_the_counters_outlive_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "sandbox.db"
    first = SandboxLedger(path)
    kept = first.telegram.keep(
        chat_id="42", text="Hello", now_us=START_US, announce=lambda m: ("message", {"text": m.text})
    )
    first.telegram.react(kept, "👍", from_person=True, now_us=START_US)
    first.email.keep(
        ReceivedMail(sender="a@x", recipients=("b@x",), subject="s", body="b", raw=b"raw"), from_person=False, now_us=1
    )
    first.close()

    second = SandboxLedger(path)

    (message,) = second.telegram.messages(from_person=None, chat_id=None, since=None, limit=10)
    assert (message.text, message.reactions) == ("Hello", ("👍",))
    assert second.email.raw(1) == b"raw"
    assert second.telegram.updates(offset=2, limit=10, kinds=["message"]) == []
    again = second.telegram.keep(chat_id="42", text="x", now_us=START_US, announce=lambda m: ("message", {}))
    assert again.message_id == 2
    assert second.telegram.updates(offset=0, limit=10, kinds=["message"]) == [{"update_id": 2, "message": {}}]
    second.close()


def test_nobody_else_may_read_the_file(tmp_path: Path) -> None:
    path = tmp_path / "sandbox.db"
    SandboxLedger(path).close()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_message_whose_update_cannot_be_written_is_not_kept() -> None:
    ledger = SandboxLedger()

    def fail(_: object) -> tuple[str, dict[str, object]]:
        raise LookupError

    with pytest.raises(LookupError):
        ledger.telegram.keep(chat_id="42", text="x", now_us=START_US, announce=fail)

    assert ledger.telegram.count(from_person=None, chat_id=None, since=None) == 0
    ledger.close()


def test_nothing_kept_shows_its_text_in_its_repr() -> None:
    ledger = SandboxLedger()
    message = ledger.telegram.keep(chat_id="42", text="a secret", now_us=START_US)
    mail = ledger.email.keep(
        ReceivedMail(sender="a@x", recipients=("b@x",), subject="a secret", body="a secret", raw=b"a secret"),
        from_person=True,
        now_us=START_US,
    )

    assert "secret" not in repr(message) + repr(mail)
    ledger.close()
