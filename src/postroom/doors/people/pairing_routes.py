"""Start a pairing over HTTP: the owner for any person, a person for themselves; a model never."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from postroom.domain.pairing import StartedPairing
from postroom.domain.time import to_text
from postroom.doors.guard.depends import Caller, IdempotencyKey
from postroom.doors.guard.json_body import Strict, Text
from postroom.doors.guard.json_door import JsonRoute
from postroom.doors.people.parts import REFUSALS
from postroom.doors.people.person_routes import PersonId, check_own
from postroom.work.people.pairing import Pairing


class PairRequest(Strict):
    channel: Annotated[Text, Field(min_length=1, max_length=64, description="Where the address is to be proved.")]


class PairAnswer(BaseModel):
    ok: bool
    code: str | None = Field(description="For the person to send to the bot, once; null where a link was sent.")
    link_sent: bool
    sent_to: str | None = Field(description="Where the link went.")
    expires_at: str

    @classmethod
    def of(cls, started: StartedPairing) -> PairAnswer:
        return cls(
            ok=True,
            code=started.code,
            link_sent=started.code is None,
            sent_to=started.sent_to,
            expires_at=to_text(started.expires_at_us),
        )


def pairing_router(pairing: Pairing) -> APIRouter:
    router = APIRouter(route_class=JsonRoute, tags=["people"], responses=REFUSALS)

    @router.post(
        "/v1/people/{person_id}/pair",
        operation_id="pairPerson",
        summary="Start the proof that an address is a person's: a code for them to send, or a link sent to them",
        status_code=201,
    )
    async def pair(person_id: PersonId, body: PairRequest, caller: Caller, key: IdempotencyKey) -> PairAnswer:
        check_own(caller, person_id)
        own_key = None if key is None else f"{caller}\x1f{key}"
        return PairAnswer.of(await pairing.start(person_id, body.channel, key=own_key))

    return router
