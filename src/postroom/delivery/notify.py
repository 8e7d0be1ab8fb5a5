"""What `notify` does: the arguments of a model or a script become an `Outgoing`, once, and its outcome one answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Final

import structlog

from postroom.delivery.accept import Plane
from postroom.delivery.files.taking import FileTaking, read_given
from postroom.delivery.model import RefusedCall
from postroom.delivery.store.rows import StoredRefusedCalls
from postroom.kernel.running.clock import Clock
from postroom.kernel.values.errors import FieldError, PostroomError, ValidationError
from postroom.kernel.values.fields import printable, text_problem
from postroom.message.acts import LONGEST_WAIT_SECONDS, Notify
from postroom.message.channel import KnownChannels, Outbound
from postroom.message.delivery import DeliveryFailure, Intent
from postroom.message.outgoing import Outcome, Outgoing, refused
from postroom.message.wire import (
    BESIDE,
    NOTIFY_V1,
    argument_error,
    notify_error,
    notify_response,
    parse_notify,
)
from postroom.message.wishes import AUTO

_NOTE_SECONDS: Final = 2.0
_SHOWN_CHARACTERS: Final = 80
_INTENTS: Final = frozenset(map(str, Intent))
_APART: Final = ("attachments", "request_context", "wait_seconds")
"""What does not stand in the envelope as it was said."""


def read_arguments(arguments: Notify, *, origin_butler: str, channels: KnownChannels) -> Outgoing:
    """Raises ValidationError with the sentence the contract promises."""
    intent = arguments.intent if arguments.intent is not None else "send"
    if intent != Intent.REACT and _is_missing(arguments.message):
        raise ValidationError("Missing required 'message' parameter: say what should be delivered.")
    if not isinstance(arguments.channel, str) or arguments.channel not in (*channels, AUTO):
        known = ", ".join(sorted(channels))
        raise ValidationError(f"Unsupported channel {_quoted(arguments.channel)}. Supported channels: {known}.")
    if not isinstance(intent, str) or intent not in _INTENTS:
        raise ValidationError(f"Unsupported intent {_quoted(intent)}. Supported intents: send, reply, react.")
    said = {name: value for name, value in arguments if name not in _APART and value is not None}
    beside = {name: said.pop(name) for name in BESIDE if name in said}
    context = _decoded(arguments.request_context)
    envelope = {
        "schema_version": NOTIFY_V1,
        "origin_butler": origin_butler,
        "delivery": {**said, "intent": intent},
        **({} if context is None else {"request_context": context}),
        **beside,
    }
    try:
        return parse_notify(envelope, channels)
    except ValidationError as error:
        raise _as_called(error) from None


def _as_called(error: ValidationError, names: Mapping[str, str] = MappingProxyType({})) -> ValidationError:
    """With each field as the caller wrote it, who knows of no `delivery` in an envelope; `names` has other ones."""
    plain = [one.field.removeprefix("delivery.") for one in error.fields]
    fields = [replace(one, field=names.get(name, name)) for one, name in zip(error.fields, plain, strict=True)]
    return ValidationError.of(fields) if fields else error


def _with_the_rest(error: ValidationError, arguments: Notify) -> ValidationError:
    """And what is wrong with arguments that are read later; a sentence of the contract stands alone."""
    found = list(error.fields)
    for read in (partial(wait_seconds, arguments.wait_seconds, 0.0), partial(read_given, arguments.attachments)):
        try:
            read()
        except ValidationError as other:
            found += [one for one in other.fields if one not in found]
    return ValidationError.of(found) if error.fields else error


def wait_seconds(asked: object, default: float) -> float:
    if asked is None:
        return default
    if isinstance(asked, bool) or not isinstance(asked, int | float) or not 0 <= asked <= LONGEST_WAIT_SECONDS:
        limit = f"must be a number of seconds from 0 to {LONGEST_WAIT_SECONDS}"
        raise ValidationError.of([FieldError("wait_seconds", limit, "out_of_range")])
    return float(asked)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notifier:
    """The way out of those who notify."""

    channels: KnownChannels
    outbound: Outbound
    refusals: StoredRefusedCalls
    clock: Clock
    default_wait_seconds: float
    files: FileTaking | None = None

    async def notify(self, arguments: Notify, *, origin_butler: str, request_id: str) -> dict[str, Any]:
        """As the tool answers."""
        try:
            outcome = await self.submit(arguments, origin_butler=origin_butler, request_id=request_id)
        except ValidationError as error:
            return argument_error(error)
        return notify_response(outcome)

    async def submit(self, arguments: Notify, *, origin_butler: str, request_id: str) -> Outcome:
        """Raises ValidationError for arguments that are no message."""
        try:
            outgoing = read_arguments(arguments, origin_butler=origin_butler, channels=self.channels)
            wait = wait_seconds(arguments.wait_seconds, self.default_wait_seconds)
            if arguments.attachments not in (None, "", []):
                outgoing = await self._with_files(outgoing, arguments.attachments)
        except ValidationError as error:
            whole = _with_the_rest(error, arguments)
            await self.note(origin_butler, arguments, request_id, whole)
            raise whole from None
        except PostroomError as error:
            return refused(error, request_id=request_id, channel=str(arguments.channel))
        outcome = await self.outbound.submit(outgoing, request_id=request_id, wait_seconds=wait)
        if isinstance(outcome.error, ValidationError):
            return replace(outcome, error=_as_called(outcome.error))
        return outcome

    async def _with_files(self, outgoing: Outgoing, given: object) -> Outgoing:
        """Taken over here and now: a path means something on this machine, and the file may change later."""
        if outgoing.intent is Intent.REACT:
            raise ValidationError.of([FieldError("attachments", "a reaction carries no files", "react_attachments")])
        if self.files is None:
            raise ValidationError.of([FieldError("attachments", "are not taken here", "no_files")])
        can = self.channels.get(outgoing.channel)  # None for `auto`, whose channel is found later
        taken = await self.files.take(given, owner=outgoing.origin_butler, channel=outgoing.channel, can=can)
        return replace(outgoing, attachments=taken)

    async def note(self, origin_butler: str, arguments: Notify, request_id: str, error: ValidationError) -> None:
        """Every notify is on the switchboard's record, also one that never becomes an envelope; its words stay here."""
        call = RefusedCall(
            request_id=lineage_of(_decoded(arguments.request_context)) or request_id,
            source=origin_butler,
            channel=arguments.channel,
            intent=arguments.intent,
            failure=DeliveryFailure(error.error_class, error.message),
            at_us=self.clock.now_us(),
        )
        await note_refusal(self.refusals, call)


