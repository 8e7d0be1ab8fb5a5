"""Slack, Discord and ntfy on the console's Sandbox page, in a browser and without a script."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect
from tests.app.asked_household import ask, shown
from tests.app.living import LIFTED, QUICK, Living
from tests.app.test_two_accounts import has_address
from tests.doors.console.appearance import looks_right
from tests.doors.console.browser import Site, console_site

from postroom.domain.question_states import PresentationStatus

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.timeout(120)]

ADDRESSES = {"slack": "U1000", "discord": "user:2001", "ntfy": "anna"}
SERVICES = pytest.mark.parametrize("name", ADDRESSES)
WITHOUT_SCRIPT = {"java_script_enabled": False}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        for name, address in ADDRESSES.items():
            await one.home.notify(channel=name, recipient=address, message=f"Tea is ready, says {name}.")
        yield one


def section(page: Page, name: str) -> Locator:
    return page.locator(f"section[aria-labelledby='{name}']")


async def listed(home: Living, path: str) -> list[dict[str, Any]]:
    async with home.http.get(home.household.addresses["sandbox"] + path) as response:
        found: list[dict[str, Any]] = (await response.json())["messages"]
        return found


async def slack(site: Site, method: str, **body: object) -> dict[str, Any]:
    base = site.home.household.addresses["sandbox"].removesuffix("/sandbox/")
    headers = {"Authorization": "Bearer xoxb-a-test"}
    async with site.home.http.post(f"{base}/api/{method}", json=body, headers=headers) as response:
        answer: dict[str, Any] = await response.json()
        assert answer["ok"], answer
        return answer


def card(*labels: str, text: str = "Ship it?") -> list[dict[str, object]]:
    buttons = [
        {"type": "button", "action_id": one, "value": f"q1:{one}", "text": {"type": "plain_text", "text": one}}
        for one in labels
    ]
    return [
        {"type": "section", "text": {"type": "plain_text", "text": text}},
        {"type": "actions", "elements": buttons},
    ]


async def asked(site: Site, place: str = "D1000", text: str = "Ship it?") -> str:
    sent = await slack(site, "chat.postMessage", channel=place, text=text, blocks=card("Yes", "No", text=text))
    return str(sent["ts"])


@SERVICES
@pytest.mark.requirement("house:sandbox-services")
async def test_what_was_sent_to_a_service_is_shown_there(site: Site, name: str) -> None:
    page = await site.signed_in(path="/sandbox")

    await expect(section(page, name).locator(".bubble", has_text=f"says {name}.").first).to_be_visible()


@SERVICES
async def test_somebody_writes_there_without_a_script(site: Site, name: str) -> None:
    page = await site.signed_in(path="/sandbox", **WITHOUT_SCRIPT)
    mine = section(page, name)
    await mine.locator("summary", has_text="Write on").click()
    await mine.get_by_label("Where").fill(ADDRESSES[name])
    await mine.get_by_label("Text").fill("On my way")
    await mine.get_by_role("button", name="Write on").click()

    await expect(section(page, name).locator(".bubble.mine", has_text="On my way")).to_be_visible()
    assert (await listed(site.home, f"{name}/inbound"))[-1]["text"] == "On my way"


async def test_a_reply_names_the_message_it_answers(site: Site) -> None:
    page = await site.signed_in(path="/sandbox", **WITHOUT_SCRIPT)
    mine = section(page, "slack")
    await mine.locator(".bubble", has_text="Tea is ready").get_by_role("link", name="Reply").click()
    await mine.get_by_label("Text").fill("Thank you")
    await mine.get_by_role("button", name="Write on").click()

    await expect(mine.locator(".bubble", has_text="Thank you")).to_contain_text("In reply to: Tea is ready")
    tea = next(one for one in await listed(site.home, "slack/messages") if "Tea" in one["text"])
    assert (await listed(site.home, "slack/inbound"))[-1]["thread"] == tea["message_id"]


@pytest.mark.requirement("house:sandbox-services")
async def test_a_button_is_pressed_and_what_was_edited_away_is_kept(site: Site) -> None:
    stamp = await asked(site, text="Off with it?")
    page = await site.signed_in(path="/sandbox?service=slack&place=D1000", **WITHOUT_SCRIPT)
    await section(page, "slack").locator(".bubble", has_text="Off with it?").get_by_role("button", name="Yes").click()
    await expect(page.locator(".notice.good")).to_have_text("Pressed.")

    await slack(site, "chat.update", channel="D1000", ts=stamp, text="Shipped.")
    await page.goto(site.url + "/sandbox?service=slack&place=D1000")

    done = section(page, "slack").locator(".bubble", has_text="Shipped.")
    await expect(done.get_by_role("button")).to_have_count(0)
    await expect(done.locator("summary")).to_contain_text("Edited")


@SERVICES
@pytest.mark.requirement("house:sandbox-services")
async def test_a_question_of_the_household_is_answered_by_a_press_on_the_page(site: Site, name: str) -> None:
    await has_address(site.home, name, rank=1, address=ADDRESSES[name])
    question = f"Shall I order for {name}?"
    view = await ask(site.home, question=question, channels=[name], options=["yes", "no"])
    await shown(site.home, view, PresentationStatus.SHOWN)
    page = await site.signed_in(path="/sandbox")
    open_card = section(page, name).locator(".bubble", has_text=question)

    await open_card.get_by_role("button", name="yes").click()

    await expect(page.locator(".notice.good")).to_have_text("Pressed.")
    closed = section(page, name).locator(".bubble", has_text="yes: answered by")
    await expect(closed).to_be_visible()
    await expect(closed.get_by_role("button")).to_have_count(0)


async def test_in_a_channel_the_page_asks_who_pressed(site: Site) -> None:
    await asked(site, "C777", text="All agreed?")
    page = await site.signed_in(path="/sandbox?service=slack&place=C777", **WITHOUT_SCRIPT)
    shown = section(page, "slack").locator(".bubble", has_text="All agreed?")

    await shown.get_by_label("Pressed by").fill("nobody at all")
    await shown.get_by_role("button", name="Yes").click()
    await expect(page.locator(".notice.bad")).to_contain_text("The sandbox refused")

    await shown.get_by_label("Pressed by").fill("U7")
    await shown.get_by_role("button", name="Yes").click()
    await expect(page.locator(".notice.good")).to_have_text("Pressed.")


async def test_a_service_that_is_not_played_is_refused(site: Site) -> None:
    page = await site.signed_in(path="/sandbox", **WITHOUT_SCRIPT)
    form = section(page, "slack").locator("form.type")
    token = await form.locator("input[name=form_token]").input_value()
    answer = await page.request.post(
        site.url + "/sandbox/service/faults/message",
        form={"form_token": token, "place": "x", "text": "y"},
        headers={"Origin": site.url.removesuffix("/console")},
        max_redirects=0,
    )

    assert answer.status == 303
    assert await listed(site.home, "telegram/inbound") == []


async def test_what_arrives_meanwhile_appears_beside_a_half_typed_text(site: Site) -> None:
    page = await site.signed_in(path="/sandbox")
    mine = section(page, "discord")
    await mine.locator("summary", has_text="Write on").click()
    await mine.get_by_label("Text").fill("Half a sen")

    await site.home.notify(channel="discord", recipient="user:2001", message="Meanwhile on Discord")

    await expect(mine.locator(".bubble", has_text="Meanwhile on Discord")).to_be_visible()
    await expect(mine.get_by_label("Text")).to_have_value("Half a sen")


async def test_the_sections_are_accessible_and_fit_the_window(site: Site) -> None:
    stamp = await asked(site)
    await slack(site, "chat.update", channel="D1000", ts=stamp, text="Ship it now?", blocks=card("Yes", "No"))
    await slack(site, "reactions.add", channel="D1000", timestamp=stamp, name="tada")
    await asked(site, "C777")
    await looks_right(
        site,
        {
            "sandbox-slack": "/sandbox?service=slack&place=D1000",
            "sandbox-slack-channel": f"/sandbox?service=slack&place=C777&reply_there={await asked(site, 'C777')}",
        },
    )
