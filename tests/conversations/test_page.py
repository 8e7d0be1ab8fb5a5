"""Conversations by person, as a browser shows them: both ways, where each message went and why."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from tests.console.appearance import looks_right
from tests.console.asked import ANNA, BEN, admit, ask, asking
from tests.console.browser import IN_BROWSER, PHONE, Site, console_site
from tests.household.living import LIFTED, QUICK
from tests.household.talking import PEOPLE
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.values.principal import OPERATOR
from postroom.questions.model import Said

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]

OPEN = "('received', 'routed', 'waiting', 'running')"
TALK = {"conversations": {"sessions_per_day": 7}}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, PEOPLE, TALK) as one:
        await admit(one.home, ANNA, BEN)
        with _record(one) as connection:  # as pairing would
            connection.execute("UPDATE person_addresses SET verified_at = 1")
            connection.execute("UPDATE people SET default_butler = 'general' WHERE id = 'owner'")
        yield one


def _record(site: Site) -> sqlite3.Connection:
    return sqlite3.connect(site.home.settings.home / "postroom.db", timeout=20)


async def write(site: Site, text: str, chat: int = 1000) -> str:
    """The id of what was written, as soon as it is over."""
    home = site.home
    body = {"chat_id": chat, "text": text}
    async with home.http.post(f"{home.household.addresses['sandbox']}telegram/inbound", json=body) as response:
        number = str((await response.json())["message_id"])
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not (found := _settled(site, str(chat), number)):
            await asyncio.sleep(0.05)
    return found


def _settled(site: Site, place: str, number: str) -> str | None:
    asked = f"SELECT id FROM inbound_messages WHERE place = ? AND message_id = ? AND status NOT IN {OPEN}"
    with _record(site) as connection:
        row = connection.execute(asked, (place, number)).fetchone()
    return row[0] if row else None


def given_to_general(site: Site, message_id: str, words: str | None) -> None:
    """As if that had been all there was to say about it."""
    with _record(site) as connection:
        connection.execute(
            "UPDATE inbound_messages SET kind = 'butler', target = 'general', text = ?,"
            " reason = 'general is named in it' WHERE id = ?",
            (words, message_id),
        )


@pytest.mark.requirement("talk:console", "talk:sessions-shown")
async def test_a_thread_shows_both_ways_where_each_went_and_why(site: Site) -> None:
    kept, erased = await write(site, "What is on today?"), await write(site, "And tomorrow?")
    given_to_general(site, kept, "What is on today?")
    given_to_general(site, erased, None)
    command = await write(site, "/help")
    await site.home.notify(message="The dentist at nine.")
    question = await ask(site.home, "Shall I move it?", options=["yes", "no"])
    await asking(site.home).answer(OPERATOR, question.id, Said(value="yes"), channel="console", event_id="moved")
    page = await site.signed_in(path="/conversations/owner")

    first = page.locator(".note", has_text="What is on today?")
    await expect(first).to_contain_text("to general")
    await expect(first).to_contain_text("Why: General is named in it.")
    await expect(first).to_contain_text(f"postroom why {kept}")
    await expect(page.locator(".note", has_text=erased)).to_contain_text("The words were erased.")
    await expect(page.locator(".note", has_text=command)).to_contain_text("The words are not kept")
    await expect(page.locator(".note", has_text="Shall I move it?")).to_contain_text("answered: yes")
    await expect(page.locator("dl.facts")).to_contain_text("2 of 7 at most")
    await expect(page.locator("dl.facts")).to_contain_text("general")
    await page.get_by_role("link", name="The question").first.click()
    await expect(page).to_have_url(f"{site.url}/questions/{question.id}")
    await page.goto(f"{site.url}/conversations/owner")
    sent = page.locator(".note", has_text="The dentist at nine.")
    await sent.get_by_role("link", name="The delivery").click()
    await expect(page.locator("main")).to_contain_text("The dentist at nine.")
    await page.goto(f"{site.url}/contacts/owner")
    await expect(page.locator("main")).to_contain_text("2 of 7 at most")


@pytest.mark.requirement("talk:console")
async def test_the_list_has_the_last_line_of_each_and_filters_narrow_a_thread_without_script(site: Site) -> None:
    await site.home.notify(message="On the phone")
    await site.home.notify(channel="email", message="In a letter", subject="Filed")
    page = await site.signed_in(path="/conversations", java_script_enabled=False, viewport=PHONE)
    await page.get_by_role("link", name="More").click()
    await expect(page.get_by_role("navigation", name="Main")).to_contain_text("Conversations")
    await page.get_by_role("link", name="Close").click()
    await expect(page.locator("tr", has_text="In a letter")).to_contain_text("Filed")

    await page.get_by_role("link", name="Sandbox owner").click()
    await page.get_by_text("Search and filter").click()
    await page.get_by_label("Channel").select_option("email")
    await page.get_by_role("button", name="Find").click()
    await expect(page.locator(".notes")).to_contain_text("In a letter")
    assert "On the phone" not in await page.locator(".notes").inner_text()
    await page.get_by_text("Search and filter").click()
    await page.get_by_label("Channel").select_option("")
    await page.get_by_label("Butler").fill("nurse")
    await page.get_by_role("button", name="Find").click()
    await expect(page.locator(".empty")).to_contain_text("Nothing was said")
    await page.goto(f"{site.url}/conversations?q=Person+2003")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(page.locator("tbody")).to_contain_text("nothing lately")


async def test_older_pages_follow_one_another(site: Site) -> None:
    for number in range(55):
        await site.home.notify(message=f"word {number:02}", recipient="Person 2005")
    page = await site.signed_in(path="/conversations?q=Person+2005")
    await page.get_by_role("link", name="Person 2005").click()

    await expect(page.locator(".note")).to_have_count(50)
    await page.get_by_role("link", name="Older").click()
    await expect(page.locator(".note")).to_have_count(5)
    await page.get_by_role("link", name="Newest").click()
    await expect(page.locator(".note")).to_have_count(50)


@pytest.mark.requirement("talk:console")
async def test_an_open_thread_shows_by_itself_what_is_written(site: Site) -> None:
    page = await site.signed_in(path="/conversations/owner")

    message_id = await write(site, "/status")

    await expect(page.locator("#live")).to_contain_text(message_id)


@pytest.mark.requirement("talk:history-own")
async def test_a_person_sees_their_own_and_no_other(site: Site) -> None:
    await ask(site.home, "Only for Anna?", to="anna")
    page = await site.signed_in(ANNA, "/conversations")
    await expect(page).to_have_url(f"{site.url}/conversations/anna")
    await expect(page.locator(".notes")).to_contain_text("Only for Anna?")
    assert await page.get_by_role("link", name="The delivery").count() == 0

    for path in ("/conversations/owner", "/conversations/nobody"):
        answer = await page.goto(site.url + path)
        assert answer is not None and answer.status == 404


async def test_a_person_who_is_not_known_has_no_page(site: Site) -> None:
    page = await site.signed_in()
    for who in ("nobody", "%00"):
        answer = await page.goto(f"{site.url}/conversations/{who}")
        assert answer is not None and answer.status == 404


@pytest.mark.requirement("talk:console")
async def test_it_looks_right_light_and_dark_and_on_a_phone(site: Site) -> None:
    await site.home.notify(message="x" * 300 + " and words", recipient="Person 2006")
    pages = {
        "conversations": "/conversations",
        "conversation": "/conversations/owner",
        "conversation-of-none": "/conversations/anna?butler=none",
        "person-with-sessions": "/contacts/owner",
    }
    await looks_right(site, pages)
    await looks_right(site, {"conversation-own": "/conversations"}, ANNA)
