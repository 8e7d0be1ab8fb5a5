"""A mail that comes back closes its address, and all who should know of it do; in a whole household."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from postroom.app.people import opened_people
from postroom.app.unsubscribing import unsubscribe_links
from postroom.cli.doctor_checks.people import look_at_people
from tests.app.asked_household import until
from tests.app.living import LIFTED, QUICK, Living, living
from tests.app.test_mail_answers import letter, reply

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


async def bounce(house: Living, message: str, status: str = "5.1.1") -> str:
    delivery_id = str((await letter(house, message))["message_id"].strip("<>").partition("@")[0])
    report = (
        f"--b\nContent-Type: message/delivery-status\n\nReporting-MTA: dns; mx\n\nFinal-Recipient: rfc822; {BOB}\n"
        f"Action: failed\nStatus: {status}\n\n--b\nContent-Type: text/rfc822-headers\n\n"
        f"Message-ID: <{delivery_id}@sandbox.example>\n\n--b--\n"
    )
    kind = 'multipart/report; report-type=delivery-status; boundary="b"'
    headers = {"Content-Type": kind, "Auto-Submitted": "auto-replied"}
    await reply(house, {"subject": "x", "message_id": None}, report, in_reply_to="<x@y.example>", headers=headers)
    return delivery_id


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


@pytest.mark.requirement("mail:unsubscribe")
async def test_a_stranger_is_given_a_link_and_using_it_ends_the_mails(house: Living) -> None:
    await bob(house)
    await sent(house, "For a friend")
    stranger = "stranger@sandbox.example"
    told = await sent(house, "For a stranger", stranger)
    headers = (await letter(house, "For a stranger"))["headers"]
    assert "List-Unsubscribe" not in (await letter(house, "For a friend"))["headers"]
    token = unsubscribe_links(house.settings).token(told["delivery"]["delivery_id"])
    assert f"<https://home.example/unsubscribe/{token}>" in headers["List-Unsubscribe"]
    page = house.household.addresses["api"] + f"/unsubscribe/{token}"

    async with house.http.get(page) as response:
        assert response.status == 200 and "Send me nothing more" in await response.text()
    assert (await sent(house, "Again", stranger))["status"] == "ok"  # looking ends nothing
    async with house.http.post(page[:-1] + ("0" if page[-1] != "0" else "1")) as response:
        assert response.status == 404
    for _ in range(2):
        async with house.http.post(page, data={"List-Unsubscribe": "One-Click"}) as response:
            assert response.status == 200

    refused = await sent(house, "Once more", stranger)
    assert "has asked for no more messages" in refused["error"]["message"]
    assert (await sent(house, "For a friend too"))["status"] == "ok"


@pytest.mark.requirement("mail:unsubscribe")
async def test_a_mail_that_asks_for_it_ends_the_mails_too(house: Living) -> None:
    stranger = "stranger@sandbox.example"
    told = await sent(house, "For a stranger", stranger)
    subject = f"unsubscribe {told['delivery']['delivery_id']}"
    mail = {"from": stranger, "to": "postroom@sandbox.example", "subject": subject, "body": ""}
    async with house.http.post(house.household.addresses["sandbox"] + "email/inbound", json=mail) as response:
        assert response.status == 200

    async def refused() -> bool:
        return bool((await sent(house, "Again", stranger))["status"] == "error")

    assert await until(refused)
