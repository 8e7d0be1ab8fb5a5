"""“Send me a link”: through delivery to a verified address, in one browser, and without a word to strangers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from sqlalchemy import func, select
from tests.console.comers import admissions, database, invitation, person
from tests.console.http import Answer, Caller
from tests.household.living import LIFTED, QUICK, Living, living
from tests.patience import PATIENCE_SECONDS

from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.people.model import PersonRole
from postroom.people.signing_in.rules import MOST_OF_PERSON, MOST_OF_SENDER, MOST_OPEN
from postroom.people.signing_in.store import console_links
from postroom.people.store.tables import sign_in_attempts

pytestmark = pytest.mark.asyncio(loop_scope="module")
_LINK = re.compile(r"http://\S+/console/login\?key=([\w-]+)")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    """With approvals on: the household's own link waits for no one."""
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK, {"approvals": {"enabled": True}}) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def nothing_asked_before(home: Living) -> None:
    """The limits are by the hour and by the sender, who is this machine in every test."""
    async with database(home) as there:
        await there.write(lambda one: one.exec_driver_sql("DELETE FROM sign_in_attempts"))


async def invited(home: Living, name: str, chat: str | None, *, verified: bool = True) -> str:
    one = await person(home, name, PersonRole.MEMBER, chat=chat, verified=verified)
    async with admissions(home) as here:
        await here.invite(one, str(OPERATOR), SystemClock().now_us())
    return one.id


async def ask(caller: Caller, who: str, cookies: dict[str, str] | None = None) -> Answer:
    return await caller.post("/console/login/link", {"who": who}, cookies)


async def keys_sent_to(home: Living, chat: str, at_least: int = 1) -> list[str]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            texts = [one["text"] for one in await home.received() if str(one["chat_id"]) == chat]
            if len(texts) >= at_least:
                return [found[1] for text in texts if (found := _LINK.search(text))]
            await asyncio.sleep(0.05)


async def links_of(home: Living, person_id: str) -> int:
    asked = select(func.count()).select_from(console_links).where(console_links.c.person_id == person_id)
    async with database(home) as there:
        return int(await there.read(lambda connection: connection.execute(asked).scalar_one()))


@pytest.mark.requirement("side:link-by-delivery")
async def test_a_link_comes_to_the_phone_and_is_good_once_in_the_browser_that_asked(
    home: Living, caller: Caller
) -> None:
    await invited(home, "Lena", "8101")

    asked = await ask(caller, "lena")
    (key,) = await keys_sent_to(home, "8101")

    for _ in range(2):  # a mail scanner looks, and uses nothing up
        assert (await caller.get(f"/console/login?key={key}")).status == 200
    elsewhere = await caller.post("/console/login", {"key": key})
    assert elsewhere.status == 403 and "where you asked for it" in elsewhere.text and not elsewhere.cookies
    assert f"/console/login?key={key}" in elsewhere.text and 'href="http://localhost:' in elsewhere.text
    other = await caller.post("/console/login", {"key": key}, {"postroom_browser": "x" * 43})
    assert other.status == 403
    entered = await caller.post("/console/login", {"key": key}, dict(asked.cookies))
    assert entered.status == 303
    assert "Lena (member)" in (await caller.get("/console/", dict(entered.cookies))).text
    assert (await caller.post("/console/login", {"key": key}, dict(asked.cookies))).status == 403


@pytest.mark.requirement("side:next-page")
async def test_a_link_that_was_asked_for_leads_back_to_the_page_that_was_wanted(home: Living, caller: Caller) -> None:
    await invited(home, "Lars", "8120")
    asked = await caller.post("/console/login/link", {"who": "Lars", "next": "/console/questions/7"})
    (key,) = await keys_sent_to(home, "8120")

    entered = await caller.post("/console/login", {"key": key, "next": "/console/"}, dict(asked.cookies))

    assert entered.headers["Location"] == "/console/questions/7"


async def test_the_owner_gets_one_without_a_terminal_by_name_or_by_address(home: Living, caller: Caller) -> None:
    before = len(await home.received())
    asked = await ask(caller, "owner")
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(await home.received()) == before:
            await asyncio.sleep(0.05)
    found = _LINK.search((await home.received())[-1]["text"])
    assert found is not None

    entered = await caller.post("/console/login", {"key": found[1]}, dict(asked.cookies))

    assert (await caller.get("/console/audit", dict(entered.cookies))).status == 200


