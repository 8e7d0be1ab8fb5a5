"""One notice in a browser: its story, what comes next, and every act."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.console.appearance import looks_right
from tests.console.asked import ANNA
from tests.console.attended import ALWAYS_QUIET, say, settle, wish
from tests.console.browser import IN_BROWSER, Site, console_site, tab_to
from tests.household.living import LIFTED, QUICK

from postroom.attention.model import NoticeState
from postroom.kernel.values.principal import OPERATOR, Principal

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        one.home.tokens.ensure([ANNA])
        await settle(one.home, "Anna")
        await wish(one.home, "owner", ALWAYS_QUIET)
        await wish(one.home, "anna", ALWAYS_QUIET)
        yield one


async def opened(site: Site, notice: str, who: Principal = OPERATOR) -> Page:
    return await site.signed_in(who, f"/attention/notices/{notice}")


async def state(site: Site, notice: str) -> NoticeState:
    view = await site.home.attention.notice(notice)
    assert view is not None
    return view.state


@pytest.mark.requirement("attention:console-story")
async def test_the_page_tells_every_decision_with_its_reasons_and_the_plan_in_the_persons_zone(site: Site) -> None:
    notice = await say(site.home, "The oven is still on", urgency="critical", category="kitchen")
    page = await opened(site, notice)

    story = page.get_by_role("region", name="What happened").get_by_role("listitem")
    await expect(story.first).to_contain_text("Accepted from health for telegram")
    held = page.get_by_role("region", name="What happened").locator(".timeline > li", has_text="Held until")
    await expect(held).to_contain_text("Because: quiet hours are on.")
    await expect(page.get_by_text("its agent asked for “critical”")).to_be_visible()
    coming = page.get_by_role("region", name="What will happen next")
    await expect(coming).to_contain_text("It leaves, to Sandbox owner by telegram")
    await expect(coming).to_contain_text("Unless it is read, withdrawn, snoozed or muted before.")
    await expect(coming).to_contain_text("Europe/Vienna")


@pytest.mark.requirement("attention:console-acts")
async def test_ok_settles_it_and_a_second_visitor_hears_that_it_is_settled(site: Site) -> None:
    notice = await say(site.home, "Please confirm", needs_ack=True)
    page, late = await opened(site, notice), await opened(site, notice)

    await page.get_by_role("button", name="OK", exact=True).click()
    await expect(page.locator(".notice.good")).to_have_text("OK. It is settled.")
    assert await state(site, notice) is NoticeState.ACKNOWLEDGED
    await expect(page.get_by_text("OK by Sandbox owner")).to_be_visible()
    await expect(page.get_by_role("button", name="OK", exact=True)).to_have_count(0)

    await late.get_by_text("Later…").click()
    await late.get_by_role("button", name="In an hour").click()
    await expect(late.locator(".notice.bad")).to_contain_text("cannot be snoozed")


@pytest.mark.requirement("attention:console-acts")
@pytest.mark.parametrize("choice", ["In an hour", "Tomorrow morning"])
async def test_later_puts_it_off_and_says_until_when(site: Site, choice: str) -> None:
    notice = await say(site.home, f"Not now, {choice}")
    page = await opened(site, notice)

    await page.get_by_text("Later…").click()
    await page.get_by_role("button", name=choice).click()

    await expect(page.locator(".notice.good")).to_contain_text("It comes again on")
    await expect(page.get_by_role("region", name="What happened")).to_contain_text("Put off until")
    view = await site.home.attention.notice(notice)
    assert view is not None and view.standing.snoozed_until_us


async def test_later_until_a_moment_that_has_passed_changes_nothing(site: Site) -> None:
    notice = await say(site.home, "When then?")
    page = await opened(site, notice)
    await page.get_by_text("Later…").click()

    await page.get_by_label("At", exact=True).fill("2020-01-01T09:00")
    await page.get_by_role("button", name="Later, at this time").click()

    await expect(page.locator(".notice.bad")).to_have_text("Not put off: the time must lie in the future.")
    view = await site.home.attention.notice(notice)
    assert view is not None and not view.standing.snoozed_until_us


@pytest.mark.requirement("attention:console-acts")
async def test_the_operator_withdraws_and_another_person_cannot(site: Site) -> None:
    notice = await say(site.home, "Said too early", "Anna")
    anna = await opened(site, notice, ANNA)
    await expect(anna.get_by_role("button", name="Withdraw")).to_have_count(0)
    token = await anna.locator("[name=form_token]").first.input_value()
    refused = await anna.request.post(
        f"{site.url}/attention/notices/{notice}/withdraw",
        form={"form_token": token},
        headers={"Origin": site.home.household.addresses["api"]},
        max_redirects=0,
    )
    assert refused.status == 404
    assert await state(site, notice) is NoticeState.HELD

    page = await opened(site, notice)
    await page.get_by_text("Withdraw…").click()
    await page.get_by_role("button", name="Withdraw", exact=True).click()
    await expect(page.locator(".notice.good")).to_contain_text("Withdrawn.")
    assert await state(site, notice) is NoticeState.WITHDRAWN


@pytest.mark.requirement("attention:console-acts")
async def test_an_agent_is_muted_until_midnight_in_the_persons_zone(site: Site) -> None:
    notice = await say(site.home, "Chatter", agent="noisy")
    page = await opened(site, notice)

    await page.get_by_role("button", name="Mute this agent today").click()

    await expect(page.locator(".notice.good")).to_contain_text("noisy is muted until midnight.")
    assert await state(site, notice) is NoticeState.MUTED
    await page.goto(site.url + "/attention")
    await expect(page.get_by_role("region", name="Muted")).to_contain_text(re.compile(r"noisy until .*, 00:00"))


async def test_a_hostile_text_is_shown_as_it_is_written(site: Site) -> None:
    text = "<script>alert(1)</script>{{ 7*7 }}\u202egnp"
    notice = await say(site.home, text, agent="<b>bold</b>")
    page = await opened(site, notice)

    await expect(page.get_by_role("heading", level=1)).to_have_text(text)
    await page.goto(site.url + "/attention")
    await expect(page.get_by_role("link", name=text).first).to_be_visible()  # and, when nothing else is, what is next
    assert site.mishaps == []


async def test_a_notice_that_is_not_there_has_no_page(site: Site) -> None:
    page = await site.signed_in()
    answer = await page.goto(f"{site.url}/attention/notices/nothing")
    assert answer is not None and answer.status == 404


async def test_by_keyboard_and_without_script_it_can_be_settled(site: Site) -> None:
    notice = await say(site.home, "By hand")
    page = await site.signed_in(path=f"/attention/notices/{notice}", java_script_enabled=False)

    await page.get_by_role("button", name="OK", exact=True).focus()
    await page.keyboard.press("Enter")

    await page.wait_for_selector(".notice.good")
    assert await state(site, notice) is NoticeState.ACKNOWLEDGED


async def test_the_keyboard_reaches_every_act(site: Site) -> None:
    page = await opened(site, await say(site.home, "Reach me"))

    for name in ("OK", "Mute this agent today", "Later…", "Withdraw…"):
        await tab_to(page, name)


@pytest.mark.requirement("attention:console-accessible")
async def test_the_page_is_accessible_and_fits_in_both_themes(site: Site) -> None:
    notice = await say(site.home, "Look at me", needs_ack=True, thread="a-rather-long-thread-name-without-a-break")
    await looks_right(site, {"attention-notice": f"/attention/notices/{notice}"})
