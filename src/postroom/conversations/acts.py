"""Everything said with a person, over HTTP: for the owner of everybody, for another person their own."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from postroom.conversations.history import Histories
from postroom.conversations.model import HistoryLine, HistoryQuery, LineKind, PersonHistory, WordsKept
from postroom.kernel.guard.http import Caller
from postroom.kernel.serving.json_door import JsonRoute, Text
from postroom.kernel.values.ids import to_text
from postroom.people.acts import REFUSALS, Cursor, Limit, PersonId, check_own
from postroom.people.people import People

OnlyOf = Annotated[Text | None, Query(max_length=64, description="Only what this butler said, asked or was given.")]
OnlyOn = Annotated[Text | None, Query(max_length=64, description="Only what was said on this channel.")]
_EXCERPT: Final = 160


class HistoryBody(BaseModel):
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


class HistoryPage(BaseModel):
    ok: bool
    history: list[HistoryBody]
    next_cursor: str | None = Field(description="A page may be short, or empty, and still have one.")

    @classmethod
    def of(cls, found: PersonHistory) -> HistoryPage:
        return cls(ok=True, history=[HistoryBody.of(one) for one in found.lines], next_cursor=found.before)


def history_router(people: People, histories: Histories) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["people"], responses=REFUSALS)

    @router.get(
        "/v1/people/{person_id}/history",
        operation_id="listSentToPerson",
        summary="Everything said with a person, both ways, newest first; a person may read their own",
    )
    async def history(
        person_id: PersonId,
        caller: Caller,
        cursor: Cursor = None,
        limit: Limit = 50,
        butler: OnlyOf = None,
        channel: OnlyOn = None,
    ) -> HistoryPage:
        check_own(caller, person_id)
        wanted = HistoryQuery(limit=limit, before=cursor, butler=butler or None, channel=channel or None)
        return HistoryPage.of(await histories.of(await people.get(person_id), wanted))

    return router
