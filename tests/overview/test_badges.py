"""What is counted is the same wherever it stands: Today, the navigation, the lists and the API."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.console.asked import ANNA, admit, ask
from tests.console.browser import link_for
from tests.console.http import Caller
from tests.household.living import LIFTED, QUICK, Living, living

from postroom.inbox.model import NewNotification
from postroom.kernel.values.errors import StoreUnavailable
from postroom.kernel.values.principal import OPERATOR, Principal
from postroom.overview.counts import WaitingNow
from postroom.overview.today import Badges

pytestmark = pytest.mark.asyncio(loop_scope="module")
_SECTIONS = ("questions", "approvals", "inbox")


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    """Some of each; about the messages that wait the owner is asked as well."""
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK, {"approvals": {"enabled": True}}) as one:
        await admit(one, ANNA)
        one.tokens.ensure([ANNA])
        for number in range(2):
            await one.notify(channel="email", message=f"{number}", subject="Hi", recipient="stranger@example.org")
        for number in range(7):
            await ask(one, f"Question {number}?", kind="text", to=["owner", "anna"][number % 2])
        assert one.household.inbox is not None
        for number in range(3):
            await one.household.inbox.send(NewNotification(message=f"Note {number}", user_id="operator"))
        await one.household.inbox.send(NewNotification(message="For Anna", user_id="anna"))
        yield one


async def told_by_the_api(home: Living, who: Principal) -> dict[str, int]:
    base, headers = home.household.addresses["api"], {"Authorization": f"Bearer {home.tokens.token_of(who)}"}

    async def read(path: str) -> dict[str, list[object]]:
        async with home.http.get(base + path, headers=headers) as response:
            return dict(await response.json())

    asks = await read("/v1/asks?status=open&mine=true&limit=200")
    actions = await read("/v1/approvals?limit=200")
    unread = await read("/notifications/unread-count")
    return {
        "questions": len(asks["asks"]),
        "approvals": len(actions.get("actions", [])),
        "inbox": int(str(unread["count"])),
    }


def badges_of(text: str) -> dict[str, int]:
    found = re.findall(r'href="/console/(\w+)"[^>]*>(?:<svg.*?</svg>)<span>[^<]*</span><span class="count">(\d+)', text)
    return {name: int(many) for name, many in found}


def tiles_of(text: str) -> dict[str, int]:
    tile = r'<a href="/console/(\w+)">[^<]*</a></span>\s*<span class="tile-value[^"]*">(\d+)'
    return {name: int(many) for name, many in re.findall(tile, text) if name in _SECTIONS}


@pytest.mark.requirement("side:counts-agree")
async def test_every_figure_is_the_one_of_the_api(home: Living, caller: Caller) -> None:
    cookies, told = await caller.sign_in(await link_for(home, OPERATOR)), await told_by_the_api(home, OPERATOR)
    today = (await caller.get("/console/", cookies)).text
    inbox = (await caller.get("/console/inbox", cookies)).text
    questions = (await caller.get("/console/questions", cookies)).text
    approvals = (await caller.get("/console/approvals", cookies)).text

    assert told == {"questions": 4 + 2, "approvals": 2, "inbox": 3}
    told["questions"] -= told["approvals"]  # each message once: among the approvals
    assert tiles_of(today) == told
    assert all(badges_of(text) == told for text in (today, inbox, questions, approvals))
    assert f'Waits for you <span class="count">{4 + 2}</span>' in today
    assert f'Waits for me <span class="count">{told["questions"]}</span>' in questions
    assert questions.count('class="card note') >= told["questions"]
    assert approvals.count('class="card note') == told["approvals"]
    assert inbox.count("letter-row") == told["inbox"] and f'Unread <span class="count">{told["inbox"]}</span>' in inbox


@pytest.mark.requirement("side:counts-agree")
async def test_a_member_sees_their_own_figures_alone(home: Living, caller: Caller) -> None:
    cookies, told = await caller.sign_in(await link_for(home, ANNA)), await told_by_the_api(home, ANNA)

    today = (await caller.get("/console/", cookies)).text

    assert told == {"questions": 3, "approvals": 0, "inbox": 1}
    assert badges_of(today) == {"questions": 3, "inbox": 1}
    assert 'Waits for you <span class="count">3</span>' in today


class Away:
    async def waits(self, who: Principal, now_us: int) -> WaitingNow:
        raise StoreUnavailable("away")


async def test_a_record_that_does_not_answer_has_no_figures() -> None:
    assert await Badges(record=Away(), approvals_on=True).of(OPERATOR, 1) == {}
