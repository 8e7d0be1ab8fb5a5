"""
What callers do about messages: send one, ask what became of it, put it right or take it back, and be reminded.

What an argument may hold, the work judges in the sentences of the contract; the schema says what is right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from math import ceil
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from pydantic import ConfigDict, create_model
from typing_extensions import TypedDict

from postroom.kernel.acts.declaration import (
    READS,
    Act,
    Answer,
    Call,
    Command,
    CommandOption,
    Hints,
    HttpRoute,
    Made,
    Tool,
    act,
)
from postroom.kernel.acts.reading import Whatever, judged, needed
from postroom.kernel.values.errors import PostroomError, Refused, ValidationError, failure_document
from postroom.kernel.values.ids import is_uuid
from postroom.kernel.values.principal import EVERYONE, Kind
from postroom.message.arguments import arguments_of
from postroom.message.outgoing import Outgoing, RequestContext
from postroom.message.wire import (
    Lineage,
    argument_error,
    notify_error,
)
from postroom.message.wishes import URGENCIES, AttentionWish
from postroom.settings.written import SPOKEN

LONGEST_WAIT_SECONDS: Final = 600
_TEXT: Final = {"type": "string"}
_FILE: Final = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "path": {**_TEXT, "description": "Below your outbox folder."},
        "upload_id": {**_TEXT, "description": "Of an upload, or of a file a person sent."},
        "data": {**_TEXT, "description": "Base64, at most 256 KiB."},
        "name": _TEXT,
        "media_type": _TEXT,
    },
}
_CONTEXT: Final = {
    "type": ["object", "string"],  # some runtimes send it as its JSON text
    "properties": {field.name: _TEXT for field in fields(RequestContext)},
    "required": list(Lineage.__annotations__),
}
_SENDERS: Final = frozenset({Kind.OPERATOR, Kind.ITSELF, Kind.BUTLER, Kind.SWITCHBOARD, Kind.PROGRAM})


class OpenAnswer(TypedDict, total=False):
    """What stands here is what a caller goes by; a refusal's keys, and whatever else an answer holds, go along."""

    __pydantic_config__ = ConfigDict(extra="allow")  # type: ignore[misc]


class MessageAnswer(OpenAnswer, total=False):
    """notify_response.v1, or the contract's own shape for a wrong argument, whose `error` is one sentence."""

    status: str
    delivery: dict[str, Any]
    notice_id: str
    until: str | None
    reasons: list[str]


class CorrectedAnswer(OpenAnswer, total=False):
    status: str
    revises: str | None
    delivery_id: str | None
    how: str | None
    message: str


class ReminderAnswer(OpenAnswer, total=False):
    id: str
    status: str
    remind_at: str


# An answer that has a `status` and an `error_class` of its own, as HTTP.

_BY_CLASS: Final = {"validation_error": 400, "overload_rejected": 429, "target_unavailable": 503, "timeout": 503}
_BY_CODE: Final = {
    "key_reused": 409,
    "already_decided": 409,
    "too_late": 409,
    "unknown_action": 404,
    "unknown_delivery": 404,
}


def http_status(answer: Mapping[str, Any]) -> int:
    """What is stored and not yet delivered is 202; an error says which by its class, and more exactly by a code."""
    if answer["status"] != "error":
        return 200 if answer["status"] == "ok" else 202
    error = answer.get("error")
    wrong = (error if isinstance(error, Mapping) else answer).get("fields", ())
    precise = (_BY_CODE.get(str(item.get("code"))) for item in wrong)
    return next((status for status in precise if status), _BY_CLASS.get(str(answer.get("error_class")), 500))


# Sending, and what became of it.


class Messages(Protocol):
    """A butler at its own server, and the API port for everyone with a token."""

    async def notify(self, call: Call[Any], asked: Notify) -> Mapping[str, Any]: ...

    async def standing(self, call: Call[Any], identifier: str) -> Mapping[str, Any]: ...

    async def correct(self, call: Call[Any], correction: Mapping[str, Any], wait: object) -> Mapping[str, Any]: ...


