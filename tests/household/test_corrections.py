"""Corrections at the doors of a running household: REST, the butlers' tools, and who may."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from postroom.kernel.values.principal import OPERATOR, Principal, Role
from tests.household.living import LIFTED, QUICK, Living, living
from tests.household.test_other_accounts import OWNERS
from tests.household.test_two_accounts import has_address
from tests.fakes.accounts import accounts_at
from tests.fakes.server import serve

pytestmark = pytest.mark.asyncio(loop_scope="module")
SCRIPT = Principal(Role.PROGRAM, "backup", person="owner")
OTHER = Principal(Role.PROGRAM, "other", person="owner")
OWNER = Principal(Role.PERSON, "owner")
ANN = Principal(Role.PERSON, "ann")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        yield one


async def post(
    home: Living, who: Principal, path: str, body: dict[str, Any], key: str | None = None
) -> tuple[int, dict[str, Any]]:
    token = home.tokens.token_of(who) or home.tokens.create(who)
    headers = {"Authorization": f"Bearer {token}"} | ({"Idempotency-Key": key} if key else {})
    url = home.household.addresses["api"].rstrip("/") + path
    async with home.http.post(url, json=body, headers=headers) as response:
        answer: dict[str, Any] = await response.json()
        return response.status, answer


async def sent(home: Living, text: str, who: Principal = SCRIPT, **more: Any) -> str:
    status, answer = await post(home, who, "/v1/notify", {"message": text, **more})
    assert status == 200, answer
    return str(answer["delivery"]["delivery_id"])


async def shown(home: Living, about: str) -> list[tuple[str, bool]]:
    return [(one["text"], one["is_deleted"]) for one in await home.received() if about in one["text"]]


@pytest.mark.requirement("content:what-was-sent-is-edited-or-deleted")
async def test_a_program_revises_and_recalls_its_own_message(home: Living) -> None:
    delivery_id = await sent(home, "Backup fialed")

    status, revised = await post(home, SCRIPT, f"/v1/deliveries/{delivery_id}/revise", {"message": "Backup failed"})
    again = await post(home, SCRIPT, f"/v1/deliveries/{delivery_id}/revise", {"message": "Backup failed"})
    after_edit = await shown(home, "Backup")
    gone, recalled = await post(home, SCRIPT, f"/v1/deliveries/{delivery_id}/recall", {"reason": "a test"})
    late = await post(home, SCRIPT, f"/v1/deliveries/{delivery_id}/revise", {"message": "Backup done"})

    assert (status, revised["status"], revised["how"]) == (200, "revised", "edit")
    assert again == (200, revised)
    assert after_edit == [("Backup failed", False)]
    assert (gone, recalled["status"], recalled["how"]) == (200, "recalled", "delete")
    assert (late[0], late[1]["status"]) == (409, "too_late")
    assert await shown(home, "Backup") == [("Backup failed", True)]


LONG = "\n".join(f"line {number:04} of the report" for number in range(1, 501))  # three messages on Telegram


async def standing(home: Living, channel: str) -> list[dict[str, Any]]:
    return [one for one in await home.received(channel) if not (one.get("is_deleted") or one.get("deleted"))]


def lines(messages: list[dict[str, Any]]) -> str:
    """In their own order: on ntfy what was edited last stands last."""
    return "\n".join(sorted("\n".join(one["text"] for one in messages).splitlines()))


@pytest.mark.requirement("content:a-revision-is-as-long-as-it-needs-to-be")
@pytest.mark.parametrize("channel", ["telegram", *OWNERS])
async def test_a_longer_text_goes_on_in_answers_and_a_shorter_one_leaves_nothing_behind(
    tmp_path: Path, channel: str
) -> None:
    async with serve() as services, living(tmp_path, LIFTED, QUICK, accounts_at(services)) as house:
        if channel in OWNERS:
            await has_address(house, channel, rank=1, address=OWNERS[channel])
        delivery_id = await sent(house, "Short", channel=channel)
        path = f"/v1/deliveries/{delivery_id}"
        told, seen = [], []
        for text in (LONG, LONG.replace("line", "row "), "Short again", LONG):
            status, answer = await post(house, SCRIPT, f"{path}/revise", {"message": text, "wait_seconds": 30})
            told.append((status, answer["status"]))
            seen.append(await standing(house, channel))
        _, recalled = await post(house, SCRIPT, f"{path}/recall", {"wait_seconds": 30})

        assert told == [(200, "revised")] * 4
        assert [lines(one) for one in seen] == [LONG, LONG.replace("line", "row "), "Short again", LONG]
        assert len(seen[0]) > 1
        assert len(seen[1]) == len(seen[0])
        assert recalled["status"] == "recalled"
        assert await standing(house, channel) == []


async def test_what_a_revision_adds_answers_the_message(home: Living) -> None:
    delivery_id = await sent(home, "Report")
    await post(home, SCRIPT, f"/v1/deliveries/{delivery_id}/revise", {"message": LONG, "wait_seconds": 30})

    first, *more = [one for one in await home.received() if "of the report" in one["text"]]

    assert [one["reply_to_message_id"] for one in more] == [first["message_id"]] * 2


@pytest.mark.requirement("content:a-correction-is-made-once")
async def test_a_key_stands_for_one_correction(home: Living) -> None:
    delivery_id = await sent(home, "Keyed one")
    path = f"/v1/deliveries/{delivery_id}/revise"

    first = await post(home, SCRIPT, path, {"message": "Keyed two"}, "correct-1")
    again = await post(home, SCRIPT, path, {"message": "Keyed two"}, "correct-1")
    other = await post(home, SCRIPT, path, {"message": "Keyed three"}, "correct-1")

    assert again == first
    assert other[0] == 409
    assert await shown(home, "Keyed") == [("Keyed two", False)]


@pytest.mark.requirement("content:only-its-sender-corrects-a-message")
@pytest.mark.parametrize("who", [OTHER, ANN], ids=str)
async def test_for_others_it_does_not_exist(home: Living, who: Principal) -> None:
    delivery_id = await sent(home, f"Private {who}")

    answers = [
        await post(home, who, f"/v1/deliveries/{delivery_id}/revise", {"message": "Mine"}),
        await post(home, who, f"/v1/deliveries/{delivery_id}/recall", {}),
        await post(home, who, "/v1/deliveries/00000000-0000-7000-8000-000000000000/recall", {}),
    ]

    assert [status for status, _ in answers] == [404] * 3
    assert len({answer["error_message"] for _, answer in answers}) == 1
    assert await shown(home, f"Private {who}") == [(f"Private {who}", False)]


@pytest.mark.requirement("content:only-its-sender-corrects-a-message")
@pytest.mark.parametrize("who", [OWNER, OPERATOR], ids=str)
async def test_the_owner_and_the_operator_may(home: Living, who: Principal) -> None:
    delivery_id = await sent(home, f"Careless for {who}")

    status, answer = await post(home, who, f"/v1/deliveries/{delivery_id}/recall", {})

    assert (status, answer["status"]) == (200, "recalled")


@pytest.mark.requirement("content:a-correction-in-the-thread")
async def test_an_email_is_corrected_by_a_reply_in_its_thread(home: Living) -> None:
    delivery_id = await sent(home, "At 8", channel="email", subject="Dinner")

    _, revised = await post(home, SCRIPT, f"/v1/deliveries/{delivery_id}/revise", {"message": "At 9"})
    first, second = await home.received("email")

    assert (revised["status"], revised["how"]) == ("corrected", "correction")
    assert second["subject"] == "Re: Dinner"
    assert second["body"].strip() == "Correction: At 9"
    assert second["headers"]["In-Reply-To"] == first["headers"]["Message-ID"]


async def test_a_butler_revises_and_recalls_with_its_tools_and_only_its_own(home: Living) -> None:
    delivery_id = (await home.notify(message="Walk at 5"))["delivery"]["delivery_id"]

    foreign = await home.call("general", "recall", {"delivery_id": delivery_id})
    revised = await home.call("health", "revise", {"delivery_id": delivery_id, "message": "Walk at 6"})
    recalled = await home.call("health", "recall", {"delivery_id": delivery_id})
    wrong = await home.call("health", "recall", {"delivery_id": "yesterday's"})

    assert (foreign["status"], foreign["error"]["fields"][0]["code"]) == ("error", "unknown_delivery")
    assert [revised["status"], recalled["status"], wrong["status"]] == ["revised", "recalled", "error"]
    assert await shown(home, "Walk") == [("Walk at 6", True)]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, 422),
        ({"message": "x", "text": "y"}, 422),
        ({"message": " "}, 400),
        ({"message": "x", "format": "html"}, 400),
    ],
)
async def test_bad_input_is_refused_and_nothing_is_changed(home: Living, body: dict[str, Any], code: int) -> None:
    delivery_id = await sent(home, "Untouched")

    status, _ = await post(home, SCRIPT, f"/v1/deliveries/{delivery_id}/revise", body)

    assert status == code
    assert not any(row["delivery_id"] == delivery_id for row in corrections(home))


def corrections(home: Living) -> list[dict[str, Any]]:
    with sqlite3.connect(home.settings.home / "postroom.db") as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute("SELECT * FROM delivery_corrections")]
