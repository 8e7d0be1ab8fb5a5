"""A file that goes with a message."""

from __future__ import annotations

from postroom.message.attachment import Attachment, attachments_of_text, attachments_text

_FILES = (
    Attachment(upload_id="u1", sha256="a" * 64, name="Übersicht.png", media_type="image/png", size=12),
    Attachment(upload_id="u2", sha256="b" * 64, name="run.log", media_type="text/plain", size=0),
)


def test_files_come_back_from_the_ledger_as_they_were_written() -> None:
    assert attachments_of_text(attachments_text(_FILES)) == _FILES


def test_a_message_without_files_writes_nothing_about_them() -> None:
    assert attachments_text(()) is None
    assert attachments_of_text(None) == ()