class MessageAct(Act[Answer]):
    @classmethod
    def refused(cls, error: PostroomError) -> Mapping[str, Any]:
        return argument_error(error) if isinstance(error, ValidationError | Refused) else notify_error(error)

    @classmethod
    def refused_over_http(cls, error: PostroomError) -> tuple[int, Mapping[str, Any]]:
        """What is wrong about a message is a 400, as it has always been here; who may not, hears it as everywhere."""
        document = cls.refused(error)
        return error.code.status if error.code.status in (401, 403, 413) else http_status(document), document

    @classmethod
    def status_of(cls, answer: Any) -> int:
        return http_status(answer)

    @classmethod
    def is_answer(cls, status: int, document: Mapping[str, Any]) -> bool:
        """One that failed, or came too late, is in the contract's own shape, too."""
        return super().is_answer(status, document) or not document.keys().isdisjoint({"error_class", "revises"})

    @classmethod
    def retry_after(cls, answer: Any) -> float | None:
        error = answer.get("error")
        wait = error.get("retry_after_seconds") if isinstance(error, Mapping) else None
        return max(1, ceil(wait)) if isinstance(wait, int | float) else None


_SENDS: Final = Hints(destroys=True, open_world=True)
_IN_A_CONVERSATION: Final = ("intent", "emoji", "request_context")


def saying(*values: type[Any]) -> Callable[[Made], Made]:
    """An act with the arguments that these values declare, beside its own."""
    arguments = {name: one for value in values for name, one in arguments_of(value).items()}
    added: dict[str, Any] = {name: (Whatever, judged(one.words, **one.schema)) for name, one in arguments.items()}

    def say(kind: Made) -> Made:
        made: Any = create_model(kind.__name__, __base__=kind, __module__=kind.__module__, **added)
        made.__doc__, made.__qualname__ = kind.__doc__, kind.__qualname__
        return cast(Made, made)

    return say


