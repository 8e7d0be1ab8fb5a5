"""Dead letters in a browser: looked at, sent again, discarded; one, some and all."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.console.appearance import looks_right
from tests.console.browser import IN_BROWSER, Site, console_site, tab_to, violations
from tests.household.living import LIFTED, QUICK

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]
HELD = {"delivery": {"telegram_chat_interval_seconds": 0, "on_uncertain_by_channel": {"telegram": "hold"}}}
NEVER_OPEN = {"breaker": {"failure_threshold": 1000}}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, HELD, NEVER_OPEN) as one:
        yield one


async def give_up(site: Site, message: str, **fault: object) -> str:
    """A dead letter with this message, and its id."""
    await site.home.settled()
    await site.home.fault(channel="telegram", **(fault or {"times": 3, "status": 503}))
    answer = await site.home.notify(message=message)
    delivery_id = answer["delivery"]["delivery_id"]
    letters = site.home.rows("delivery_dead_letter")
    return next(str(row["id"]) for row in letters if row["delivery_request_id"] == delivery_id)


async def finished(page: Page) -> None:
    await expect(page.get_by_text("Finished")).to_be_visible()


async def test_a_letter_is_inspected_and_replayed_and_arrives(site: Site) -> None:
    letter = await give_up(site, "Please send me again")
    page = await site.signed_in(path="/dead-letters")
    await page.locator(f"a[href$='{letter}']").click()
    await expect(page.locator("pre")).to_have_text("Please send me again")
    await expect(page.locator(".timeline li")).to_have_count(3)

    await page.get_by_role("button", name="Replay").click()

    await expect(page.get_by_text("It is on its way again.")).to_be_visible()
    await expect(page.get_by_role("link", name="Replay 1")).to_be_visible()
    await page.get_by_role("link", name="Replay 1").click()
    await expect(page.locator(".why")).to_contain_text("It was delivered over telegram")
    assert "Please send me again" in await site.home.texts()


async def test_by_keyboard_alone_a_letter_is_opened_and_replayed(site: Site) -> None:
    letter = await give_up(site, "By keyboard alone")
    page = await site.signed_in(path="/dead-letters")
    await tab_to(page, "You")
    await page.keyboard.press("Enter")
    await page.wait_for_url(f"**/dead-letters/{letter}")
    await tab_to(page, "Replay")
    await page.keyboard.press("Enter")

    await expect(page.get_by_text("It is on its way again.")).to_be_visible()


async def test_a_second_replay_is_refused_with_the_reason(site: Site) -> None:
    letter = await give_up(site, "Once is enough")
    page = await site.signed_in(path=f"/dead-letters/{letter}")
    stale = await site.signed_in(path=f"/dead-letters/{letter}")
    await page.get_by_role("button", name="Replay").click()
    await expect(page.get_by_text("It is on its way again.")).to_be_visible()

    await stale.get_by_role("button", name="Replay").click()

    await expect(stale.locator(".notice.bad")).to_contain_text("cannot be replayed")
    assert (await site.home.texts()).count("Once is enough") == 1


async def test_what_may_have_arrived_is_replayed_only_by_consent(site: Site) -> None:
    letter = await give_up(site, "Perhaps it came", times=1, mode="accept_then_cut")
    page = await site.signed_in(path=f"/dead-letters/{letter}")
    await expect(page.get_by_text("Held, outcome unknown")).to_be_visible()
    await page.get_by_role("button", name="Replay").click()
    await expect(page.get_by_text("Held, outcome unknown")).to_be_visible()

    await page.get_by_label("a second copy is acceptable").check()
    await page.get_by_role("button", name="Replay").click()

    await expect(page.get_by_text("It is on its way again.")).to_be_visible()


async def test_a_discard_needs_a_reason_and_keeps_it(site: Site) -> None:
    letter = await give_up(site, "Not needed any more")
    page = await site.signed_in(path=f"/dead-letters/{letter}", java_script_enabled=False)
    await page.get_by_label("Reason for discarding").fill("the meeting is over")
    await page.get_by_role("button", name="Discard for good").click()

    await expect(page.locator(".why")).to_contain_text("the meeting is over")
    await expect(page.get_by_text("It cannot be replayed:")).to_be_visible()
    await page.goto(f"{site.url}/dead-letters")
    await expect(page.locator(f"a[href$='{letter}']")).to_have_count(0)
    await page.goto(f"{site.url}/dead-letters?discarded=yes")
    await expect(page.locator(f"a[href$='{letter}']")).to_have_count(1)


async def test_those_that_are_ticked_are_replayed_and_no_other(site: Site) -> None:
    names = ("Almond", "Barley")
    chosen = [await give_up(site, name) for name in names]
    await give_up(site, "Not chosen")
    page = await site.signed_in(path="/dead-letters")
    for letter in chosen:
        await page.locator(f"input[value='{letter}']").check()

    await page.get_by_role("button", name="Replay").click()

    await finished(page)
    await expect(page.get_by_text("2 of 2", exact=True).last).to_be_visible()
    await expect(page.get_by_text("2 done", exact=True)).to_be_visible()
    for name in names:
        assert name in await arrived(site, name)
    assert "Not chosen" not in await site.home.texts()


async def arrived(site: Site, text: str) -> list[str]:
    """The replay is a delivery of its own; its page says when it is done."""
    page = await site.signed_in(path=f"/deliveries?q={text}&status=delivered")
    await expect(page.locator("tbody tr")).to_have_count(1)
    return await site.home.texts()


async def test_all_that_the_list_finds_are_discarded_with_progress(site: Site) -> None:
    for n in range(6):
        await give_up(site, f"In bulk {n}")
    page = await site.signed_in(path="/dead-letters")
    await page.get_by_label("All that this list finds").check()
    await page.get_by_label("Reason for discarding").fill("cleaning up")
    await page.get_by_role("button", name="Discard for good").click()

    await finished(page)
    assert await violations(page) == []
    rows = site.home.rows("delivery_dead_letter")
    assert all(row["discarded_at"] for row in rows)
    await page.goto(f"{site.url}/dead-letters")
    await expect(page.get_by_text("No dead letters")).to_be_visible()


@pytest.mark.parametrize(
    ("act", "said"), [("Replay", "Nothing was chosen"), ("Discard for good", "Nothing was chosen")]
)
async def test_without_a_choice_nothing_is_done(site: Site, act: str, said: str) -> None:
    await give_up(site, f"Left alone by {act}")
    page = await site.signed_in(path="/dead-letters")
    await page.get_by_role("button", name=act).click()

    await expect(page.locator(".notice.bad")).to_contain_text(said)


async def test_a_bulk_discard_without_a_reason_is_refused(site: Site) -> None:
    await give_up(site, "Still here")
    page = await site.signed_in(path="/dead-letters")
    await page.get_by_label("Choose all on this page").check()
    await page.get_by_role("button", name="Discard for good").click()

    await expect(page.locator(".notice.bad")).to_contain_text("A reason is required")


async def test_enter_in_the_field_for_the_reason_never_replays(site: Site) -> None:
    await give_up(site, "Typed and entered")
    page = await site.signed_in(path="/dead-letters")
    await page.get_by_label("Choose all on this page").check()
    await page.get_by_label("Reason for discarding").fill("not needed")
    await page.keyboard.press("Enter")

    await expect(page.locator(".notice.bad")).to_contain_text("nothing was replayed")
    assert "Typed and entered" not in await site.home.texts()


async def test_both_pages_are_accessible(site: Site) -> None:
    letter = await give_up(site, "A letter to look at")
    await looks_right(site, {"dead-letters": "/dead-letters", "dead-letter": f"/dead-letters/{letter}"})
