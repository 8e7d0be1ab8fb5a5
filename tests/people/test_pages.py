"""People, as a browser shows them and as a person keeps them."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.console.appearance import is_accessible, looks_right
from tests.console.browser import IN_BROWSER, Site, console_site
from tests.household.living import LIFTED, QUICK

from postroom.kernel.values.principal import HOUSEHOLD_OWNER, Principal, Role, user_address

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]

KNOWN = {"contacts": [{"name": "Doctor Weiss", "email": "weiss@clinic.example", "trusted": True}]}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, KNOWN) as one:
        yield one


async def api(site: Site, method: str, path: str, body: object) -> dict[str, object]:
    url = site.home.household.addresses["api"] + path
    headers = {"Authorization": f"Bearer {site.home.token('operator')}"}
    async with aiohttp.ClientSession() as http, http.request(method, url, json=body, headers=headers) as response:
        assert response.status < 300, await response.text()
        answer: dict[str, object] = await response.json()
        return answer


def row(page: Page, name: str) -> str:
    return f"tbody tr:has-text('{name}')"


async def added(site: Site, name: str, more: dict[str, str] | None = None) -> Page:
    page = await site.signed_in(path="/people/new")
    await page.get_by_label("Name", exact=True).fill(name)
    for label, value in (more or {}).items():
        await page.get_by_label(label).fill(value)
    await page.get_by_role("button", name="Add").click()
    await expect(page.locator(".notice.good")).to_have_text("Added.")
    return page


async def test_a_contact_is_added_changed_and_deleted(site: Site) -> None:
    page = await added(site, "Maria Rossi", {"Also called": "Mary\nMamma", "Telegram": "4711"})
    await page.get_by_label("E-mail").fill("maria@example.org")
    await page.get_by_label("Trusted").check()
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator(".notice.good")).to_have_text("Saved.")

    await page.get_by_role("link", name="All people").click()
    mine = page.locator(row(page, "Maria Rossi"))
    for text in ("Mary, Mamma", "4711", "maria@example.org", "Trusted"):
        await expect(mine).to_contain_text(text)

    await mine.get_by_role("link").click()
    await page.get_by_text("Delete this person").click()
    await page.get_by_role("button", name="Delete for good").click()
    await expect(page.locator(".notice.good")).to_contain_text("Maria Rossi was deleted")
    await expect(mine).to_have_count(0)


async def test_a_wrong_address_is_named_and_what_was_typed_stays(site: Site) -> None:
    page = await site.signed_in(path="/people/new")
    await page.get_by_label("Name", exact=True).fill("Noah")
    await page.get_by_label("E-mail").fill("nowhere")
    await page.get_by_role("button", name="Add").click()

    await expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    await expect(page.get_by_label("E-mail")).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_label("Name", exact=True)).to_have_value("Noah")


SEARCHES = {"part of a name": "alin", "an alias": "lina's", "another script": "Галина", "an address": "GALINA@exa"}


async def test_a_search_finds_by_name_alias_script_and_address(site: Site) -> None:
    await added(site, "Galina Orlova", {"Also called": "Lina's mother", "E-mail": "galina@example.org"})
    page = await site.signed_in(path="/people")
    for kind, words in SEARCHES.items():
        await page.get_by_label("Search people").fill(words)
        await page.get_by_role("button", name="Find").click()
        await expect(page.locator(row(page, "Galina Orlova")), kind).to_be_visible()
        await expect(page.locator(row(page, "Doctor Weiss")), kind).to_have_count(0)
    await page.get_by_label("Search people").fill("100% nobody_")
    await page.get_by_role("button", name="Find").click()
    await expect(page.get_by_text("Nobody found")).to_be_visible()


async def test_a_person_of_the_settings_file_says_so_and_a_change_stays(site: Site) -> None:
    page = await site.signed_in(path="/people")
    await page.locator(row(page, "Doctor Weiss")).get_by_role("link").click()
    await expect(page.get_by_text("comes from the settings file")).to_be_visible()

    await page.get_by_label("Time zone").select_option("Europe/Vienna")
    await page.get_by_role("button", name="Save").click()

    await expect(page.locator(".notice.good")).to_have_text("Saved.")
    await expect(page.get_by_label("Time zone")).to_have_value("Europe/Vienna")


@pytest.mark.requirement("house:people-in-the-console")
async def test_the_owner_is_among_them_and_marked(site: Site) -> None:
    page = await site.signed_in(path="/people")
    mine = page.locator(row(page, "Sandbox owner"))
    for text in ("you", "Telegram: 1000", "E-mail: owner@sandbox.example", "Owner"):
        await expect(mine).to_contain_text(text)
    await mine.get_by_role("link").click()
    await expect(page.get_by_text("Delete this person")).to_have_count(0)

    await page.get_by_label("Language").fill("de-AT")
    await page.get_by_role("button", name="Save").click()

    await expect(page.locator(".notice.good")).to_have_text("Saved.")
    await expect(page.get_by_label("Role")).to_have_value("owner")
    await expect(page.get_by_label("Telegram")).to_have_value("1000")


@pytest.mark.requirement("house:people-in-the-console")
async def test_addresses_are_added_ordered_and_taken_away(site: Site) -> None:
    page = await added(site, "Many Places", {"Telegram": "4712", "E-mail": "first@example.org"})
    another = page.get_by_role("group").filter(has=page.get_by_label("Another address"))
    await another.get_by_label("Channel").select_option("email")
    await another.get_by_label("Another address").fill("second@example.org")
    await another.get_by_label("Tried as number").fill("1")
    await another.get_by_label("Note").fill("work")
    await page.get_by_label("Telegram").fill("")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator(".notice.good")).to_have_text("Saved.")

    known = await api(site, "GET", "/v1/people?q=Many", None)
    places = known["people"][0]["addresses"]  # type: ignore[index]
    assert [(one["address"], one["rank"], one["label"]) for one in places] == [
        ("second@example.org", 1, "work"),
        ("first@example.org", 2, ""),
    ]


async def test_an_address_given_twice_is_marked_where_it_was_typed(site: Site) -> None:
    page = await added(site, "Twice", {"E-mail": "twice@example.org"})
    await page.get_by_label("Channel").select_option("email")
    await page.get_by_label("Another address").fill("TWICE@example.org")
    await page.get_by_role("button", name="Save").click()

    await expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    wrong = page.locator("[aria-invalid=true]")
    await expect(wrong).to_have_count(1)
    await expect(wrong).to_have_value("TWICE@example.org")


async def test_a_remembered_choice_is_shown_and_forgotten(site: Site) -> None:
    contact = await api(site, "POST", "/contacts", {"name": "Tomas Berg", "email": "tomas@example.org"})
    address = contact["contact"]["agent_address"]  # type: ignore[index]
    await api(
        site,
        "POST",
        "/contacts/confirm",
        {"owner_agent": HOUSEHOLD_OWNER, "query": "tommy", "agent_address": address},
    )
    page = await site.signed_in(path="/people")
    mine = page.locator(row(page, "tommy"))
    await expect(mine).to_contain_text("Tomas Berg")

    await mine.get_by_role("button", name="Forget").click()

    await expect(page.locator(".notice.good")).to_contain_text("Forgotten")
    await expect(mine).to_have_count(0)


async def test_many_people_page_by_cursor(site: Site) -> None:
    people = "".join(f"Person {number:03},p{number}@example.org\n" for number in range(230))
    book = user_address("zoe")
    cards = {"format": "csv", "content": f"name,email\n{people}"}
    await api(site, "POST", f"/contacts/import?owner_agent={book}", cards)
    page = await site.signed_in(Principal(Role.USER, "zoe"), "/people")

    for first in ("Person 000", "Person 050", "Person 100"):
        await expect(page.locator("tbody tr").first).to_contain_text(first)
        await page.get_by_role("navigation", name="Pages").get_by_role("link", name="More").click()


async def test_the_keyboard_alone_adds_a_contact(site: Site) -> None:
    page = await site.signed_in(path="/people")
    await page.get_by_role("link", name="Add a person").focus()
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/people/new")
    await page.get_by_role("link", name="All people").focus()
    await page.keyboard.press("Tab")
    await page.keyboard.type("Keyboard Kate")
    await page.keyboard.press("Enter")

    await expect(page.locator(".notice.good")).to_have_text("Added.")
    await expect(page.get_by_role("heading", name="Keyboard Kate")).to_be_visible()


async def test_contacts_are_accessible_and_fit_the_window(site: Site) -> None:
    made = await api(site, "POST", "/contacts", {"name": "Aurelia", "email": "a@example.org", "aliases": ["Grandma"]})
    contact = made["contact"]
    assert isinstance(contact, dict)
    choice = {"owner_agent": HOUSEHOLD_OWNER, "query": "granny", "agent_address": contact["agent_address"]}
    await api(site, "POST", "/contacts/confirm", choice)
    one = f"/people/{contact['contact_id']}"
    await looks_right(site, {"people": "/people", "person": one})


@pytest.mark.requirement("chan:pairing-doors")
async def test_a_code_to_prove_an_address_is_shown_once_and_a_link_says_where_it_went(site: Site) -> None:
    page = await added(site, "Pia Paired", {"E-mail": "pia@example.org"})
    await page.get_by_label("Where").select_option("telegram")
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator("main code")).to_have_text(re.compile("^[A-Z0-9]{8}$"))
    await expect(page.locator("main")).to_contain_text("sends this code to the bot on Telegram")
    await is_accessible(page, "pairing")

    await page.get_by_role("link", name="Back to Pia Paired").click()
    await page.get_by_label("Where").select_option("email")
    await page.get_by_role("button", name="Start").click()
    await expect(page.locator("main")).to_contain_text("A link goes to pia@example.org")
