"""A file of a message, served so that no browser runs anything in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from starlette.exceptions import HTTPException
from starlette.responses import Response

from postroom.domain.attachment import Attachment
from postroom.domain.errors import PostroomError
from postroom.domain.file_contents import FileContents
from postroom.work.files.media_type import BINARY
from postroom.work.files.preview import shown_as_picture

_ALONE: Final = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; sandbox"


async def attached_file(files: FileContents, listed: Sequence[Mapping[str, Any]], number: str) -> Response:
    """Only what is a picture by its bytes is shown in a page; all else is a download, whatever it says it is."""
    index = int(number) if number.isascii() and number.isdigit() and len(number) < 4 else -1
    if not 0 <= index < len(listed):
        raise HTTPException(404)
    one = listed[index]
    try:
        content = await files.read(
            Attachment(upload_id="", sha256=one["sha256"], name=one["name"], media_type="", size=one["size"])
        )
    except PostroomError:
        raise HTTPException(404) from None
    picture = shown_as_picture(content)
    kind = "inline" if picture else "attachment"
    headers = {
        "Content-Security-Policy": _ALONE,
        "Content-Disposition": f"{kind}; filename*=UTF-8''{quote(one['name'], safe='')}",
        "X-Content-Type-Options": "nosniff",
    }
    return Response(content, media_type=picture or BINARY, headers=headers)
