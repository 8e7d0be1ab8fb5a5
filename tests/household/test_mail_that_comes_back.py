"""A mail that comes back closes its address, and all who should know of it do; in a whole household."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.cli.doctor.checks import Finding, look_at_people
from postroom.household.wiring.people import opened_people
from tests.household.asked_household import until
from tests.household.living import LIFTED, QUICK, Living, living
from tests.household.test_mail_answers import OWNER, letter, reply

BOB = "bob@sandbox.example"


@pytest.fixture
async def house(home: Path) -> AsyncIterator[Living]:
    async with living(home, LIFTED, QUICK, {"url": "https://home.example"}) as one:
        yield one


async def call(house: Living, method: str, path: str, body: Any = None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {house.token('operator')}"}
    url = house.household.addresses["api"] + path
    async with house.http.request(method, url, json=body, headers=headers) as response:
        answer: dict[str, Any] = await response.json()
        assert response.status < 300, answer
        return answer


async def bob(house: Living) -> str:
    known = {"name": "Bob", "trusted": True, "addresses": [{"channel": "email", "address": BOB}]}
    return str((await call(house, "POST", "/v1/people", known))["person"]["person_id"])


async def sent(house: Living, message: str, to: str = BOB) -> dict[str, Any]:
    return await house.notify(channel="email", recipient=to, message=message, wait_seconds=20)


async def bounce(house: Living, message: str, status: str = "5.1.1", to: str = BOB) -> str:
    marked = str((await letter(house, message))["message_id"])
    await report(house, marked, to, status)
    return marked.strip("<>").partition(".")[0]


async def report(house: Living, about: str, to: str, status: str = "5.1.1", action: str = "failed") -> None:
    body = (
        f"--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; {to}\n"
        f"Action: {action}\nStatus: {status}\n\n--b\nContent-Type: text/rfc822-headers\n\n"
        f"Message-ID: {about}\n\n--b--\n"
    )
    kind = 'multipart/report; report-type=delivery-status; boundary="b"'
    headers = {"Content-Type": kind, "Auto-Submitted": "auto-replied"}
    await reply(house, {"subject": "x", "message_id": None}, body, in_reply_to="<x@y.example>", headers=headers)


async def address(house: Living, person_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await call(house, "GET", f"/v1/people/{person_id}"))["person"]["addresses"][0]
    return found


async def closed(house: Living, person_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        found: dict[str, Any] | None = (await address(house, person_id)).get("closed")
        return found

    return await until(look)


@pytest.mark.requirement("mail:bounce-closes", "mail:bounce-told", "mail:reopened")
async def test_an_address_that_is_gone_is_written_to_no_more_until_it_is_opened(house: Living) -> None:
    person_id = await bob(house)
    assert (await sent(house, "The first"))["status"] == "ok"
    delivery_id = await bounce(house, "The first")
    mark = await closed(house, person_id)
    assert (mark["reason"], mark["words"], mark["delivery_id"]) == (
        "bounced",
        "there is no such address (5.1.1)",
        delivery_id,
    )

    refused = await sent(house, "The second")
    assert (refused["status"], refused["error"]["class"]) == ("error", "validation_error")
    assert "came back: there is no such address (5.1.1)" in refused["error"]["message"]
    status = await house.call("health", "notify_status", {"delivery_id": delivery_id})
    assert [(one["kind"], one["words"]) for one in status["delivery"]["news"]] == [
        ("bounced", "there is no such address (5.1.1)")
    ]
    [finding] = [one for one in await look_at_people(house.settings) if one.subject == "addresses"]
    assert BOB in finding.detail and "--reopen" in finding.advice

    again = await call(house, "PATCH", f"/v1/people/{person_id}", {"reopen": [{"channel": "email", "address": BOB}]})
    assert again["person"]["addresses"][0].get("closed") is None
    assert (await sent(house, "The third"))["status"] == "ok"


@pytest.mark.requirement("mail:bounce-for-now")
async def test_a_full_mailbox_is_noted_and_closes_nothing(house: Living) -> None:
    person_id = await bob(house)
    await sent(house, "The first")
    delivery_id = await bounce(house, "The first", "5.2.2")

    async def noted() -> bool:
        answer = await house.call("health", "notify_status", {"delivery_id": delivery_id})
        return bool(answer["delivery"]["news"])

    assert await until(noted)
    assert (await address(house, person_id)).get("closed") is None
    assert (await sent(house, "The second"))["status"] == "ok"


@pytest.mark.requirement("mail:reopened")
async def test_a_proved_mail_from_there_opens_it_and_an_unproved_one_does_not(house: Living) -> None:
    person_id = await bob(house)
    await sent(house, "The first")
    await bounce(house, "The first")
    await closed(house, person_id)
    card = await letter(house, "The first")
    forged = {"Authentication-Results": "sandbox.example; dmarc=fail header.from=sandbox.example"}
    await reply(house, card, "I am here", **{"from": BOB}, headers=forged)
    assert (await address(house, person_id)).get("closed") is not None
    await reply(house, card, "I am here", **{"from": BOB})

    async def opened() -> bool:
        return (await address(house, person_id)).get("closed") is None

    assert await until(opened)
    async with opened_people(house.settings) as people:
        assert (await people.get(person_id)).addresses[0].closed is None


@pytest.mark.requirement("mail:bounce-told")
async def test_a_subscriber_is_told_of_it_once(house: Living) -> None:
    await bob(house)
    wanted = {
        "callback_url": "http://127.0.0.1:9/hook",
        "event_types": ["delivery.bounced"],
        "secret": "whsec_" + "A" * 32,
    }
    await call(house, "POST", "/v1/webhooks/subscriptions", wanted)
    await sent(house, "The first")
    delivery_id = await bounce(house, "The first")

    async def told() -> list[dict[str, Any]] | None:
        return house.rows("webhook_deliveries") or None

    [notice] = await until(told)
    assert notice["event_type"] == "delivery.bounced" and delivery_id in notice["body"]
    assert "The first" not in notice["body"] and BOB not in notice["body"]


@pytest.mark.requirement("mail:bounce-believed")
async def test_who_sent_a_mail_cannot_close_the_address_it_went_to(house: Living) -> None:
    person_id = await bob(house)
    told = await sent(house, "The first")
    for forged in (told["delivery"]["delivery_id"], told["delivery"]["provider_delivery_id"]):
        await report(house, f"<{str(forged).strip('<>').partition('@')[0]}@sandbox.example>", BOB)
    unsubscribe = f"unsubscribe {told['delivery']['delivery_id']}"
    await reply(house, {"subject": "x", "message_id": None}, "", in_reply_to="<x@y>", subject=unsubscribe)
    marked = (await letter(house, "The first"))["message_id"]
    await report(house, marked, "somebody.else@sandbox.example")
    await report(house, marked, BOB, "4.2.2", action="delayed")  # the last of them: those before it were read

    async def read() -> list[str]:
        status = await house.call("health", "notify_status", {"delivery_id": told["delivery"]["delivery_id"]})
        return [one["kind"] for one in status["delivery"]["news"]]

    assert await until(read) == ["delayed"]
    assert (await address(house, person_id)).get("closed") is None
    assert (await sent(house, "The second"))["status"] == "ok"
    assert marked not in json.dumps(told)


@pytest.mark.requirement("mail:verified-stays")
async def test_an_address_that_its_owner_has_proved_is_doubted_and_written_to(house: Living) -> None:
    assert (await sent(house, "The first", OWNER))["status"] == "ok"
    await bounce(house, "The first", to=OWNER)

    async def doubted() -> list[Finding]:
        return [one for one in await look_at_people(house.settings) if one.subject == "addresses"]

    [finding] = await until(doubted)
    assert OWNER in finding.detail and "doubtful" in finding.detail and "there is no such address" in finding.detail
    [mine] = [one for one in (await call(house, "GET", "/v1/people/owner"))["person"]["addresses"] if OWNER in str(one)]
    assert mine["doubtful"]["words"] == "there is no such address (5.1.1)" and "closed" not in mine
    assert (await sent(house, "The second", OWNER))["status"] == "ok"

    reopened = {"reopen": [{"channel": "email", "address": OWNER}]}
    again = await call(house, "PATCH", "/v1/people/owner", reopened)
    assert not [one for one in again["person"]["addresses"] if "doubtful" in one]
