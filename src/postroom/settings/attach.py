"""Files named on the command line: handed in first, by whatever way leads to the household."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from postroom.kernel.values.errors import UserError

if TYPE_CHECKING:
    from postroom.settings import Settings
    from postroom.settings.reach import Elsewhere

_UPLOAD_SECONDS = 600.0


class CannotAttach(UserError):
    """Why a file does not go with the message."""


def upload_there(there: Elsewhere, files: Sequence[Path]) -> list[dict[str, str]]:
    return [{"upload_id": there.upload(_readable(file), _UPLOAD_SECONDS)["upload_id"]} for file in files]


def take_here(settings: Settings, files: Sequence[Path], butler: str) -> list[dict[str, str]]:
    """Into the household's own store: whoever may read its tokens may write there, too."""
    from postroom.kernel.values.errors import PostroomError

    found = [_readable(file) for file in files]
    try:
        return asyncio.run(_taken(settings, found, butler))
    except PostroomError as error:
        raise CannotAttach(f"--attach: {error.message}.") from None


async def _taken(settings: Settings, files: Sequence[Path], butler: str) -> list[dict[str, str]]:
    from postroom.household.store import file_taking, open_store
    from postroom.kernel.running.clock import SystemClock

    given: list[dict[str, Any]] = []
    async with open_store(settings) as store:
        taking = file_taking(settings, store, (), SystemClock())
        for file in files:
            with file.open("rb") as source:
                upload = await taking.take_one(source, name=file.name, media_type=None, owner=butler)
            given.append({"upload_id": upload.id})
    return given


def form_of(file: Path) -> tuple[bytes, bytes, str]:
    """What stands before and after the file in a form, and the form's type."""
    mark = f"postroom-{secrets.token_hex(16)}"
    name = file.name.replace("\\", "_").replace('"', "_").replace("\r", "_").replace("\n", "_")
    head = (
        f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    )
    return head.encode(), f"\r\n--{mark}--\r\n".encode(), f"multipart/form-data; boundary={mark}"


def _readable(file: Path) -> Path:
    try:
        with file.open("rb"):
            return file
    except OSError as error:
        raise CannotAttach(f"--attach {file}: {error.strerror}; name a file that you may read.") from None
