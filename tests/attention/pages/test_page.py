"""Attention, as a browser shows it: what is held, what comes next, who is muted and who is away."""

from __future__ import annotations

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from tests.console.appearance import looks_right
from tests.console.asked import ANNA, BEN
from tests.console.attended import ALWAYS_QUIET, say, settle, wish
from tests.console.browser import IN_BROWSER, Site, console_site
from tests.console.http import calling
from tests.household.living import LIFTED, QUICK, living
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.values.principal import Principal, Role

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]

CARA = Principal(Role.PERSON, "cara")
_HELD = 3
CELLS_HERE = {"held": "held", "in_a_digest": "in a digest", "waiting": "waiting for an OK", "sent": "sent"}
QUICK_POLICY = {
    "preset": "everything",
    "zone": "Europe/Vienna",
    "collect": {"window_seconds": 1},
    "escalation": [{"after_seconds": 0, "channel": "email"}],
}


async def _settled(site: Site) -> None:
    """One is sent, two left in a digest, and one was taken further without an answer."""
    attention = site.home.attention
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            states = sorted(one.state for one in await attention.notices("owner"))
            steps = [one.standing.steps for one in await attention.notices("owner", "waiting")]
            if states == ["digested", "digested", "sent", "waiting"] and steps == [("channel:email",)]:
                return
            await asyncio.sleep(0.05)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        home = one.home
        home.tokens.ensure([ANNA, BEN, CARA])
        await settle(home, "Anna", "Ben", "Cara")
        await wish(home, "owner", QUICK_POLICY)
        await say(home, "The washing machine is done")
        await say(home, "The dryer is done, too")
        await say(home, "And the dishes")
        await say(home, "A visitor is at the door", agent="door", urgency="time_sensitive", needs_ack=True)
        await _settled(one)
        await wish(home, "owner", ALWAYS_QUIET)
        for number in range(_HELD):
            await say(home, f"Water plant number {number}")
        await wish(home, "anna", ALWAYS_QUIET)
        await say(home, "Only for Anna", "Anna")
        yield one


@pytest.mark.requirement("attention:console-line")
async def test_the_line_counts_every_notice_and_leads_to_the_list_of_each_cell(site: Site) -> None:
    figures = await site.home.attention.figures("owner")
    page = await site.signed_in(path="/attention")

    await expect(page.locator(".summary")).to_contain_text(f"{figures.accepted} notices in all")
    for cell, words in CELLS_HERE.items():
        line = page.locator(".summary").get_by_role("link", name=f"{figures.cells[cell]} {words}", exact=True)
        await line.click()
        await expect(page.locator(".tabs [aria-current]")).to_contain_text(str(figures.cells[cell]))
        await expect(page.locator(".note")).to_have_count(figures.cells[cell])
    assert sum(figures.cells.values()) == figures.accepted
    await expect(page.get_by_text("accounted for")).to_have_count(0)


async def test_what_was_taken_further_is_counted_and_listed_and_settled_by_one_press(site: Site) -> None:
    page = await site.signed_in(path="/attention")

    await page.locator(".summary").get_by_role("link", name="1 escalated", exact=True).click()

    door = page.locator(".note", has_text="A visitor is at the door")
    await expect(door).to_contain_text("Escalated")
    await expect(door.get_by_role("button", name="OK")).to_be_visible()


async def test_what_is_held_says_by_whom_why_and_until_when(site: Site) -> None:
    page = await site.signed_in(path="/attention")

    first = page.locator(".note", has_text="Water plant number 0")
    await expect(first).to_contain_text("health")
    await expect(first).to_contain_text(re.compile(r"until \w{3} \d+ \w{3} \d{4}, \d\d:\d\d"))
    await expect(first.get_by_role("listitem")).to_have_text("Quiet hours are on.")
    await first.get_by_role("link", name="Water plant number 0").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Water plant number 0")


@pytest.mark.requirement("attention:console-next")
async def test_it_says_what_will_happen_next_if_nobody_does_anything(site: Site) -> None:
    page = await site.signed_in(path="/attention")
    plan = await site.home.attention.person_plan("owner")

    section = page.get_by_role("region", name="What will happen next")

    assert plan
    await expect(section).to_contain_text("3 notices: each leaves, to Sandbox owner by telegram.")
    await expect(section).to_contain_text("Unless it is read, withdrawn, snoozed or muted before.")
    await expect(section).to_contain_text("Times are those of Europe/Vienna.")


async def test_without_any_policy_the_page_teaches_what_could_be_chosen(site: Site) -> None:
    page = await site.signed_in(CARA, "/attention")

    await expect(page.get_by_text("Nothing is held: everything leaves at once")).to_be_visible()
    await page.get_by_role("link", name="Choose how you are told").click()
    await expect(page.get_by_role("radio", name=re.compile("^Calm"))).to_be_visible()


