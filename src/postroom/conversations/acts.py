"""Everything said with a person, over HTTP: for the owner of everybody, for another person their own."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Annotated, Final, Literal

import structlog
from fastapi import APIRouter
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from postroom.conversations.model import HistoryLine, HistoryQuery, LineKind, WordsKept
from postroom.kernel.acts.declaration import Call, HttpRoute, Shape, act, said
from postroom.kernel.serving.json_door import JsonRoute
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import to_text
from postroom.message.inbound import Press
from postroom.people.acts import THEMSELVES, Cursor, Limit, PeopleAct, PersonId, Short
from postroom.people.desk import PeopleDesk
from postroom.people.model import DEVICE_ID
from postroom.questions.hearing import Hearing

_EXCERPT: Final = 160


class HistoryBody(Shape):
    kind: LineKind = Field(description="`message`: the person wrote it. `delivery`: it was sent to them.")
    direction: Literal["in", "out"]
    id: str = Field(description="Of the message, the delivery or the question; `postroom why ID` explains it.")
    delivery_id: str | None
    question_id: str | None
    channel: str | None
    address: str | None
    status: str
    origin_butler: str | None = Field(description="Who said it, asked it or was given it.")
    subject: str | None
    excerpt: str
    words: WordsKept = Field(description="`not_kept`: no butler was given them.")
    reason: str = Field(description="Why a message went where it went, or how a question ended.")
    answer: str
    answered_by: str
    session_id: str | None
    replies: list[str] = Field(description="The deliveries that answered a message.")
    at: str

    @classmethod
    def of(cls, one: HistoryLine) -> HistoryBody:
        return cls(
            kind=one.kind,
            direction="in" if one.is_from_person else "out",
            id=one.id,
            delivery_id=one.id if one.kind is LineKind.DELIVERY else None,
            question_id=one.id if one.kind is LineKind.QUESTION else None,
            channel=one.channel,
            address=one.address,
            status=one.status,
            origin_butler=one.butler,
            subject=one.subject,
            excerpt=one.words[:_EXCERPT],
            words=one.words_kept,
            reason=one.reason,
            answer=one.answer,
            answered_by=one.answered_by,
            session_id=one.session_id,
            replies=list(one.replies),
            at=to_text(one.at_us),
        )


class HistoryPage(Shape):
    ok: bool = True
    history: list[HistoryBody]
    next_cursor: str | None = Field(description="A page may be short, or empty, and still have one.")


@act(by=THEMSELVES, route=HttpRoute("GET /v1/people/{person}/history", "people"))
class ListSentToPerson(PeopleAct[HistoryPage]):
    """Everything said with a person, both ways, newest first; a person may read their own"""

    person: PersonId = said("`owner` is the owner.", ...)
    cursor: Cursor | None = said("`next_cursor` of the page before.")
    limit: Limit = said("How many.", 50)
    butler: Short | None = said("Only what this butler said, asked or was given.")
    channel: Short | None = said("Only what was said on this channel.")

    async def do(self, call: Call[PeopleDesk]) -> HistoryPage:
        person = await call.work.person(call.caller, self.person)
        wanted = HistoryQuery(
            limit=self.limit, before=self.cursor, butler=self.butler or None, channel=self.channel or None
        )
        found = await call.work.histories.of(person, wanted)
        return HistoryPage(history=[HistoryBody.of(one) for one in found.lines], next_cursor=found.before)


# Where the household's own app brings what was pressed on a notification: one attempt, answered with how it ended.


PATH: Final = "/channels"
_log = structlog.get_logger("postroom.press")
_HEADERS: Final = {"Cache-Control": "no-store"}


class NotificationPress(BaseModel):
    """What the app was given with the notification."""

    model_config = ConfigDict(extra="forbid", strict=True)

    device: Annotated[str, Field(pattern=f"^{DEVICE_ID.pattern}$", description="The device's id")]
    token: Annotated[str, Field(min_length=1, max_length=64, description="Of the button")]


def press_router(accounts: Collection[str], ear: Hearing) -> APIRouter:
    """Needs no other proof than the button's own token: it was sent to that device only, encrypted."""
    router = APIRouter(prefix=PATH, tags=["channels"], route_class=JsonRoute)

    @router.post(
        "/{account}/press",
        operation_id="pressNotification",
        summary="Press a button of a notification",
        responses={404: {"description": "No such account"}, 503: {"description": "Not heard: press again"}},
    )
    async def press(account: str, pressed: NotificationPress) -> JSONResponse:
        if account not in accounts:
            return _said(404, "there is no such account", ok=False)
        try:
            reaction = await ear.pressed(_press(account, pressed))
        except PostroomError as error:
            _log.warning("press.not_heard", channel=account, error_class=str(error.error_class))
            return _said(503, "It could not be kept at the moment. Please press again.", ok=False)
        return _said(200, reaction.words, ok=not reaction.alert)

    return router


def _press(account: str, pressed: NotificationPress) -> Press:
    """The same button of the same card twice is one press."""
    name = hashlib.sha256(f"{pressed.device} {pressed.token}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return Press(
        channel=account,
        event_id=f"press:{name}",
        callback_id=name,
        places=(pressed.device,),
        sender=pressed.device,
        token=pressed.token,
    )


def _said(status: int, words: str, *, ok: bool) -> JSONResponse:
    return JSONResponse({"ok": ok, "words": words}, status, _HEADERS)
