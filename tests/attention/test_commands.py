"""`postroom attention`: policies set and forecast; notices acknowledged, snoozed and withdrawn."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Done, postroom, postroom_beside
from tests.household.living import LIFTED, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

QUIET = ("--quiet", "00:00-12:00", "--quiet", "12:00-00:00", "--zone", "UTC")


def document(done: Done) -> Any:
    assert done.code == 0, (done.error, done.out)
    return json.loads(done.out)


@pytest.mark.requirement("attention:commands")
def test_a_policy_is_set_from_options_or_a_file_shown_and_cleared(home: Path, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text('[attention]\npreset = "focus"\nzone = "Europe/Vienna"\n')

    calm = document(postroom("attention", "set", "owner", "--preset", "calm", "--json"))
    quiet = document(postroom("attention", "set", "--quiet", "22:00-07:00", "--zone", "Europe/Vienna", "--json"))
    shown = postroom("attention", "show")
    written = document(postroom("attention", "set", "--file", str(file), "--json"))
    gone = document(postroom("attention", "set", "owner", "--clear", "--json"))

    assert calm["policy"] == {"preset": "calm"}
    hours = [{"from": "22:00", "until": "07:00"}]
    assert quiet["policy"] == {"preset": "calm", "zone": "Europe/Vienna", "quiet_hours": hours}
    assert "quiet hours: 22:00-07:00 (Europe/Vienna)" in shown.out and "notices: none yet" in shown.out
    assert written["policy"] == {"preset": "focus", "zone": "Europe/Vienna"}
    assert gone["policy"] is None


MISTYPED: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing": (("set",), "--file"),
    "two ways": (("set", "--preset", "calm", "--clear"), "--clear"),
    "no hours": (("set", "--quiet", "late"), "--quiet"),
    "a preset that is none": (("set", "--preset", "loud"), "preset"),
    "longer back than is kept": (("simulate", "--policy", "nowhere.toml", "--replay", "9999d"), "--replay"),
    "nothing to mute": (("mute",), "agent"),
    "no length of time": (("mute", "health", "--for", "long"), "--for"),
    "no end of an absence": (("away",), "--until"),
}
REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "an hour that is none": (("set", "--quiet", "22:00-27:00"), "quiet_hours.0.until"),
    "a zone that is none": (("set", "--zone", "Mars"), "zone"),
    "no such person": (("set", "No One", "--preset", "calm"), "no such person"),
    "no such file": (("set", "--file", "nowhere.toml"), "nowhere.toml"),
    "no such notice": (("ack", "0" * 32), "no such notice"),
    "no plan of it": (("plan", "0" * 32), "no such notice"),
}


@pytest.mark.requirement("attention:commands")
def test_what_is_mistyped_ends_with_2_and_what_the_household_refuses_with_1_and_each_is_named(home: Path) -> None:
    for code, wrong in ((2, MISTYPED), (1, REFUSED)):
        for what, (typed, said) in wrong.items():
            done = postroom("attention", *typed)
            assert done.code == code and said in done.error, (what, done)


def test_a_name_of_several_people_names_them(home: Path) -> None:
    ids = [
        document(postroom("people", "add", name, "--alias", "Bob", "--address", address, "--json"))["person_id"]
        for name, address in (("Bob Stone", "telegram:2001"), ("Bob Miller", "telegram:2002"))
    ]

    done = postroom("attention", "show", "Bob")

    assert done.code == 1
    assert all(f"{name} ({one})" in done.error for name, one in zip(("Bob Stone", "Bob Miller"), ids, strict=True))


@pytest.fixture(params=["here", "there"])
async def household(
    request: pytest.FixtureRequest, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Living]:
    """On this machine's database, or at an address: its home is another one than the command's, which stays empty."""
    elsewhere = request.param == "there"
    async with living(tmp_path / "there" if elsewhere else home, LIFTED, QUICK) as alive:
        if elsewhere:
            monkeypatch.setenv("POSTROOM_URL", alive.household.addresses["api"])
            monkeypatch.setenv("POSTROOM_TOKEN", alive.token("operator"))
        yield alive


@pytest.mark.requirement("attention:commands")
async def test_notices_are_forecast_snoozed_acknowledged_and_withdrawn(household: Living, tmp_path: Path) -> None:
    document(await postroom_beside("attention", "set", *QUIET, "--json"))
    attention = household.household.attention
    assert attention is not None
    await attention.book.refresh()  # a household sees within a second what was set beside it
    first = await household.notify(message="First", needs_ack=True)
    second = await household.notify(message="Second")
    assert (first["status"], second["status"]) == ("deferred", "deferred"), first

    plan = document(await postroom_beside("attention", "plan", first["notice_id"], "--json"))["plan"]
    words = await postroom_beside("attention", "plan")
    snoozed = await postroom_beside("attention", "snooze", first["notice_id"], "--for", "2d")
    acked = document(await postroom_beside("attention", "ack", first["notice_id"], "--json"))
    withdrawn = await postroom_beside("attention", "withdraw", second["notice_id"])
    shown = document(await postroom_beside("attention", "show", "owner", "--json"))

    ahead = await postroom_beside("attention", "withdraw", "--key", "not yet")
    neither = await postroom_beside("attention", "withdraw")
    assert "one that comes is not shown" in ahead.out and "--key" in neither.error, (ahead, neither)
    assert set(plan[0]) == {"at", "what", "where", "why", "unless"}
    assert "unless it is read" in words.out, words
    assert f"(notice {second['notice_id']})" in words.out and words.out.count("no one answered") == 1, words
    assert (
        "put off by the person" in snoozed.out and acked["state"] == "acknowledged" and withdrawn.out == "withdrawn\n"
    )
    assert shown["figures"]["accepted"] == 2 and shown["plan"] == []


@pytest.mark.requirement("attention:commands")
async def test_a_policy_is_simulated_and_silences_are_set(household: Living, tmp_path: Path) -> None:
    document(await postroom_beside("attention", "set", *QUIET, "--json"))
    attention = household.household.attention
    assert attention is not None
    await attention.book.refresh()
    assert (await household.notify(message="Held"))["status"] == "deferred"
    file = tmp_path / "new.toml"
    file.write_text('preset = "everything"\nquiet_hours = []\n')

    words = await postroom_beside("attention", "simulate", "owner", "--policy", str(file), "--replay", "7d")
    same = document(await postroom_beside("attention", "simulate", "--policy", str(file), "--json"))
    muted = await postroom_beside("attention", "mute", "health", "--for", "1h")
    off = await postroom_beside("attention", "mute", "health", "--off")
    away = await postroom_beside("attention", "away", "--for", "2d")
    back = await postroom_beside("attention", "away", "--back")

    assert words.code == 0 and words.out.splitlines() == same["difference"] != []
    assert muted.out.startswith("Muted until ") and off.out == "No longer muted: agent health.\n"
    assert away.out.startswith("Away until ") and back.out == "Back again.\n"


@pytest.mark.requirement("attention:at-once")
@pytest.mark.parametrize("household", ["here"], indirect=True)
async def test_the_first_mute_counts_for_the_very_next_message(household: Living) -> None:
    assert (await household.notify(message="Before"))["status"] == "ok"
    document(await postroom_beside("attention", "mute", "health", "--for", "1h", "--json"))
    assert (await household.notify(message="After"))["status"] == "muted"


@pytest.mark.requirement("attention:at-once")
@pytest.mark.parametrize("household", ["here"], indirect=True)
async def test_a_question_follows_a_policy_that_was_set_or_cleared_just_now(household: Living) -> None:
    document(await postroom_beside("attention", "set", *QUIET, "--json"))
    asked = {"question": "Shall I?", "deadline_seconds": 3600, "wait_seconds": 0}
    await household.call("health", "ask", asked)
    assert household.household.asking is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not [one for one in household.rows("presentations") if one["hold"] == "quiet"]:
            await asyncio.sleep(0.02)
    assert await household.texts() == []

    document(await postroom_beside("attention", "set", "--clear", "--json"))
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await household.texts():
            await asyncio.sleep(0.02)


@pytest.mark.requirement("attention:commands")
async def test_a_policy_is_tried_on_what_came_before_there_was_one(household: Living, tmp_path: Path) -> None:
    file = tmp_path / "quiet.toml"
    file.write_text(
        'zone = "UTC"\nquiet_hours = [{ from = "00:00", until = "12:00" }, { from = "12:00", until = "00:00" }]\n'
    )
    nothing = await postroom_beside("attention", "simulate", "--policy", str(file))
    await household.notify(message="One")
    await household.notify(message="Two")
    tried = await postroom_beside("attention", "simulate", "--policy", str(file))

    assert nothing.out == "No message came in these days, so there is nothing to try it on.\n"
    assert "2 fewer interruptions" in tried.out and "2 notices held" in tried.out, tried


@pytest.mark.requirement("attention:commands")
@pytest.mark.parametrize("household", ["there"], indirect=True)
async def test_notify_says_until_when_it_is_held_and_why(household: Living, monkeypatch: pytest.MonkeyPatch) -> None:
    document(await postroom_beside("attention", "set", *QUIET, "--json"))
    attention = household.household.attention
    assert attention is not None
    await attention.book.refresh()
    monkeypatch.setenv("POSTROOM_TOKEN", household.token("health"))

    options = ("--urgency", "passive", "--thread", "t", "--supersedes", "k", "--needs-ack", "--expires", "30d")
    done = await postroom_beside("notify", "Hello", "--channel", "telegram", *options)
    wrong = await postroom_beside("notify", "Hello", "--urgency", "loud")
    never = await postroom_beside("notify", "Hello", "--channel", "telegram", "--expires", "0s")

    assert done.code == 0 and done.out.startswith("held until ") and ": quiet hours are on; notice " in done.out, done
    assert wrong.code == 2 and "--urgency" in wrong.error
    assert never.code == 2 and "--expires-in: must be at least 1" in never.error
