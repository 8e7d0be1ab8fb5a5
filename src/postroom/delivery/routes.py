"""The API port's way to send and to correct, and the files handed in for a message."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, HTTPException, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from postroom.delivery.files.kinds import BINARY
from postroom.delivery.files.taking import MOST_FILE_BYTES, FileTaking
from postroom.delivery.notify import Notifier, wait_seconds
from postroom.delivery.rules.target import first_channel
from postroom.delivery.seams import AddressBook
from postroom.kernel.acts.declaration import Call
from postroom.kernel.guard.http import Caller, IdempotencyKey
from postroom.kernel.http.answers import JsonObject
from postroom.kernel.running.clock import Clock
from postroom.kernel.serving.json_door import JsonRoute, failures
from postroom.kernel.values.errors import (
    Code,
    FieldError,
    OverloadRejected,
    PostroomError,
    Refused,
    ValidationError,
    failure_document,
)
from postroom.kernel.values.fields import Document, text_problem
from postroom.kernel.values.ids import IdMint, to_text
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role, sender_of
from postroom.message.acts import Notify
from postroom.message.attachment import Upload
from postroom.message.channel import KnownChannels
from postroom.message.delivery import folded
from postroom.message.wire import notify_error
from postroom.message.wishes import AUTO
from postroom.overview.tracking import SenderStatus
from postroom.questions.asked_people import AskedPeople

# -- `POST /v1/notify` and its kin: one message from a script, by the way of the butlers' own `notify` ---

Correct = Callable[[Principal, JsonObject, float], Awaitable[Document]]
_OWNER: Final = frozenset({OWNER, OPERATOR.name})  # names of the owner that need no contact


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    book: AddressBook
    people: AskedPeople
    channels: KnownChannels
    notifier: Notifier
    status: SenderStatus
    corrected: Correct
    clock: Clock
    mint: IdMint

    async def notify(self, call: Call[Any], asked: Notify) -> Mapping[str, Any]:
        """Through the same switchboard; the sender is the token's, whatever was asked."""
        request_id, caller = self.mint.mint(self.clock.now_us()), call.caller
        if (origin := sender_of(caller)) is None:
            raise Refused(Code.POLICY_DENIED, f"{caller} may not send: a butler's or a program's token may.")
        asked = _with_key(asked, call.key)
        try:
            settled = await self._settled(caller, asked)
        except ValidationError as error:
            await self.notifier.note(origin, asked, request_id, error)
            return notify_error(error, request_id=request_id)
        except PostroomError as error:
            return notify_error(error, request_id=request_id)
        return await self.notifier.notify(settled, origin_butler=origin, request_id=request_id)

    async def standing(self, call: Call[Any], identifier: str) -> Mapping[str, Any]:
        return await self.status.answer(sender_of(call.caller) or str(call.caller), identifier)

    async def correct(self, call: Call[Any], correction: Mapping[str, Any], wait: object) -> Mapping[str, Any]:
        return await self.corrected(call.caller, correction, wait_seconds(wait, self.notifier.default_wait_seconds))

    async def _settled(self, caller: Principal, asked: Notify) -> Notify:
        recipient, channel = recipient_of(caller, asked.recipient), asked.channel
        if isinstance(recipient, str) and caller.serves != OWNER and channel in (None, AUTO, *self.notifier.channels):
            recipient, channel = await self._in_reach(caller.serves or OWNER, recipient, channel)
        elif channel is None:
            channel = await first_channel(recipient, self.book, self.channels)
        return asked.model_copy(update={"channel": channel, "recipient": recipient})

    async def _in_reach(self, person_id: str, named: str, channel: str | None) -> tuple[str, str]:
        """
        Where a program of another than the owner writes: to the person it is for, or to the owner.

        Names and addresses of all others, known or not, have one answer. The address is settled here, so that a
        contact of the same name gets nothing.
        """
        called = set() if text_problem(named) else {one.id for one in await self.people.find(named)}
        mine = [one for who in (person_id, OWNER) for one in await self.people.find(who) if one.id == who]
        places = [
            place
            for one in mine
            for place in sorted(one.addresses, key=lambda place: place.rank)
            if one.id in called or folded(place.address) == folded(named.strip())
        ]
        wanted = self.channels if channel in (None, AUTO) else (channel,)
        found = next((one for one in places if one.channel in wanted), None)
        if found is None:
            told = "names nobody this token writes to: the person it is for and the owner, where they have an address"
            raise ValidationError.of([FieldError("recipient", told, "unknown_recipient")])
        return found.address, found.channel