@saying(Outgoing, AttentionWish)
class _Message(MessageAct[MessageAnswer]):
    channel: Whatever = judged(f"Such as {SPOKEN}; auto is the first that reaches the person.", **_TEXT)
    message: Whatever = judged("What to say. A reaction needs none.", **_TEXT)
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What it says of Outgoing and AttentionWish."""


@act(by=_SENDERS, tool=Tool("notify", _SENDS))
class Notify(_Message):
    """
    Deliver a message to a person over {channels}, reply in the conversation a request came from, or react to a message
    with an emoji.

    `status`: `ok` (delivered), `accepted` (stored, still being tried), `deferred` (shown later, by the person's own
    wishes: `until`, `reasons`), `muted` (stored, not sent), `pending_approval` (a person must agree first) or `error`
    (`error_message`, `retryable`). What is stored is never lost: do not send it again, ask `notify_status`.
    """

    intent: Whatever = judged("send by default.", enum=["send", "reply", "react"], **_TEXT)
    request_context: Whatever = judged(
        "Of the inbound request that a reply or reaction answers.",
        **_CONTEXT,
    )
    attachments: Whatever = judged(
        "Files, each by exactly one of path, upload_id and data; copied at once.",
        type="array",
        maxItems=10,
        items=_FILE,
    )
    wait_seconds: Whatever = judged("For the outcome.", type="number", minimum=0, maximum=LONGEST_WAIT_SECONDS)

    null_counts = ("intent", "recipient")  # an empty text is no intent, and nobody: never the owner unasked

    async def do(self, call: Call[Messages]) -> Any:
        return await call.work.notify(call, self)


_NOTIFY: Final = HttpRoute(
    "POST /v1/notify",
    "notify",
    operation="notify",
    summary="Deliver a message to a person; the body of every answer is that of the tool `notify`",
    refusals=(401, 413),
    more={
        202: "Stored: still being tried, held until its moment, muted by the person, or to be approved first",
        400: "Something about the request is wrong",
        403: "Neither a butler's nor a program's token",
        409: "The key was used for another message",
        429: "Too many messages; Retry-After says when there is room",
        500: "Our own fault",
        503: "The channel or a part of the household cannot be reached",
    },
    without=_IN_A_CONVERSATION,
)


COMMAND: Final = Command(
    "notify",
    ("message",),
    {
        "message": CommandOption(words="What to say; - reads it from standard input."),
        "channel": CommandOption(("--channel", "-c"), words=f"Such as {SPOKEN}, or auto."),
        "priority": CommandOption(metavar="high|medium|low"),
        "on_uncertain": CommandOption(metavar="resend|hold"),
        "format": CommandOption(words="Of the message; plain by default.", metavar="plain|markdown"),
        "urgency": CommandOption(metavar="|".join(URGENCIES)),
        "wait_seconds": CommandOption(words="How long to wait for the outcome; what a limit refuses is tried again"),
    },
    without=(*_IN_A_CONVERSATION, "attachments"),  # files are handed in by --attach
    former={"--to": "recipient", "--key": "idempotency_key", "--expires": "expires_in_seconds"},
)


@act(by=EVERYONE, tool=Tool("notify", _SENDS, without=_IN_A_CONVERSATION), route=_NOTIFY, command=COMMAND)
class NotifyPerson(Notify):
    """
    Deliver a message to a person over {channels}: by default to your own person, on the first channel that reaches
    them.

    `status`: `ok` (delivered), `accepted` (stored, still being tried), `deferred` (shown later: `until`, `reasons`),
    `muted` (stored, not sent), `pending_approval` or `error` (`error_message`, `retryable`). What is stored is never
    lost: do not send it again, ask `notify_status`.
    """

    renamed = {"to": "recipient"}  # noqa: RUF012


def channel_words(names: Iterable[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def named(delivery_id: object, notice_id: object) -> str:
    """One of both; an id of either kind is taken for `delivery_id`."""
    from postroom.attention.model import is_notice_id  # a command that sends does without its rules

    if notice_id is not None and delivery_id is not None:
        raise ValidationError("Give either delivery_id or notice_id.")
    given = notice_id if notice_id is not None else delivery_id
    known = given.strip() if isinstance(given, str) else ""
    if is_notice_id(known) or (notice_id is None and is_uuid(known)):
        return known
    if notice_id is not None:
        raise ValidationError("Invalid notice_id format: it is the notice_id of an answer of notify")
    raise ValidationError("Invalid delivery_id format: it is a UUID")


@act(by=_SENDERS, tool=Tool("notify_status", READS, answers=("status", "delivery")))
class NotifyStatus(MessageAct[MessageAnswer]):
    """
    What has become of a message of yours, as `notify` would answer now; `delivery` also has `attempts`, `last_error`,
    `next_attempt_at`, `possible_duplicate` and `approval` (with the `reason` of a rejection).
    """

    delivery_id: Whatever = judged("`delivery.delivery_id` from notify.", **_TEXT)
    notice_id: Whatever = judged("Or its `notice_id`.", **_TEXT)

    async def do(self, call: Call[Messages]) -> Any:
        return await call.work.standing(call, named(self.delivery_id, self.notice_id))


# -- Correcting what was sent --

_CORRECTS: Final = Hints(destroys=True, repeats=True, open_world=True)
_TAG: Final = "deliveries"
_REFUSALS: Final = (401, 422)
_MORE: Final = {
    202: "Stored: still being tried, or a person must approve the new text first",
    400: "Something about the request is wrong",
    404: "No delivery of yours",
    409: "Too late, or the key was used for another correction",
    429: "Too many messages; Retry-After says when there is room",
    503: "A part of the household cannot be reached",
}


class _Corrects(MessageAct[Answer]):
    delivery_id: Whatever = judged("`delivery.delivery_id` from notify.", **_TEXT)
    idempotency_key: Whatever = judged("Done once for this key.", **_TEXT)
    wait_seconds: Whatever = judged("For the outcome.", type="number", minimum=0, maximum=LONGEST_WAIT_SECONDS)

    @classmethod
    def refused_over_http(cls, error: PostroomError) -> tuple[int, Mapping[str, Any]]:
        return error.code.status, failure_document(error)

    @classmethod
    def status_of(cls, answer: Any) -> int:
        return _CORRECTION_STATUS.get(answer["status"], 200) if answer["status"] != "error" else http_status(answer)

    async def corrected(self, call: Call[Messages], kind: str) -> Any:
        """Over HTTP the path names it, and the key is in a header."""
        asked = self.model_dump(exclude={"wait_seconds", "notice_id"}, exclude_none=True) | {"act": kind}
        if call.door == "http":
            asked |= {"idempotency_key": call.key} if call.key is not None else {}
        else:
            asked["delivery_id"] = self.identifier
        return await call.work.correct(call, asked, self.wait_seconds)

    @property
    def identifier(self) -> str:
        return named(self.delivery_id, None)


_CORRECTION_STATUS: Final = {"too_late": 409, "accepted": 202, "awaiting_approval": 202}
_WHICH: Final = CommandOption(metavar="ID", words="The delivery that `postroom notify` printed, or a question.")
_HOW_LONG: Final = CommandOption(words="How long to wait for the outcome")
_BEFORE: Final = {"--key": "idempotency_key"}
REVISE: Final = Command(
    "revise",
    ("delivery_id", "message"),
    {
        "delivery_id": _WHICH,
        "wait_seconds": _HOW_LONG,
        "message": CommandOption(metavar="TEXT", words="What it is to say; - reads standard input."),
        "format": CommandOption(words="Of the text: plain or markdown."),
    },
    former=_BEFORE,
)
RECALL: Final = Command(
    "recall",
    ("delivery_id",),
    {
        "delivery_id": _WHICH,
        "wait_seconds": _HOW_LONG,
        "reason": CommandOption(words="Kept with it; whoever was asked a question sees it."),
    },
    without=("notice_id",),
    former=_BEFORE,
)


@act(
    by=EVERYONE,
    tool=Tool("revise", _CORRECTS, answers=("status", "message")),
    route=HttpRoute(
        "POST /v1/deliveries/{delivery_id}/revise",
        _TAG,
        operation="reviseDelivery",
        summary="Give a message of yours another text: in place, by an edit, or by a correction in its thread",
        refusals=_REFUSALS,
        more=_MORE,
        without=("idempotency_key",),
    ),
    command=REVISE,
)
class Revise(_Corrects[CorrectedAnswer]):
    """
    Give a message of yours another text: in place until it is sent, then by an edit or a "Correction:" in its thread.
    The last accepted revision stands.

    `status`: `revised`, `corrected`, `awaiting_approval`, `accepted` (still being tried), `too_late` (`message` says
    why) or `error`.
    """

    message: Whatever = needed("The new text.", **_TEXT)
    subject: Whatever = judged("Of an e-mail.", **_TEXT)
    format: Whatever = judged("As it was by default.", enum=["plain", "markdown"], **_TEXT)

    async def do(self, call: Call[Messages]) -> Any:
        return await self.corrected(call, "revise")


@act(
    by=EVERYONE,
    tool=Tool("recall", _CORRECTS, answers=("status", "message")),
    route=HttpRoute(
        "POST /v1/deliveries/{delivery_id}/recall",
        _TAG,
        operation="recallDelivery",
        summary="Take a message of yours back: withdraw it, delete it, or say in its thread to disregard it",
        refusals=_REFUSALS,
        more=_MORE,
        without=("idempotency_key", "notice_id"),
    ),
    command=RECALL,
)
class Recall(_Corrects[CorrectedAnswer]):
    """
    Take a message of yours back: withdrawn until it is sent, then deleted, or its thread asks to disregard it. People
    may have read it all the same.

    `status`: `withdrawn`, `recalled`, `corrected`, `awaiting_approval`, `accepted` (still being tried), `too_late` or
    `error`.
    """

    notice_id: Whatever = judged("Or its `notice_id`, while it is held.", **_TEXT)
    reason: Whatever = judged("Kept for the household; the recipient does not see it.", **_TEXT)

    @property
    def identifier(self) -> str:
        return named(self.delivery_id, self.notice_id)

    async def do(self, call: Call[Messages]) -> Any:
        return await self.corrected(call, "recall")