async def note_refusal(refusals: StoredRefusedCalls, call: RefusedCall) -> None:
    """The refusal is true whether or not it could be noted, and a store that hangs must not hold it up."""
    try:
        await asyncio.wait_for(refusals.note(call), _NOTE_SECONDS)
    except Exception as error:  # its kind and its place alone: the error may repeat what the row was to say
        structlog.get_logger("postroom.switchboard").warning("switchboard.note_lost", exc_info=error)


def lineage_of(context: object) -> str | None:
    """The request that a call belongs to, of a context that may be anything at all."""
    request_id = context.get("request_id") if isinstance(context, Mapping) else None
    return request_id[:128] if isinstance(request_id, str) and request_id.strip() else None


def _decoded(context: object) -> object:
    """Some runtimes send the object as a JSON string."""
    if not isinstance(context, str):
        return context
    try:
        decoded: object = json.loads(context)
    except (ValueError, RecursionError):
        return context
    return decoded if isinstance(decoded, Mapping) else context


def _is_missing(message: object) -> bool:
    return message is None or (isinstance(message, str) and not message.strip())


def _quoted(value: object) -> str:
    """What was asked for, as far as it can be repeated."""
    if not isinstance(value, str):
        return "None" if value is None else "that is no text"
    return f"'{printable(value) if text_problem(value) else value[:_SHOWN_CHARACTERS]}'"


# -- The same at the messenger: notify.v1 in, notify_response.v1 out, around the one way out ---


async def deliver_envelope(
    plane: Plane, envelope: object, *, request_id: str, wait_seconds: float, names: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """`names` is how one who wrote no envelope calls its fields."""
    try:
        outgoing = parse_notify(envelope, plane.known_channels)
    except ValidationError as error:
        return notify_error(error if names is None else _as_called(error, names), request_id=request_id)
    outcome = await plane.submit(outgoing, request_id=request_id, wait_seconds=wait_seconds)
    if names is not None and isinstance(outcome.error, ValidationError):
        outcome = replace(outcome, error=_as_called(outcome.error, names))
    return notify_response(outcome)