def recipient_of(caller: Principal, to: object) -> object:
    """Without a name a program writes to its own person, everybody else to the owner; None is the owner."""
    wanted = caller.person if to is None and caller.role is Role.PROGRAM else to
    return None if isinstance(wanted, str) and wanted.strip().lower() in _OWNER else wanted


def _with_key(asked: Notify, header: str | None) -> Notify:
    if header is None:
        return asked
    if asked.idempotency_key not in (None, header):
        told = "is not the same as in the header Idempotency-Key"
        raise ValidationError.of([FieldError("idempotency_key", told, "key_mismatch")])
    return asked.model_copy(update={"idempotency_key": header})


# -- `/v1/uploads`: hand in a file that goes with one message, and read one that a person sent ---

UPLOADS: Final = "/v1/uploads"
MOST_UPLOAD_BYTES: Final = MOST_FILE_BYTES + 64 * 1024  # with the lines around the file
_MULTIPART: Final = "multipart/form-data"
_UPLOAD_BODY: Final = {
    "type": "object",
    "required": ["file"],
    "properties": {"file": {"type": "string", "format": "binary", "description": "At most 50 MB."}},
}
_FULL_FOR_TODAY: Final = {"description": "As much as this caller may hand in within a day"}
_UploadId = Annotated[str, Path(max_length=64, pattern=r"^[0-9A-Fa-f-]+$")]


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
        openapi_extra={"requestBody": {"required": True, "content": {"multipart/form-data": {"schema": _UPLOAD_BODY}}}},
        responses={**failures(400, 401, 403, 409, 413, 422, 503), 429: _FULL_FOR_TODAY},
    )
    async def post(request: Request, caller: Caller, key: IdempotencyKey) -> Any:
        owner = sender_of(caller)
        if owner is None:
            raise HTTPException(403, f"{caller} may not send: a butler's or a program's token may.")
        try:
            async with _one_file(request) as file:
                upload = await files.take_one(
                    file.file,
                    name=file.filename or "",
                    media_type=_declared_type(file.content_type),
                    owner=owner,
                    key=key,
                )
        except OverloadRejected as error:
            wait = {"Retry-After": str(int(error.retry_after_seconds or 1))}
            return JSONResponse(failure_document(error), status_code=429, headers=wait)
        return JSONResponse(_upload_document(upload), status_code=201)

    @router.get(
        f"{UPLOADS}/{{upload_id}}",
        operation_id="readUpload",
        summary="The bytes of a file, of your own or of one that a person sent you",
        description="`files` of an answer name uploads; each is kept as long as the words it came with.",
        response_class=Response,
        responses={200: {"content": {BINARY: {}}}, **failures(401, 403, 404, 503)},
    )
    async def get(upload_id: _UploadId, caller: Caller) -> Response:
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


def _upload_document(upload: Upload) -> dict[str, Any]:
    return {
        "upload_id": upload.id,
        "name": upload.name,
        "size": upload.size,
        "media_type": upload.media_type,
        "expires_at": to_text(upload.expires_at_us),
    }


def _declared_type(content_type: str | None) -> str | None:
    """Clients that know nothing better say that it is bytes."""
    declared = (content_type or "").partition(";")[0].strip().lower()
    return None if declared in ("", BINARY) else declared


@asynccontextmanager
async def _one_file(request: Request) -> AsyncIterator[UploadFile]:
    """Beyond a megabyte it lies in a temporary file; raises Refused for a body that is not one file."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _MULTIPART:
        raise _wrong("body", f"must be {_MULTIPART} with one file", "multipart_required")
    form = await _parsed_form(request)
    try:
        given = [(name, one) for name, one in form.multi_items()]
        if len(given) != 1 or not isinstance(given[0][1], UploadFile):
            raise _wrong("file", "must be the one field of the form, with a file name", "one_file_required")
        yield given[0][1]
    finally:
        await form.close()


async def _parsed_form(request: Request) -> FormData:
    parser = MultiPartParser(request.headers, _bounded(request), max_files=1, max_fields=1, max_part_size=1024)
    try:
        return await parser.parse()
    except MultiPartException:
        raise _wrong("body", f"is not {_MULTIPART} with one file", "multipart_required") from None
    except ClientDisconnect:
        raise _wrong("body", "ended too early", "cut_off") from None


async def _bounded(request: Request) -> AsyncGenerator[bytes, None]:
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > MOST_UPLOAD_BYTES:
            raise Refused(Code.TOO_LARGE, f"a file has at most {MOST_FILE_BYTES:,} bytes")
        yield chunk


def _wrong(field: str, error: str, code: str) -> Refused:
    return Refused.of(Code.SCHEMA_INVALID, [FieldError(field, error, code)])
