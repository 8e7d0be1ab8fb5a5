"""A person's devices, from the console to a push service and back by a press, in a whole household."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from postroom.kernel.values.principal import OPERATOR, Principal
from postroom.questions.model import QuestionStatus
from tests.channels.webpush.browser_side import BrowserSide
from tests.channels.webpush.push_service import Pushed, PushService, push_service
from tests.console.asked import ANNA, admit, ask, now
from tests.console.browser import Site
from tests.console.http import Caller
from tests.household.living import LIFTED, QUICK, Living, living

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(120)]
PUSH = {"kind": "webpush", "contact": "mailto:us@example.org", "allow_private": True}
OWN = {"channels": {"push": PUSH}, "approvals": {"enabled": False}, "allowed_hosts": ["post.example.org"]}
BEHIND_A_PROXY = {"Host": "post.example.org", "Origin": "https://post.example.org", "Sec-Fetch-Site": "same-origin"}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def service() -> AsyncIterator[PushService]:
    async with push_service() as one:
        yield one


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def home(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Living]:
    async with living(tmp_path_factory.mktemp("home"), LIFTED, QUICK, OWN) as one:
        await admit(one, ANNA)
        yield one


class Visitor:
    """Somebody who is signed in, with the forms of the page Devices."""

    def __init__(self, home: Living, caller: Caller, who: Principal) -> None:
        self._home, self._caller, self._who = home, caller, who
        self._cookies: dict[str, str] = {}

    async def at(self, path: str) -> tuple[int, str]:
        if not self._cookies:
            link = await Site(self._home, None).link(self._who)  # type: ignore[arg-type]
            self._cookies = await self._caller.sign_in(link)
        answer = await self._caller.get(path, self._cookies)
        return answer.status, answer.text

    async def page(self) -> str:
        status, text = await self.at("/console/devices")
        assert status == 200
        return text

    async def ids(self) -> list[str]:
        return re.findall(r"/console/devices/([0-9a-f]{16})/remove", await self.page())

    async def post(self, path: str = "", **fields: str) -> str:
        """What the page says after it."""
        found = re.search(r'name="form_token" value="([0-9a-f]+)"', await self.page())
        assert found is not None
        answer = await self._caller.post(f"/console/devices{path}", {"form_token": found[1], **fields}, self._cookies)
        assert answer.status == 303, answer.text
        said = await self._caller.get("/console/devices", {**self._cookies, **answer.cookies})
        return said.text

    async def switch_on(self, browser: BrowserSide, name: str) -> str:
        keys = browser.subscription
        text = await self.post(name=name, endpoint=keys.endpoint, p256dh=keys.p256dh, auth=keys.auth)
        assert "is notified from now on" in text
        return (await self.ids())[0]


@pytest.fixture
def owner(home: Living, caller: Caller) -> Visitor:
    return Visitor(home, caller, OPERATOR)


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def nothing_is_left(home: Living, caller: Caller, service: PushService) -> AsyncIterator[None]:
    yield
    one = Visitor(home, caller, OPERATOR)
    for device_id in await one.ids():
        await one.post(f"/{device_id}/remove")
    service.taken.clear()
    service.gone.clear()


async def press(home: Living, pushed: Pushed, place: int = 0, **other: str) -> tuple[int, dict[str, Any]]:
    """As the service worker does it."""
    shown = pushed.shown
    body = {"device": shown["device"], "token": shown["actions"][place]["token"], **other}
    async with home.http.post(home.household.addresses["api"] + shown["press"], json=body) as answer:
        return answer.status, await answer.json()


@pytest.mark.requirement("side:devices-own", "side:devices-sealed")
async def test_a_device_is_switched_on_notified_tried_and_removed(
    home: Living, owner: Visitor, service: PushService
) -> None:
    browser = service.subscribe(11)
    device = await owner.switch_on(browser, "Kitchen <phone>")
    assert "Kitchen &lt;phone&gt;" in await owner.page()

    answer = await home.notify(channel="push", message="Tea is ready")
    tried = await owner.post(f"/{device}/test")

    assert answer["status"] == "ok" and "The push service took the trial" in tried
    assert [one.shown["body"][:12] for one in service.taken] == ["Tea is ready", "This is a tr"]
    [row] = home.rows("push_devices")
    assert row["last_used_at"] is not None
    assert not any(secret in json.dumps(row) for secret in (browser.endpoint, browser.subscription.auth))
    assert "is notified no more" in await owner.post(f"/{device}/remove")
    assert home.rows("push_devices") == []
    refused = await home.notify(channel="push", message="Nobody hears this")
    assert refused["status"] == "error"


@pytest.mark.requirement("side:push-cut", "side:devices-own")
async def test_a_long_message_is_read_to_its_end_by_the_one_it_went_to(
    home: Living, caller: Caller, owner: Visitor, service: PushService
) -> None:
    await owner.switch_on(service.subscribe(19), "Phone")
    await home.notify(channel="push", message=f"{'Long. ' * 600}<b>The end</b>")
    [taken] = service.taken

    mine = await owner.at(taken.shown["url"])
    others = await Visitor(home, caller, ANNA).at(taken.shown["url"])

    assert taken.shown["body"].endswith("open to read more") and "The end" not in taken.shown["body"]
    assert mine[0] == 200 and "&lt;b&gt;The end&lt;/b&gt;" in mine[1]
    assert others[0] == 404 and "The end" not in others[1]


@pytest.mark.requirement("side:push-press", "side:push-replaces")
async def test_a_press_is_one_attempt_and_the_notification_is_closed_by_what_came_of_it(
    home: Living, owner: Visitor, service: PushService
) -> None:
    device = await owner.switch_on(service.subscribe(12), "Phone")
    asked = await ask(home, "Ship it?", options=["yes", "no"], allow_text=False)
    [card] = await service.until(1)
    assert [one["title"] for one in card.shown["actions"]] == ["yes", "no"]
    assert card.shown["url"].endswith(f"/console/questions/{asked.id}")

    forged = await press(home, card, device="0" * 16)
    unknown = await press(home, card, token="x" * 20)
    first, again, other = await press(home, card), await press(home, card), await press(home, card, 1)

    assert [one[1]["ok"] for one in (forged, unknown, first, other)] == [False, False, True, False]
    assert (first[0], first[1]["words"]) == (200, "✅ yes") and again[0] == 200
    question = await now(home, asked)
    assert question.status is QuestionStatus.ANSWERED and question.answer and question.answer.value == "yes"
    assert question.answered_by and (question.answered_by.person_id, question.answered_by.channel) == ("owner", "push")
    closing = (await service.until(2))[1]
    assert closing.shown["silent"] is True and closing.shown["tag"] == card.shown["tag"]
    assert "answered by" in closing.shown["body"] and "actions" not in closing.shown
    assert closing.headers["topic"] == card.headers["topic"]
    assert device == card.shown["device"]


async def test_a_question_with_more_answers_than_buttons_is_opened(
    home: Living, owner: Visitor, service: PushService
) -> None:
    await owner.switch_on(service.subscribe(13), "Phone")
    await ask(home, "Which?", options=["a", "b", "c"])

    [card] = await service.until(1)

    assert "actions" not in card.shown and "/a/" in card.shown["url"]
    assert "1. a" in card.shown["body"]


@pytest.mark.requirement("side:push-once")
async def test_a_lost_answer_is_a_second_copy_that_the_device_knows_again(
    home: Living, owner: Visitor, service: PushService
) -> None:
    await owner.switch_on(service.subscribe(20), "Phone")
    service.cuts = 1

    await home.notify(channel="push", message="Once")
    first, second = await service.until(2)
    await home.settled()

    assert first.shown == second.shown and first.shown["body"] == "Once"
    assert first.headers["topic"] == second.headers["topic"] and first.body != second.body
    assert home.rows("delivery_requests")[-1]["status"] == "delivered"


@pytest.mark.requirement("side:push-gone")
async def test_a_device_that_is_gone_makes_room_for_the_next(
    home: Living, owner: Visitor, service: PushService
) -> None:
    await owner.switch_on(service.subscribe(14), "Laptop")
    await owner.switch_on(service.subscribe(15), "Phone")
    service.gone.add("secret-15")

    lost = await home.notify(channel="push", message="First")
    kept = await home.notify(channel="push", message="Second")

    assert (lost["status"], kept["status"]) == ("error", "ok")
    assert "not reached any more" in lost["error"]["message"]
    assert [one.browser.endpoint[-9:] for one in service.taken] == ["secret-14"]
    assert "not reached any more since" in await owner.page()


async def test_the_same_browser_again_is_the_same_device(owner: Visitor, service: PushService) -> None:
    browser = service.subscribe(16)
    await owner.switch_on(browser, "Phone")
    await owner.switch_on(browser, "Phone again")

    page = await owner.page()
    assert len(await owner.ids()) == 1 and "Phone again" in page


@pytest.mark.requirement("side:devices-own")
async def test_the_devices_of_another_person_are_not_there(
    home: Living, caller: Caller, owner: Visitor, service: PushService
) -> None:
    device = await owner.switch_on(service.subscribe(17), "Phone")
    anna = Visitor(home, caller, ANNA)

    assert await anna.ids() == []
    assert "removed already" in await anna.post(f"/{device}/remove")
    assert "removed already" in await anna.post(f"/{device}/test")
    assert await owner.ids() == [device] and service.taken == []


@pytest.mark.parametrize("endpoint", ["", "https://user@push.example.org/", "ftp://push.example.org/"])
async def test_a_subscription_that_is_none_is_refused_and_nothing_is_kept(
    home: Living, owner: Visitor, service: PushService, endpoint: str
) -> None:
    keys = service.subscribe(18).subscription

    said = await owner.post(name="x", endpoint=endpoint, p256dh=keys.p256dh, auth=keys.auth)

    assert "Nothing was switched on: endpoint must" in said
    assert home.rows("push_devices") == []


@pytest.mark.parametrize(
    ("account", "body", "status"),
    [
        ("push", {"device": "x", "token": "y"}, 422),
        ("push", {"device": "0" * 16}, 422),
        ("push", {"device": "0" * 16, "token": "y", "more": 1}, 422),
        ("telegram", {"device": "0" * 16, "token": "y"}, 404),
    ],
)
async def test_a_press_that_is_none_is_refused(home: Living, account: str, body: Any, status: int) -> None:
    async with home.http.post(f"{home.household.addresses['api']}/channels/{account}/press", json=body) as answer:
        assert answer.status == status, await answer.text()


@pytest.mark.requirement("side:app-installable", "side:push-press")
async def test_behind_the_documented_proxy_the_app_and_its_presses_are_let_in(home: Living) -> None:
    """As the proxy of docs/how-to/run.md hands them on: by its own name, without a token or a cookie."""
    base = home.household.addresses["api"]
    statuses = []
    for path in ("/console/manifest.webmanifest", "/console/service-worker.js", "/console/offline"):
        async with home.http.get(base + path, headers=BEHIND_A_PROXY) as answer:
            statuses.append(answer.status)
    body = {"device": "0" * 16, "token": "unknown"}
    async with home.http.post(f"{base}/channels/push/press", json=body, headers=BEHIND_A_PROXY) as answer:
        told = await answer.json()
    foreign = BEHIND_A_PROXY | {"Origin": "https://evil.example"}
    async with home.http.post(f"{base}/channels/push/press", json=body, headers=foreign) as answer:
        refused = answer.status

    assert (statuses, refused) == ([200, 200, 200], 403)
    assert told == {"ok": False, "words": "This button is no longer valid."}
