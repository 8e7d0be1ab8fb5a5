"""The inbox, as a browser shows it and as a person works with it."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from urllib.parse import urljoin

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.console.appearance import looks_right
from tests.console.browser import IN_BROWSER, Site, console_site, tab_to
from tests.household.living import LIFTED, QUICK

from postroom.inbox.model import NewNotification, NotificationType
from postroom.kernel.values.principal import Principal, Role

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]

ANN = Principal(Role.USER, "ann")
BEN = Principal(Role.USER, "ben")
EVE = Principal(Role.USER, "eve")


async def tell(site: Site, who: Principal, message: str, type: str = "info", link: str | None = None) -> str:
    inbox = site.home.household.inbox
    assert inbox is not None
    answer = await inbox.send(
        NewNotification(message=message, user_id=who.name, type=NotificationType(type), link=link)
    )
    assert answer["success"], answer
    return answer["notification_id"]


def note(page: Page, text: str) -> str:
    return f".note:has-text('{text}')"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    changes = {"inbox": {"hourly_cap": 1000}}
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, changes) as one:
        await tell(one, ANN, "The parcel is with the neighbours.", link="https://example.org/parcel")
        await tell(one, ANN, "Water the plants tonight.", type="reminder")
        await tell(one, ANN, "The cellar door has been open for an hour.", type="warning")
        yield one


async def test_every_act_puts_a_notification_on_its_shelf_and_takes_it_back(site: Site) -> None:
    await tell(site, BEN, "Call the dentist")
    page = await site.signed_in(BEN, "/inbox")
    tabs = page.get_by_role("navigation", name="Inbox by state")
    mine = page.locator(note(page, "Call the dentist"))

    async def then_it_is_under(shelf: str) -> None:
        await expect(page.locator(".notice.good")).to_be_visible()
        await tabs.get_by_role("link", name=re.compile(f"^{shelf}")).click()
        await expect(mine).to_be_visible()
        await expect(tabs.get_by_role("link", name=f"{shelf} 1", exact=True)).to_have_attribute("aria-current", "page")

    await mine.get_by_role("button", name="Mark as read").click()
    await then_it_is_under("Read")
    await mine.get_by_role("button", name="Mark as unread").click()
    await then_it_is_under("Unread")
    await mine.get_by_role("button", name="Archive").click()
    await then_it_is_under("Archived")
    await mine.get_by_role("button", name="Take out").click()
    await then_it_is_under("Read")
    await mine.get_by_role("button", name="Dismiss").click()
    await then_it_is_under("Dismissed")
    await mine.get_by_role("button", name="Bring back").click()
    await then_it_is_under("Read")


@pytest.mark.parametrize("choice", ["For an hour", "Until tomorrow morning", "Until next Monday"])
async def test_a_snooze_hides_it_until_then_and_can_be_ended(site: Site, choice: str) -> None:
    await tell(site, EVE, f"Sleepy, {choice}")
    page = await site.signed_in(EVE, "/inbox")

    await page.locator(note(page, f"Sleepy, {choice}")).get_by_role("link", name="Snooze…").click()
    await page.get_by_role("button", name=choice).click()

    await expect(page.locator(note(page, f"Sleepy, {choice}"))).to_have_count(0)
    await page.get_by_role("link", name="Snoozed").click()
    asleep = page.locator(note(page, f"Sleepy, {choice}"))
    await expect(asleep).to_contain_text("comes back in")
    await asleep.get_by_role("button", name="Bring back now").click()
    await page.get_by_role("link", name="Unread").click()
    await expect(page.locator(note(page, f"Sleepy, {choice}"))).to_be_visible()


async def test_a_snooze_until_a_time_that_has_passed_is_refused_and_a_coming_one_is_kept(site: Site) -> None:
    await tell(site, EVE, "When?")
    page = await site.signed_in(EVE, "/inbox")
    await page.locator(note(page, "When?")).get_by_role("link", name="Snooze…").click()

    await page.get_by_label("Until", exact=True).fill("2020-01-01T09:00")
    await page.get_by_role("button", name="Snooze until then").click()
    await expect(page.locator(".notice.bad")).to_contain_text("must lie in the future")

    await page.get_by_label("Until", exact=True).fill("2099-01-01T09:00")
    await page.get_by_role("button", name="Snooze until then").click()
    await expect(page.locator(".notice.good")).to_contain_text("Snoozed")


async def test_all_at_once_can_be_marked_as_read(site: Site) -> None:
    who = Principal(Role.USER, "ida")
    for number in range(3):
        await tell(site, who, f"Number {number}")
    page = await site.signed_in(who, "/inbox")

    await page.get_by_role("button", name="Mark all as read").click()

    await expect(page.locator(".notice.good")).to_have_text("3 marked as read.")
    await expect(page.get_by_text("All read")).to_be_visible()


async def test_a_long_inbox_pages_by_cursor_while_new_ones_arrive(site: Site) -> None:
    who = Principal(Role.USER, "lou")
    for number in range(25):
        await tell(site, who, f"Long {number:02}.")
    page = await site.signed_in(who, "/inbox")
    await expect(page.locator(".note")).to_have_count(20)
    older = await page.get_by_role("link", name="Older").get_attribute("href")
    await tell(site, who, "One more meanwhile.")
    await expect(page.locator(".note").first).to_contain_text("One more meanwhile.")

    await page.goto(urljoin(page.url, older))

    await expect(page.locator(".note")).to_have_count(5)
    await expect(page.locator(".note").first).to_contain_text("Long 04.")
    await page.get_by_role("link", name="Newest").click()
    await expect(page.locator(".note").first).to_contain_text("One more meanwhile.")


async def test_a_notification_that_arrives_meanwhile_appears_by_itself(site: Site) -> None:
    who = Principal(Role.USER, "mia")
    page = await site.signed_in(who, "/inbox")
    await expect(page.get_by_text("All read")).to_be_visible()

    await tell(site, who, "Here I am")

    await expect(page.locator(note(page, "Here I am"))).to_be_visible()
    await expect(page.locator("#news")).to_have_text("The inbox was brought up to date.")


async def test_the_operator_may_look_into_another_inbox_but_not_touch_it(site: Site) -> None:
    page = await site.signed_in(path="/inbox")

    await page.get_by_text("Options").click()
    await page.get_by_label("Look into").select_option("ann")
    await page.get_by_role("button", name="Open").click()

    await expect(page.get_by_text("You can read it; only ann can change it.")).to_be_visible()
    await expect(page.locator(note(page, "Water the plants"))).to_be_visible()
    await expect(page.locator(".note").get_by_role("button")).to_have_count(0)


async def test_nobody_else_sees_or_changes_what_is_not_theirs(site: Site) -> None:
    theirs = await tell(site, ANN, "For Ann alone")
    page = await site.signed_in(EVE, "/inbox?of=ann")
    await expect(page.get_by_text("Not found")).to_be_visible()

    await page.goto(f"{site.url}/inbox/{theirs}")
    await expect(page.get_by_text("Not found")).to_be_visible()

    await page.goto(f"{site.url}/inbox")
    token = await page.locator("input[name=form_token]").first.get_attribute("value")
    answer = await page.request.post(
        f"{site.url}/inbox/{theirs}/dismiss",
        form={"form_token": token or "", "shelf": "unread"},
        headers={"Origin": site.url.removesuffix("/console")},
    )
    assert "no such notification" in await answer.text()
    ann = await site.signed_in(ANN, "/inbox")
    await expect(ann.locator(note(ann, "For Ann alone"))).to_be_visible()


async def test_preferences_are_kept_and_wrong_ones_are_named(site: Site) -> None:
    page = await site.signed_in(BEN, "/inbox/preferences")
    await page.get_by_label("In the inbox and by e-mail").check()
    await page.get_by_label("E-mail address").fill("ben@example.org")
    await page.get_by_label("From", exact=True).fill("22:00")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("Nothing was saved")
    await expect(page.get_by_label("To", exact=True)).to_have_attribute("aria-invalid", "true")

    await page.get_by_label("To", exact=True).fill("07:00")
    await page.get_by_label("Time zone").select_option("Europe/Berlin")
    await page.get_by_label("Warnings and other urgent").check()
    await page.get_by_role("button", name="Save").click()

    await expect(page.locator(".notice.good")).to_have_text("Saved.")
    await expect(page.get_by_text("No e-mail address is confirmed yet: no copy is mailed.")).to_be_visible()
    await expect(page.get_by_label("E-mail address")).to_have_value("ben@example.org")
    await expect(page.get_by_text("This address waits to be confirmed")).to_be_visible()
    await page.get_by_role("link", name="Back to the inbox").click()
    await expect(
        page.get_by_text("No e-mail from 22:00 to 07:00 (Europe/Berlin), unless it is urgent.")
    ).to_be_visible()
    await expect(page.get_by_text("ben@example.org waits to be confirmed.")).to_be_visible()


async def test_the_keyboard_stays_where_it_is_while_the_page_is_brought_up_to_date(site: Site) -> None:
    who = Principal(Role.USER, "pia")
    page = await site.signed_in(who, "/inbox")
    archived = page.get_by_role("link", name="Archived")
    await archived.focus()

    await tell(site, who, "Meanwhile")

    await expect(page.get_by_text("Meanwhile")).to_be_visible()
    await expect(archived).to_be_focused()


async def test_the_keyboard_alone_reads_and_dismisses(site: Site) -> None:
    who = Principal(Role.USER, "kim")
    await tell(site, who, "By keyboard")
    page = await site.signed_in(who, "/inbox")

    await page.get_by_role("link", name="Unread").focus()
    await tab_to(page, "Mark as read", most=8)
    await expect(page.get_by_role("button", name="Mark as read")).to_be_focused()
    await page.keyboard.press("Enter")

    await expect(page.locator(".notice.good")).to_have_text("Marked as read.")


async def test_the_inbox_is_accessible_and_fits_the_window(site: Site) -> None:
    first = await tell(site, ANN, "The heating will be serviced on Monday at 8:00.")
    paths = {"inbox": "/inbox", "notification": f"/inbox/{first}", "inbox-preferences": "/inbox/preferences"}
    await looks_right(site, paths, ANN)
