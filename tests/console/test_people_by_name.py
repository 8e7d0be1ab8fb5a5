"""People instead of addresses over the whole console, their page, and lists that fit a phone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect

from postroom.kernel.values.principal import OPERATOR, Principal
from tests.console.appearance import looks_right
from tests.console.asked import ANNA, BEN, admit, ask
from tests.console.browser import IN_BROWSER, PHONE, Site, console_site
from tests.console.http import Answer, Caller, calling
from tests.household.living import LIFTED, QUICK

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]

KNOWN = {"contacts": [{"name": "Bea Example", "aliases": ["Auntie"], "email": "bea@example.org"}]}
LINKED = "Read https://example.org/a and https://bank.example@evil.example/"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(
        browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, KNOWN, {"retry": {"max_attempts": 1}}
    ) as one:
        await one.home.notify(channel="email", message=LINKED, subject="To Bea", recipient="bea@example.org")
        for number in range(12):
            await one.home.notify(message=f"To the owner {number}")
        await one.home.notify(channel="email", message="Hi", subject="Stranger", recipient="new@example.org")
        await one.home.fault(channel="email", times=1, status=503)
        await one.home.notify(channel="email", message="Lost", subject="Lost", recipient="bea@example.org")
        await admit(one.home, ANNA, BEN)
        await ask(one.home, "Shall Anna come?", to="anna")
        yield one


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def caller(site: Site) -> AsyncIterator[Caller]:
    async with calling(site.home) as one:
        yield one


async def shown(site: Site, caller: Caller, path: str, who: Principal = OPERATOR) -> Answer:
    if f"cookies {who}" not in site.sessions:
        site.sessions[f"cookies {who}"] = await caller.sign_in(await site.link(who))
    return await caller.get(f"/console{path}", site.sessions[f"cookies {who}"])


async def bea(site: Site) -> str:
    return next(str(row["id"]) for row in site.home.rows("people") if row["name"] == "Bea Example")


@pytest.mark.requirement("side:people-by-name")
async def test_lists_show_people_and_the_owner_is_you(site: Site, caller: Caller) -> None:
    listed = (await shown(site, caller, "/deliveries")).text

    for words in ("<bdi>Bea Example</bdi>", "<bdi>You</bdi>", "<bdi>new@example.org</bdi>", "Add<span"):
        assert words in listed
    assert "<bdi>1000</bdi>" not in listed and "<bdi>bea@example.org</bdi>" not in listed
    assert "<bdi>Bea Example</bdi>" in (await shown(site, caller, "/dead-letters")).text


@pytest.mark.requirement("side:search-by-name")
@pytest.mark.parametrize(
    ("path", "found", "not_found"),
    [
        ("/deliveries?q=Bea", "To Bea", "To the owner"),
        ("/deliveries?q=auntie", "To Bea", "Stranger"),
        ("/deliveries?q=exam", "To Bea", "To the owner"),
        ("/dead-letters?q=Auntie", "Bea Example", "No dead letter matches"),
        ("/dead-letters?q=Sandbox+owner", "No dead letter matches", "<bdi>Bea Example</bdi>"),
        ("/conversations?q=Auntie", "Bea Example", "Sandbox owner"),
        ("/questions?q=anna&status=all", "Shall Anna come?", "Nothing here"),
        ("/questions?q=ben&status=all", "Nothing here", "Shall Anna come?"),
    ],
)
async def test_a_name_finds_what_concerns_its_person(
    site: Site, caller: Caller, path: str, found: str, not_found: str
) -> None:
    text = (await shown(site, caller, path)).text.partition("<main")[2]

    assert found in text and not_found not in text


@pytest.mark.requirement("side:person-page")
async def test_a_persons_page_holds_what_the_household_knows(site: Site, caller: Caller) -> None:
    text = (await shown(site, caller, f"/people/{await bea(site)}")).text

    for words in (
        "Bea Example",
        "bea@example.org",
        "Not verified",
        "Auntie",
        "To Bea",
        "Prove an address",
        "Attention",
    ):
        assert words in text
    assert "Invite to sign in" not in text  # a contact
    anna = (await shown(site, caller, "/people/anna")).text
    assert "Shall Anna come?" in anna and '<a class="button" href="/console/access">Invite to sign in</a>' in anna


@pytest.mark.requirement("side:person-page")
async def test_a_member_sees_their_own_page_and_no_other(site: Site, caller: Caller) -> None:
    own = await shown(site, caller, "/people/anna", ANNA)

    assert own.status == 200 and "Shall Anna come?" in own.text
    assert (
        "Delete this person" not in own.text
        and "Invite to sign in" not in own.text
        and "Prove an address" not in own.text
    )
    for other in ("ben", "owner", await bea(site)):
        assert (await shown(site, caller, f"/people/{other}", ANNA)).status == 404
    assert "Shall Anna come?" not in (await shown(site, caller, "/people/ben", BEN)).text
    assert "Shall Anna come?" not in (await shown(site, caller, "/questions?q=anna&status=all", BEN)).text


async def test_links_to_contacts_lead_to_people(site: Site, caller: Caller) -> None:
    for path, there in (
        ("/contacts?q=b", "/people?q=b"),
        ("/contacts/owner", "/people/owner"),
        ("/contacts//x", "/people//x"),
    ):
        answer = await shown(site, caller, path)
        assert (answer.status, answer.headers["Location"]) == (303, f"/console{there}")


async def test_an_unknown_address_begins_a_new_person(site: Site, caller: Caller) -> None:
    text = (await shown(site, caller, "/people/new?channel=email&address=new@example.org")).text

    assert 'value="new@example.org"' in text
    assert 'value="x"' not in (await shown(site, caller, "/people/new?channel=pigeon&address=x")).text


@pytest.mark.requirement("side:safe-links")
async def test_a_message_has_its_safe_links_and_no_other(site: Site) -> None:
    page = await site.signed_in(path="/deliveries?q=evil.example")
    await page.get_by_role("link", name="Bea Example", exact=True).click()

    await expect(page.locator("pre")).to_have_text(LINKED)
    link = page.locator("pre a")
    await expect(link).to_have_count(1)
    await expect(link).to_have_attribute("href", "https://example.org/a")
    await expect(link).to_have_attribute("rel", "noopener noreferrer nofollow")
    await expect(link).to_have_attribute("data-host", "example.org")  # which stands beside it


@pytest.mark.requirement("side:content-first")
async def test_on_a_phone_eight_rows_stand_before_any_filter(site: Site) -> None:
    page = await site.signed_in(path="/deliveries?status=delivered", viewport=PHONE, java_script_enabled=False)
    rows = page.locator("tbody tr")
    await expect(page.get_by_label("Search")).not_to_be_visible()
    places = [await rows.nth(number).bounding_box() for number in range(8)]
    assert all(one is not None and one["y"] + one["height"] <= PHONE["height"] for one in places), places

    await expect(page.locator("summary .count")).to_have_text("1 in use")
    await page.get_by_text("Search and filter").click()
    await page.get_by_label("Search").fill("Bea")
    await page.get_by_role("button", name="Find").click()
    await expect(rows).to_have_count(1)


@pytest.mark.requirement("side:content-first")
@pytest.mark.parametrize("path", ["/conversations", "/conversations/owner", "/audit"])
async def test_on_a_phone_filters_stand_behind_a_button(site: Site, path: str) -> None:
    page = await site.signed_in(path=path, viewport=PHONE, java_script_enabled=False)
    form = page.locator("main form[method=get]").first
    await expect(form).not_to_be_visible()

    await page.get_by_text("Search and filter").click()

    await expect(form).to_be_visible()


@pytest.mark.requirement("side:person-page")
async def test_a_persons_page_is_accessible_and_fits_the_window(site: Site) -> None:
    await looks_right(
        site, {"person-bea": f"/people/{await bea(site)}", "questions-of-anna": "/questions?q=anna&status=all"}
    )
    await looks_right(site, {"person-own": "/people/anna"}, ANNA)
