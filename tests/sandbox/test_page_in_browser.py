"""The sandbox's phone and mailbox, as a browser shows them and as a person plays with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.console.appearance import is_accessible
from tests.console.browser import DESKTOP, IN_BROWSER
from tests.console.payloads import PAYLOADS, WATCH
from tests.patience import PATIENCE_SECONDS
from tests.sandbox.client import Client, letter
from tests.sandbox.test_server import PNG

from postroom.sandbox.server import Sandbox, SandboxOptions

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]

ROW = [
    {"text": "Yes", "callback_data": "y", "style": "success"},
    {"text": "No", "callback_data": "n", "style": "danger"},
]


@dataclass
class Played:
    """A sandbox of its own, and the page that shows it; mishaps are errors of scripts and what the policy forbade."""

    client: Client
    page: Page
    mishaps: list[str] = field(default_factory=list)

    async def open(self, query: str = "?chat=1000") -> None:
        await self.page.goto(f"{self.client.sandbox.bot_api_url}/sandbox/{query}")

    async def send(self, text: str, **more: object) -> int:
        return int((await self.client.bot("sendMessage", chat_id=1000, text=text, **more))["result"]["message_id"])

    async def typed(self) -> dict[str, object]:
        found: dict[str, object] = (await self.client.get("/sandbox/telegram/inbound"))["messages"][-1]
        return found


@pytest_asyncio.fixture(loop_scope="session")
async def played(browser: Browser) -> AsyncIterator[Played]:
    async with Sandbox(SandboxOptions()) as sandbox, aiohttp.ClientSession(sandbox.bot_api_url) as http:
        context = await browser.new_context(viewport={"width": DESKTOP["width"], "height": DESKTOP["height"]})
        page = await context.new_page()
        page.set_default_timeout(PATIENCE_SECONDS * 1000)
        one = Played(Client(sandbox, http), page)
        page.on("pageerror", lambda error: one.mishaps.append(str(error)))
        page.on("console", lambda said: one.mishaps.append(said.text) if "Policy" in said.text else None)
        yield one
        await context.close()
        assert one.mishaps == []


@pytest.mark.requirement("house:sandbox-phone")
async def test_what_arrives_appears_by_itself_beside_a_half_typed_reply(played: Played) -> None:
    await played.open()
    await played.page.get_by_label("Type a message").fill("Half a sen")

    await played.send("Meanwhile on the phone")
    await played.client.mail(letter("Meanwhile", "By mail"))

    await expect(played.page.locator(".bubble", has_text="Meanwhile on the phone")).to_be_visible()
    await expect(played.page.locator(".mail", has_text="Meanwhile")).to_be_visible()
    await expect(played.page.get_by_label("Type a message")).to_have_value("Half a sen")


@pytest.mark.requirement("house:sandbox-phone")
async def test_a_button_is_pressed_and_the_answer_and_what_was_edited_away_are_shown(played: Played) -> None:
    number = await played.send("Shall I pay?", reply_markup={"inline_keyboard": [ROW]})
    await played.open()
    await played.page.get_by_label("Type a message").fill("Half a sen")
    await played.page.get_by_role("button", name="Yes").click()
    await expect(played.page.locator(".toast")).to_have_text("Yes: pressed, not answered yet")

    [update] = (await played.client.bot("getUpdates"))["result"]
    query = update["callback_query"]["id"]
    await played.client.bot("answerCallbackQuery", callback_query_id=query, text="Too late", show_alert=True)
    await played.client.bot("editMessageText", chat_id=1000, message_id=number, text="Paid, said Ann.")

    await expect(played.page.locator(".toast")).to_have_text("Yes: Too late (alert)")
    await expect(played.page.get_by_role("button", name="Yes")).to_have_count(0)
    await played.page.locator(".bubble summary").click()
    await expect(played.page.locator(".bubble details li")).to_have_text("Shall I pay?")
    await played.send("Something else")
    await expect(played.page.locator(".bubble", has_text="Something else")).to_be_visible()
    await expect(played.page.locator(".bubble details li")).to_be_visible()  # what was opened stays open
    await expect(played.page.get_by_label("Type a message")).to_have_value("Half a sen")


@pytest.mark.requirement("house:sandbox-phone")
async def test_a_message_that_asks_for_a_reply_opens_the_box_for_it(played: Played) -> None:
    markup = {"force_reply": True, "input_field_placeholder": "A colour"}
    number = await played.send("Which one?", reply_markup=markup)
    await played.open()
    await expect(played.page.get_by_text("In reply to: Which one?")).to_be_visible()
    await expect(played.page.get_by_label("Type a message")).to_have_attribute("placeholder", "A colour")

    await played.page.keyboard.type("Blue")
    await played.page.get_by_role("button", name="Send", exact=True).click()

    await expect(played.page.locator(".bubble.mine", has_text="Blue")).to_be_visible()
    await expect(played.page.get_by_text("In reply to: Which one?")).to_have_count(0)
    await expect(played.page.get_by_label("Type a message")).to_have_value("")
    assert (await played.typed())["reply_to_message_id"] == number


@pytest.mark.requirement("house:sandbox-phone")
async def test_a_picture_is_chosen_and_sent(played: Played) -> None:
    await played.open()
    await played.page.get_by_label("Picture or file").set_input_files(
        {"name": "cat.png", "mimeType": "image/png", "buffer": PNG}
    )
    await played.page.get_by_role("button", name="Send", exact=True).click()

    await expect(played.page.locator(".bubble.mine").get_by_role("img", name="cat.png")).to_be_visible()


@pytest.mark.requirement("house:sandbox-phone", "content:sandbox-formatted", "content:no-injection")
async def test_a_reaction_is_tapped_and_the_looks_of_a_text_are_seen(played: Played) -> None:
    looks = [
        {"type": "bold", "offset": 0, "length": 4},
        {"type": "text_link", "offset": 5, "length": 3, "url": "https://ci.example/1"},
    ]
    await played.send("Fine log <b>no</b>", entities=looks)
    await played.open()
    bubble = played.page.locator(".bubble")

    await bubble.get_by_role("button", name="React with 👍").click()
    await expect(bubble.locator(".reactions")).to_contain_text("👍")
    await bubble.get_by_role("button", name="Take 👍 back").click()
    await expect(bubble.locator(".reactions")).to_have_count(0)
    await expect(bubble.locator("strong")).to_have_text("Fine")
    await expect(bubble.get_by_role("link", name="log")).to_have_attribute("href", "https://ci.example/1")
    await expect(bubble).to_contain_text("log (ci.example) <b>no</b>")


@pytest.mark.requirement("house:sandbox-mail")
async def test_a_mail_is_opened_and_answered(played: Played) -> None:
    await played.client.mail(letter("Tonight", "At seven: https://dinner.example/menu", Message_ID="<d1@example.com>"))
    await played.open()
    await played.page.locator(".mail summary").click()
    link = played.page.locator(".mail").get_by_role("link", name="https://dinner.example/menu")
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    await played.page.locator(".mail").get_by_role("link", name="Reply").click()
    await expect(played.page.get_by_label("Subject")).to_have_value("Re: Tonight")

    await played.page.get_by_label("Text", exact=True).fill("I shall be there.")
    await played.page.get_by_role("button", name="Send the e-mail").click()

    await expect(played.page.locator(".mail", has_text="I shall be there.")).to_contain_text("You wrote")
    [written] = (await played.client.get("/sandbox/email/inbound"))["messages"]
    assert written["in_reply_to"] == "<d1@example.com>"


async def test_what_is_refused_is_said_and_the_draft_stays(played: Played) -> None:
    await played.open()
    await played.page.get_by_label("Type a message").fill("x" * 5000)
    await played.page.get_by_role("button", name="Send", exact=True).click()

    await expect(played.page.get_by_role("alert")).to_contain_text("text")
    await expect(played.page.get_by_label("Type a message")).to_have_value("x" * 5000)


@pytest.mark.requirement("content:no-injection")
async def test_no_hostile_text_runs(played: Played) -> None:
    for text in PAYLOADS:
        await played.client.post("/sandbox/telegram/inbound", {"chat_id": 1000, "text": text, "from_name": text[:64]})
        mail = {"from": "a@b.example", "to": "c@d.example", "subject": text, "body": text}
        await played.client.post("/sandbox/email/inbound", mail)
    await played.page.add_init_script(WATCH)

    await played.open()

    said = await played.page.locator("#said").inner_text()
    assert [text for text in PAYLOADS if text.isprintable() and text.strip() not in said] == []
    assert await played.page.evaluate("window.count") == 0


@pytest.mark.requirement("house:sandbox-phone")
async def test_the_page_is_accessible_and_fits_the_window_light_and_dark(played: Played) -> None:
    await played.send("Why?", reply_markup={"force_reply": True, "input_field_placeholder": "Because"})
    number = await played.send(
        "Ship it?", reply_markup={"inline_keyboard": [ROW, [{"text": "Open", "url": "https://e.org"}]]}
    )
    await played.client.post("/sandbox/telegram/press", {"message_id": number, "button": "Yes"})
    markup = {"inline_keyboard": [ROW]}
    await played.client.bot("editMessageText", chat_id=1000, message_id=number, text="Now?", reply_markup=markup)
    gone = await played.send("Never mind")
    await played.client.bot("deleteMessage", chat_id=1000, message_id=gone)
    await played.client.post("/sandbox/telegram/inbound", {"chat_id": -500, "from_id": 7, "text": "W" * 200})
    await played.client.mail(letter("S" * 90, "b" * 300))
    await played.client.arm(channel="email", status=503)
    for query in ("?chat=1000&mail=1", "?chat=-500"):
        await played.open(query)
        await played.page.locator(".mail summary").click()
        await is_accessible(played.page, query)
