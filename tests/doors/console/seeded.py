"""A month of an ordinary household, written straight into its database: messages, notices and questions."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, insert
from tests.app.living import Living
from tests.world.store.delivery_rows import request_row

from postroom.app.store import connect_store
from postroom.domain.attention import AcceptedNotice
from postroom.domain.ids import IdMint
from postroom.domain.notice_states import NoticeState
from postroom.domain.time import seconds, to_datetime
from postroom.work.attention.codec import encoded
from postroom.work.attention.state import Standing
from postroom.world.store.tables.attention import attention_people, notices
from postroom.world.store.tables.deliveries import delivery_requests
from postroom.world.store.tables.questions import question_people, questions

Rows = list[dict[str, Any]]
DAYS = 30
_AGENTS = (("health", 5), ("travel", 3), ("home", 6), ("finance", 1))
_CHANNELS = (("telegram", 7), ("email", 3), ("ntfy", 2))
_OUTCOMES = (("delivered", 95), ("failed", 2), ("dead_lettered", 1), ("pending", 1))
_STATES = (("sent", 6), ("digested", 4), ("held", 2), ("muted", 1), ("expired", 1), ("acknowledged", 1), ("merged", 1))
_ENDINGS = (("answered", 7), ("expired", 2), ("declined", 1), ("open", 1), ("cancelled", 1))


@dataclass(slots=True)
class Seeded:
    deliveries: Rows = field(default_factory=list)
    notices: Rows = field(default_factory=list)
    questions: Rows = field(default_factory=list)


def month(now_us: int, dice: random.Random) -> Seeded:
    made, mint = Seeded(), IdMint()
    for minute in range(0, DAYS * 24 * 60, 20):
        at_us = now_us - seconds(60.0 * (DAYS * 24 * 60 - minute)) + dice.randrange(1000)
        hour = to_datetime(at_us).hour
        if dice.random() < (0.5 if 7 <= hour <= 21 else 0.06):
            made.deliveries.append(_delivery(at_us, mint.mint(at_us), dice, now_us))
        if dice.random() < 0.08:
            made.notices.append(_notice(at_us, mint.mint(at_us), dice))
        if dice.random() < 0.05:
            made.questions.append(_question(at_us, mint.mint(at_us), dice, now_us))
    return made


async def seed(home: Living, now_us: int) -> Seeded:
    made = month(now_us, random.Random(42))
    people = [{"person": "owner", "policy": None, "rest": "{}", "seq": 0, "next_at": None}]
    asked = [
        {"question_id": row["id"], "person_id": "owner", "name": "Owner", "added": "asked", "place": 0, "planned_at": 1}
        for row in made.questions
    ]

    def work(connection: Connection) -> None:
        connection.execute(insert(delivery_requests), made.deliveries)
        connection.execute(insert(attention_people), people)
        connection.execute(insert(notices), made.notices)
        connection.execute(insert(questions), made.questions)
        connection.execute(insert(question_people), asked)

    store = connect_store(home.settings)
    try:
        await store.database.write(work)
    finally:
        await store.database.close()
    return made


def _one_of(dice: random.Random, choices: tuple[tuple[str, int], ...]) -> str:
    return dice.choices([name for name, _ in choices], [weight for _, weight in choices])[0]


def _delivery(at_us: int, row_id: str, dice: random.Random, now_us: int) -> dict[str, Any]:
    """E-mail was slow three days ago."""
    channel, state = _one_of(dice, _CHANNELS), _one_of(dice, _OUTCOMES)
    state = "delivered" if state == "pending" and at_us < now_us - seconds(3600.0) else state
    is_slow = channel == "email" and (now_us - at_us) // seconds(86_400.0) == 3
    took = dice.uniform(20, 90) if is_slow else dice.lognormvariate(-1 if channel != "email" else 0.3, 0.5)
    return request_row(
        at_us,
        id=row_id,
        origin_butler=_one_of(dice, _AGENTS),
        channel=channel,
        status="failed" if state == "pending" else state,
        terminal_at=at_us + seconds(took),
    )


def _notice(at_us: int, row_id: str, dice: random.Random) -> dict[str, Any]:
    """Not open, also where it is held: else the household would judge it anew."""
    agent, state = _one_of(dice, _AGENTS), _one_of(dice, _STATES)
    notice = AcceptedNotice(id=row_id, person="owner", agent=agent, created_us=at_us, channel="telegram", text="Hello")
    return {
        "id": row_id,
        "person": "owner",
        "agent": agent,
        "key": None,
        "state": state,
        "open": False,
        "created_at": at_us,
        "fingerprint": "f",
        "request_id": "r",
        "standing": encoded(Standing(notice=notice, state=NoticeState(state))),
        "outgoing": "{}",
    }


def _question(at_us: int, row_id: str, dice: random.Random, now_us: int) -> dict[str, Any]:
    status = _one_of(dice, _ENDINGS)
    status = "answered" if status == "open" else status  # an open one without words would be shown elsewhere
    return {
        "id": row_id,
        "asker": f"butler:{_one_of(dice, _AGENTS)}",
        "fingerprint": "f",
        "revision": 1,
        "revision_hash": "h",
        "kind": "text",
        "secret": False,
        "urgency": "normal",
        "preview": "full",
        "quorum": "any",
        "status": status,
        "created_at": at_us,
        "expires_at": at_us + seconds(86_400.0),
        "ended_at": min(now_us, at_us + seconds(dice.lognormvariate(5, 1.2))),
        "erased_at": at_us,
    }