@pytest.mark.requirement("side:link-tells-nothing")
async def test_every_one_who_asks_hears_the_same(home: Living, caller: Caller) -> None:
    await invited(home, "Mia", "8102")
    unproved = await invited(home, "Nora", "8103", verified=False)
    homeless = await invited(home, "Otto", None)
    contact = await person(home, "Paula", PersonRole.CONTACT, chat="8104")
    uninvited = await person(home, "Quin", PersonRole.MEMBER, chat="8105")
    names = ["Mia", "Nora", "Otto", "Paula", "Quin", "8102", "8105", "no such person", "", "x" * 5000, "'; --", "%"]

    answers = [await ask(caller, name) for name in names]

    assert {answer.status for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert {frozenset(answer.cookies) for answer in answers} == {frozenset({"postroom_browser", "postroom_wanted"})}
    for nobody in (unproved, homeless, contact.id, uninvited.id):
        assert await links_of(home, nobody) == 0, nobody


async def test_a_name_that_two_people_have_is_no_ones(home: Living, caller: Caller) -> None:
    ids = [await invited(home, "Robin", chat) for chat in ("8106", "8107")]

    await ask(caller, "Robin")

    assert [await links_of(home, one) for one in ids] == [0, 0]
    await ask(caller, "8107")
    assert [await links_of(home, one) for one in ids] == [0, 1]


@pytest.mark.requirement("side:link-limits")
async def test_a_person_is_sent_few_and_a_sender_gets_few(home: Living, caller: Caller) -> None:
    one, other = await invited(home, "Sam", "8108"), await invited(home, "Tess", "8109")

    for _ in range(MOST_OPEN + 2):
        await ask(caller, "Sam")
    assert await links_of(home, one) == MOST_OPEN
    async with database(home) as there:  # opened or over, they do not count as open any more
        await there.write(
            lambda connection: connection.execute(
                console_links.update().where(console_links.c.person_id == one).values(used_at=1)
            )
        )
    for _ in range(MOST_OF_PERSON):
        await ask(caller, "Sam")
    assert await links_of(home, one) == MOST_OF_PERSON

    for _ in range(MOST_OF_SENDER):
        await ask(caller, "no such person")
    last = await ask(caller, "Tess")
    assert last.status == 200 and await links_of(home, other) == 0


@pytest.mark.requirement("side:link-limits")
async def test_a_sender_is_not_another_one_by_saying_so(home: Living, caller: Caller) -> None:
    one = await invited(home, "Xena", "8121")
    for _ in range(MOST_OF_SENDER):
        await ask(caller, "no such person")

    for header in ("X-Forwarded-For", "X-Real-IP", "Forwarded"):
        said = {**caller.origin, header: "for=203.0.113.9" if header == "Forwarded" else "203.0.113.9"}
        await caller.post("/console/login/link", {"who": "Xena"}, headers=said)

    assert await links_of(home, one) == 0


@pytest.mark.requirement("side:link-limits")
async def test_a_sender_who_does_not_stop_fills_no_table(home: Living, caller: Caller) -> None:
    for _ in range(MOST_OF_SENDER + 5):
        await ask(caller, "no such person")

    kept = select(func.count()).select_from(sign_in_attempts)
    async with database(home) as there:
        assert await there.read(lambda one: one.execute(kept).scalar_one()) == MOST_OF_SENDER


async def test_who_holds_only_a_token_for_an_inbox_comes_in_as_that(home: Living, caller: Caller) -> None:
    one = await person(home, "Uma", PersonRole.MEMBER, chat="8110")
    home.tokens.create(Principal(Role.USER, one.id))

    asked = await ask(caller, "Uma")
    (key,) = await keys_sent_to(home, "8110")
    entered = await caller.post("/console/login", {"key": key}, dict(asked.cookies))

    assert entered.status == 303
    home.tokens.revoke(Principal(Role.USER, one.id))
    assert (await caller.get("/console/inbox", dict(entered.cookies))).status == 401


@pytest.mark.requirement("side:next-page")
@pytest.mark.parametrize(
    ("wanted", "leads_to"),
    [
        ("/console/questions/1?a=b", "/console/questions/1?a=b"),
        ("https://evil.example/console/", "/console/"),
        ("//evil.example/console/", "/console/"),
        ("/console//evil.example", "/console/"),
        ("/console/../v1/people", "/console/"),
        ("/console/\\evil.example", "/console/"),
        ("/console/login?key=x", "/console/"),
        ("javascript:alert(1)", "/console/"),
        ("/console/a\r\nSet-Cookie: a=b", "/console/"),
        ("", "/console/"),
    ],
)
async def test_who_signs_in_goes_to_a_page_of_ours(home: Living, caller: Caller, wanted: str, leads_to: str) -> None:
    one = await person(home, f"Vera {wanted}"[:200].replace("\r\n", " "))
    key = (await invitation(home, one)).partition("key=")[2]

    answer = await caller.post("/console/login", {"key": key, "next": wanted})

    assert (answer.status, answer.headers["Location"]) == (303, leads_to)


@pytest.mark.requirement("side:next-page")
async def test_a_page_that_needs_signing_in_offers_it_and_leads_back(caller: Caller) -> None:
    answer = await caller.get("/console/questions/abc?x=1")

    assert answer.status == 401 and "Send me a link" in answer.text
    assert 'name="next" value="/console/questions/abc?x=1"' in answer.text
    assert "http://localhost:" in answer.text  # a bare address has no passkeys, and the page says what has