@pytest.mark.requirement("attention:console-own-only")
async def test_a_person_sees_and_changes_only_what_is_theirs_and_the_operator_everybodys(site: Site) -> None:
    (annas,) = await site.home.attention.notices("anna")
    ben = await site.signed_in(BEN, "/attention")
    for path in ("/attention?of=anna", "/attention/policy?of=anna", f"/attention/notices/{annas.id}"):
        answer = await ben.goto(site.url + path)
        assert answer is not None and answer.status == 404, path
    token = await _token(site, BEN)
    forms = {"/attention/back": {}, "/attention/policy": {"act": "reset"}, f"/attention/notices/{annas.id}/ok": {}}
    for path, fields in forms.items():
        done = await ben.request.post(
            site.url + path,
            form={"form_token": token, "of": "anna", **fields},
            headers={"Origin": site.home.household.addresses["api"]},
            max_redirects=0,
        )
        assert done.status == 404, path
    anna = await site.signed_in(ANNA, "/attention")
    await expect(anna.locator(".note")).to_contain_text("Only for Anna")
    await expect(anna.get_by_label("Look at")).to_have_count(0)

    operator = await site.signed_in(path="/attention")
    await operator.get_by_label("Look at").select_option("Anna")
    await operator.get_by_role("button", name="Open").click()
    await expect(operator.get_by_role("heading", level=1)).to_have_text("Attention of Anna")
    await expect(operator.locator(".note")).to_contain_text("Only for Anna")


async def _token(site: Site, who: Principal) -> str:
    page = await site.signed_in(who)
    return await page.locator("[name=form_token]").first.input_value()


@pytest.mark.requirement("attention:console-away")
async def test_a_person_goes_away_with_someone_who_stands_in_and_comes_back(site: Site) -> None:
    page = await site.signed_in(BEN, "/attention")
    await page.get_by_text("Be away for a while").click()

    await page.get_by_label("Until").fill("2020-01-01T10:00")
    await page.get_by_role("button", name="Be away").click()
    await expect(page.locator("#wrong-until")).to_have_text("Must lie in the future.")

    await page.get_by_label("Until").fill("2099-01-01T10:00")
    await page.get_by_label("Who stands in").select_option("Cara")
    await page.get_by_role("button", name="Be away").click()
    await expect(page.locator(".notice.good")).to_have_text("Away until Thu 1 Jan 2099, 10:00.")
    await expect(page.get_by_text("Cara stands in.")).to_be_visible()
    (absence,) = await site.home.attention.absences("ben")
    assert absence.delegate == "cara"

    cara = await site.signed_in(CARA, "/attention")
    await cara.get_by_text("Be away for a while").click()
    await cara.get_by_label("Until").fill("2099-01-01T10:00")
    await cara.get_by_label("Who stands in").select_option("Ben")
    await cara.get_by_role("button", name="Be away").click()
    await expect(cara.locator("#wrong-delegate")).to_have_text("Would stand in for each other in a circle.")

    await page.get_by_role("button", name="Back now").click()
    await expect(page.locator(".notice.good")).to_contain_text("Back.")
    assert await site.home.attention.absences("ben") == ()


async def test_who_is_muted_is_listed_and_can_be_heard_again(site: Site) -> None:
    await site.home.attention.mute("owner", agent="noisy", thread="laundry")
    page = await site.signed_in(path="/attention")
    muted = page.get_by_role("region", name="Muted")

    await expect(muted).to_contain_text("noisy thread laundry until it is unmuted")
    await muted.get_by_role("button", name="Unmute").click()

    await expect(page.locator(".notice.good")).to_contain_text("Heard again from now on.")
    await expect(muted).not_to_contain_text("noisy")


async def test_today_and_health_point_to_what_is_held(site: Site) -> None:
    page = await site.signed_in()
    await expect(page.locator(".tile", has_text="kept for a better moment").locator(".tile-value")).to_have_text("3")
    await page.get_by_role("main").get_by_role("link", name="Attention").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Attention")

    await page.goto(site.url + "/health")
    section = page.get_by_role("region", name="Attention")
    await expect(section.locator(".tile-value")).to_have_text("4")


async def test_the_inbox_says_where_the_other_quiet_hours_are(site: Site) -> None:
    page = await site.signed_in(path="/inbox/preferences")

    await page.get_by_role("group", name="Quiet hours").get_by_role("link", name="Attention").click()

    await expect(page.get_by_role("group", name="Quiet hours", exact=True)).to_be_visible()


@pytest.mark.requirement("attention:console-accessible")
async def test_the_page_is_accessible_and_fits_in_both_themes(site: Site) -> None:
    await looks_right(site, {"attention": "/attention", "attention-waiting": "/attention?cell=escalated"})
    await looks_right(site, {"attention-empty": "/attention"}, CARA)


async def test_a_notice_that_is_nowhere_is_an_alarm_here_and_on_health(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home, calling(home) as caller:
        await wish(home, "owner", ALWAYS_QUIET)
        lost = await say(home, "Lost")
        assert home.household.sign_in is not None
        cookies = await caller.sign_in(await home.household.sign_in())
        assert "accounted for" not in (await caller.get("/console/attention", cookies)).text

        with sqlite3.connect(home.settings.home / "postroom.db", timeout=20) as connection:
            connection.execute("DELETE FROM notices WHERE id = ?", (lost,))

        assert "Not every notice is accounted for: L1" in (await caller.get("/console/attention", cookies)).text
        assert "Not accounted for: L1" in (await caller.get("/console/health", cookies)).text


async def test_without_script_everything_is_there(site: Site) -> None:
    page = await site.signed_in(path="/attention", java_script_enabled=False)

    await page.locator(".summary").get_by_role("link", name="1 waiting for an OK").click()

    assert await page.locator(".note").count() == 1
