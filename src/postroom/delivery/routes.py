"""The REST doors of deliveries: notify, revise and recall, why and trace, and the files handed in for a message."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import quote

from fastapi import APIRouter, Header, HTTPException, Path, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, Field
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from postroom.delivery.afterwards.rules import LONGEST_REASON, CorrectionStatus
from postroom.delivery.files.kinds import BINARY
from postroom.delivery.files.taking import MOST_FILE_BYTES, FileTaking
from postroom.delivery.notify import Notifier, NotifyArguments
from postroom.delivery.rules.target import first_channel
from postroom.delivery.seams import AddressBook
from postroom.kernel.guard.http import Caller, IdempotencyKey, presented_token
from postroom.kernel.running.clock import Clock
from postroom.kernel.serving.json_door import JsonRoute, LateRoute, Strict, Text, failures
from postroom.kernel.values.errors import (
    Code,
    FieldError,
    OverloadRejected,
    PostroomError,
    Refused,
    ValidationError,
    failure_document,
)
from postroom.kernel.values.fields import known_fields, text_problem
from postroom.kernel.values.ids import IdMint, to_text
from postroom.kernel.values.principal import OPERATOR, OWNER, Principal, Role, sender_of
from postroom.message.attachment import Upload
from postroom.message.channel import KnownChannels
from postroom.message.delivery import folded
from postroom.message.wire import WISH_SCHEMAS, argument_error, notify_error
from postroom.message.wishes import AUTO
from postroom.questions.asked_people import AskedPeople
from postroom.settings.written import SPOKEN

# -- An answer that has a `status` and an `error_class` of its own, as HTTP ---

_BY_CLASS: Final = {
    "validation_error": 400,
    "overload_rejected": 429,
    "target_unavailable": 503,
    "timeout": 503,
}
_BY_CODE: Final = {
    "key_reused": 409,
    "already_decided": 409,
    "too_late": 409,
    "unknown_action": 404,
    "unknown_delivery": 404,
}


def http_answer(answer: Mapping[str, Any]) -> JSONResponse:
    return JSONResponse(dict(answer), status_code=_http_status(answer), headers=_retry_after(answer))


def _http_status(answer: Mapping[str, Any]) -> int:
    """What is stored and not yet delivered is 202; an error says which by its class, and more exactly by a code."""
    if answer["status"] != "error":
        return 200 if answer["status"] == "ok" else 202
    precise = (_BY_CODE.get(str(item.get("code"))) for item in _fields(answer))
    return next((status for status in precise if status), _BY_CLASS.get(str(answer.get("error_class")), 500))


def _fields(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    error = answer.get("error")
    return list((error if isinstance(error, Mapping) else answer).get("fields", ()))


def _retry_after(answer: Mapping[str, Any]) -> dict[str, str]:
    error = answer.get("error")
    wait = error.get("retry_after_seconds") if isinstance(error, Mapping) else None
    return {"Retry-After": str(max(1, math.ceil(wait)))} if isinstance(wait, int | float) else {}


def _may_not_send(caller: Principal) -> JSONResponse:
    told = ValidationError(f"{caller} may not send: a butler's or a program's token may.")
    return JSONResponse(argument_error(told), status_code=403)


# -- `POST /v1/notify`: one message from a script, by the way of the butlers' own `notify` ---

_Notify = Callable[[Principal, dict[str, Any]], Awaitable[dict[str, Any]]]
_TEXT: Final = {"type": "string"}
_PROPERTIES: Final[dict[str, dict[str, Any]]] = {
    "message": {**_TEXT, "description": "What to say."},
    "to": {**_TEXT, "description": "A contact by exact name, or an address; the owner, or the token's own person."},
    "channel": {
        **_TEXT,
        "description": f"Such as {SPOKEN}; by default the first that reaches the recipient; auto: in their own order.",
    },
    "subject": {**_TEXT, "description": "Of an e-mail."},
    "priority": {"type": "string", "enum": ["high", "medium", "low"]},
    "wait_seconds": {
        "type": "number",
        "minimum": 0,
        "maximum": 600,
        "description": "How long to wait for the outcome.",
    },
    "idempotency_key": {**_TEXT, "description": "Sent once for this key; also as the header Idempotency-Key."},
    "on_uncertain": {"type": "string", "enum": ["resend", "hold"]},
    "attachments": {
        "type": "array",
        "maxItems": 10,
        "description": "Files, each by exactly one of path (below an outbox folder), upload_id and data (base64).",
        "items": {
            "type": "object",
            "additionalProperties": False,
            "properties": dict.fromkeys(("path", "upload_id", "data", "name", "media_type"), _TEXT),
        },
    },
    "format": {"type": "string", "enum": ["plain", "markdown"], "description": "Of the message; plain by default."},
    **WISH_SCHEMAS,
}
_NOTIFY_BODY: Final = {
    "type": "object",
    "required": ["message"],
    "additionalProperties": False,
    "properties": _PROPERTIES,
}
_NOTIFY_ANSWER: Final = {
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {"type": "string", "enum": ["ok", "accepted", "deferred", "muted", "pending_approval", "error"]}
    },
}
_NOTIFY_TOLD: Final = {
    200: "Delivered",
    202: "Stored: still being tried, held until its moment, muted by the person, or to be approved first",
    400: "Something about the request is wrong",
    403: "Neither a butler's nor a program's token",
    409: "The key was used for another message",
    429: "Too many messages; Retry-After says when there is room",
    500: "Our own fault",
    503: "The channel or a part of the household cannot be reached",
}
_NOTIFY_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": told, "content": {"application/json": {"schema": _NOTIFY_ANSWER}}}
    for status, told in _NOTIFY_TOLD.items()
}


def notify_router(notify: _Notify) -> APIRouter:
    router = APIRouter(route_class=LateRoute, tags=["notify"])

    @router.post(
        "/v1/notify",
        operation_id="notify",
        summary="Deliver a message to a person",
        description="With a butler's or a program's token. The body of every answer is that of the tool `notify`.",
        openapi_extra={"requestBody": {"required": True, "content": {"application/json": {"schema": _NOTIFY_BODY}}}},
        responses=_NOTIFY_RESPONSES,
    )
    async def post(
        request: Request, caller: Caller, idempotency_key: Annotated[str | None, Header(include_in_schema=False)] = None
    ) -> JSONResponse:
        if sender_of(caller) is None:
            return _may_not_send(caller)
        try:
            asked = read_request(await request.body(), idempotency_key)
        except ValidationError as error:
            return http_answer(argument_error(error))
        return http_answer(await notify(caller, asked))

    return router


def read_request(body: bytes, key: str | None) -> dict[str, Any]:
    """Raises ValidationError; what the values are is the work's to judge. An absent value and a null are the same."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise ValidationError("The body is not JSON.") from None
    if not isinstance(asked, dict):
        raise ValidationError('The body must be an object such as {"message": "Hello"}.')
    return known_fields(asked, _PROPERTIES) | _key(asked, key)


