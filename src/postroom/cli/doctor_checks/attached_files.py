"""Files of messages that are still to be sent: are their bytes there?"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from postroom.app.store import connect_store
from postroom.cli.doctor_checks.finding import Finding
from postroom.domain.attachment import attachments_of_text
from postroom.domain.errors import PostroomError
from postroom.system.settings import Settings
from postroom.world.files.folder import FolderFiles
from postroom.world.store.engine.sole_worker import sqlite_path
from postroom.world.store.files.uploads import waiting_files

_MOST_NAMED = 5
_ADVICE = "restore the folder of [messages] files from the backup that belongs to this database"


async def look_at_attached_files(settings: Settings) -> list[Finding]:
    """Nothing to say while no message with files waits, or when the database is another finding's business."""
    if settings.database.startswith("sqlite") and not sqlite_path(settings).exists():
        return []
    try:
        store = connect_store(settings)
        try:
            return await _missing(store.database.read(waiting_files), store.files)
        finally:
            await store.database.close()
    except PostroomError as error:
        return [Finding("files", False, error.message, "check [messages] files and what it points to")]
    except Exception:  # whatever a driver raises
        return []


async def _missing(waiting: Awaitable[Sequence[tuple[str, str]]], files: FolderFiles) -> list[Finding]:
    rows = await waiting
    found = [(one, file) for one, text in rows for file in attachments_of_text(text)]
    gone = [f"{file.name} of delivery {one}" for one, file in found if not await files.holds(file)]
    if gone:
        more = f" and {len(gone) - _MOST_NAMED} more" if len(gone) > _MOST_NAMED else ""
        return [Finding("files", False, f"bytes are missing: {', '.join(gone[:_MOST_NAMED])}{more}", _ADVICE)]
    return [Finding("files", True, f"{len(found)} of messages that wait, all there")] if found else []
