"""`postroom why`: what a person reads about a message, and about one that is not there."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from postroom.domain.principal import Principal, Role
from postroom.world.peers.http import HttpPeer
from tests.app.living import QUICK, living
from tests.cli.command import postroom, postroom_beside

APPROVALS = {"approvals": {"enabled": True, "ask_owner": False}}


async def test_a_delivered_message_is_explained_by_either_of_its_ids(home: Path) -> None:
    async with living(home, QUICK) as household:
        answer = await household.notify()
        for identifier in (answer["delivery"]["delivery_id"], answer["request_context"]["request_id"]):
            done = await postroom_beside("why", identifier)

            assert done.code == 0
            assert done.out.startswith("It was delivered over telegram")
            assert done.out.count("\n") == 1


async def test_a_retried_message_says_what_had_gone_wrong(home: Path) -> None:
    async with living(home, QUICK) as household:
        await household.fault(channel="telegram", times=1, status=503)
        answer = await household.notify()

        told = json.loads((await postroom_beside("why", answer["delivery"]["delivery_id"], "--json")).out)

    assert [one["id"] for one in told] == [answer["delivery"]["delivery_id"]]
    assert "after 2 calls" in told[0]["why"] and "503" in told[0]["why"]


async def test_a_parked_message_says_that_a_person_must_approve_it(home: Path) -> None:
    async with living(home, QUICK, APPROVALS) as household:
        answer = await household.notify(recipient="4242")

        done = await postroom_beside("why", answer["delivery"]["delivery_id"])

    assert "a person must approve it first" in done.out
    assert "ends by itself in" in done.out


async def test_a_request_that_was_refused_says_why(home: Path) -> None:
    async with living(home, QUICK, {"limits": {"global_per_minute": 1}}) as household:
        await household.notify(wait_seconds=5)
        refused = await household.notify(message="Again")

        done = await postroom_beside("why", refused["request_context"]["request_id"])

    assert "refused" in done.out and "as many messages as it may in a minute" in done.out


async def test_a_note_says_what_its_e_mail_waits_for_now(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROOM_INBOX__EMAIL_ENABLED", "true")  # the command goes by the household's settings
    async with living(home, QUICK, {"inbox": {"email_enabled": True}}) as household:
        ada = household.tokens.create(Principal(Role.USER, "ada"))
        now = datetime.now(UTC)
        quiet = {
            "delivery_channel": "both",
            "quiet_hours_start": f"{now - timedelta(hours=2):%H:%M}",
            "quiet_hours_end": f"{now + timedelta(hours=2):%H:%M}",
            "quiet_hours_timezone": "UTC",
        }
        inbox = household.household.inbox
        assert inbox is not None
        await inbox.preferences.change("ada", lambda kept: replace(kept, email="ada@example.org"), 0)  # confirmed
        url, headers = household.household.addresses["api"], {"Authorization": f"Bearer {ada}"}
        async with household.http.put(f"{url}/notifications/preferences", json=quiet, headers=headers) as response:
            assert response.status == 200
        peer = HttpPeer("api", f"{url}/mcp", ada)
        note = await peer.call("send_notification", {"message": "The dentist is at nine"}, 30)
        await peer.close()

        done = await postroom_beside("why", note["notification_id"])
        none = {"quiet_hours_start": None, "quiet_hours_end": None}
        async with household.http.patch(f"{url}/notifications/preferences", json=none, headers=headers) as response:
            assert (await response.json())["warnings"] == []
        freed = await postroom_beside("why", note["notification_id"])

    assert done.out.startswith("It is a note in the inbox of ada, stored ")
    assert "Its e-mail waits until the person's quiet hours end, in " in done.out
    assert "quiet hours" not in freed.out


@pytest.mark.parametrize("command", ["why", "trace"])
async def test_an_unknown_id_names_the_nearest_and_the_newest(home: Path, command: str) -> None:
    async with living(home, QUICK) as household:
        delivery_id = (await household.notify())["delivery"]["delivery_id"]
        mistyped = delivery_id[:-3] + "zzz"

        done = await postroom_beside(command, mistyped)

    assert done.code == 1
    assert f"Nothing is known of '{mistyped}', did you mean {delivery_id}?" in done.error
    assert f"The newest delivery is {delivery_id}." in done.error


@pytest.mark.parametrize("command", ["why", "trace"])
async def test_the_beginning_of_an_id_is_enough_while_it_is_unique(home: Path, command: str) -> None:
    async with living(home, QUICK) as household:
        answer = await household.notify()
        for identifier in (answer["delivery"]["delivery_id"], answer["request_context"]["request_id"]):
            done = await postroom_beside(command, identifier[:8])

            assert done.code == 0
            assert "delivered" in done.out


@pytest.mark.parametrize("command", ["why", "trace"])
async def test_a_beginning_that_several_ids_share_is_answered_with_them(home: Path, command: str) -> None:
    async with living(home, QUICK) as household:
        for name in ("breakfast-1", "breakfast-2"):
            context = {
                "request_id": name,
                "source_channel": "telegram",
                "source_endpoint_identity": "bot",
                "source_sender_identity": "1000",
            }
            await household.notify(request_context=context)
        done = await postroom_beside(command, "breakfast")

    assert done.code == 1
    assert "'breakfast' is the beginning of several ids" in done.error
    assert "breakfast-1" in done.error and "breakfast-2" in done.error


@pytest.mark.usefixtures("home")
def test_a_home_that_no_household_used_is_one_sentence() -> None:
    done = postroom("why", "01a1")

    assert done.code == 1
    assert "no household has worked on it yet" in done.error
