"""A hundred hostile texts in every place that keeps text: each is shown as it is written, and none runs."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Iterable
from urllib.parse import urlsplit

import aiohttp
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page

from postroom.console.words import pieces
from postroom.inbox.model import NewNotification
from postroom.kernel.text.visible import reveal
from postroom.kernel.values.principal import HOUSEHOLD_OWNER, OPERATOR
from postroom.questions.model import Said
from tests.console.asked import ANNA, admit, ask, asking
from tests.console.attended import ALWAYS_QUIET, say, wish
from tests.console.browser import IN_BROWSER, Site, console_site
from tests.console.payloads import PAYLOADS, WATCH
from tests.console.routes import pattern, routes
from tests.household.living import LIFTED, QUICK, Living
from tests.support.delivery_rows import NOON_US, new_id

pytestmark = [*IN_BROWSER, pytest.mark.timeout(180)]

OPEN = {
    "limits": LIFTED["limits"] | {"channels": {"telegram.bot": 10**6, "email.bot": 10**6}},
    "approvals": {"enabled": True, "ask_owner": False, "max_pending_per_origin": 1000},
    "inbox": {"hourly_cap": 1000},
    "questions": {"open_per_asker": 1000},
    "retry": {"max_attempts": 1},  # every failure is a dead letter, and too few to open the circuit
}
_MOVED = "/contacts/"  # leads to the page of the same name under people
_PROGRESS = (  # nothing is going on that they could show; a sandbox notifies no device
    "/dead-letters/",
    "/devices/messages/",
    _MOVED,
)
_FILES = {  # no pages: what they send is never shown as one, see tests/household/test_file_approvals.py
    "/approvals/{id}/files/{number}",
    "/deliveries/{id}/files/{number}",
}
_EACH_KIND_AT_MOST = 3  # of the pages of one thing; lists are read to their end
_FOREIGN = """() => {
    const ours = 'script[src^="/console/static/"], img[src^="/console/static/"]';
    const strange = [...document.querySelectorAll('script, img, iframe, object, embed, base, video, math, style')]
        .filter(one => !one.matches(ours));
    const armed = [...document.querySelectorAll('*')].filter(one => [...one.attributes].some(
        a => /^(on|hx-on|data-hx-on)/.test(a.name) || a.name === 'href' && /^\\s*javascript:/i.test(a.value)
    ));
    return [...strange, ...armed].map(one => one.outerHTML.slice(0, 200));
}"""


async def together(work: Iterable[Awaitable[object]], at_once: int = 10) -> None:
    turns = asyncio.Semaphore(at_once)

    async def one(step: Awaitable[object]) -> None:
        async with turns:
            await step

    await asyncio.gather(*(one(step) for step in work))


async def fill(home: Living) -> None:
    """Every payload goes where a person or a model could put it."""
    everything = "\n".join(PAYLOADS)
    await home.notify(channel="email", message=everything, subject="All of them", recipient="x@example.org")
    await together(
        home.notify(message=text, idempotency_key=f"{number} {text}"[:200]) for number, text in enumerate(PAYLOADS)
    )
    await together(
        home.notify(channel="email", message=text, subject=text, recipient="x@example.org") for text in PAYLOADS
    )
    await together(_rule(home, text) for text in PAYLOADS)
    await _decide(home)
    await _contacts(home)
    await _sandbox(home)
    await _inbox(home)
    await _questions(home)
    await _errors(home)
    await _talk(home)
    await _notices(home)


async def _rule(home: Living, text: str) -> None:
    bounded = {"constraints": {"recipient": text[:500]}, "description": text, "max_uses": 1}
    answer = await home.call("messenger", "create_approval_rule", bounded, caller="operator")
    assert answer["status"] == "ok", answer


async def _decide(home: Living) -> None:
    waiting = await home.call("messenger", "list_pending_actions", {"limit": 200}, caller="operator")
    assert len(waiting["actions"]) == len(PAYLOADS) + 1
    for action, text in zip(waiting["actions"][:10], PAYLOADS, strict=False):
        asked = {"action_id": action["action_id"], "reason": text}
        assert (await home.call("messenger", "reject_action", asked, caller="operator"))["status"] == "ok"


async def _contacts(home: Living) -> None:
    rows = io.StringIO()
    csv.writer(rows).writerows(
        [
            ["name", "aliases"],
            *([f"a{n} {text}", text.replace(";", ",").replace("|", "/")] for n, text in enumerate(PAYLOADS)),
        ]
    )
    headers = {"Authorization": f"Bearer {home.token('operator')}"}
    base = home.household.addresses["api"]
    async with aiohttp.ClientSession(headers=headers) as http:
        body = {"format": "csv", "content": rows.getvalue()}
        async with http.post(f"{base}/contacts/import", json=body) as response:
            answer = await response.json()
            assert answer["created"] == len(PAYLOADS), answer
        async with http.get(f"{base}/contacts?limit=5") as response:
            known = (await response.json())["contacts"]
        for contact, text in zip(known, PAYLOADS, strict=False):
            choice = {"owner_agent": HOUSEHOLD_OWNER, "query": text, "agent_address": contact["agent_address"]}
            async with http.post(f"{base}/contacts/confirm", json=choice) as response:
                assert response.status == 200, await response.text()


async def _sandbox(home: Living) -> None:
    base = home.household.addresses["sandbox"]
    for text in PAYLOADS[:20]:
        typed = {"chat_id": "1000", "text": text, "from_name": text[:64]}
        async with home.http.post(f"{base}telegram/inbound", json=typed) as response:
            assert response.status == 200, await response.text()
    for text in PAYLOADS:
        mail = {"from": "a@b.example", "to": "c@d.example", "subject": text, "body": text}
        async with home.http.post(f"{base}email/inbound", json=mail) as response:
            assert response.status == 200, await response.text()


async def _inbox(home: Living) -> None:
    inbox = home.household.inbox
    assert inbox is not None
    for text in PAYLOADS:
        link = f"https://example.org/?{text}" if text.isprintable() else None
        answer = await inbox.send(NewNotification(message=text, user_id="operator", link=link))
        assert answer["success"], answer
    await inbox.send(NewNotification(message="hello", user_id=PAYLOADS[3][:128]))


async def _questions(home: Living) -> None:
    """To a person without an address, so that nothing is sent; and three to the owner, with a payload in each place."""
    await admit(home, ANNA)
    for text in PAYLOADS:
        await ask(home, text, kind="text", to="anna")
    few = list(enumerate(PAYLOADS[:20]))
    options = [{"value": f"{n}", "label": f"{n} {text}"[:60], "description": text} for n, text in few]
    await ask(home, PAYLOADS[0], options=options, context="\n".join(PAYLOADS), multiple=True)
    titled = {f"f{n}": {"type": "string", "title": text, "description": text} for n, text in few}
    await ask(home, PAYLOADS[1], kind="form", form={"type": "object", "properties": titled})
    said = await ask(home, PAYLOADS[2], kind="text")
    for number, text in enumerate(("\n".join(PAYLOADS), *PAYLOADS[:5])):
        await asking(home).answer(OPERATOR, said.id, Said(text=text), channel="console", event_id=f"payload-{number}")


async def _errors(home: Living) -> None:
    """What a provider says is cleaned on its way in; here it stands in the record as if it had not been."""
    await home.fault(channel="telegram", times=2, status=503)
    await home.notify(message="given up")
    await home.notify(message="given up too")
    await home.fault(channel="telegram", times=1, status=400)
    await home.notify(message="refused")
    everything = " ".join(PAYLOADS)
    with sqlite3.connect(home.settings.home / "postroom.db", timeout=20) as connection:
        for table, column in _TEXTS_OF_ERRORS:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} IS NOT NULL", (everything,))
    letters = await home.call("messenger", "messenger_dead_letter_list", {}, caller="operator")
    first = letters["dead_letters"][0]["dead_letter_id"]
    asked = {"dead_letter_id": first, "reason": PAYLOADS[0]}
    await home.call("messenger", "messenger_dead_letter_discard", asked, caller="operator")


async def _talk(home: Living) -> None:
    """What the owner wrote, as if butlers had been given it, with hostile reasons and names beside it."""
    rows = [
        {
            **dict.fromkeys(("text", "reason", "target", "place", "thread", "message_id"), text),
            "event_id": f"payload {number}",
            "id": new_id(NOON_US + number * 1000),
            "places": json.dumps([text]),
        }
        for number, text in enumerate(PAYLOADS)
    ]
    fixed = {"channel": "telegram", "number": 0, "sender": "1000", "assurance": "channel", "flags": "[]"}
    fixed |= {"alone": 1, "addressed": 1, "received_at": NOON_US, "status": "answered", "person": "owner"}
    fixed |= {"kind": "butler", "changed_at": NOON_US}
    with sqlite3.connect(home.settings.home / "postroom.db", timeout=20) as connection:
        names = [*rows[0], *fixed]
        places = ", ".join(f":{name}" for name in names)
        insert = f"INSERT INTO inbound_messages ({', '.join(names)}) VALUES ({places})"
        connection.executemany(insert, [row | fixed for row in rows])


async def _notices(home: Living) -> None:
    """At the end: from now on everything is held."""
    await wish(home, "owner", {**ALWAYS_QUIET, "agents": {text[:200]: {"ceiling": "normal"} for text in PAYLOADS[:3]}})
    for text in PAYLOADS:
        await say(home, text, category=PAYLOADS[0][:50], thread=PAYLOADS[1][:50])
    for text in PAYLOADS[:5]:
        await home.attention.mute("owner", agent=text, thread=text)


_TEXTS_OF_ERRORS = (
    ("delivery_attempts", "error_message"),
    ("delivery_dead_letter", "error_summary"),
)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK, OPEN) as one:
        await fill(one.home)
        yield one


class Walk:
    """From every page to every page it links to: lists to their end, of one kind of thing a few."""

    def __init__(self, site: Site, page: Page, known: list[str]) -> None:
        self._site = site
        self._page = page
        pages = [path for path in known if path not in ("/events", "/login") and not path.startswith("/export/")]
        self._kinds = {path: pattern(f"/console{path}") for path in pages}
        self._waiting = [f"/console{path}" for path in self._kinds if "{" not in path]
        self._seen: set[str] = set()
        self._many: dict[str, int] = {}
        self.texts: dict[str, str] = {}
        self.ran: list[str] = []

    async def go(self) -> None:
        while self._waiting:
            link = self._waiting.pop()
            kind = self._kind(link)
            if link in self._seen or kind is None or not self._is_wanted(kind, link):
                continue
            self._seen.add(link)
            self._many[kind] = self._many.get(kind, 0) + 1
            await self._look(kind, link)

    def _kind(self, link: str) -> str | None:
        path = urlsplit(link).path
        return next((kind for kind, form in self._kinds.items() if form.fullmatch(path)), None)

    def _is_wanted(self, kind: str, link: str) -> bool:
        return "cursor=" in link or self._many.get(kind, 0) < _EACH_KIND_AT_MOST

    async def _look(self, kind: str, link: str) -> None:
        answer = await self._page.goto(self._site.url.removesuffix("/console") + link)
        assert answer is not None and answer.status == 200, link
        if many := await self._page.evaluate("window.count"):
            self.ran.append(f"{link}: {many}")
        self.ran += [f"{link}: {one}" for one in await self._page.evaluate(_FOREIGN)]
        shown = await self._page.evaluate("document.body.textContent")
        self.texts[kind] = self.texts.get(kind, "") + str(shown)
        links = await self._page.evaluate("[...document.links].map(one => one.pathname + one.search)")
        self._waiting += sorted(one for one in set(links) if one.startswith("/console/"))

    @property
    def unvisited(self) -> set[str]:
        return set(self._kinds) - set(self._many)


async def test_nothing_stored_ever_runs_and_all_of_it_is_shown_as_written(site: Site) -> None:
    page = await site.page()
    await page.add_init_script(WATCH)
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    await page.goto(await site.link())
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(site.url + "/")
    walk = Walk(site, page, await routes(site.home, "GET"))

    await walk.go()

    assert walk.ran == []
    assert dialogs == []
    assert site.mishaps == []
    assert {kind for kind in walk.unvisited if not kind.startswith(_PROGRESS)} == _FILES
    whole = ("/inbox", "/attention", "/people", "/deliveries/{id}", "/dead-letters/{id}")
    for kind in (*whole, "/conversations/{id}"):
        assert [text for text in PAYLOADS if text not in walk.texts[kind]] == [], kind
    assert [text for text in PAYLOADS if reveal(text) not in walk.texts["/approvals"]] == []
    assert [text for text in PAYLOADS if _named(text) not in walk.texts["/approvals/rules"]] == []
    for kind in ("/questions", "/questions/{id}"):
        shown = " ".join(walk.texts[kind].split())
        assert [text for text in PAYLOADS if _marked(text) not in shown] == [], kind


def _marked(text: str) -> str:
    """The same where a letter and its name stand apart."""
    shown = "".join(f"{one.text} {one.name}" if one.text and one.name else one.text + one.name for one in pieces(text))
    return " ".join(shown.split())


def _named(text: str) -> str:
    """As a page shows it that marks what hides."""
    return "".join(piece.text + piece.name for piece in pieces(text))
