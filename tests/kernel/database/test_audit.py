"""Who did what, of one person or several: the same entries as among everything, in the same order."""

from __future__ import annotations

import time

from benchmarks.growth_fill import lengthen

from postroom.kernel.audit import AuditKind, AuditQuery
from postroom.kernel.database.audit import StoredAudit
from postroom.kernel.database.engine import Database

ANN, BEN = "person:p1", "person:p2"


async def test_the_acts_of_some_are_those_of_all_without_the_others(database: Database) -> None:
    await lengthen(database, 3_000, time.time_ns() // 1_000_000)
    audit = StoredAudit(database, str)
    everything = await audit.page(AuditQuery(limit=1_000))
    of_two = await audit.page(AuditQuery(limit=1_000, actors=(ANN, BEN)))
    first = await audit.page(AuditQuery(limit=5, actors=(ANN, BEN)))
    let_in = await audit.page(AuditQuery(limit=1_000, actors=(ANN,), kind=AuditKind.ACCESS))

    theirs = [one for one in everything if one.actor in (ANN, BEN)]
    assert list(of_two) == theirs != []
    assert list(first) == theirs[:5]
    assert list(let_in) == [one for one in theirs if one.actor == ANN and one.kind is AuditKind.ACCESS]
