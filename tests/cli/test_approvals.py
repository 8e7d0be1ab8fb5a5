"""`postroom approvals`: what a person sees before deciding is what is sent."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.app.living import QUICK, Living, living
from tests.cli.command import Done, postroom_beside
from tests.services.ports import free_port

ON = {"approvals": {"enabled": True, "ask_owner": False}}


async def parked(household: Living, message: str = "Hello stranger") -> str:
    return str((await household.notify(recipient="4242", message=message))["action_id"])


def ports() -> dict[str, dict[str, int]]:
    return {"ports": {"messenger": free_port()}}


async def run(household: Living, *arguments: str) -> Done:
    """The command reads where the messenger is from its settings, as always."""
    file = household.settings.home / "postroom.toml"
    file.write_text(f"[ports]\nmessenger = {household.settings.ports.messenger}\n")
    return await postroom_beside("approvals", *arguments)


async def test_what_waits_is_listed_shown_and_sent_once(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        action = await parked(household)
        listed, shown = await run(household, "list"), await run(household, "show", action)
        approved, again = (
            await run(household, "approve", action, "--yes"),
            await run(household, "approve", action, "-y"),
        )
        answer = await household.notify(recipient="4242", message="unrelated")
        received = await household.texts()

    assert action in listed.out and "health to 4242 over telegram" in listed.out
    assert "message: Hello stranger" in shown.out
    assert approved.code == 0 and "on its way" in approved.out
    assert again.code == 1 and "approved" in again.error
    assert received == ["Hello stranger"] and answer["status"] == "pending_approval"


async def test_until_when_it_can_be_sent_and_when_it_was_decided_is_said_in_the_persons_zone(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        await postroom_beside("people", "edit", "owner", "--zone", "Asia/Kolkata")
        action = await parked(household)
        shown = await run(household, "show", action)
        await run(household, "approve", action, "--yes")
        again = await run(household, "approve", action, "--yes")

    assert re.search(r"expires [\d-]+ \d\d:\d\d IST\n", shown.out), shown.out
    assert "already approved" in again.error and "T" not in again.error.partition("already")[2]


async def test_a_no_at_the_question_sends_nothing(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        action = await parked(household, "Pay \u202eevil")
        refused = await run(household, "approve", action)
        left = json.loads((await run(household, "list", "--json")).out)

    assert refused.code == 1
    assert "RIGHT-TO-LEFT OVERRIDE" in refused.out
    assert [one["action_id"] for one in left] == [action]


async def test_a_rejection_tells_the_sender_why(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        action = await parked(household)
        rejected = await run(household, "reject", action, "--reason", "not today")
        empty = await run(household, "list")
        told = await postroom_beside("why", action)

    assert rejected.code == 0 and empty.out == "Nothing waits.\n"
    assert "not today" in told.out


async def test_without_approvals_the_command_says_so(home: Path) -> None:
    async with living(home, QUICK, ports()) as household:
        done = await run(household, "list")

    assert done.code == 1
    assert "approvals" in done.error and "enabled" in done.error


async def test_the_beginning_of_an_action_is_enough_while_it_is_unique(home: Path) -> None:
    async with living(home, QUICK, ON, ports()) as household:
        action = await parked(household)
        shown = await run(household, "show", action[:8])
        approved = await run(household, "approve", action[:8], "--yes")
        again = await run(household, "show", action[:8])
        first, second = await parked(household, "One"), await parked(household, "Two")
        several = await run(household, "reject", first[:6], "--reason", "no")
        missing = await run(household, "show", "zz")

    assert "message: Hello stranger" in shown.out and "approved" in again.out
    assert approved.code == 0 and action in approved.out
    assert several.code == 1 and first in several.error and second in several.error
    assert missing.code == 1 and missing.out == ""
