"""The sandbox's phone and mailbox, as a browser shows them and as a person plays with them."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.app.living import LIFTED, QUICK, Living, living
from tests.doors.console.appearance import looks_right
from tests.doors.console.browser import Site, console_site
from tests.doors.console.http import calling
from tests.patience import PATIENCE_SECONDS

from postroom.domain.principal import Principal, Role
from postroom.programs.sandbox.bot_name import SANDBOX_TOKEN

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(120)]

KEYBOARD = {"inline_keyboard": [[{"text": "Yes", "callback_data": "yes"}, {"text": "No", "callback_data": "no"}]]}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        await one.home.notify(message="Take the pills at eight.")
        await one.home.notify(channel="email", message="Dinner is at seven.", subject="Tonight", recipient="ann@e.org")
        yield one


async def listed(home: Living, path: str) -> list[dict[str, object]]:
    async with home.http.get(home.household.addresses["sandbox"] + path) as response:
        answer = await response.json()
        found: list[dict[str, object]] = answer[path.rpartition("/")[2] if path.endswith("s") else "messages"]
        return found


async def post(home: Living, path: str, body: object) -> None:
    async with home.http.post(home.household.addresses["sandbox"] + path, json=body) as response:
        assert response.status == 200, await response.text()


async def heard(home: Living, thread: str) -> None:
    """The messenger fetches what people wrote and notes it down; until then we look again."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            with sqlite3.connect(home.settings.home / "postroom.db") as connection:
                if connection.execute("SELECT 1 FROM heard_threads WHERE thread = ?", (thread,)).fetchone():
                    return
            await asyncio.sleep(0.02)


def bubble(page: Page, text: str) -> str:
    return f".bubble:has-text('{text}')"


async def bot(site: Site, method: str, **body: object) -> Any:
    base = site.home.household.addresses["sandbox"].removesuffix("/sandbox/")
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"{base}/bot{SANDBOX_TOKEN}/{method}", json=body) as response,
    ):
        assert response.status == 200, await response.text()
        return (await response.json())["result"]


async def asked(site: Site, text: str = "Shall I order?", markup: object = KEYBOARD) -> int:
    """As a bot that puts buttons under its message would."""
    sent = await bot(site, "sendMessage", chat_id="1000", text=text, reply_markup=markup)
    number: int = sent["message_id"]
    return number


async def test_what_was_sent_arrives_on_the_phone_and_in_the_mailbox(site: Site) -> None:
    page = await site.signed_in(path="/sandbox")

    await expect(page.locator(bubble(page, "Take the pills"))).to_be_visible()
    await expect(page.locator(".mail", has_text="Dinner is at seven.")).to_contain_text("Tonight")
    await expect(page.locator(".mail", has_text="Dinner is at seven.")).to_contain_text("ann@e.org")


async def test_a_typed_reply_comes_back_as_an_inbound_message(site: Site) -> None:
    page = await site.signed_in(path="/sandbox")
    await page.locator(bubble(page, "Take the pills")).get_by_role("link", name="Reply").click()
    await expect(page.get_by_text("In reply to: Take the pills")).to_be_visible()

    await page.get_by_label("Type a message").fill("I took them.\nAll of them.")
    await page.get_by_role("button", name="Send from the phone").click()

    await expect(page.locator(bubble(page, "I took them."))).to_have_class("bubble mine")
    kept = (await listed(site.home, "telegram/inbound"))[-1]
    assert kept["text"] == "I took them.\nAll of them."
    assert kept["reply_to_message_id"] == (await listed(site.home, "telegram/messages"))[0]["message_id"]
    await heard(site.home, str(kept["message_id"]))


async def test_a_reaction_is_tapped_and_taken_back(site: Site) -> None:
    page = await site.signed_in(path="/sandbox")
    mine = page.locator(bubble(page, "Take the pills"))

    await mine.get_by_role("button", name="React with 👍").click()
    await expect(mine.locator(".reactions")).to_contain_text("👍")
    tapped = (await listed(site.home, "telegram/reactions"))[-1]
    assert (tapped["emoji"], tapped["from"]) == ("👍", "person")

    await mine.get_by_role("button", name="Take 👍 back").click()
    await expect(mine.locator(".reactions")).to_have_count(0)


async def test_a_button_under_a_message_is_pressed(site: Site) -> None:
    await asked(site)
    page = await site.signed_in(path="/sandbox?chat=1000")

    await page.locator(bubble(page, "Shall I order?")).get_by_role("button", name="Yes").click()

    await expect(page.locator(".notice.good")).to_have_text("Pressed.")
    assert (await listed(site.home, "telegram/callbacks"))[-1]["data"] == "yes"


@pytest.mark.requirement("house:sandbox-phone")
async def test_an_answer_to_a_press_and_what_was_edited_away_are_shown(site: Site) -> None:
    number = await asked(site, "Shall I pay?")
    page = await site.signed_in(path="/sandbox?chat=1000")
    await page.locator(bubble(page, "Shall I pay?")).get_by_role("button", name="Yes").click()
    await expect(page.locator(bubble(page, "Shall I pay?")).locator(".toast")).to_have_text(
        "Yes: This button is no longer valid. (alert)"
    )

    await bot(site, "editMessageText", chat_id="1000", message_id=number, text="Paid, said Ann.")

    card = page.locator(bubble(page, "Paid, said Ann."))
    await expect(card.get_by_role("button", name="Yes")).to_have_count(0)
    await card.locator("summary").click()
    await expect(card.locator(".earlier li")).to_have_text("Shall I pay?")


