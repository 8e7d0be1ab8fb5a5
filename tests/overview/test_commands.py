"""`postroom audit`, and the acts of commands it lists; `postroom login --as` for those who have no token."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import Done, postroom, postroom_beside
from tests.household.living import QUICK, Living, living
from tests.services.ports import free_port

from postroom.kernel.values.principal import Principal, Role
from postroom.settings.peer import HttpPeer


def documents(done: Done) -> Any:
    assert done.code == 0, done.error
    return json.loads(done.out)


@pytest.mark.requirement("side:audit")
def test_what_commands_did_is_listed_newest_first(home: Path) -> None:
    ann = documents(postroom("people", "add", "Ann", "--role", "member", "--alias", "annie", "--json"))["person_id"]
    assert postroom("token", "create", "--person", ann, "--label", "laptop").code == 0
    link = documents(postroom("login", "--as", "annie", "--json"))
    assert postroom("token", "revoke", "--person", ann).code == 0
    assert postroom("login", "--as", "Ann", "--end").code == 0

    found = documents(postroom("audit", "--json"))

    assert link["principal"] == f"person:{ann}"
    assert [(one["act"], one["subject"]) for one in found] == [
        ("signed out everywhere", f"person:{ann}"),
        ("revoked a token", f"person:{ann}"),
        ("invited to sign in", f"person:{ann}"),
        ("made a token", f"person:{ann}"),
        ("added a person", f"person:{ann}"),
    ]
    assert {(one["actor"], one["door"]) for one in found} == {("operator", "command")}
    assert len(documents(postroom("audit", "--kind", "people", "--limit", "1", "--json"))) == 1
    assert "operator added a person: Ann\n" in postroom("audit").out
    assert documents(postroom("audit", "--person", ann, "--json")) == []


def test_a_contact_an_unknown_one_and_a_wrong_kind_are_refused_in_a_sentence(home: Path) -> None:
    assert postroom("people", "add", "Carl").code == 0

    contact, nobody, kind = (
        postroom("login", "--as", "Carl"),
        postroom("login", "--as", "Dora"),
        postroom("audit", "--kind", "peeple"),
    )

    assert contact.code == 1 and "people edit Carl --role member" in contact.error
    assert nobody.code == 1 and "people add Dora --role member" in nobody.error
    assert kind.code == 2 and "--kind: must be one of sign-in, decision, people" in kind.error


@pytest.fixture
async def there(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Living]:
    """Its home is another one than the command's, which stays empty."""
    async with living(tmp_path / "there", QUICK) as household:
        monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"])
        monkeypatch.setenv("POSTROOM_TOKEN", household.token("operator"))
        yield household


async def test_a_household_elsewhere_is_asked_over_the_api(there: Living) -> None:
    done = await postroom_beside("people", "add", "Eve", "--role", "member")
    assert done.code == 0, done.error

    listed = documents(await postroom_beside("audit", "--json"))
    shown = await postroom_beside("audit")

    assert "added a person: Eve\n" in shown.out
    assert ("added a person", "api") in {(one["act"], one["door"]) for one in listed}


def ports() -> dict[str, dict[str, int]]:
    return {"ports": {"api": free_port()}}


async def run(household: Living, *arguments: str) -> Done:
    """The command reads where the API is from its settings, as always."""
    file = household.settings.home / "postroom.toml"
    file.write_text(f"[ports]\napi = {household.settings.ports.api}\n")
    return await postroom_beside(*arguments)


@pytest.mark.requirement("content:corrections-are-seen")
async def test_a_message_is_revised_and_recalled_and_both_sides_say_so(home: Path) -> None:
    async with living(home, QUICK, ports()) as household:
        delivery_id = (await household.notify(message="The train leaves at 8"))["delivery"]["delivery_id"]

        revised = await run(household, "revise", delivery_id, "The train leaves at 9")
        [edit] = re.findall(r"Delivery ([0-9a-f-]{36})\.", revised.out)
        texts = await household.texts()
        recalled = await run(household, "recall", delivery_id, "--reason", "wrong day")
        again = await run(household, "revise", delivery_id, "The train leaves at 10")
        original, correction = [(await run(household, "why", one)).out for one in (delivery_id, edit)]
        trace = (await run(household, "trace", delivery_id, "--json")).out
        [message] = await household.received()

    assert revised.code == 0 and "The message was edited where it stands. Delivery " in revised.out
    assert texts == ["The train leaves at 9"]
    assert recalled.code == 0 and "The message was deleted where it stood. Delivery " in recalled.out
    assert message["is_deleted"]
    assert again.code == 1 and "recalled before" in again.error
    assert "operator revised it by an edit" in original and edit in original
    assert "operator recalled it by deleting it" in original
    assert f"It revises delivery {delivery_id}, as operator asked." in correction
    [shown] = json.loads(trace)["deliveries"]
    assert [one["act"] for one in shown["corrections"]] == ["revise", "recall"]
    assert "wrong day" not in message["text"]


@pytest.mark.requirement("content:corrections-are-seen")
async def test_what_was_withdrawn_says_who_did_it(home: Path) -> None:
    async with living(home, QUICK, ports(), {"approvals": {"enabled": True, "ask_owner": False}}) as household:
        delivery_id = (await household.notify(recipient="4242"))["delivery"]["delivery_id"]

        parked = await run(household, "revise", delivery_id, "Dinner at nine?")
        done = await run(household, "recall", delivery_id)
        why = (await run(household, "why", delivery_id)).out
        status = await household.call("health", "notify_status", {"delivery_id": delivery_id})
        figures = await household.call("messenger", "messenger_delivery_stats", {})

    assert (parked.code, parked.out) == (0, f"A person must approve the new text first. Delivery {delivery_id}.\n")
    assert (done.code, done.out) == (0, f"It was withdrawn before it was sent. Delivery {delivery_id}.\n")
    assert why.startswith("It was not sent: operator withdrew it")
    assert (status["status"], status["error_message"]) == ("error", "withdrawn by operator")
    assert (figures["total_deliveries"], figures["failed_count"], figures["unfinished_count"]) == (0, 0, 0)


