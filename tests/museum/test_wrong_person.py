"""Someone decided who was never asked: a stranger, a scanner, a mail robot, a closed window, the agent itself."""

from __future__ import annotations

import asyncio
import re
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.household.asked_household import press
from tests.museum.house import House

pytestmark = pytest.mark.asyncio(loop_scope="module")
PEOPLE = [
    {"name": "Ann", "telegram_chat_id": "2001", "trusted": True},
    {"name": "Bob", "telegram_chat_id": "2002", "trusted": True},
]
SETTINGS = {"approvals": {"enabled": True}, "contacts": PEOPLE}
STRANGER = 4711
MAILBOX = "postroom@sandbox.example"


@pytest.mark.exhibit("hermes-47790")
async def test_a_mail_to_a_customer_waits_for_a_person_who_has_read_it(house: House) -> None:
    answer = await house.notify(channel="email", recipient="customer@example.org", message="Your invoice is wrong")

    assert answer["status"] == "pending_approval", answer
    assert "Your invoice is wrong" in (await house.shows("customer@example.org"))["text"]
    assert await house.received("email") == []


@pytest.mark.exhibit("openclaw-cliq-117")
async def test_a_button_obeys_the_one_who_was_asked_and_not_the_one_who_presses(house: House) -> None:
    asked = await house.ask("Let the stranger in?", kind="approve", options=None)
    card = await house.shows("Let the stranger in?")

    await press(house, card, "Approve", from_id=STRANGER)
    await press(house, card, "Deny")

    told = await house.wait(asked)
    assert (told["answer"]["value"], told["answered_by"]["person_id"]) == ("deny", "owner")


@pytest.mark.exhibit("openclaw-62576")
async def test_a_question_is_shown_to_the_one_it_is_for_and_to_no_one_else_who_may_decide(house: House) -> None:
    await house.ask("Only for Ann?", to="Ann")

    assert (await house.shows("Only for Ann?"))["chat_id"] == "2001"
    await house.settled()
    assert len(await house.saying("Only for Ann?")) == 1


@pytest.mark.exhibit("activepieces-14024")
async def test_a_scanner_that_opens_every_link_of_a_mail_decides_nothing_and_uses_nothing_up(house: House) -> None:
    asked = await house.ask("Release the payment?", channels=["email"])
    found = re.search(r"/a/[A-Za-z0-9_-]+", (await house.shows("Release the payment?", "email"))["body"])
    assert found is not None
    link = house.household.addresses["api"] + found.group()
    for method in ("HEAD", "GET", "GET"):
        async with house.http.request(method, link) as looked:
            page = await looked.text()
            assert looked.status == 200

    assert (await house.wait(asked, 0))["status"] == "open"
    hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
    async with house.http.post(link, data={**hidden, "act": "answer", "value": "yes"}) as sent:
        assert sent.status == 200
    assert (await house.wait(asked))["answer"]["value"] == "yes"


@pytest.mark.exhibit("alga-psa-2705")
async def test_an_out_of_office_mail_neither_answers_nor_is_answered(house: House) -> None:
    asked = await house.ask("Shall we meet?", channels=["email"], options=None)
    card = await house.shows("Shall we meet?", "email")
    mails = len(await house.received("email"))
    mail = {"from": "owner@sandbox.example", "to": MAILBOX, "subject": "Re: out of office", "body": "I am away."}
    robot = {"in_reply_to": card["message_id"], "headers": {"Auto-Submitted": "auto-replied"}}
    await house.sandbox("email/inbound", {**mail, **robot})
    await house.sandbox("email/inbound", {**mail, "in_reply_to": card["message_id"], "body": "At noon."})

    assert (await house.wait(asked))["answer"]["text"] == "At noon."
    await house.shows("At noon.", "email")
    await house.settled()
    assert len(await house.received("email")) == mails + 1


@pytest.mark.exhibit("claude-code-85227")
async def test_an_agent_cannot_bring_the_answer_along_with_its_question(house: House) -> None:
    brought = {"question": "May I delete it?", "options": ["yes"], "answer": "yes", "answered_by": "owner"}
    status, told = await house.rest("POST", "/v1/asks", brought, who="health")

    assert status == 422 and {one["field"] for one in told["error"]["fields"]} == {"answer", "answered_by"}
    asked = await house.ask("May I delete it?")
    status, _ = await house.rest("POST", f"/v1/asks/{asked['ask_id']}/answer", {"value": "yes"}, who="health")
    assert status == 403
    assert (await house.wait(asked, 0))["status"] == "open"


async def at(house: House, part: str, path: str, body: Any = None, **headers: str) -> int:
    where = urlsplit(house.household.addresses[part])
    url = f"{where.scheme}://{where.netloc}{path}"
    async with house.http.request("GET" if body is None else "POST", url, json=body, headers=headers) as response:
        return response.status


@pytest.mark.exhibit("mcp-feedback-enhanced-219")
@pytest.mark.parametrize("part", ["api", "health", "messenger", "switchboard"])
async def test_a_page_in_the_browser_of_the_same_machine_gets_nowhere(house: House, part: str) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    token = house.token("operator" if part == "api" else part)
    page = {"Origin": "https://evil.example", "Authorization": f"Bearer {token}"}

    assert await at(house, part, "/mcp", call) == 401
    assert await at(house, part, "/mcp", call, **page) == 403
    assert await at(house, part, "/mcp", call, Host="evil.example", Authorization=page["Authorization"]) == 421


@pytest.mark.exhibit("browsermcp-158")
async def test_no_port_of_a_household_listens_beyond_its_own_machine(house: House) -> None:
    ports = [urlsplit(one).port for one in house.household.addresses.values()]

    assert len(ports) >= 10
    for port in ports:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
        with pytest.raises(OSError):  # as any other address of this machine
            await asyncio.wait_for(asyncio.open_connection("127.0.0.2", port), 5)
