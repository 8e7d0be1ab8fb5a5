"""Deliveries in a browser: found by anything one knows, and each with its story and its reason."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from tests.console.appearance import looks_right
from tests.console.browser import IN_BROWSER, Site, console_site, path_of, violations
from tests.household.living import LIFTED, QUICK

from postroom.kernel.values.principal import Principal, Role

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]
OPEN_AFTER_FOUR = {"breaker": {"failure_threshold": 4, "recovery_seconds": 600}}
MANY_MAILS = {"limits": {"channels": {"telegram.bot": 10**6, "email.bot": 10**6}}}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(
        browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, OPEN_AFTER_FOUR, MANY_MAILS
    ) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def many(site: Site) -> int:
    for n in range(52):
        await site.home.notify(channel="email", message=f"Number {n}", subject="Many", recipient="many@example.org")
    return 52


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def sent(site: Site, many: int) -> dict[str, dict[str, Any]]:
    """One of each kind, newer than the many; the last ones find the circuit open."""
    home = site.home
    told = {"delivered": await home.notify(message="Take the blue pills")}
    told["email"] = await home.notify(channel="email", message="Hi", subject="Weekly", recipient="ann@example.org")
    await home.fault(channel="telegram", times=1, status=503)
    told["retried"] = await home.notify(message="On the second try")
    await home.fault(channel="telegram", times=4, status=503)
    told["dead"] = await home.notify(message="Given up")
    told["waiting"] = await home.notify(message="Behind an open circuit", wait_seconds=0.2)
    return told


def id_of(answer: dict[str, Any]) -> str:
    return str(answer["delivery"]["delivery_id"])


async def test_a_word_of_the_message_finds_the_delivery(site: Site, sent: dict[str, Any]) -> None:
    page = await site.signed_in(path="/deliveries")
    await page.get_by_label("Search").fill("BLUE pills")
    await page.keyboard.press("Enter")

    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(page.locator("tbody tr")).to_contain_text("Take the blue pills")


@pytest.mark.parametrize("known", ["delivery", "request"])
async def test_an_id_leads_straight_to_the_delivery(site: Site, sent: dict[str, Any], known: str) -> None:
    answer = sent["email"]
    identifier = id_of(answer) if known == "delivery" else answer["request_context"]["request_id"]
    page = await site.signed_in(path="/deliveries")
    await page.get_by_label("Search").fill(identifier)
    await page.get_by_role("button", name="Find").click()

    await expect(page.get_by_role("heading", name="ann@example.org")).to_be_visible()
    assert path_of(page) == f"/console/deliveries/{id_of(answer)}"


async def test_filters_narrow_the_list_and_stay_as_they_were_set(site: Site, sent: dict[str, Any]) -> None:
    page = await site.signed_in(path="/deliveries")
    await page.get_by_label("State").select_option("delivered")
    await page.get_by_label("Channel").select_option("telegram")
    await page.get_by_role("button", name="Find").click()

    await expect(page.locator("tbody tr")).to_have_count(2)
    await expect(page.get_by_label("State")).to_have_value("delivered")


async def test_a_filter_that_makes_no_sense_is_explained(site: Site) -> None:
    page = await site.signed_in(path="/deliveries?channel=pigeon")

    await expect(page.get_by_role("alert")).to_contain_text("Unknown channel")


async def test_nothing_found_is_said_kindly(site: Site, sent: dict[str, Any]) -> None:
    page = await site.signed_in(path="/deliveries?q=zebra")

    await expect(page.get_by_text("No delivery matches")).to_be_visible()


STORIES = {
    "delivered": ("It was delivered over telegram", ["health asked for it", "Admitted and stored", "Delivered"]),
    "retried": ("after 2 calls", ["Attempt 1: Failed, may be retried", "Attempt 2: Success"]),
    "waiting": ("telegram is paused after 4 failures in a row", ["The next try"]),
}


@pytest.mark.parametrize("kind", STORIES)
async def test_a_delivery_tells_its_story_and_its_reason(site: Site, sent: dict[str, Any], kind: str) -> None:
    reason, moments = STORIES[kind]
    page = await site.signed_in(path=f"/deliveries/{id_of(sent[kind])}")

    await expect(page.locator(".why")).to_contain_text(reason)
    for title in moments:
        await expect(page.locator(".timeline").get_by_text(title, exact=True).first).to_be_visible()


async def test_from_the_first_page_the_answer_is_one_click_away(site: Site, sent: dict[str, Any]) -> None:
    page = await site.signed_in()
    await page.get_by_role("row").filter(has_text="Waiting").get_by_role("link", name="You", exact=True).click()

    await expect(page.get_by_role("heading", name="Why it is where it is")).to_be_visible()


async def test_the_breaker_and_the_limits_of_this_moment_stand_beside_it(site: Site, sent: dict[str, Any]) -> None:
    page = await site.signed_in(path=f"/deliveries/{id_of(sent['waiting'])}")
    now = page.locator("section", has=page.get_by_role("heading", name="Telegram right now"))

    await expect(now).to_contain_text("Paused after failures")
    await expect(now).to_contain_text("room for")


async def test_a_delivery_that_does_not_exist_is_not_found(site: Site) -> None:
    page = await site.signed_in()
    for path in ("/deliveries/01a1df2c-8788-7000-a28c-5b1bdff4e9fd", "/deliveries/x", "/nowhere"):
        answer = await page.goto(site.url + path)
        assert answer is not None and answer.status == 404
        await expect(page.get_by_role("heading", name="Not found")).to_be_visible()


async def test_a_user_is_told_that_this_is_for_the_operator(site: Site, sent: dict[str, Any]) -> None:
    page = await site.signed_in(Principal(Role.USER, "ann"))
    for path in ("/deliveries", f"/deliveries/{id_of(sent['delivered'])}", "/dead-letters", "/health"):
        answer = await page.goto(site.url + path)
        assert answer is not None and answer.status == 403
        await expect(page.get_by_role("heading", name="For the owner")).to_be_visible()


async def test_long_lists_come_in_pages_that_follow_each_other(site: Site, many: int) -> None:
    page = await site.signed_in(path="/deliveries?q=Number")

    await expect(page.locator("tbody tr")).to_have_count(50)
    await page.get_by_role("link", name="Older").click()

    await expect(page.locator("tbody tr")).to_have_count(many - 50)
    await page.get_by_role("link", name="Newest").click()
    await expect(page.locator("tbody tr")).to_have_count(50)


async def test_both_pages_are_accessible(site: Site, sent: dict[str, Any]) -> None:
    await looks_right(site, {"deliveries": "/deliveries", "delivery": f"/deliveries/{id_of(sent['waiting'])}"})


@pytest.mark.requirement("content:console-formatted")
async def test_markdown_is_shown_as_it_looks_with_its_links_apart_and_its_source_a_tap_away(site: Site) -> None:
    source = "**Done** `x` ![pixel](https://evil.example/p.png) [bank.example](https://evil.example)"
    sent = await site.home.notify(channel="email", message=source, recipient="ann@example.org", format="markdown")
    page = await site.signed_in(path=f"/deliveries/{id_of(sent)}")

    box = page.get_by_role("group", name="The message, as it looks")
    await expect(box.locator("strong")).to_have_text("Done")
    await expect(box.locator("code")).to_have_text("x")
    assert await box.locator("a, img").count() == 0
    await expect(page.get_by_role("list", name="Where its links lead")).to_contain_text("leads to evil.example")
    written = page.get_by_role("group", name="The message, as it was written")
    await expect(written).to_be_hidden()
    await page.get_by_text("As it was written").click()
    await expect(written).to_have_text(source)
    assert not await violations(page)