@pytest.mark.parametrize("identifier", ["00000000-0000-7000-8000-000000000000", "01a1e54c"])
async def test_an_id_that_names_nothing_is_refused_in_one_sentence(home: Path, identifier: str) -> None:
    async with living(home, QUICK, ports()) as household:
        done = await run(household, "recall", identifier)

    assert done.code == 1
    assert f"'{identifier}' is the whole id of no message and no question of yours." in done.error


@pytest.mark.requirement("content:corrections-are-seen")
@pytest.mark.parametrize("folder", ["home", "there"], ids=["here", "by its address"])
async def test_a_question_is_changed_and_taken_back_by_its_id(
    home: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    api = ports()
    async with living(home.parent / folder, QUICK, api) as household:
        if folder == "home":
            (home / "postroom.toml").write_text(f"[ports]\napi = {api['ports']['api']}\n")
        else:
            monkeypatch.setenv("POSTROOM_URL", household.household.addresses["api"])
            monkeypatch.setenv("POSTROOM_TOKEN", household.token("operator"))
        asked = await household.call("health", "ask", {"question": "Tea?", "wait_seconds": 0})

        revised = await postroom_beside("revise", asked["ask_id"], "Coffee?")
        wrong = await postroom_beside("revise", asked["ask_id"], "Coffee?", "--subject", "Drinks")
        keyed = await postroom_beside("recall", asked["ask_id"], "--key", "k")
        recalled = await postroom_beside("recall", asked["ask_id"], "--reason", "all gone")
        late = await postroom_beside("revise", asked["ask_id"], "Milk?")
        unknown = await postroom_beside("recall", "01a1e54c-0000-7000-8000-000000000000")
        after = await household.call("health", "wait", {"ask_id": asked["ask_id"], "wait_seconds": 0})

    assert revised.code == 0 and "The question was changed" in revised.out, revised
    assert wrong.code == 1 and "--subject: a question has none." in wrong.error
    assert keyed.code == 1 and "--idempotency-key: a question takes none" in keyed.error
    assert recalled.code == 0 and "The question was taken back" in recalled.out
    assert late.code == 1 and "cancelled" in late.error
    assert unknown.code == 1 and "Not corrected" in unknown.error
    assert after["status"] == "cancelled"
    assert json.loads(household.rows("questions")[0]["wording"])["question"] == "Coffee?"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("notify", "Hello", "--wait", "98765432101"), "--wait: must be at most 600"),
        (("notify", "Hello", "--expires-in", "98765432101"), "--expires-in: must be at most 2,592,000"),
        (("revise", "0123", "Hello", "--wait", "98765432101"), "--wait: must be at most 600"),
        (("recall", "0123", "--wait", "98765432101"), "--wait: must be at most 600"),
        (("notify", "Hello", "--expires-in", "0s"), "--expires-in: must be at least 1"),
        (("people", "edit", "owner", "--rank", "99"), "'--rank': must be at most 50"),
        (("people", "history", "owner", "--limit", "0"), "'--limit': must be at least 1"),
        (("attention", "away", "--for", "98765432101"), "more than a year"),
    ],
)
def test_a_number_beyond_all_reason_is_refused_in_a_sentence_of_ours(
    home: Path, command: tuple[str, ...], words: str
) -> None:
    done = postroom(*command)
    assert done.code == (1 if "away" in command else 2), done
    assert words in done.error and "Traceback" not in done.error


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
        await inbox.wishes.change("ada", lambda kept: replace(kept, email="ada@example.org"), 0)  # confirmed
        url, headers = household.household.addresses["api"], {"Authorization": f"Bearer {ada}"}
        async with household.http.put(f"{url}/notifications/preferences", json=quiet, headers=headers) as response:
            assert response.status == 200
        peer = HttpPeer("api", f"{url}/mcp", ada)
        note = await peer.call("send_notification", {"message": "The dentist is at nine"}, 30)
        await peer.close()

        done = await postroom_beside("why", note["notification_id"])
        way = await postroom_beside("trace", note["notification_id"])
        plan = await postroom_beside("attention", "plan", note["notice_id"])
        read = f"{url}/notifications/{note['notification_id']}/read"
        async with household.http.patch(read, headers=headers) as response:
            assert response.status == 200
        seen = await postroom_beside("why", note["notification_id"])
        none = {"quiet_hours_start": None, "quiet_hours_end": None}
        async with household.http.patch(f"{url}/notifications/preferences", json=none, headers=headers) as response:
            assert (await response.json())["warnings"] == []
        freed = await postroom_beside("why", note["notification_id"])

    assert done.out.startswith("It is a note in the inbox of ada, stored ")
    assert "Of its e-mail copy: It is held because quiet hours are on; the next look is in " in done.out
    assert (way.code, plan.code) == (1, 0), (way, plan)
    assert "has left: `postroom why" in way.error and "Nothing is known" not in way.error
    assert "to ada by email" in plan.out
    assert "It was withdrawn and not sent." in seen.out and "until in" not in seen.out, seen
    assert "It is held because" not in freed.out


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
