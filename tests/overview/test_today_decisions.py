"""What waits for a person, decided on Today: with a script, without one, by keyboard, and while things happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Locator, Page, expect
from tests.console.asked import ask, now
from tests.console.browser import IN_BROWSER, PHONE, Site, console_site, path_of, tab_to
from tests.household.living import LIFTED, QUICK
from tests.patience import PATIENCE_SECONDS

from postroom.inbox.model import NewNotification
from postroom.kernel.values.principal import OPERATOR

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """The owner is asked about each message as well, as households do by themselves."""
    changes = {"approvals": {"enabled": True}}
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, changes) as one:
        yield one


async def parked(site: Site, message: str) -> str:
    answer = await site.home.notify(channel="email", message=message, subject="Hi", recipient="stranger@example.org")
    return str(answer["delivery"]["delivery_id"])


async def status(site: Site, action_id: str) -> str:
    shown = await site.home.call("messenger", "show_pending_action", {"action_id": action_id}, caller="operator")
    return str(shown["action"]["status"])


def waiting(page: Page, text: str) -> Locator:
    return page.get_by_role("region", name="Waits for you").locator(".note", has_text=text)


async def has_returned(page: Page, said: str) -> None:
    await expect(page.locator(".notice:not(.plain)")).to_contain_text(said)
    assert path_of(page) == "/console/"


@pytest.mark.requirement("side:one-place")
async def test_a_message_is_sent_or_not_from_today_and_stands_there_once(site: Site) -> None:
    good, bad = await parked(site, "Shall we meet?"), await parked(site, "Buy now")
    page = await site.signed_in()
    await expect(waiting(page, "Shall we meet?")).to_have_count(1)
    await expect(waiting(page, "Shall we meet?")).to_contain_text("expires in 2 days")

    await waiting(page, "Shall we meet?").get_by_role("button", name="Send", exact=True).click()
    await has_returned(page, "Approved. It is on its way.")
    await waiting(page, "Buy now").get_by_role("button", name="Don't send").click()
    await has_returned(page, "Rejected.")

    await expect(page.get_by_role("region", name="Waits for you").locator(".note")).to_have_count(0)
    assert (await status(site, good), await status(site, bad)) == ("approved", "rejected")


@pytest.mark.requirement("side:one-place")
async def test_a_decision_taken_elsewhere_meanwhile_is_said_and_nothing_changes(site: Site) -> None:
    action_id = await parked(site, "Who is first?")
    page = await site.signed_in(java_script_enabled=False)
    asked = {"action_id": action_id, "reason": "no"}
    await site.home.call("messenger", "reject_action", asked, caller="operator")

    await waiting(page, "Who is first?").get_by_role("button", name="Send", exact=True).click()

    await has_returned(page, "Too late: this was already rejected by operator")
    assert await status(site, action_id) == "rejected"


@pytest.mark.requirement("side:one-place")
async def test_what_is_not_what_was_shown_is_not_sent_and_a_long_message_is_opened_first(site: Site) -> None:
    action_id = await parked(site, "Short")
    long_one = await parked(site, "A very long letter. " * 100)
    page = await site.signed_in()

    await page.locator(f"#send-{action_id}").evaluate(
        "one => { one.form.elements.content_hash.value = '0'.repeat(64); one.click() }"
    )

    await has_returned(page, "not what you were shown, so nothing was sent")
    assert await status(site, action_id) == "pending"
    card = waiting(page, "A very long letter.")
    await expect(card.get_by_role("button", name="Send", exact=True)).to_have_count(0)
    await card.get_by_role("link", name="Open").click()
    assert path_of(page) == f"/console/approvals/{long_one}"
    for one in (action_id, long_one):
        await site.home.call("messenger", "reject_action", {"action_id": one, "reason": "no"}, caller="operator")


@pytest.mark.requirement("side:no-script", "side:in-reach")
async def test_without_script_on_a_phone_everything_is_decided_and_the_rest_is_behind_more(site: Site) -> None:
    action_id, asked = await parked(site, "No script"), await ask(site.home, "Tea?", options=["yes", "no"])
    page = await site.signed_in(java_script_enabled=False, viewport=PHONE)

    await waiting(page, "No script").get_by_role("button", name="Send", exact=True).click()
    await has_returned(page, "Approved.")
    await waiting(page, "Tea?").get_by_role("button", name="yes").click()
    await has_returned(page, "Answered: yes.")
    assert await status(site, action_id) == "approved" and not (await now(site.home, asked)).is_open

    bar = page.get_by_role("navigation", name="In reach")
    for name in ("Today", "Questions", "Approvals", "Inbox"):
        await expect(bar.get_by_role("link", name=name)).to_be_visible()
    await expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
    await bar.get_by_role("link", name="More").click()
    await page.get_by_role("button", name="Theme: auto").click()
    await page.get_by_role("link", name="More").click()
    await expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    await page.get_by_role("navigation", name="Main").get_by_role("link", name="Health").click()
    assert path_of(page) == "/console/health"


@pytest.mark.requirement("side:by-keyboard")
async def test_the_keyboard_alone_decides_on_today(site: Site) -> None:
    action_id, asked = await parked(site, "By keyboard"), await ask(site.home, "Keys?", options=["left", "right"])
    page = await site.signed_in()

    await tab_to(page, "left")
    await page.keyboard.press("Enter")
    await has_returned(page, "Answered: left.")
    await tab_to(page, "Don't send")
    await page.keyboard.press("Enter")
    await has_returned(page, "Rejected.")

    assert not (await now(site.home, asked)).is_open and await status(site, action_id) == "rejected"


@pytest.mark.requirement("side:live-calm")
async def test_news_changes_only_what_differs(site: Site) -> None:
    asked = await ask(site.home, "Open for a while?", options=["a", "b"])
    page = await site.signed_in(viewport=PHONE)
    card = waiting(page, "Open for a while?")
    await card.get_by_text("Something else").click()
    field = card.get_by_label("In your own words")
    await field.fill("half a sent")
    await field.press("End")
    await page.evaluate("window.card = document.getElementById(document.activeElement.closest('.answering').id)")
    await page.evaluate("window.scrollTo(0, 200); window.marks = [...document.querySelectorAll('#live .tile')]")

    later = await ask(site.home, "Another one meanwhile?", kind="text")

    await expect(waiting(page, "Another one meanwhile?")).to_be_visible()
    await expect(field).to_be_focused()
    await page.keyboard.type("ence")
    await expect(field).to_have_value("half a sentence")
    assert await page.evaluate("window.card.isConnected && window.marks.every(one => one.isConnected)")
    badge = page.get_by_role("navigation", name="In reach").get_by_role("link", name="Questions")
    await expect(badge).to_contain_text("2")
    for one in (asked, later):
        await site.home.household.asking.asking.cancel(OPERATOR, one.id)  # type: ignore[union-attr]


@pytest.mark.requirement("side:live-calm")
async def test_nothing_is_touched_when_nothing_changed(site: Site) -> None:
    page = await site.signed_in()

    async with asyncio.timeout(PATIENCE_SECONDS):
        while (touched := await _touched_by_a_look(page)) != ([], ""):  # what was sent before may still be on its way
            await page.reload()

    assert touched == ([], "")


async def _touched_by_a_look(page: Page) -> tuple[list[str], str]:
    await page.evaluate("""() => {
        window.changes = [];
        new MutationObserver(all => window.changes.push(...all.filter(one =>
            !one.target.closest?.('time') && one.attributeName !== 'class').map(one => one.target.nodeName)))
            .observe(document.body, {subtree: true, childList: true, attributes: true, characterData: true});
        window.looked = new Promise(done => document.body.addEventListener('htmx:afterRequest', done, {once: true}));
    }""")
    async with page.expect_response("**/console/"):
        await page.evaluate("htmx.trigger(document.getElementById('live'), 'sse:questions')")
    await page.evaluate("window.looked.then(() => new Promise(drawn => requestAnimationFrame(drawn)))")
    return await page.evaluate("window.changes"), await page.locator("#news").inner_text()


@pytest.mark.requirement("side:inbox-first")
async def test_notes_say_who_left_them_and_several_are_put_away_at_once(site: Site) -> None:
    inbox = site.home.household.inbox
    assert inbox is not None
    for agent in ("claude", "cron", "inbox"):
        await inbox.send(NewNotification(message=f"From {agent}", user_id="operator", agent=agent))
    page = await site.signed_in(path="/inbox", java_script_enabled=False, viewport=PHONE)
    row = page.locator(".note", has_text="From claude")
    await expect(row.locator(".sender")).to_contain_text("claude")
    await expect(page.locator(".note", has_text="From inbox").locator(".sender")).to_contain_text("Your household")
    await expect(row).to_contain_text("Info")

    await row.get_by_role("checkbox").check()
    await page.locator(".note", has_text="From cron").get_by_role("checkbox").check()
    await page.locator("#many").get_by_role("button", name="Archive").click()

    await expect(page.locator(".notice.good")).to_have_text("2 put away.")
    await expect(page.locator(".note", has_text="From inbox")).to_be_visible()
    await expect(page.locator(".note", has_text="From claude")).to_have_count(0)
