"""Approvals, as a browser shows them and as a person decides."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.console.appearance import is_accessible, looks_right
from tests.console.browser import IN_BROWSER, Site, console_site
from tests.household.living import LIFTED, QUICK

from postroom.kernel.values.principal import Principal, Role

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]

ASKING = {"approvals": {"enabled": True, "ask_owner": False, "approvers": ["ann"]}}
ANN = Principal(Role.USER, "ann")


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, ASKING) as one:
        yield one


async def parked(site: Site, message: str, recipient: str = "stranger@example.org", subject: str = "Hello") -> str:
    answer = await site.home.notify(channel="email", message=message, subject=subject, recipient=recipient)
    return str(answer["delivery"]["delivery_id"])


async def sent(site: Site, message: str) -> list[str]:
    return [mail["to"] for mail in await site.home.received("email") if message in mail["body"]]


async def reviewing(site: Site, message: str, **more: str) -> tuple[Page, str]:
    action_id = await parked(site, message, **more)
    return await site.signed_in(path=f"/approvals/{action_id}"), action_id


async def test_a_message_is_found_reviewed_and_sent_once_it_is_approved(site: Site) -> None:
    await parked(site, "Shall we meet?")
    page = await site.signed_in(path="/approvals")
    row = page.locator(".note", has_text="Shall we meet?")
    await expect(row).to_contain_text("Medium risk")
    await expect(row).to_contain_text("expires in")

    await row.get_by_role("link", name="Review").click()
    await expect(page.locator("#live")).to_contain_text("stranger@example.org")
    await page.get_by_role("button", name="Send", exact=True).click()

    await expect(page.locator(".notice.good")).to_have_text("Approved. It is on its way.")
    await expect(row).to_have_count(0)
    await page.get_by_role("link", name="Approved", exact=True).click()
    await expect(page.locator(".note", has_text="Shall we meet?")).to_contain_text("You")
    await site.home.notify(message="after")  # what was released before this has left by now
    assert await sent(site, "Shall we meet?") == ["stranger@example.org"]


async def test_a_rejection_needs_a_reason_and_is_never_sent(site: Site) -> None:
    page, _ = await reviewing(site, "Buy now")

    await page.get_by_role("button", name="Don't send").click()
    assert await page.evaluate("document.querySelector('#reason').matches(':invalid')")
    await page.get_by_label("Reason").fill("We do not know them")
    await page.get_by_role("button", name="Don't send").click()

    await expect(page.locator(".notice.good")).to_contain_text("Rejected")
    await page.get_by_role("link", name="Rejected", exact=True).click()
    await expect(page.locator(".note", has_text="Buy now")).to_contain_text("We do not know them")
    assert await sent(site, "Buy now") == []


async def test_an_edit_shows_what_it_changes_and_is_what_is_sent(site: Site) -> None:
    page, _ = await reviewing(site, "Come at nine\nand bring\n\nthe red cake")

    await page.get_by_role("button", name="Compare").click()
    await expect(page.locator(".notice.bad")).to_have_text("You changed nothing.")
    await page.get_by_role("textbox", name="Message").fill("Come at ten\nand bring\n\nthe red cake")
    await page.get_by_role("button", name="Compare").click()

    await expect(page.locator("del")).to_contain_text("nine")
    await expect(page.locator("ins")).to_contain_text("ten")
    await page.get_by_role("button", name="Send this version").click()
    await expect(page.locator(".notice.good")).to_contain_text("Approved")
    await site.home.notify(message="after the edit")
    assert [mail["body"] for mail in await site.home.received("email") if "red cake" in mail["body"]] == [
        "Come at ten\nand bring\n\nthe red cake"
    ]


async def test_an_edit_that_cannot_be_sent_is_refused_and_not_lost(site: Site) -> None:
    page, _ = await reviewing(site, "To whom?")

    await page.get_by_label("To", exact=True).fill("not an address")
    await page.get_by_role("button", name="Compare").click()
    await page.get_by_role("button", name="Send this version").click()

    await expect(page.get_by_role("alert")).to_contain_text("Nothing was done")
    await expect(page.get_by_label("To", exact=True)).to_have_value("not an address")


HIDDEN = {
    "bidi": ("Pay \u202eevil\u202c now", "U+202E RIGHT-TO-LEFT OVERRIDE"),
    "zero-width": ("pay\u200bpal", "U+200B ZERO WIDTH SPACE"),
    "look-alike": ("Log in at p\u0430ypal", "U+0430 CYRILLIC SMALL LETTER A"),
}


@pytest.mark.parametrize(("message", "name"), HIDDEN.values(), ids=HIDDEN)
async def test_a_character_that_hides_or_pretends_is_named(site: Site, message: str, name: str) -> None:
    page, _ = await reviewing(site, message)

    await expect(page.locator("#live mark").first).to_contain_text(name)
    await expect(page.get_by_text("Look closely")).to_be_visible()
    assert "\u202e" not in await page.locator("#live").inner_text()
    assert "\u200b" not in await page.locator("#live").inner_text()


async def test_a_decision_after_another_says_that_it_is_too_late(site: Site) -> None:
    first, action_id = await reviewing(site, "Who is first?")
    second = await site.signed_in(ANN, f"/approvals/{action_id}")

    await first.get_by_label("Reason").fill("no")
    await first.get_by_role("button", name="Don't send").click()
    await expect(second.locator("#live")).to_contain_text("Nothing is left to decide.")
    await second.get_by_role("button", name="Send", exact=True).click()

    await expect(second.locator(".notice.bad")).to_contain_text("Too late: this was already rejected by operator")
    await expect(second.locator(".notice.bad")).to_contain_text("Your decision changed nothing.")
    assert await sent(site, "Who is first?") == []


async def test_a_decision_after_the_expiry_says_that_it_is_too_late(site: Site) -> None:
    page, action_id = await reviewing(site, "Nobody looked")
    with sqlite3.connect(site.home.settings.home / "postroom.db", timeout=20) as connection:
        connection.execute("UPDATE questions SET expires_at = 1 WHERE subject_id = ?", (action_id,))

    await page.get_by_role("button", name="Send", exact=True).click()

    await expect(page.locator(".notice.bad")).to_contain_text("Too late")
    await expect(page.locator("#live")).to_contain_text("Nobody decided in time, so it was not sent.")
    assert await sent(site, "Nobody looked") == []


async def test_what_is_not_what_was_shown_is_not_sent(site: Site) -> None:
    page, _ = await reviewing(site, "Shown")
    await page.evaluate("document.querySelector('[name=content_hash]').value = '0'.repeat(64)")

    await page.get_by_role("button", name="Send", exact=True).click()

    await expect(page.locator(".notice.bad")).to_contain_text("not what you were shown, so nothing was sent")


async def test_an_approval_may_let_the_next_ones_pass_until_the_rule_is_revoked(site: Site) -> None:
    page, _ = await reviewing(site, "The first", recipient="regular@example.org")
    await page.get_by_text("And let the next ones pass").click()
    await page.get_by_label("may send to regular@example.org").check()
    await page.get_by_label("How often at most").fill("5")
    await page.get_by_label("What for").fill("Our regular guest")
    await page.get_by_role("button", name="Send", exact=True).click()
    await expect(page.locator(".notice.good")).to_contain_text("A rule was made for 5 more.")

    answer = await site.home.notify(
        channel="email", message="The second", subject="Hi", recipient="regular@example.org"
    )
    assert answer["status"] == "ok", answer

    await page.get_by_role("link", name="Standing rules").click()
    rule = page.locator(".note", has_text="Our regular guest")
    await expect(rule).to_contain_text("used 1 of 5 times")
    await rule.get_by_role("button", name="Revoke").click()
    await expect(page.locator(".note", has_text="Our regular guest")).to_contain_text("Revoked")
    await parked(site, "The third", recipient="regular@example.org")
    assert await sent(site, "The third") == []


async def test_a_rule_can_be_made_without_an_approval_and_an_empty_one_is_refused(site: Site) -> None:
    page = await site.signed_in(path="/approvals/rules")
    await page.get_by_role("button", name="Make the rule").click()
    await expect(page.get_by_role("alert")).to_contain_text("Say at least")

    await page.get_by_label("To whom", exact=True).fill("*@school.example")
    await page.get_by_label("To whom: read as").select_option("pattern")
    await page.get_by_label("On which channel").select_option("email")
    await page.get_by_label("For how many days").fill("30")
    await page.get_by_label("What for").fill("The school")
    await page.get_by_role("button", name="Make the rule").click()

    await expect(page.locator(".notice.good")).to_have_text("The rule stands from now on.")
    answer = await site.home.notify(channel="email", message="Hi", subject="Hi", recipient="office@school.example")
    assert answer["status"] == "ok", answer


async def test_what_starts_to_wait_appears_by_itself(site: Site) -> None:
    page = await site.signed_in(path="/approvals")
    await parked(site, "Before the page listens")
    await parked(site, "Suddenly here")

    await expect(page.locator(".note", has_text="Suddenly here")).to_be_visible()


async def test_the_keyboard_alone_approves(site: Site) -> None:
    page, _ = await reviewing(site, "By keyboard")
    await page.get_by_role("link", name="Back to approvals").focus()
    for _ in range(3):  # whom to add to people, the rule, the button
        await page.keyboard.press("Tab")
    await expect(page.get_by_role("button", name="Send", exact=True)).to_be_focused()
    await page.keyboard.press("Enter")

    await expect(page.locator(".notice.good")).to_contain_text("Approved")


async def test_approvals_are_accessible_and_fit_the_window(site: Site) -> None:
    message = "Dear Mr Novak,\n\nplease pay the invoice at p\u0430ypal.example \u202eyadot\u202c.\n\nYour house"
    page, action_id = await reviewing(site, message, subject="Invoice 4711", recipient="novak@example.org")
    await page.get_by_role("textbox", name="Message").fill("Dear Mr Novak,\n\nplease send the invoice again.")
    await page.get_by_role("button", name="Compare").click()
    await is_accessible(page, "approval-compare")

    paths = {"approvals": "/approvals", "approval": f"/approvals/{action_id}", "approval-rules": "/approvals/rules"}
    await looks_right(site, paths)
