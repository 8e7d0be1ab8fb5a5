"""What the files of a parked message hold, for the person who decides on it."""

from __future__ import annotations

from typing import Final

from postroom.domain.approval import Content
from postroom.domain.errors import PostroomError
from postroom.domain.file_contents import FileContents
from postroom.work.files.preview import preview

_UNREADABLE: Final = "(its bytes cannot be read just now)"


async def previews(content: Content, files: FileContents | None) -> dict[str, str]:
    """By hash; nothing is shown of bytes that are not the ones that would be sent."""
    if files is None:
        return {}
    shown: dict[str, str] = {}
    for one in content.attachments:
        try:
            shown[one.sha256] = preview(await files.read(one), one.media_type)
        except PostroomError:
            shown[one.sha256] = _UNREADABLE
    return shown