@pytest.mark.requirement("house:sandbox-phone")
async def test_a_message_that_asks_for_a_reply_opens_the_box_for_it(site: Site) -> None:
    number = await asked(site, "Which one?", {"force_reply": True, "input_field_placeholder": "A colour"})
    page = await site.signed_in(path="/sandbox?chat=1000")

    await expect(page.get_by_text("In reply to: Which one?")).to_be_visible()
    await expect(page.get_by_label("Type a message")).to_have_attribute("placeholder", "A colour")
    await page.get_by_label("Type a message").fill("Blue")
    await page.get_by_role("button", name="Send from the phone").click()

    await expect(page.locator(bubble(page, "Blue"))).to_be_visible()
    await expect(page.get_by_text("In reply to: Which one?")).to_have_count(0)
    assert (await listed(site.home, "telegram/inbound"))[-1]["reply_to_message_id"] == number


@pytest.mark.requirement("house:sandbox-phone", "house:sandbox-mail")
async def test_links_of_cards_and_mails_can_be_opened(site: Site) -> None:
    address = "http://127.0.0.1:40200/a/token"
    await asked(site, "More?", {"inline_keyboard": [[{"text": "Open", "url": address}]]})
    await site.home.notify(channel="email", message=f"Ship it: {address}", subject="A question", recipient="ann@e.org")
    page = await site.signed_in(path="/sandbox?chat=1000")

    key = page.locator(bubble(page, "More?")).get_by_role("link", name="Open")
    letter = page.locator(".mail", has_text="A question").get_by_role("link", name=address)
    for link in (key, letter):
        await expect(link).to_have_attribute("href", address)
        await expect(link).to_have_attribute("rel", "noopener noreferrer")


async def test_a_mail_is_answered(site: Site) -> None:
    page = await site.signed_in(path="/sandbox")
    await page.locator(".mail", has_text="Tonight").get_by_role("link", name="Reply").click()
    await expect(page.get_by_label("Subject")).to_have_value("Re: Tonight")
    await page.get_by_label("Text", exact=True).fill("I shall be there.")
    await page.get_by_role("button", name="Send the e-mail").click()

    await expect(page.locator(".mail", has_text="I shall be there.")).to_contain_text("You wrote")
    kept = (await listed(site.home, "email/inbound"))[-1]
    assert kept["in_reply_to"] == (await listed(site.home, "email/messages"))[0]["message_id"]


async def test_what_arrives_meanwhile_appears_by_itself_beside_a_half_typed_reply(site: Site) -> None:
    page = await site.signed_in(path="/sandbox")
    await page.get_by_label("Type a message").fill("Half a sen")

    await site.home.notify(message="Meanwhile on the phone")
    await site.home.notify(channel="email", message="Meanwhile by mail", subject="M", recipient="ann@e.org")

    await expect(page.locator(bubble(page, "Meanwhile on the phone"))).to_be_visible()
    await expect(page.locator(".mail", has_text="Meanwhile by mail")).to_be_visible()
    await expect(page.get_by_label("Type a message")).to_have_value("Half a sen")


async def test_the_keyboard_alone_answers(site: Site) -> None:
    page = await site.signed_in(path="/sandbox")
    await page.get_by_label("Type a message").focus()
    await page.keyboard.type("From the keyboard")
    await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")

    await expect(page.locator(bubble(page, "From the keyboard"))).to_be_visible()


async def test_the_sandbox_is_for_the_operator_alone(site: Site) -> None:
    page = await site.signed_in(Principal(Role.USER, "ann"), "/sandbox")

    await expect(page.get_by_text("For the owner")).to_be_visible()


async def test_the_sandbox_is_accessible_and_fits_the_window(site: Site) -> None:
    await asked(site, "Why?", {"force_reply": True, "input_field_placeholder": "Because"})
    row = [
        {"text": "Ship", "callback_data": "s", "style": "success"},
        {"text": "No", "callback_data": "n", "style": "danger"},
    ]
    number = await asked(site, "Ship it?", {"inline_keyboard": [row, [{"text": "Open", "url": "https://e.org"}]]})
    markup = {"inline_keyboard": [row]}
    await bot(site, "editMessageText", chat_id="1000", message_id=number, text="Ship it now?", reply_markup=markup)
    await post(site.home, "telegram/press", {"message_id": number, "button": "Ship"})
    await looks_right(site, {"sandbox": "/sandbox"})


async def test_outside_sandbox_mode_there_is_no_such_page(tmp_path_factory: pytest.TempPathFactory) -> None:
    real = {"sandbox": False}
    async with living(tmp_path_factory.mktemp("live"), real, only=["api"]) as home, calling(home) as caller:
        assert home.household.sign_in is not None
        cookies = await caller.sign_in(await home.household.sign_in())
        assert (await caller.get("/console/sandbox", cookies)).status == 404
        assert "Sandbox" not in (await caller.get("/console/", cookies)).text


@pytest.mark.requirement("content:sandbox-formatted", "content:no-injection")
async def test_the_phone_shows_entities_and_where_links_lead(site: Site) -> None:
    await site.home.notify(message="**Fine** `x<y` [log](https://ci.example/1) <b>no</b>", format="markdown")
    page = await site.signed_in(path="/sandbox")
    shown = page.locator(bubble(page, "Fine"))

    await expect(shown.locator("strong")).to_have_text("Fine")
    await expect(shown.locator("code")).to_have_text("x<y")
    await expect(shown.get_by_role("link", name="log")).to_have_attribute("href", "https://ci.example/1")
    await expect(shown).to_contain_text("log (ci.example) <b>no</b>")