def _key(asked: Mapping[str, Any], header: str | None) -> dict[str, str]:
    if header is None:
        return {}
    if asked.get("idempotency_key") not in (None, header):
        told = "is not the same as in the header Idempotency-Key"
        raise ValidationError.of([FieldError("idempotency_key", told, "key_mismatch")])
    return {"idempotency_key": header}


_OWNER: Final = frozenset({OWNER, OPERATOR.name})  # names of the owner that need no contact


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    book: AddressBook
    people: AskedPeople
    channels: KnownChannels
    notifier: Notifier
    clock: Clock
    mint: IdMint

    async def notify(self, caller: Principal, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Through the same switchboard; the sender is the token's, whatever was asked."""
        request_id, origin = self.new_id(), sender_of(caller) or ""
        try:
            arguments = await self._arguments(caller, dict(asked))
        except ValidationError as error:
            await self.notifier.note(origin, NotifyArguments(channel=asked.get("channel")), request_id, error)
            return notify_error(error, request_id=request_id)
        except PostroomError as error:
            return notify_error(error, request_id=request_id)
        return await self.notifier.notify(arguments, origin_butler=origin, request_id=request_id)

    def new_id(self) -> str:
        return self.mint.mint(self.clock.now_us())

    async def _arguments(self, caller: Principal, asked: dict[str, Any]) -> NotifyArguments:
        recipient = recipient_of(caller, asked.pop("to", None))
        channel = asked.pop("channel", None)
        if isinstance(recipient, str) and caller.serves != OWNER and channel in (None, AUTO, *self.notifier.channels):
            recipient, channel = await self._in_reach(caller.serves or OWNER, recipient, channel)
        elif channel is None:
            channel = await first_channel(recipient, self.book, self.channels)
        return NotifyArguments(channel=channel, recipient=recipient, **asked)

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
            raise ValidationError.of([FieldError("delivery.recipient", told, "unknown_recipient")])
        return found.address, found.channel


def recipient_of(caller: Principal, to: object) -> object:
    """Without a name a program writes to its own person, everybody else to the owner; None is the owner."""
    wanted = caller.person if to is None and caller.role is Role.PROGRAM else to
    return None if isinstance(wanted, str) and wanted.strip().lower() in _OWNER else wanted


# -- `POST /v1/deliveries/{id}/revise` and `/recall`: the messenger's tools, under their caller's own token ---

_Call = Callable[[str, Mapping[str, Any], float, str], Awaitable[dict[str, Any]]]  # tool, arguments, patience, token
_MARGIN_SECONDS: Final = 20.0
_CORRECTION_STATUS: Final = {
    CorrectionStatus.TOO_LATE: 409,
    CorrectionStatus.ACCEPTED: 202,
    CorrectionStatus.AWAITING_APPROVAL: 202,
}
_CORRECTION_ANSWER: Final = {
    "type": "object",
    "required": ["status"],
    "properties": {
        "status": {"type": "string", "enum": [str(one) for one in CorrectionStatus]},
        "revises": {"type": ["string", "null"]},
        "delivery_id": {"type": ["string", "null"]},
        "how": {"type": ["string", "null"], "enum": ["in_place", "edit", "delete", "correction", None]},
        "message": {"type": "string"},
    },
}
_NOT_READ: Final = {  # a body that is no request never reaches the tool
    "type": "object",
    "required": ["ok", "error"],
    "properties": {"ok": {"const": False}, "error": {"type": "object"}},
}
_CORRECTION_TOLD: Final = {
    200: "Done: changed or withdrawn in place, edited, deleted, or corrected in the thread",
    202: "Stored: still being tried, or a person must approve the new text first",
    400: "Something about the request is wrong",
    404: "No delivery of yours",
    409: "Too late, or the key was used for another correction",
    429: "Too many messages; Retry-After says when there is room",
}


def _correction_schema(status: int) -> dict[str, Any]:
    return _CORRECTION_ANSWER if status < 400 else {"anyOf": [_CORRECTION_ANSWER, _NOT_READ]}


_CORRECTION_RESPONSES: Final[dict[int | str, dict[str, Any]]] = {
    **failures(401, 422, 503),
    **{
        status: {"description": told, "content": {"application/json": {"schema": _correction_schema(status)}}}
        for status, told in _CORRECTION_TOLD.items()
    },
}
_DeliveryId = Annotated[str, Path(max_length=64, description="Of the delivery to correct.")]
_Key = Annotated[str | None, Header(include_in_schema=False)]
_Patience = Annotated[float, Field(ge=0, le=600)] | None


class ReviseRequest(Strict):
    message: Text
    format: Text | None = None
    subject: Text | None = None
    wait_seconds: _Patience = None


class RecallRequest(Strict):
    reason: Annotated[Text, Field(max_length=LONGEST_REASON)] | None = None
    wait_seconds: _Patience = None


def correction_router(call: _Call, default_wait_seconds: float) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["deliveries"], responses=_CORRECTION_RESPONSES)

    async def answer(request: Request, tool: str, asked: dict[str, Any]) -> JSONResponse:
        wait = asked["wait_seconds"] if asked["wait_seconds"] is not None else default_wait_seconds
        given = {name: value for name, value in asked.items() if value is not None}
        told = await call(tool, given, wait + _MARGIN_SECONDS, presented_token(request.headers) or "")
        if told["status"] == CorrectionStatus.ERROR:
            return http_answer(told)
        return JSONResponse(told, status_code=_CORRECTION_STATUS.get(CorrectionStatus(told["status"]), 200))

    @router.post(
        "/v1/deliveries/{delivery_id}/revise",
        operation_id="reviseDelivery",
        summary="Give a message of yours another text: in place, by an edit, or by a correction in its thread",
    )
    async def revise(
        request: Request, delivery_id: _DeliveryId, body: ReviseRequest, idempotency_key: _Key = None
    ) -> JSONResponse:
        asked = {"delivery_id": delivery_id, "idempotency_key": idempotency_key, **body.model_dump()}
        return await answer(request, "revise_delivery", asked)

    @router.post(
        "/v1/deliveries/{delivery_id}/recall",
        operation_id="recallDelivery",
        summary="Take a message of yours back: withdraw it, delete it, or say in its thread to disregard it",
    )
    async def recall(
        request: Request, delivery_id: _DeliveryId, body: RecallRequest, idempotency_key: _Key = None
    ) -> JSONResponse:
        asked = {"delivery_id": delivery_id, "idempotency_key": idempotency_key, **body.model_dump()}
        return await answer(request, "recall_delivery", asked)

    return router


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
