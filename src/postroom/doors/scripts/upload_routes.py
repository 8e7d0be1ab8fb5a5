"""`/v1/uploads`: hand in a file that is to go with one message, and read one that a person sent."""

from __future__ import annotations

from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel

from postroom.domain.error_shapes import failure_document
from postroom.domain.errors import OverloadRejected
from postroom.domain.time import to_text
from postroom.domain.upload import Upload
from postroom.doors.guard.depends import Caller, IdempotencyKey
from postroom.doors.guard.json_door import JsonRoute, failures
from postroom.doors.guard.sender import sender_of
from postroom.doors.scripts.upload_body import one_file
from postroom.work.files.media_type import BINARY
from postroom.work.files.taking import FileTaking

UPLOADS: Final = "/v1/uploads"
_BODY: Final = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "string", "format": "binary", "description": "At most 50 MB."}},
}
_FULL: Final = {"description": "As much as this caller may hand in within a day"}


UploadId = Annotated[str, Path(max_length=64, pattern=r"^[0-9A-Fa-f-]+$")]


class UploadAnswer(BaseModel):
    upload_id: str
    name: str
    size: int
    media_type: str
    expires_at: str


def upload_router(files: FileTaking) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["notify"])

    @router.post(
        UPLOADS,
        operation_id="upload",
        summary="Hand in a file that goes with one message",
        description="With the token that will send the message; used once, or forgotten after an hour.",
        status_code=201,
        response_model=UploadAnswer,
        openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _BODY}}}},
        responses={**failures(400, 401, 403, 409, 413, 422, 503), 429: _FULL},
    )
    async def post(request: Request, caller: Caller, key: IdempotencyKey) -> Any:
        owner = sender_of(caller)
        if owner is None:
            raise HTTPException(403, f"{caller} may not send: a butler's or a program's token may.")
        try:
            async with one_file(request) as file:
                upload = await files.take_one(
                    file.file, name=file.filename or "", media_type=_declared(file.content_type), owner=owner, key=key
                )
        except OverloadRejected as error:
            wait = {"Retry-After": str(int(error.retry_after_seconds or 1))}
            return JSONResponse(failure_document(error), status_code=429, headers=wait)
        return JSONResponse(upload_document(upload), status_code=201)

    @router.get(
        f"{UPLOADS}/{{upload_id}}",
        operation_id="readUpload",
        summary="The bytes of a file, of your own or of one that a person sent you",
        description="`files` of an answer name uploads; each is kept as long as the words it came with.",
        response_class=Response,
        responses={200: {"content": {BINARY: {}}}, **failures(401, 403, 404, 503)},
    )
    async def get(upload_id: UploadId, caller: Caller) -> Response:
        owner = sender_of(caller)
        found = await files.content(upload_id, owner) if owner is not None else None
        if found is None:
            raise HTTPException(404, "There is no such upload of yours.")
        upload, content = found
        headers = {
            "Content-Disposition": f"attachment; filename*=UTF-8''{quote(upload.name)}",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "private, no-store",
        }
        return Response(content, media_type=upload.media_type, headers=headers)

    return router


def upload_document(upload: Upload) -> dict[str, Any]:
    return {
        "upload_id": upload.id,
        "name": upload.name,
        "size": upload.size,
        "media_type": upload.media_type,
        "expires_at": to_text(upload.expires_at_us),
    }


def _declared(content_type: str | None) -> str | None:
    """Clients that know nothing better say that it is bytes."""
    declared = (content_type or "").partition(";")[0].strip().lower()
    return None if declared in ("", BINARY) else declared
