"""Questions, as a browser shows them and as a person answers them."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect
from tests.console.appearance import is_accessible, looks_right, seen_as
from tests.console.asked import ANNA, BEN, HEALTH, admit, ask, asking, now
from tests.console.browser import IN_BROWSER, PHONE, Site, console_site, path_of, tab_to
from tests.console.http import calling
from tests.household.asked_household import letter, link_in, phone
from tests.household.living import LIFTED, QUICK

from postroom.kernel.values.principal import OPERATOR, Principal
from postroom.message.inbound import Assurance
from postroom.questions.model import QuestionStatus, Said
from postroom.questions.rules.request import WordsGiven

pytestmark = [*IN_BROWSER, pytest.mark.timeout(120)]

FORM = {
    "type": "object",
    "properties": {
        "who": {"type": "string", "title": "Who comes", "description": "One name."},
        "mail": {"type": "string", "format": "email"},
        "many": {"type": "integer", "minimum": 1, "maximum": 9},
        "cost": {"type": "number"},
        "day": {"type": "string", "format": "date"},
        "at": {"type": "string", "format": "date-time"},
        "warm": {"type": "boolean", "title": "Warm food"},
        "size": {"type": "string", "enum": ["s", "m"], "enumNames": ["Small", "Medium"]},
        "extras": {"type": "array", "items": {"type": "string", "enum": ["salt", "bread"]}},
        "town": {"type": "string", "enum": [f"town {number}" for number in range(9)]},
    },
    "required": ["who"],
}


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        await admit(one.home, ANNA, BEN)
        yield one


async def opened(site: Site, question: str, who: Principal = OPERATOR, **more: Any) -> tuple[Page, Any]:
    asked = await ask(site.home, question, **more)
    return await site.signed_in(who, f"/questions/{asked.id}"), asked


@pytest.mark.requirement("ask:console-page", "ask:console-one-tap")
async def test_one_tap_answers_and_the_page_says_who_what_where_and_when(site: Site) -> None:
    page, asked = await opened(site, "Ship it?", options=["yes", "no"], context="Build 7 is green.")
    await expect(page.locator("#live")).to_contain_text("Build 7 is green.")

    await page.get_by_role("button", name="yes").click()

    await expect(page.locator(".notice.good")).to_have_text("Answered: yes. health will hear of it.")
    await expect(page.locator("#live")).to_contain_text("answered “yes” via console just now")
    await expect(page.get_by_role("button", name="Rather not")).to_have_count(0)
    ended = await now(site.home, asked)
    assert ended.status is QuestionStatus.ANSWERED and ended.answer and ended.answer.value == "yes"
    assert ended.answered_by and ended.answered_by.assurance is Assurance.SIGNED_IN
    assert (ended.answered_by.person_id, ended.answered_by.channel) == ("owner", "console")


@pytest.mark.requirement("ask:console-one-tap")
async def test_without_script_it_is_the_same(site: Site) -> None:
    asked = await ask(site.home, "No script?", kind="approve")
    page = await site.signed_in(path=f"/questions/{asked.id}", java_script_enabled=False, viewport=PHONE)

    await page.get_by_role("button", name="Approve").click()

    await expect(page.locator(".notice.good")).to_contain_text("Answered: Approve.")
    assert (await now(site.home, asked)).answer is not None


async def test_rather_not_declines(site: Site) -> None:
    page, asked = await opened(site, "How old are you?", kind="text")

    await page.get_by_role("button", name="Rather not").click()

    await expect(page.locator(".notice.good")).to_contain_text("You would rather not answer.")
    assert (await now(site.home, asked)).status is QuestionStatus.DECLINED


async def test_several_options_are_ticked_and_sent_together(site: Site) -> None:
    page, asked = await opened(site, "Which days?", options=["Mon", "Tue", "Wed"], multiple=True, allow_text=False)

    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_role("alert")).to_contain_text("choose at least one")
    await page.get_by_label("Wed").check()
    await page.get_by_label("Mon").check()
    await page.get_by_role("button", name="Send").click()

    await expect(page.locator(".notice.good")).to_contain_text("Answered: Mon, Wed.")
    ended = await now(site.home, asked)
    assert ended.answer and ended.answer.selected == ("Mon", "Wed")


async def test_own_words_answer_a_choice_that_allows_them(site: Site) -> None:
    page, asked = await opened(site, "Tea or coffee?", options=["tea", "coffee"])

    await page.get_by_text("Something else").click()
    await page.get_by_label("In your own words").fill("Water, please\nwith ice")
    await page.get_by_role("button", name="Send my words").click()

    await expect(page.locator(".notice.good")).to_contain_text("Answered")
    ended = await now(site.home, asked)
    assert ended.answer and ended.answer.text == "Water, please\nwith ice"


@pytest.mark.requirement("ask:console-form")
async def test_a_form_is_filled_in_with_a_field_for_each_kind_of_value(site: Site) -> None:
    page, asked = await opened(site, "The party?", kind="form", form=FORM)

    await page.get_by_label("Who comes").fill("Ben")
    await page.get_by_label("mail").fill("ben@example.org")
    await page.get_by_label("many").fill("3")
    await page.get_by_label("cost").fill("2.5")
    await page.get_by_label("day").fill("2026-12-24")
    await page.get_by_label("at (may be left out)").fill("2026-12-24T18:00")
    await page.get_by_role("group", name="Warm food").get_by_label("No").check()
    await page.get_by_label("Medium").check()
    await page.get_by_label("bread").check()
    await page.get_by_label("town").select_option("town 3")
    await page.get_by_role("button", name="Send").click()

    await expect(page.locator(".notice.good")).to_contain_text("Answered: Who comes: Ben; ")
    ended = await now(site.home, asked)
    assert ended.answer and ended.answer.fields == {
        "who": "Ben",
        "mail": "ben@example.org",
        "many": 3,
        "cost": 2.5,
        "day": "2026-12-24",
        "at": "2026-12-24T18:00:00+00:00",
        "warm": False,
        "size": "m",
        "extras": ["bread"],
        "town": "town 3",
    }


async def test_what_cannot_be_an_answer_comes_back_as_it_was_typed(site: Site) -> None:
    page, asked = await opened(site, "How many?", kind="form", form=FORM)
    await page.evaluate("document.querySelectorAll('form').forEach(one => one.noValidate = true)")

    await page.get_by_label("Who comes").fill("Ben")
    await page.get_by_label("many").fill("99")
    await page.get_by_role("button", name="Send").click()

    await expect(page.get_by_role("alert")).to_contain_text("many: must be at most 9")
    await expect(page.get_by_label("Who comes")).to_have_value("Ben")
    await expect(page.get_by_label("many")).to_have_value("99")
    assert (await now(site.home, asked)).is_open


@pytest.mark.requirement("ask:console-secret")
async def test_a_secret_is_typed_unseen_and_shown_to_no_one_again(site: Site) -> None:
    page, asked = await opened(site, "The door code?", kind="text", secret=True)
    field = page.get_by_label("Your answer")
    assert await field.get_attribute("type") == "password"

    await field.fill("open sesame")
    await page.get_by_role("button", name="Send").click()

    await expect(page.locator("#live")).to_contain_text("The answer is secret")
    assert "sesame" not in await page.content()
    assert b"sesame" not in (site.home.settings.home / "postroom.db").read_bytes()
    ended = await now(site.home, asked)
    assert ended.answer and ended.answer.text == "open sesame"
    await page.reload()
    assert "sesame" not in await page.content()


async def test_a_secret_that_was_no_answer_is_not_written_back(site: Site) -> None:
    form = {"type": "object", "properties": {"pin": {"type": "string", "minLength": 4}}, "required": ["pin"]}
    page, _ = await opened(site, "The pin?", kind="form", form=form, secret=True)

    await page.get_by_label("pin").fill("77")
    await page.get_by_role("button", name="Send").click()

    await expect(page.get_by_role("alert")).to_contain_text("at least 4")
    await expect(page.get_by_label("pin")).to_have_value("")


@pytest.mark.requirement("ask:console-in-place")
@pytest.mark.parametrize("path", ["/", "/inbox", "/questions"])
async def test_a_question_is_answered_where_it_stands(site: Site, path: str) -> None:
    page = await site.signed_in(path=path)
    asked = await ask(site.home, f"In place at {path}?", options=["sure", "later"])
    card = page.locator(".note", has_text=f"In place at {path}?")
    await expect(card).to_be_visible()  # by itself: the page was open before it was asked

    await card.get_by_role("button", name="sure").click()

    await expect(page.locator(".notice.good")).to_contain_text("Answered: sure.")
    assert path_of(page).removeprefix("/console") == path
    await expect(card).to_have_count(0)
    assert not (await now(site.home, asked)).is_open


async def test_what_is_being_typed_outlives_news_and_not_the_end(site: Site) -> None:
    page, asked = await opened(site, "Your thoughts?", kind="text")
    field = page.get_by_label("Your answer")
    await field.fill("I have been thinking")
    async with page.expect_response(f"**/questions/{asked.id}"):  # brought up to date, with nothing to change
        await ask(site.home, "Another one meanwhile", kind="text")
    other = await site.signed_in(path="/questions")
    await expect(other.locator(".note", has_text="Another one meanwhile")).to_be_visible()

    await expect(field).to_have_value("I have been thinking")
    await asking(site.home).cancel(HEALTH, asked.id, "no longer needed")

    await expect(field).to_have_count(0)
    await expect(page.locator("#live")).to_contain_text("It was taken back")
    await expect(page.locator("#live")).to_contain_text("no longer needed")


@pytest.mark.requirement("ask:console-why")
async def test_who_comes_second_is_told_who_was_first(site: Site) -> None:
    asked = await ask(site.home, "Who is first?", options=["a", "b"], to=["anna", "ben"])
    anna = await site.signed_in(ANNA, f"/questions/{asked.id}", java_script_enabled=False)
    ben = await site.signed_in(BEN, f"/questions/{asked.id}", java_script_enabled=False)

    await anna.get_by_role("button", name="a", exact=True).click()
    await ben.get_by_role("button", name="b", exact=True).click()

    await expect(ben.locator(".notice.bad")).to_have_text("Anna was first. Your answer changed nothing.")
    operator = await site.signed_in(path=f"/questions/{asked.id}")
    why = operator.get_by_role("region", name="Why it is where it is")
    await expect(why).to_contain_text("any one of them may answer")
    await expect(why).to_contain_text("answered “a” via console")
    await expect(why).to_contain_text("An answer “b” of ben via console just now changed nothing: anna was first.")


async def test_the_same_press_twice_is_one_answer(site: Site) -> None:
    asked = await ask(site.home, "Twice?", options=["yes", "no"])
    async with calling(site.home) as caller:
        cookies = await caller.sign_in(await site.link())
        form = {"form_token": await caller.form_token(cookies), "revision": "1", "value": "yes"}
        path = f"/console/questions/{asked.id}/answer"
        notices = [(await caller.post(path, form, cookies)).cookies["postroom_notice"] for _ in range(2)]
        other = (await caller.post(path, {**form, "value": "no"}, cookies)).cookies["postroom_notice"]

    assert all(one.startswith("good.Answered") for one in notices)
    assert other.startswith("bad.")


async def test_a_press_under_an_old_wording_does_not_count(site: Site) -> None:
    asked = await ask(site.home, "Ship build 7?", kind="approve")
    still = await site.signed_in(path=f"/questions/{asked.id}", java_script_enabled=False)
    await asking(site.home).revise(HEALTH, asked.id, WordsGiven(question="Ship build 8?"))

    await still.get_by_role("button", name="Approve").click()

    await expect(still.locator(".notice.bad")).to_contain_text("The question has changed; please look at it again.")
    await expect(still.locator("h1")).to_have_text("Ship build 8?")
    assert (await now(site.home, asked)).is_open


@pytest.mark.requirement("ask:console-own")
async def test_a_person_sees_what_asks_them_and_the_operator_all(site: Site) -> None:
    asked = await ask(site.home, "For Anna's eyes", options=["y", "n"], to="anna")
    ben = await site.signed_in(BEN, "/questions?status=all")
    await expect(ben.locator("main")).not_to_contain_text("For Anna's eyes")
    answer = await ben.goto(f"{site.url}/questions/{asked.id}")
    assert answer is not None and answer.status == 404

    anna = await site.signed_in(ANNA, "/questions")
    await expect(anna.get_by_role("region", name="Waits for me")).to_contain_text("For Anna's eyes")
    operator = await site.signed_in(path="/questions")
    others = operator.get_by_role("region", name="Waits for others")
    await expect(others.locator(".note", has_text="For Anna's eyes")).to_contain_text("anna", ignore_case=True)
    await operator.goto(f"{site.url}/questions/{asked.id}")
    await expect(operator.locator("#live")).to_contain_text("You may answer as the owner")


async def test_who_asks_does_not_answer(site: Site) -> None:
    asked = await ask(site.home, "Shall we?", ANNA, options=["y", "n"], to=["anna", "ben"])
    page = await site.signed_in(ANNA, f"/questions/{asked.id}")
    await expect(page.get_by_role("button", name="y", exact=True)).to_have_count(0)

    async with calling(site.home) as caller:
        cookies = await caller.sign_in(await site.link(ANNA))
        form = {"form_token": await caller.form_token(cookies), "revision": "1", "value": "y"}
        answer = await caller.post(f"/console/questions/{asked.id}/answer", form, cookies)

    assert answer.cookies["postroom_notice"].startswith("bad.") and (await now(site.home, asked, ANNA)).is_open


@pytest.mark.requirement("ask:console-counts")
async def test_every_figure_is_the_one_the_doors_tell(site: Site) -> None:
    for number in range(7):
        await ask(site.home, f"Counted {number}?", kind="text", to="ben")
    waiting = len(await asking(site.home).listing(BEN, status=QuestionStatus.OPEN, mine=True, limit=200))

    page = await site.signed_in(BEN, "/")
    await expect(page.locator(".tile", has_text="Questions").locator(".tile-value")).to_have_text(str(waiting))
    here = page.get_by_role("region", name="Waits for you")
    await expect(here.locator("h2 .count")).to_have_text(str(waiting))
    await expect(here.locator(".note")).to_have_count(5)
    await here.get_by_role("link", name=f"All {waiting} questions").click()
    await expect(page.get_by_role("region", name="Waits for me").locator(".note")).to_have_count(waiting)


async def test_what_ended_is_found_by_how_it_ended(site: Site) -> None:
    asked = await ask(site.home, "Ended long ago?", options=["yes", "no"])
    await asking(site.home).answer(OPERATOR, asked.id, Said(value="yes"), channel="console", event_id="e1")
    page = await site.signed_in(path="/questions")

    await page.get_by_role("link", name="Answered", exact=True).click()

    await expect(page.locator(".note", has_text="Ended long ago?")).to_contain_text("answered “yes” via console")
    await page.get_by_role("link", name="Expired", exact=True).click()
    await expect(page.locator("main")).not_to_contain_text("Ended long ago?")


async def test_a_long_list_is_read_page_by_page(site: Site) -> None:
    for number in range(22):
        asked = await ask(site.home, f"Page {number}.", kind="text")
        await asking(site.home).cancel(HEALTH, asked.id)
    page = await site.signed_in(path="/questions?status=cancelled")
    await expect(page.locator(".note")).to_have_count(20)
    await expect(page.locator("main")).not_to_contain_text("Page 0.")

    await page.get_by_role("link", name="Older").click()

    await expect(page.locator("main")).to_contain_text("Page 0.")
    await expect(page.get_by_role("link", name="Newest")).to_be_visible()


@pytest.mark.requirement("ask:console-why")
async def test_the_page_says_where_it_was_shown_and_why_not(site: Site) -> None:
    asked = await ask(site.home, "Can you see me?", kind="approve", to=["owner", "anna"])
    page = await site.signed_in(path=f"/questions/{asked.id}")
    table = page.get_by_role("table")

    await expect(table.get_by_role("row", name=re.compile("You Telegram"))).to_contain_text("Shown")
    await expect(page.get_by_role("region", name="Why it is where it is")).to_contain_text("on telegram")
    await expect(page.get_by_role("region", name="Why it is where it is")).to_contain_text(
        "could not be shown to", ignore_case=True
    )
    await table.get_by_role("link", name="Telegram").click()
    await expect(page.locator("h1")).to_be_visible()


HIDDEN = {
    "bidi": ("Pay \u202eevil\u202c now", "U+202E RIGHT-TO-LEFT OVERRIDE"),
    "zero-width": ("pay\u200bpal", "U+200B ZERO WIDTH SPACE"),
    "look-alike": ("Log in at p\u0430ypal", "U+0430 CYRILLIC SMALL LETTER A"),
}


@pytest.mark.requirement("ask:console-exact")
@pytest.mark.parametrize(("text", "name"), HIDDEN.values(), ids=HIDDEN)
async def test_a_character_that_hides_or_pretends_is_named(site: Site, text: str, name: str) -> None:
    page, _ = await opened(site, text, options=[{"value": "v", "label": f"Yes {text}"}, "no"], context=text)

    for place in ("h1", ".letter", ".options button"):
        await expect(page.locator(f"{place} mark").first).to_contain_text(name)
    await expect(page.get_by_text("Look closely")).to_be_visible()
    shown = await page.locator("#live").inner_text()
    assert "\u202e" not in shown and "\u200b" not in shown


async def test_the_keyboard_alone_is_enough(site: Site) -> None:
    page, asked = await opened(site, "By keyboard?", options=["left", "right"])

    await tab_to(page, "right")
    await page.keyboard.press("Enter")

    await expect(page.locator(".notice.good")).to_contain_text("Answered: right.")
    assert not (await now(site.home, asked)).is_open


async def test_an_erased_question_is_still_a_page(site: Site) -> None:
    asked = await ask(site.home, "Soon erased", kind="text")
    await asking(site.home).cancel(HEALTH, asked.id)
    with sqlite3.connect(site.home.settings.home / "postroom.db", timeout=20) as connection:
        connection.execute("UPDATE questions SET wording = NULL WHERE id = ?", (asked.id,))

    page = await site.signed_in(path=f"/questions/{asked.id}")

    await expect(page.locator("h1")).to_have_text("A question whose words have been erased")


@pytest.mark.requirement("ask:console-page")
async def test_every_question_looks_right(site: Site) -> None:
    described = [
        {"value": "a", "label": "Tonight", "description": "Fewer people are awake, and no one can help."},
        {"value": "b", "label": "Tomorrow", "description": "Everyone is there."},
    ]
    long = "The release notes are long. " * 20
    choice = await ask(site.home, "When shall we ship?", options=described, context=long, urgency="time_sensitive")
    approve = await ask(site.home, "May I delete 14 old backups?", kind="approve", default="deny")
    several = await ask(site.home, "Which rooms?", options=["Hall", "Kitchen"], multiple=True)
    text = await ask(site.home, "What shall I cook?", kind="text")
    form = await ask(site.home, "The guests?", kind="form", form=FORM)
    secret = await ask(site.home, "The password of the router?", kind="text", secret=True)
    ended = await ask(site.home, "Is it done?", options=["yes", "no"], to=["owner", "anna"])
    await asking(site.home).answer(OPERATOR, ended.id, Said(value="yes"), channel="console", event_id="looks")
    await asking(site.home).answer(ANNA, ended.id, Said(value="no"), channel="console", event_id="looks")
    each = {"choice": choice, "approve": approve, "several": several, "text": text, "form": form, "secret": secret}

    await looks_right(
        site,
        {
            "questions": "/questions",
            "questions-ended": "/questions?status=answered",
            "questions-today": "/",
            "questions-inbox": "/inbox",
            "question-ended": f"/questions/{ended.id}",
            **{f"question-{name}": f"/questions/{one.id}" for name, one in each.items()},
        },
    )


async def test_a_refused_answer_looks_right(site: Site) -> None:
    page, _ = await opened(site, "Which?", options=["x", "y"], multiple=True)
    await page.get_by_role("button", name="Send", exact=True).click()

    await expect(page.get_by_role("alert")).to_be_visible()
    await is_accessible(page, "question-refused")


@pytest.mark.requirement("content:console-formatted", "content:questions-formatted")
async def test_a_question_in_markdown_looks_so_and_reads_well_in_the_list(site: Site) -> None:
    page, asked = await opened(
        site, "**Ship** it?", context="See [log](https://ci.example)", options=["yes", "no"], format="markdown"
    )
    box = page.get_by_role("group", name="The question, as it looks")
    await expect(box.locator("strong")).to_have_text("Ship")
    await expect(page.get_by_role("list", name="Where its links lead")).to_contain_text("https://ci.example")
    await is_accessible(page, "question-in-markdown")
    await page.goto(page.url.rpartition("/")[0])
    heading = page.locator(f"#asked-{asked.id}")
    await expect(heading).to_have_text("Ship it?")


# The page behind the link in a mail, which is all that a person outside the console ever sees.
GROUND = "getComputedStyle(document.body).backgroundColor"


async def grounds(page: Page) -> list[str]:
    found = []
    for scheme in ("light", "dark"):
        await seen_as(page, PHONE, scheme)
        found.append(await page.evaluate(GROUND))
    return found


async def test_the_page_behind_a_link_looks_as_the_console_and_says_what_the_card_says(site: Site) -> None:
    console = await grounds(await site.signed_in())
    asked = {"options": ["yes", "no"], "context": "Build 9 is green.", "channels": ["telegram", "email"]}
    await ask(site.home, "Ship it by mail?", OPERATOR, **asked)
    card = await phone(site.home, "Ship it by mail?")
    page = await site.page()
    await page.goto(link_in(await letter(site.home, "Ship it by mail?")))
    words = await page.inner_text("main")

    assert await grounds(page) == console and console[0] != console[1]
    await is_accessible(page, "behind a link")
    assert card["text"].startswith("Your household asks") and "Your household asks Sandbox owner" in words
    assert [line for line in card["text"].splitlines()[1:] if line not in words] == []
    await page.get_by_label("yes").check()
    await page.get_by_role("button", name="Send answer").click()
    await expect(page.get_by_role("status")).to_contain_text("Your answer was noted")
    await phone(site.home, "✅ yes: answered by")
    assert site.mishaps == []
