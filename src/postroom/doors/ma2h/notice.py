"""`notify`: one message on the one way out, kept under its key so that it can be looked at again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from postroom.domain.errors import ErrorClass, PostroomError, error_of
from postroom.domain.idempotency_key import KeptAnswer, KeyClaim, KeyedCall
from postroom.domain.principal import Principal
from postroom.doors.guard.sender import sender_of
from postroom.doors.ma2h.envelope import Envelope
from postroom.doors.ma2h.message_shape import PREFIX
from postroom.doors.ma2h.question import urgency
from postroom.doors.ma2h.refusals import NotTaken, invalid
from postroom.doors.ma2h.words import detail, title

Notify = Callable[[Principal, dict[str, Any]], Awaitable[dict[str, Any]]]
DELIVERED: Final = "delivered"
_MARK: Final = "n-"  # of the ids of notices, which no question has
_TAKEN: Final = 202


class KeptNotices(Protocol):
    """Where calls are kept under their keys."""

    async def claim(self, call: KeyedCall, reserved_id: str, now_us: int) -> KeyClaim: ...

    async def keep(self, call: KeyedCall, answer: KeptAnswer) -> None: ...

    async def release(self, call: KeyedCall) -> None: ...

    async def find(self, caller: str, key: str) -> KeyClaim | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Notices:
    notify: Notify
    kept: KeptNotices

    async def submit(self, caller: Principal, envelope: Envelope, new_id: str, now_us: int) -> str:
        """The id of the message; the same key again is the same message. Raises NotTaken and PostroomError."""
        if sender_of(caller) is None:
            raise NotTaken("not_authorized", f"{caller} may not send: a butler's or a program's token may")
        name = _MARK + envelope_digest(envelope, new_id)
        call = KeyedCall(caller=str(caller), key=_key(name), fingerprint=_fingerprint(envelope))
        claim = await self.kept.claim(call, name, now_us)
        if claim.fingerprint != call.fingerprint:
            raise NotTaken("idempotency_conflict", "idempotency_key: was already used for another message")
        if claim.answer is None:
            await self._send(caller, envelope, name, call)
        return PREFIX + name

    async def find(self, caller: Principal, message_id: str) -> dict[str, Any] | None:
        """Of this caller; it was taken over when it was accepted, and that is what `delivered` says."""
        name = message_id.removeprefix(PREFIX)
        found = await self.kept.find(str(caller), _key(name)) if name.startswith(_MARK) else None
        if found is None or found.answer is None:
            return None
        return {**json.loads(found.answer.body), "id": message_id, "status": DELIVERED}

    async def _send(self, caller: Principal, envelope: Envelope, name: str, call: KeyedCall) -> None:
        answer = await self.notify(caller, _arguments(envelope, name))
        if answer.get("status") == "error":
            await self.kept.release(call)
            raise _refusal(answer)
        await self.kept.keep(call, KeptAnswer(status=_TAKEN, body=json.dumps(envelope.document)))


def envelope_digest(envelope: Envelope, otherwise: str) -> str:
    """Of the agent and its key; of a message without a key nothing else can be the same."""
    said = json.dumps([envelope.agent_id, envelope.key] if envelope.key else [otherwise])
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def _key(name: str) -> str:
    return f"ma2h:{name}"


def _fingerprint(envelope: Envelope) -> str:
    return hashlib.sha256(envelope.compared.encode("utf-8", "surrogatepass")).hexdigest()


def _arguments(envelope: Envelope, name: str) -> dict[str, Any]:
    words = "\n\n".join(piece for piece in (f"**{title(envelope)}**", detail(envelope)) if piece)
    return {
        "message": words,
        "subject": " ".join(envelope.title.split()),
        "format": "markdown",
        "urgency": urgency(envelope),
        "idempotency_key": _key(name),
        "wait_seconds": 0,
    }


def _refusal(answer: Mapping[str, Any]) -> NotTaken | PostroomError:
    message = str(answer.get("error_message") or "it could not be taken")
    if answer.get("error_class") == ErrorClass.VALIDATION:
        return invalid("body", message)
    known = {str(one): one for one in ErrorClass}
    return error_of(known.get(str(answer.get("error_class")), ErrorClass.INTERNAL), message)
