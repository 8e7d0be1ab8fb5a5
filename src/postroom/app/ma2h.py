"""The face of MA2H, put together: the services of questions and scripts behind it."""

from __future__ import annotations

from fastapi import APIRouter

from postroom.app.address_book import Approvers
from postroom.app.household_key import household_key
from postroom.app.questions import AskingParts
from postroom.app.script_door import ScriptDoor
from postroom.doors.guard.tool_policy import answers_for_themselves
from postroom.doors.ma2h.messages import Messages
from postroom.doors.ma2h.notice import Notices
from postroom.doors.ma2h.routes import MessageRouteParts, message_router
from postroom.world.store.shared.idempotency_keys import StoredIdempotencyKeys


def ma2h_router(parts: AskingParts, door: ScriptDoor, pages_url: str) -> APIRouter:
    settings, store = door.settings, door.store
    messages = Messages(
        asking=parts.asking,
        notices=Notices(notify=door.sending().notify, kept=StoredIdempotencyKeys(store.database)),
        clock=parts.clock,
        mint=parts.mint.mint,
        key=household_key(settings.home, "ma2h resolutions"),
    )
    return message_router(
        MessageRouteParts(
            messages=messages,
            pages_url=pages_url,
            retention_days=int(min(settings.retention.question_days, settings.retention.settled_days)) or 1,
            may_answer=answers_for_themselves(Approvers(settings.approvals.approvers, store.household)),
        )
    )
