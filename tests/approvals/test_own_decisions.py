"""Deciding as the person who is signed in: the same in the messenger's own process and over its tools."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.approvals.parked import deciding_desk
from tests.clock import FakeClock
from tests.opened_database import opened_file

from postroom.approvals.approvals import Approvals
from postroom.approvals.model import Action
from postroom.approvals.rules import RuleRequest, parse_rule_request
from postroom.kernel.guard.tools import approver
from postroom.kernel.values.errors import PostroomError, ValidationError
from postroom.kernel.values.principal import OPERATOR, Principal, Role

ANN, BEN = Principal(Role.USER, "ann"), Principal(Role.USER, "ben")


@pytest.fixture
async def decisions(tmp_path: Path, clock: FakeClock) -> AsyncIterator[Approvals]:
    async with opened_file(tmp_path) as database:
        desk = deciding_desk(database, clock, may_decide=approver(["ann"]))
        await desk.park()
        yield desk.approvals


async def waiting(decisions: Approvals) -> list[Action]:
    found = await decisions.page(OPERATOR, status="pending", cursor=None, limit=20)
    return list(found.actions)


@pytest.mark.parametrize("who", [BEN, Principal(Role.BUTLER, "messenger"), Principal(Role.PROGRAM, "ci")], ids=str)
async def test_who_may_not_decide_sees_and_changes_nothing(decisions: Approvals, who: Principal) -> None:
    [action] = await waiting(decisions)
    name = action.id
    approval: dict[str, Any] = {
        "content_hash": action.content_hash,
        "edits": None,
        "create_rule": RuleRequest(),
        "via": "console",
    }

    for refused in (
        decisions.page(who, status="all", cursor=None, limit=20),
        decisions.show(who, name),
        decisions.approve(who, name, **approval),
        decisions.reject(who, name, "no", via="console"),
        decisions.rules(who),
        decisions.create_rule(who, parse_rule_request({"constraints": {"recipient": "1"}})),
        decisions.revoke_rule(who, "r"),
    ):
        with pytest.raises(PostroomError, match="may not call"):
            await refused

    assert [one.id for one in await waiting(decisions)] == [name]
    assert await decisions.rules(OPERATOR) == []


async def test_a_rejection_needs_a_reason_and_a_second_decision_is_too_late(decisions: Approvals) -> None:
    [action] = await waiting(decisions)
    with pytest.raises(ValidationError) as unsaid:
        await decisions.reject(ANN, action.id, " ", via="console")

    await decisions.reject(ANN, action.id, "not today", via="console")
    with pytest.raises(ValidationError) as late:
        await decisions.reject(OPERATOR, action.id, "never", via="console")

    assert unsaid.value.fields[0].field == "reason"
    assert late.value.fields[0].code == "already_decided"


async def test_rules_are_made_and_revoked(decisions: Approvals) -> None:
    asked = {"constraints": {"recipient": {"type": "exact", "value": "1"}}, "description": "x", "max_uses": 2}

    await decisions.create_rule(ANN, parse_rule_request(asked))
    [rule] = await decisions.rules(ANN)
    await decisions.revoke_rule(ANN, rule.id)
    with pytest.raises(ValidationError):
        await decisions.revoke_rule(ANN, "unknown")

    assert [one.revoked_by for one in await decisions.rules(OPERATOR)] == [str(ANN)]


async def test_the_decision_bears_the_name_of_the_person_who_is_signed_in(decisions: Approvals) -> None:
    [action] = await waiting(decisions)

    _, rule = await decisions.approve(
        ANN, action.id, content_hash=action.content_hash, edits=None, create_rule=RuleRequest(), via="console"
    )

    shown = await decisions.show(OPERATOR, action.id)
    assert (shown.action.status, shown.action.decided_by) == ("approved", str(ANN))
    assert rule is not None and [one.id for one in await decisions.rules(ANN)] == [rule.id]


@pytest.mark.parametrize("text", ["", "a\x00b", "\ud800", "x" * 65], ids=["empty", "NUL", "surrogate", "long"])
async def test_an_id_that_no_store_could_look_for_is_refused_by_its_field(decisions: Approvals, text: str) -> None:
    with pytest.raises(ValidationError) as caught:
        await decisions.show(OPERATOR, text)

    assert caught.value.fields[0].field == "action_id"
