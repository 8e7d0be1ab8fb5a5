"""Whether the bytes of messages that wait are there."""

from __future__ import annotations

from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest

from postroom.app.store import open_store
from postroom.cli.doctor_checks.attached_files import look_at_attached_files
from postroom.domain.attachment import Attachment, attachments_text
from tests.app.living import settings_for
from tests.world.store.delivery_rows import request_row, write


@pytest.mark.requirement("content:files-pruned")
async def test_bytes_that_are_missing_are_named_with_their_delivery(home: Path) -> None:
    settings = settings_for(home)
    assert await look_at_attached_files(settings) == []
    there, gone = (
        Attachment(upload_id="", sha256=sha256(content).hexdigest(), name=name, media_type="text/plain", size=1)
        for name, content in (("there.txt", b"1"), ("gone.txt", b"2"))
    )
    async with open_store(settings) as store:
        await store.files.keep(await store.files.draft(BytesIO(b"1"), lambda _: None))
        waits = [request_row(status="pending", terminal_at=None, attachments=attachments_text([there]))]
        await write(store.database, waits)
        [well] = await look_at_attached_files(settings)
        lost = request_row(status="pending", terminal_at=None, attachments=attachments_text([there, gone]))
        await write(store.database, [lost])
        [finding] = await look_at_attached_files(settings)

    assert well.ok and "all there" in well.detail
    assert not finding.ok and f"gone.txt of delivery {lost['id']}" in finding.detail and "backup" in finding.advice
