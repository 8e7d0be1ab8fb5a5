"""Each list as a file: the filters on screen, page by page to its end, for those who may see it, and nothing more."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import AsyncIterator, Mapping

import pytest
import pytest_asyncio
from starlette.responses import Response, StreamingResponse
from tests.app.living import LIFTED, QUICK, Living, living
from tests.doors.console.asked import ANNA, BEN, admit, ask, asking
from tests.doors.console.attended import ALWAYS_QUIET, say, wish
from tests.doors.console.http import Answer, Caller, calling
from tests.doors.console.routes import filled, routes
from tests.doors.console.visiting import visit

from postroom.app.store import connect_store
from postroom.domain.errors import StoreUnavailable, TargetUnavailable, ValidationError
from postroom.domain.principal import OPERATOR, Principal
from postroom.doors.console.export import Exported, ExportPage, streamed
from postroom.doors.console.sign_in_link import sign_in_link
from postroom.system.clock import SystemClock
from postroom.work.inbox.request import Request
from postroom.work.questions.given import Given
from postroom.world.store.shared.console_sessions import StoredConsoleSessions

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]
EVIL = '=HYPERLINK("http://evil.example","click")'
SECRET = "hunter2-and-nothing-else"
ON = {
    "approvals": {"enabled": True, "ask_owner": False},
    "retry": {"max_attempts": 1, "base_seconds": 0.01, "jitter": 0},
}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK, ON) as one:
        await admit(one, ANNA, BEN)
        await fill(one)
        yield one


async def fill(home: Living) -> None:
    for number in range(3):
        await home.notify(message=f"{EVIL} {number}")
    await home.notify(channel="email", message="To a stranger", subject=EVIL, recipient="x@example.org")
    await home.fault(channel="telegram", times=1, status=503)
    await home.notify(message="Lost")
    rule = {"constraints": {"recipient": "y@example.org"}, "description": EVIL, "max_uses": 1}
    assert (await home.call("messenger", "create_approval_rule", rule, caller="operator"))["status"] == "ok"
    assert home.household.inbox is not None
    for who in ("operator", "anna"):
        await home.household.inbox.notifications.send(Request(message=f"{EVIL} for {who}", user_id=who))
    said = await ask(home, "What is the password?", kind="text", secret=True)
    await asking(home).answer(OPERATOR, said.id, Given(text=SECRET), channel="console", event_id="secret")
    await ask(home, "Only Anna", kind="text", to="anna")
    await ask(home, EVIL, kind="text")
    await wish(home, "owner", ALWAYS_QUIET)
    await say(home, f"{EVIL} held")
    await home.settled()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def caller(home: Living) -> AsyncIterator[Caller]:
    async with calling(home) as one:
        yield one


_cookies: dict[tuple[str, str], Mapping[str, str]] = {}


async def got(home: Living, caller: Caller, path: str, who: Principal = OPERATOR) -> Answer:
    if (caller.base, str(who)) not in _cookies:
        home.tokens.ensure([who])
        store = connect_store(home.settings)
        sessions, now_us = StoredConsoleSessions(store.database), SystemClock().now_us()
        link = await sign_in_link(sessions, home.tokens, caller.base, who, now_us)
        await store.database.close()
        _cookies[caller.base, str(who)] = await caller.sign_in(link)
    return await caller.get(f"/console{path}", _cookies[caller.base, str(who)])


async def rows(home: Living, caller: Caller, path: str, who: Principal = OPERATOR) -> list[dict[str, str]]:
    answer = await got(home, caller, path, who)
    assert answer.status == 200, answer.text
    return list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"), newline=""), strict=True))


LISTS = {
    "/deliveries": ("/export/deliveries.csv", "Message begins"),
    "/dead-letters": ("/export/dead-letters.csv", "What went wrong"),
    "/approvals": ("/export/approvals.csv?status=pending", "Message begins"),
    "/approvals/rules": ("/export/rules.csv", "What for"),
    "/inbox": ("/export/inbox.csv?shelf=unread", "Message"),
    "/questions": ("/export/questions.csv?status=open", "Question"),
    "/people": ("/export/people.csv", "Name"),
    "/attention": ("/export/notices.csv?cell=held", "Message"),
    "/audit": ("/export/audit.csv", "What"),
    "/conversations/owner": ("/export/conversations/owner.csv", "Words"),
}


@pytest.mark.requirement("side:export-what-is-listed", "side:export-is-harmless")
@pytest.mark.parametrize("page", LISTS)
async def test_each_list_links_to_its_file_which_is_harmless(home: Living, caller: Caller, page: str) -> None:
    address, column = LISTS[page]
    shown = await got(home, caller, page)
    answer = await got(home, caller, address)
    found = await rows(home, caller, address)

    assert f'href="/console{address}"' in shown.text.replace("&amp;", "&")
    assert re.fullmatch(r'attachment; filename="[a-z-]+-\d{4}-\d\d-\d\d\.csv"', answer.headers["Content-Disposition"])
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert (answer.headers["X-Content-Type-Options"], answer.headers["Cache-Control"]) == ("nosniff", "no-store")
    assert answer.text.startswith('\ufeff"') and answer.text.endswith("\r\n")
    assert found and all(row[column] is not None for row in found)
    assert not [cell for row in found for cell in row.values() if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


async def test_a_file_holds_what_its_filters_find_and_no_more(home: Living, caller: Caller) -> None:
    everything = await rows(home, caller, "/export/deliveries.csv")
    dead = await rows(home, caller, "/export/deliveries.csv?status=dead_lettered")
    words = await rows(home, caller, "/export/deliveries.csv?q=stranger")

    assert {row["Delivery id"] for row in everything} == {row["id"] for row in home.rows("delivery_requests")}
    assert ([row["Message begins"] for row in dead], [row["To"] for row in words]) == (["Lost"], ["x@example.org"])
    assert all(row["Accepted"].endswith("Z") and row["Attempts"].isdigit() for row in everything)


async def test_a_filter_that_cannot_be_meant_is_refused_in_words(home: Living, caller: Caller) -> None:
    answer = await got(home, caller, "/export/deliveries.csv?since=yesterday")

    assert (answer.status, answer.headers["Content-Type"]) == (400, "text/plain; charset=utf-8")
    assert "date and a time" in answer.text


@pytest.mark.requirement("side:export-what-is-listed")
async def test_nothing_that_a_list_hides_is_in_its_file(home: Living, caller: Caller) -> None:
    for path in (*[address for address, _ in LISTS.values()], "/export/questions.csv?status=all"):
        assert SECRET not in (await got(home, caller, path)).text, path


@pytest.mark.requirement("side:audit", "side:export-what-is-listed")
async def test_the_audit_says_what_was_acted_on_but_no_secret(home: Living, caller: Caller) -> None:
    asked = await ask(home, "Deploy shop 2.15?", options=["Yes", "No"])
    await asking(home).answer(OPERATOR, asked.id, Given(value="Yes"), channel="console", event_id="deploy")

    found = await rows(home, caller, "/export/audit.csv?who=owner")
    page = (await got(home, caller, "/audit")).text

    assert ("answered a question", "Deploy shop 2.15?") in {(row["What"], row["About"]) for row in found}
    assert ("answered a question", "") in {(row["What"], row["About"]) for row in found}  # the secret one
    assert ("made a standing rule", f"'{EVIL}") in {(row["What"], row["About"]) for row in found}
    assert f'answered a question: <a href="/console/questions/{asked.id}"><bdi>Deploy shop 2.15?</bdi></a>' in page
    assert "What is the password?" not in page + str(found)


@pytest.mark.requirement("side:export-what-is-listed")
async def test_a_member_downloads_only_what_is_their_own(home: Living, caller: Caller) -> None:
    inbox = await rows(home, caller, "/export/inbox.csv", ANNA)
    asked = await rows(home, caller, "/export/questions.csv?status=all", ANNA)

    assert [row["Message"] for row in inbox] == [f"'{EVIL} for anna"]
    assert [row["Question"] for row in asked] == ["Only Anna"]
    refused = {
        "/export/deliveries.csv": 403,
        "/export/dead-letters.csv": 403,
        "/export/approvals.csv": 403,
        "/export/rules.csv": 403,
        "/export/audit.csv": 403,
        "/export/inbox.csv?of=operator": 404,
        "/export/notices.csv?of=owner": 404,
        "/export/conversations/owner.csv": 404,
    }
    assert {path: (await got(home, caller, path, ANNA)).status for path in refused} == refused
    assert await rows(home, caller, "/export/questions.csv?status=all", BEN) == []


async def test_no_file_is_open_to_those_who_are_not_signed_in(home: Living, caller: Caller) -> None:
    paths = [path for path in await routes(home, "GET") if path.startswith("/export/")]
    answers = [await caller.get(f"/console{filled(path)}") for path in paths]

    assert len(paths) == len(LISTS) + 1
    assert {one.status for one in answers} == {401}


NUMBERS: Exported[int] = Exported("numbers", (("Number", lambda one: one), ("Text", lambda one: f"-{one}")))


async def body(response: Response) -> str:
    assert isinstance(response, StreamingResponse)
    pieces = [bytes(piece) if not isinstance(piece, str) else piece.encode() async for piece in response.body_iterator]
    return b"".join(pieces).decode()


async def test_pages_are_turned_one_at_a_time_until_the_last() -> None:
    turned: list[str | None] = []

    async def turn(after: str | None) -> ExportPage[int]:
        turned.append(after)
        start = int(after or 0)
        return ExportPage([start, start + 1], str(start + 2) if start < 4 else None)

    response = await streamed(visit("/export/numbers.csv"), NUMBERS, turn)
    assert turned == [None]  # nothing is read ahead of what is sent

    assert await body(response) == '\ufeff"Number","Text"\r\n' + "".join(f'{n},"\'-{n}"\r\n' for n in range(6))
    assert turned == [None, "2", "4"]


async def test_what_cannot_be_read_is_said_before_anything_is_sent() -> None:
    async def refuses(_after: str | None) -> ExportPage[int]:
        raise ValidationError("“since” is not a date")

    async def is_away(_after: str | None) -> ExportPage[int]:
        raise TargetUnavailable("the messenger cannot be reached")

    async def has_no_store(_after: str | None) -> ExportPage[int]:
        raise StoreUnavailable("away")

    there = visit("/export/numbers.csv")
    assert (await streamed(there, NUMBERS, refuses)).status_code == 400
    assert (await streamed(there, NUMBERS, is_away)).status_code == 503
    with pytest.raises(StoreUnavailable):
        await streamed(there, NUMBERS, has_no_store)
