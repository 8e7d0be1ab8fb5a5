"""The policy in a browser: chosen, tried, saved, and refused at the field that is wrong."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, expect
from tests.console.appearance import is_accessible, looks_right
from tests.console.asked import ANNA, BEN
from tests.console.attended import ALWAYS_QUIET, say, settle, wish
from tests.console.browser import IN_BROWSER, Site, console_site
from tests.household.living import LIFTED, QUICK

from postroom.attention.model import Preset, policy_mapping
from postroom.attention.rules.policy import parse_policy
from postroom.kernel.values.ids import seconds

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]

HOUSEHOLD = {"attention": {"zone": "Europe/Vienna", "ceiling": "time_sensitive"}}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, HOUSEHOLD) as one:
        one.home.tokens.ensure([ANNA, BEN])
        await settle(one.home, "Anna", "Ben")
        yield one


@pytest.mark.requirement("attention:console-preview")
async def test_a_change_is_said_in_words_before_anything_is_saved(site: Site) -> None:
    attention = site.home.attention
    await wish(site.home, "anna", {"preset": "everything"})
    for number in range(3):
        await say(site.home, f"Message {number}", "Anna")
    wanted = parse_policy({**ALWAYS_QUIET, "preset": "everything"})
    week_us = attention.book.clock.now_us() - seconds(7 * 86_400)
    expected = (await attention.simulate("anna", wanted, week_us)).words
    _, before = await attention.policy("anna")
    page = await site.signed_in(ANNA, "/attention/policy")

    await page.get_by_role("textbox", name="From").fill("00:00")
    await page.get_by_role("textbox", name="Until").fill("12:00")
    await page.get_by_role("button", name="Add another window").click()
    await page.get_by_role("group", name="Another window").get_by_label("From").fill("12:00")
    await page.get_by_role("group", name="Another window").get_by_label("Until").fill("00:00")
    await page.get_by_role("button", name="Preview", exact=True).click()

    changes = page.get_by_role("status", name="What this would change")
    assert expected
    for words in expected:
        await expect(changes).to_contain_text(words)
    await expect(page.locator(".week-words").first).to_have_text("quiet all day")
    assert (await attention.policy("anna"))[1] == before
    await is_accessible(page, "attention-preview")

    await changes.get_by_role("button", name="Save this").click()
    await expect(page.locator(".notice.good")).to_have_text("Saved. What is held was judged anew.")
    own, _ = await attention.policy("anna")
    assert own is not None
    assert policy_mapping(own)["quiet_hours"] == ALWAYS_QUIET["quiet_hours"] and own.preset is Preset.EVERYTHING


@pytest.mark.requirement("attention:console-policy")
async def test_everything_that_can_be_chosen_is_saved_and_the_rest_stays_as_it_was(site: Site) -> None:
    kept = {
        "escalation": [{"after_seconds": 600, "channel": "email"}],
        "mandatory": ["security"],
        "repeat_seconds": [60],
    }
    await wish(site.home, "ben", kept)
    page = await site.signed_in(BEN, "/attention/policy")

    await page.get_by_role("radio", name=re.compile("^Focus")).check()
    await page.get_by_label("From").fill("22:00")
    await page.get_by_label("Until").fill("07:00")
    for day in ("Sat", "Sun"):
        await page.get_by_label(day).uncheck()
    await page.get_by_role("checkbox", name="what is urgent").check()
    await page.get_by_label("Another time", exact=True).fill("09:15")
    await page.get_by_label("Interruptions an hour").fill("4")
    await page.get_by_label("All agents count").select_option("Ordinary")
    await page.get_by_label("Another agent", exact=True).last.fill("alarm")
    await page.get_by_role("group", name="Another agent").get_by_label("May be critical").check()
    await page.get_by_role("button", name="Save", exact=True).click()

    await expect(page.locator(".notice.good")).to_contain_text("Saved.")
    own, _ = await site.home.attention.policy("ben")
    assert own is not None
    assert policy_mapping(own) == kept | {
        "preset": "focus",
        "quiet_hours": [{"days": ["mon", "tue", "wed", "thu", "fri"], "from": "22:00", "until": "07:00"}],
        "let_pass": ["time_sensitive"],
        "slots": ["09:15"],
        "budget": {"per_hour": 4},
        "ceiling": "normal",
        "agents": {"alarm": {"critical": True}},
    }
    await expect(page.get_by_text("Mon, Tue, Wed, Thu, Fri 22:00–07:00")).to_be_visible()


@pytest.mark.requirement("attention:console-policy")
async def test_a_wrong_value_is_named_at_its_field_and_nothing_is_saved(site: Site) -> None:
    _, before = await site.home.attention.policy("owner")
    page = await site.signed_in(path="/attention/policy")
    await page.get_by_label("From").fill("22:00")
    for day in ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"):
        await page.get_by_label(day).uncheck()
    await page.get_by_label("Interruptions a day").fill("many")

    await page.get_by_role("button", name="Save", exact=True).click()

    await expect(page.locator("#wrong-quiet_hours-0-until")).to_have_text("Must be a time such as 07:30.")
    await expect(page.locator("#wrong-quiet_hours-0-days")).to_have_text("Choose at least one day.")
    await expect(page.locator("#wrong-budget-per_day")).to_contain_text("Must be a whole number")
    await expect(page.get_by_label("Interruptions a day")).to_have_value("many")
    assert (await site.home.attention.policy("owner"))[1] == before
    await is_accessible(page, "attention-policy-wrong")


async def test_the_household_policy_is_shown_as_coming_from_the_settings(site: Site) -> None:
    page = await site.signed_in(path="/attention/policy")

    section = page.get_by_role("region", name="The household's policy")
    await expect(section).to_contain_text("It comes from [attention] in the settings and is changed there.")
    await expect(section).to_contain_text("Europe/Vienna")


async def test_a_policy_that_was_changed_meanwhile_is_not_overwritten(site: Site) -> None:
    page = await site.signed_in(path="/attention/policy")
    await wish(site.home, "owner", {"preset": "calm"})

    await page.get_by_role("radio", name=re.compile("^Focus")).check()
    await page.get_by_role("button", name="Save", exact=True).click()

    await expect(page.locator(".notice.bad")).to_contain_text("changed elsewhere meanwhile")
    await expect(page.get_by_role("radio", name=re.compile("^Calm"))).to_be_checked()


async def test_a_policy_can_be_removed(site: Site) -> None:
    await wish(site.home, "owner", {"preset": "calm"})
    page = await site.signed_in(path="/attention/policy")

    await page.get_by_role("button", name="Remove my policy").click()

    await expect(page.locator(".notice.good")).to_contain_text("Removed.")
    assert (await site.home.attention.policy("owner"))[0] is None


@pytest.mark.requirement("attention:console-accessible")
async def test_the_page_is_accessible_and_fits_in_both_themes(site: Site) -> None:
    night = {"days": ["mon", "tue", "wed", "thu", "sun"], "from": "22:00", "until": "07:00"}
    late = {"days": ["fri", "sat"], "from": "23:30", "until": "09:00"}
    nap = {"days": ["sat", "sun"], "from": "13:00", "until": "14:30"}
    agents = {"health": {"ceiling": "normal"}, "alarm": {"critical": True}}
    await wish(site.home, "owner", {"preset": "calm", "quiet_hours": [night, late, nap], "agents": agents})
    await looks_right(site, {"attention-policy": "/attention/policy", "attention-with-policy": "/attention"})
