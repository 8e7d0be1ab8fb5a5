"""Read what people wrote back as the household and the provider have it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, func, select

from chaos.rig import Rig
from chaos.talks.said import Said, Talks, judged
from postroom.butlers.store import sessions
from postroom.conversations.model import InboundStatus
from postroom.conversations.store import inbound_messages
from postroom.conversations.texts import ENGLISH
from postroom.delivery.store.tables import delivery_requests
from postroom.household.store import Store
from postroom.message.delivery import IN_FLIGHT

OPEN: Final = ("received", "routed", "waiting", "running")
STRANGER: Final = "7001"
_INTERRUPTED: Final = ENGLISH.unfinished.removeprefix("{butler}")  # said after an answer: no copy of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    token: str
    chat: str
    message_id: int


async def open_work(store: Store, written: Sequence[Written]) -> int:
    """How many of them are not decided and answered yet, and how many messages of ours are on their way."""

    def count(connection: Connection) -> int:
        message, way = inbound_messages.c, delivery_requests.c
        done = select(func.count()).where(message.status.not_in(OPEN))
        sending = select(func.count()).where(way.status.in_([str(status) for status in IN_FLIGHT]))
        return len(written) - connection.execute(done).scalar_one() + connection.execute(sending).scalar_one()

    return await store.database.read(count)


async def talks(rig: Rig, store: Store, written: Sequence[Written]) -> Talks:
    rows = await store.database.read(_rows)
    answers: dict[int, list[int]] = {}
    for one in await rig.provider.listed("telegram"):
        is_answer = one["text"] != ENGLISH.stranger and _INTERRUPTED not in one["text"]
        if one["reply_to_message_id"] is not None and is_answer:
            answers.setdefault(int(one["reply_to_message_id"]), []).append(int(one["message_id"]))
    return judged([_said(one, rows.get((one.chat, str(one.message_id))), answers) for one in written])


def _said(one: Written, row: Mapping[str, Any] | None, answers: Mapping[int, Sequence[int]]) -> Said:
    stranger = one.chat == STRANGER
    if row is None:
        return Said(token=one.token, stranger=stranger, answers=answers.get(one.message_id, ()))
    return Said(
        token=one.token,
        stranger=stranger,
        status=InboundStatus(row["status"]),
        answers=answers.get(one.message_id, ()),
        deliveries=row["deliveries"],
        marked=row["marked"],
        sessions=row["sessions"],
    )


def _rows(connection: Connection) -> dict[tuple[str, str], dict[str, Any]]:
    message, way = inbound_messages.c, delivery_requests.c
    is_answer = way.message_content.not_like(f"%{_INTERRUPTED}%")
    sent = list(connection.execute(select(way.request_id, way.possible_duplicate).where(is_answer)))
    deliveries = Counter(one.request_id for one in sent)
    marked = {one.request_id for one in sent if one.possible_duplicate}
    begun = Counter(connection.execute(select(sessions.c.request_id)).scalars())
    return {
        (row.place, row.message_id): {
            "status": row.status,
            "deliveries": deliveries[row.id],
            "marked": row.id in marked,
            "sessions": begun[row.id],
        }
        for row in connection.execute(select(message.id, message.place, message.message_id, message.status))
    }
