"""Answering by a link from a mail, as a browser, a scanner and a stranger meet it."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import select
from tests.patience import PATIENCE_SECONDS
from tests.questions.askers import HEALTH, Askers

from postroom.questions.store.tables import presentation_tokens

pytestmark = pytest.mark.asyncio(loop_scope="module")
_HIDDEN = re.compile(r'<input type="hidden" name="(\w+)" value="([^"]*)">')
_LINK = re.compile(r"/a/([A-Za-z0-9_-]+)")


@dataclass(frozen=True, slots=True)
class Page:
    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def hidden(self) -> dict[str, str]:
        return dict(_HIDDEN.findall(self.text))


async def visit(
    house: Askers, token: str, form: Mapping[str, Any] | None = None, method: str = "", **headers: str
) -> Page:
    url = f"{house.line.url('api')}/a/{token}"
    async with house.line.session.request(
        method or ("GET" if form is None else "POST"), url, data=form, headers=headers
    ) as response:
        return Page(response.status, await response.text(), response.headers)


async def mailed(house: Askers, question: str, **more: Any) -> tuple[str, str]:
    """The id of a new question to the owner, and the token of the link in the mail about it."""
    body = {"question": question, "channels": ["email"], **more}
    asked = await house.post("/v1/asks", body)
    assert asked.status == 201, asked.body
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            mails = await house.line.call("GET", "sandbox", "/sandbox/email/messages?limit=500", caller=None)
            for mail in mails.body["messages"]:
                if question in str(mail) and (found := _LINK.search(str(mail))):
                    return asked.body["ask_id"], found.group(1)
            await asyncio.sleep(0.02)


async def status(house: Askers, ask_id: str) -> dict[str, Any]:
    found: dict[str, Any] = (await house.get(f"/v1/asks/{ask_id}")).body
    return found


@pytest.mark.requirement("ask:links-decide-nothing")
async def test_looking_decides_nothing_and_the_form_decides_once(house: Askers) -> None:
    ask_id, token = await mailed(house, "Lunch or dinner, linked?", options=["lunch", "dinner"])
    looks = [await visit(house, token, method=method) for method in ("HEAD", "GET", "HEAD", "GET")]

    assert [one.status for one in looks] == [200] * 4 and looks[0].text == ""
    assert (await status(house, ask_id))["status"] == "open"
    sent = await visit(house, token, {**looks[1].hidden, "act": "answer", "value": "dinner"})
    again = await visit(house, token, {**looks[1].hidden, "act": "answer", "value": "lunch"})
    told = await status(house, ask_id)

    assert (sent.status, again.status, (await visit(house, token)).status) == (200, 410, 410)
    assert (told["answer"]["value"], told["answered_by"]["channel"]) == ("dinner", "email")
    assert (told["answered_by"]["person_id"], told["answered_by"]["assurance"]) == ("owner", "channel")


async def test_the_page_tells_no_one_else_and_runs_nothing(house: Askers) -> None:
    _, token = await mailed(house, "<script>alert(1)</script> & hostile?", context='"><img src=x>')
    page = await visit(house, token)
    unknown = await visit(house, "no-such-token")

    for one in (page, unknown):
        assert one.headers["Referrer-Policy"] == "no-referrer" and one.headers["Cache-Control"] == "no-store"
        assert one.headers["X-Robots-Tag"].startswith("noindex")
        policy = one.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'") and "unsafe" not in policy and "script" not in policy
    assert "<script" not in page.text and "<img" not in page.text and "&lt;script&gt;" in page.text
    assert (unknown.status, "<form" in unknown.text) == (410, False)


@pytest.mark.requirement("ask:links-decide-nothing")
async def test_a_form_that_no_page_of_ours_made_decides_nothing(house: Askers) -> None:
    ask_id, token = await mailed(house, "Forged form?", options=["yes", "no"])
    _, other = await mailed(house, "Another link?", options=["yes", "no"])
    foreign = (await visit(house, other)).hidden["nonce"]

    for nonce in ("", "1.2.3", foreign, foreign[:-1] + "0", "ä.b.c"):
        refused = await visit(house, token, {"nonce": nonce, "act": "answer", "value": "yes"})
        assert (refused.status, "nonce" in refused.hidden) == (400, True)
    assert (await status(house, ask_id))["status"] == "open"


@pytest.mark.requirement("ask:links-two-steps")
async def test_an_approval_takes_a_choice_and_then_its_confirmation(house: Askers) -> None:
    ask_id, token = await mailed(house, "Approve by link?", kind="approve")
    page = await visit(house, token)
    chosen = await visit(house, token, {**page.hidden, "act": "answer", "value": "approve"})
    assert (chosen.status, (await status(house, ask_id))["status"]) == (200, "open")

    turned = await visit(house, token, {**chosen.hidden, "value": "deny", "act": "answer"})  # another than was shown
    skipped = await visit(house, token, {**page.hidden, "value": "deny", "confirm": "confirm", "act": "answer"})
    assert (turned.status, skipped.status, (await status(house, ask_id))["status"]) == (400, 400, "open")

    confirmed = await visit(house, token, {**chosen.hidden, "act": "answer"})
    assert (confirmed.status, (await status(house, ask_id))["answer"]["value"]) == (200, "approve")


async def test_rather_not_is_a_button_of_its_own(house: Askers) -> None:
    ask_id, token = await mailed(house, "Rather not?", options=["yes", "no"])
    approval, second = await mailed(house, "Rather not approve?", kind="approve")

    sent = await visit(house, token, {**(await visit(house, token)).hidden, "act": "decline"})
    chosen = await visit(house, second, {**(await visit(house, second)).hidden, "act": "decline"})
    await visit(house, second, {**chosen.hidden, "act": "answer"})

    assert (sent.status, (await status(house, ask_id))["status"]) == (200, "declined")
    assert (await status(house, approval))["status"] == "declined"


async def test_what_is_no_answer_is_asked_for_again(house: Askers) -> None:
    form = {
        "type": "object",
        "properties": {
            "guests": {"type": "integer", "title": "How many"},
            "when": {"type": "string", "format": "date"},
            "meals": {"type": "array", "items": {"type": "string", "enum": ["a, b", "c"]}},
            "sure": {"type": "boolean"},
        },
        "required": ["guests"],
    }
    ask_id, token = await mailed(house, "A form by link?", form=form)
    page = await visit(house, token)
    empty = await visit(house, token, {**page.hidden, "act": "answer"})
    wrong = await visit(house, token, {**page.hidden, "act": "answer", "field.guests": "many"})
    right = [("act", "answer"), ("field.guests", "4"), ("field.when", "2027-01-01"), ("field.sure", "yes")]
    meals = [("field.meals", "a, b"), ("field.meals", "c")]
    done = await visit(house, token, [*wrong.hidden.items(), *right, *meals])  # type: ignore[arg-type]

    assert (empty.status, wrong.status, done.status) == (422, 422, 200)
    assert 'role="alert"' in empty.text and "field.guests" in wrong.text
    fields = (await status(house, ask_id))["answer"]["fields"]
    assert fields == {"guests": 4, "when": "2027-01-01", "meals": ["a, b", "c"], "sure": True}


async def test_text_and_several_options_come_by_link_too(house: Askers) -> None:
    words, first = await mailed(house, "In words, by link?")
    several, second = await mailed(house, "Several, by link?", options=["x", "y", "z"], multiple=True)
    nothing = await visit(house, second, {**(await visit(house, second)).hidden, "act": "answer"})
    await visit(house, first, {**(await visit(house, first)).hidden, "act": "answer", "text": "  as I say  "})
    picked = [*nothing.hidden.items(), ("act", "answer"), ("value", "z"), ("value", "x")]
    await visit(house, second, picked)  # type: ignore[arg-type]

    assert nothing.status == 422
    assert (await status(house, words))["answer"]["text"] == "as I say"
    assert (await status(house, several))["answer"]["selected"] == ["x", "z"]


@pytest.mark.requirement("ask:links-die")
async def test_a_link_dies_with_its_wording_and_with_its_question(house: Askers) -> None:
    revised, old = await mailed(house, "Before the change?", options=["yes", "no"])
    page = await visit(house, old)
    await house.post(f"/v1/asks/{revised}/revise", {"question": "After the change?"})
    gone, over = await mailed(house, "Taken back?", options=["yes", "no"])
    shown = await visit(house, over)
    await house.post(f"/v1/asks/{gone}/cancel", {})

    for token, before in ((old, page), (over, shown)):
        assert (await visit(house, token)).status == 410
        assert (await visit(house, token, {**before.hidden, "act": "answer", "value": "yes"})).status == 410
    assert (await status(house, revised))["status"] == "open"


@pytest.mark.requirement("ask:links-die")
async def test_tokens_are_kept_as_hashes_only(house: Askers) -> None:
    _, token = await mailed(house, "Hashed?")

    rows = await house.parts.store._database.read(
        lambda connection: [tuple(row) for row in connection.execute(select(presentation_tokens))]
    )
    assert rows and token not in str(rows)


@pytest.mark.requirement("ask:secrets")
async def test_a_secret_has_no_page(house: Askers) -> None:
    body = {"question": "The linked code?", "secret": True, "channels": ["email"]}
    asked = (await house.post("/v1/asks", body)).body["ask_id"]

    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (shown := await house.parts.world.store.presentations.of(asked)) or str(shown[0].status) == "planned":
            await asyncio.sleep(0.02)
    mails = await house.line.call("GET", "sandbox", "/sandbox/email/messages?limit=500", caller=None)
    about = [str(mail) for mail in mails.body["messages"] if asked in str(mail) or "linked code" in str(mail)]
    for token in _LINK.findall("".join(about)):
        assert (await visit(house, token)).status == 410


async def test_a_browser_that_hides_where_it_comes_from_may_send_the_form_and_other_sites_may_not(
    house: Askers,
) -> None:
    ask_id, token = await mailed(house, "Origin?", options=["yes", "no"])
    form = {**(await visit(house, token)).hidden, "act": "answer", "value": "yes"}

    assert (await visit(house, token, form, Origin="https://evil.example")).status == 403
    elsewhere = await house.post("/v1/asks", {"question": "Null?"}, HEALTH, Origin="null")
    assert elsewhere.status == 403  # nowhere else
    assert (await visit(house, token, form, Origin="null")).status == 200
    assert (await status(house, ask_id))["status"] == "answered"
