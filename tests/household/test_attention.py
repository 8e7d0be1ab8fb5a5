"""The policy of a household, and the hours and zones it goes by."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from postroom.attention.attention import Attention
from postroom.attention.model import NoticeState, Policy
from postroom.attention.rules.policy import parse_policy
from postroom.cli.doctor.checks import Finding, look_at_notices
from postroom.household.attention import household_policy
from postroom.household.delivery import opened_lookups
from postroom.household.questions import AskingParts
from postroom.kernel.values.errors import SettingsError
from postroom.kernel.values.ids import parse_text, seconds, to_datetime
from postroom.kernel.values.principal import Principal, Role
from postroom.settings import Settings
from tests.cli.command import postroom_beside
from tests.household.asked_household import ask, behind, letter, phone, press, until, write
from tests.household.living import ALL_DAY, LIFTED, QUICK, Living, living, settings_for
from tests.patience import PATIENCE_SECONDS

# A household with a policy: what waits, what leaves, and what becomes of both; and one without, which is as before.
ALWAYS_QUIET = {"zone": "UTC", "quiet_hours": ALL_DAY}


@pytest.mark.requirement("attention:deferred")
async def test_in_quiet_hours_a_message_is_held_and_its_agent_hears_until_when(home: Path) -> None:
    async with living(home, LIFTED, QUICK, {"attention": ALWAYS_QUIET}) as alive:
        answer = await alive.notify(message="The plants are watered")

        assert answer["status"] == "deferred", answer
        assert answer["reasons"] == ["quiet"]
        assert await alive.texts() == []
        (notice,) = await alive.attention.notices("owner", "held")
        assert (notice.id, notice.state, notice.agent) == (answer["notice_id"], NoticeState.HELD, "health")


@pytest.mark.requirement("attention:rejudged")
async def test_what_was_held_leaves_once_the_policy_lets_it_and_counts_as_sent(small: Living) -> None:
    attention = small.attention
    await attention.set_policy("owner", parse_policy(ALWAYS_QUIET))
    answer = await small.notify(message="Dinner at eight")
    assert answer["status"] == "deferred"
    request_id = answer["request_context"]["request_id"]
    [held] = (await small.traced(request_id))["hops"]
    assert (held["source_butler"], held["part"], held["status"]) == ("health", "switchboard", "deferred")

    await attention.set_policy("owner", Policy())

    async def sent() -> bool:
        view = await attention.notice(answer["notice_id"])
        return view is not None and view.state is NoticeState.SENT

    await until(sent)
    assert [text for text in await small.texts() if "Dinner" in text] == await small.texts()
    assert len(await small.texts()) == 1
    traced = await small.traced(request_id)
    assert [(one["status"], one["created_at"]) for one in traced["hops"]] == [("ok", held["created_at"])]
    assert traced["hops"][0]["delivery_id"] == traced["deliveries"][0]["id"]
    figures = await attention.figures("owner")
    assert (figures.accepted, figures.cells["sent"], figures.unaccounted) == (1, 1, ())
    assert await attention.audit() == ()


@pytest.mark.requirement("attention:one-key-one-notice")
async def test_what_may_leave_now_leaves_in_the_same_call_and_is_accounted_for(home: Path) -> None:
    async with living(home, LIFTED, QUICK, {"attention": {"preset": "everything"}}) as alive:
        first = await alive.notify(message="Hello", idempotency_key="one")
        again = await alive.notify(message="Hello", idempotency_key="one")
        other = await alive.notify(message="Other words", idempotency_key="one")

        assert first["status"] == again["status"] == "ok", (first, again)
        assert first["notice_id"] == again["notice_id"]
        assert other["status"] == "error" and "key" in str(other), other
        assert len(await alive.texts()) == 1
        assert (await alive.attention.figures("owner")).cells["sent"] == 1


@pytest.mark.requirement("attention:neutral")
async def test_without_a_policy_a_message_costs_no_statement_more(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from postroom.attention.considering import Considering

    asked: list[object] = []
    async with living(home, LIFTED, QUICK) as alive:
        considering = alive.attention.considering
        assert considering is not None

        class Counting:
            def __getattr__(self, name: str) -> Any:
                asked.append(name)
                raise AssertionError(name)

        alive.attention.considering = Considering(
            book=considering.book,
            acceptance=Counting(),
            carrier=Counting(),  # type: ignore[arg-type]
        )
        answer = await alive.notify(message="Hello")

    assert answer["status"] == "ok" and "notice_id" not in answer
    assert asked == []


@pytest.mark.requirement("attention:household-policy")
def test_what_is_wrong_in_the_settings_is_refused_by_its_name(home: Path) -> None:
    wrong = {"attention": {"quiet_hours": [{"from": "25:00", "until": "07:00"}], "zones": "x"}}
    with pytest.raises(SettingsError, match=r"attention\.quiet_hours\.0\.from") as raised:
        household_policy(settings_for(home, wrong))
    assert "attention.zones" in str(raised.value)


@pytest.mark.requirement("attention:people-exist")
async def test_a_household_whose_settings_name_someone_who_is_not_there_does_not_start(home: Path) -> None:
    duty = {"anchor": "2026-01-05T09:00", "zone": "UTC", "every_days": 7, "people": ["owner", "Bob"]}
    chain = [{"after_seconds": 60, "person": "Ann"}, {"after_seconds": 60, "person": "duty"}]
    wrong = {"attention": {"escalation": chain, "rotations": {"duty": duty}}}
    with pytest.raises(SettingsError) as raised:
        async with living(home, LIFTED, QUICK, wrong):
            pass
    assert "attention.escalation.0.person: 'Ann'" in str(raised.value)
    assert "attention.rotations.duty.people.1: 'Bob'" in str(raised.value)
    (finding, *_) = [one for one in await look_at_notices(settings_for(home, LIFTED, QUICK, wrong)) if not one.ok]
    assert "'Ann'" in finding.detail and "'Bob'" in finding.detail


@pytest.mark.requirement("attention:why-notice")
async def test_why_says_who_held_a_notice_and_until_when(home: Path) -> None:
    async with living(home, LIFTED, QUICK, {"attention": ALWAYS_QUIET}) as alive:
        attention = alive.attention
        answer = await alive.notify(message="Hello")
        async with opened_lookups(alive.settings) as view:
            (waiting,) = await view.why(answer["notice_id"])
            with pytest.raises(SettingsError):
                await view.why(answer["notice_id"], "general")
        await attention.set_policy("owner", parse_policy({"quiet_hours": []}))
        await until(lambda: _is(attention, answer["notice_id"], NoticeState.SENT))
        sent = await attention.notice(answer["notice_id"])
        assert sent is not None
        async with opened_lookups(alive.settings) as view:
            (delivered,) = await view.why(sent.sends[0].delivery_id or "")

    assert "health wrote this" in waiting.why
    assert "It is held because quiet hours are on" in waiting.why
    assert "It was delivered" in delivered.why and "It was held" in delivered.why and "quiet" in delivered.why
    assert re.search(r"because quiet hours are on, until (just now|.* ago)\.", delivered.why), delivered.why


async def _is(attention: Attention, notice_id: str, state: NoticeState) -> bool:
    view = await attention.notice(notice_id)
    return view is not None and view.state is state


async def _made_idle(settings: Settings) -> Finding:
    with sqlite3.connect(settings.home / "postroom.db") as connection:
        kept = connection.execute("SELECT standing FROM notices").fetchone()[0]
        idle = json.dumps({**json.loads(kept), "until_us": None, "reasons": []})
        connection.execute("UPDATE notices SET standing = ?", (idle,))
    (found,) = await look_at_notices(settings)
    return found


@pytest.mark.requirement("attention:accounted")
async def test_doctor_and_the_gauge_count_what_is_unaccounted_for(home: Path) -> None:
    async with living(home, LIFTED, QUICK, {"attention": ALWAYS_QUIET}) as alive:
        await alive.notify(message="Hello")
        (well,) = await look_at_notices(alive.settings)
        async with alive.http.get(alive.household.addresses["api"] + "/metrics") as response:
            metrics = await response.text()
        async with asyncio.timeout(PATIENCE_SECONDS):  # the household may still be writing down what it has decided
            while (stuck := await _made_idle(alive.settings)).ok:
                pass
        with sqlite3.connect(home / "postroom.db") as connection:
            connection.execute("DELETE FROM notices")
        (broken,) = await look_at_notices(alive.settings)
        assert (await alive.attention.figures()).unaccounted != ()

    assert (well.ok, well.detail) == (True, "every notice is accounted for")
    assert "postroom_attention_unaccounted 0.0" in metrics
    assert not stuck.ok and "L5" in stuck.detail and "waits for nothing" in stuck.detail
    assert not broken.ok and "L1" in broken.detail


@pytest.mark.requirement("attention:receipts")
async def test_what_no_person_approves_takes_no_other_way(home: Path) -> None:
    changes = {"attention": {"fallback": ["email"]}, "approvals": {"enabled": True, "ask_owner": False}}
    contact = {"contacts": [{"name": "Ann", "telegram_chat_id": "4711", "email": "ann@example.org"}]}
    async with living(home, LIFTED, QUICK, changes, contact) as alive:
        answer = await alive.notify(message="Hello", recipient="Ann")
        assert answer["status"] == "pending_approval", answer
        no = {"action_id": answer["action_id"], "reason": "no"}
        await alive.call("messenger", "reject_action", no, caller="operator")
        await until(lambda: _is(alive.attention, answer["notice_id"], NoticeState.REFUSED))
        assert await alive.received("telegram") == []
        assert await alive.attention.audit() == ()


@pytest.mark.requirement("attention:questions-wait")
async def test_a_question_is_not_shown_in_quiet_hours_and_its_time_stands_still(small: Living) -> None:
    now_us = small.attention.book.clock.now_us()
    night = {"zone": "UTC", "quiet_hours": [{"from": _clock(now_us, -1), "until": _clock(now_us, 2)}]}
    await small.attention.set_policy("owner", parse_policy(night))
    asked = await small.call("health", "ask", {"question": "Now?", "deadline_seconds": 600, "wait_seconds": 0})
    asking = await put_off(small, asked["ask_id"])
    question = await asking.store.get(asked["ask_id"])
    assert await small.texts() == []
    assert question is not None and question.expires_at_us - question.created_at_us > seconds(3600)


@pytest.mark.requirement("attention:questions-wait")
async def test_who_ends_their_quiet_hours_is_asked_at_once_and_the_time_for_the_answer_begins_then(
    small: Living,
) -> None:
    clock = small.attention.book.clock
    window = {"from": _clock(clock.now_us(), -1), "until": _clock(clock.now_us(), 2)}
    night = {"zone": "UTC", "quiet_hours": [window]}
    await tell(small, "PUT", "/v1/people/owner/attention", night)
    asked = await small.call("health", "ask", {"question": "Now?", "deadline_seconds": 600, "wait_seconds": 0})
    await put_off(small, asked["ask_id"])
    await tell(small, "PUT", "/v1/people/owner/attention", {"quiet_hours": []})
    await phone(small, "Now?")
    shown = await small.call("health", "wait", {"ask_id": asked["ask_id"], "wait_seconds": 0})
    left_us = parse_text(shown["expires_at"]) - clock.now_us()

    assert seconds(500) < left_us <= seconds(600)


async def put_off(alive: Living, ask_id: str) -> AskingParts:
    asking = alive.household.asking
    assert asking is not None

    async def is_quiet() -> bool:
        cards = await asking.world.store.presentations.of(ask_id)
        return [one.reason for one in cards if one.channel == "telegram"] == ["quiet hours are on"]

    await until(is_quiet)
    return asking


def _clock(now_us: int, hours: int) -> str:
    return to_datetime(now_us + hours * seconds(3600)).strftime("%H:%M")


@pytest.mark.requirement("attention:digest")
@pytest.mark.parametrize("channel", ["telegram", "email"])
async def test_what_a_digest_counts_is_in_it_and_nothing_else_is_called_sent(small: Living, channel: str) -> None:
    attention = small.attention
    await attention.set_policy("owner", parse_policy(ALWAYS_QUIET))
    noise = [f"Offer {n:02}: {'cheap ' * 40}. End of offer {n:02}" for n in range(40)]
    asked = [await small.notify(butler="general", message=one, channel=channel) for one in noise]
    asked.append(await small.notify(message="The cellar is under water", channel=channel))
    assert {one["status"] for one in asked} == {"deferred"}
    waits = await small.call("general", "notify_status", {"notice_id": asked[0]["notice_id"]})
    assert waits["status"] == "deferred"

    await attention.set_policy("owner", Policy())
    await until(lambda: _all_are(attention, asked, NoticeState.DIGESTED))
    traced = await small.traced(asked[40]["notice_id"])
    told = [
        await small.call(butler, "notify_status", {"notice_id": asked[place]["notice_id"]})
        for butler, place in (("general", 0), ("general", 39), ("health", 40))
    ]
    texts = [str(one.get("text") or one.get("body")) for one in await small.received(channel)]
    shown = [line for text in texts for line in text.splitlines()]
    whole = " ".join(" ".join(texts).split())

    assert [(one["status"], one["notice_state"]) for one in told] == [("ok", "digested")] * 3
    assert [one["channel"] for one in traced["deliveries"]] == [channel]
    assert [one for one in noise if one not in whole] == []
    assert "41 notices" in shown[0] and any("cellar" in line for line in shown[:8]), shown[:8]


@pytest.mark.requirement("attention:digest")
@pytest.mark.parametrize("sent", [0, 1])
async def test_of_a_digest_that_did_not_arrive_or_broke_off_no_agent_is_told_that_it_was_shown(
    small: Living, sent: int
) -> None:
    attention = small.attention
    await attention.set_policy("owner", parse_policy(ALWAYS_QUIET))
    asked = [await small.notify(butler="general", message=f"Offer {n}: {'cheap ' * 40}") for n in range(30)]
    asked.append(await small.notify(message="The cellar is under water"))
    for _ in range(sent):
        await small.fault(channel="telegram", delay_seconds=0.01)
    await small.fault(channel="telegram", status=400, times=-1)

    await attention.set_policy("owner", Policy())
    await until(lambda: _all_are(attention, asked, NoticeState.UNDELIVERABLE))
    told = [
        await small.call(butler, "notify_status", {"notice_id": asked[place]["notice_id"]})
        for butler, place in (("general", 0), ("general", 29), ("health", 30))
    ]
    texts = await small.texts()

    assert [(one["status"], one["notice_state"]) for one in told] == [("error", "undeliverable")] * 3
    assert len(texts) == sent


async def _all_are(attention: Attention, answers: list[dict[str, Any]], state: NoticeState) -> bool:
    return all([await _is(attention, one["notice_id"], state) for one in answers])


# Every moment that a person reads is in their zone: as their policy says, their record, the household, or UTC.
OWNER = Principal(Role.PERSON, "owner")
KOLKATA = {"household": {"zone": "Asia/Kolkata"}}
POLICY = {"attention": {"preset": "everything", "zone": "Pacific/Auckland"}}


async def tell(house: Living, method: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
    status, answer = await house.api(method, path, body, who=OWNER)
    assert status < 300, answer
    return dict(answer)


async def lives_in(house: Living, zone: str) -> None:
    await tell(house, "PATCH", "/v1/people/owner", {"zone": zone})


def said(text: str, zone: str) -> bool:
    """Hours of this zone alone, by its name, and within some minutes of an hour or of now."""
    hours, now = re.findall(r"(\d\d):(\d\d) ([A-Z]{3,5})\b", text), datetime.now(ZoneInfo(zone))
    apart = [(int(hour) * 60 + int(minute) - now.hour * 60 - now.minute) % 1440 for hour, minute, _ in hours]
    assert hours, text
    return {name for *_, name in hours} == {now.tzname()} and all(
        any((minutes - one) % 1440 < 5 for one in (0, 1435, 60, 55, 120, 115)) for minutes in apart
    )


@pytest.mark.requirement("attention:every-moment-in-the-persons-zone")
@pytest.mark.parametrize(
    ("settings", "person", "zone"),
    [
        ({}, None, "UTC"),
        (KOLKATA, None, "Asia/Kolkata"),
        (KOLKATA, "Asia/Tokyo", "Asia/Tokyo"),
        ({**KOLKATA, **POLICY}, "Asia/Tokyo", "Pacific/Auckland"),
    ],
    ids=["machine", "household", "person", "policy"],
)
async def test_a_card_a_mail_its_page_the_closing_line_and_the_bot_say_the_hour_where_the_person_is(
    tmp_path: Path, settings: dict[str, Any], person: str | None, zone: str
) -> None:
    async with living(tmp_path, LIFTED, QUICK, settings) as house:
        if person is not None:
            await lives_in(house, person)
        await ask(house, deadline_seconds=3600, channels=["telegram", "email"])
        card = await phone(house, "Ship it?")
        mail = await letter(house, "Ship it?")
        page = await behind(house, mail)
        await press(house, card, "yes")
        closed = await phone(house, "answered by")
        await write(house, "/mute health 2h")
        muted = await phone(house, "Muted health until")

    shown = [card["text"], mail["body"], page, closed["text"], muted["text"]]
    assert [text for text in shown if not said(text, zone)] == []


@pytest.mark.requirement("attention:every-moment-in-the-persons-zone")
async def test_the_phone_and_the_mailbox_of_the_sandbox_show_the_hour_of_the_household(tmp_path: Path) -> None:
    async with living(tmp_path / "home", QUICK, LIFTED, {"household": {"zone": "Asia/Tokyo"}}) as house:
        sent = [await house.notify(channel=name, message="now") for name in ("telegram", "email")]
        async with house.http.get(house.played_at) as response:
            page = await response.text()

    assert [one["status"] for one in sent] == ["ok", "ok"]
    assert len(re.findall(r"\d\d:\d\d JST", page)) == 2 and not re.search(r"\d\d:\d\d UTC", page)


@pytest.mark.requirement("attention:every-moment-in-the-persons-zone")
async def test_quiet_hours_without_a_zone_are_those_of_the_person_and_are_said_so(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, KOLKATA) as house:
        before = await tell(house, "PUT", "/v1/people/owner/attention", {"preset": "calm"})
        await lives_in(house, "Asia/Tokyo")
        after = await tell(house, "PUT", "/v1/people/owner/attention", {"preset": "calm"})
        own = await tell(house, "PUT", "/v1/people/owner/attention", {"preset": "calm", "zone": "Europe/Lisbon"})

    assert [one["rules"]["zone"] for one in (before, after, own)] == ["Asia/Kolkata", "Asia/Tokyo", "Europe/Lisbon"]


@pytest.mark.requirement("attention:every-moment-in-the-persons-zone")
async def test_what_is_held_leaves_by_the_clock_of_the_person(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, KOLKATA) as house:
        await lives_in(house, "Asia/Tokyo")
        here = datetime.now(ZoneInfo("Asia/Tokyo"))
        quiet = {"from": f"{here - timedelta(hours=2):%H:%M}", "until": f"{here + timedelta(hours=2):%H:%M}"}
        await tell(house, "PUT", "/v1/people/owner/attention", {"preset": "everything", "quiet_hours": [quiet]})
        held = await house.notify(message="Later")

    until = datetime.fromisoformat(held["until"]).astimezone(ZoneInfo("Asia/Tokyo"))
    assert (held["status"], f"{until:%H:%M}") == ("deferred", quiet["until"])


@pytest.mark.requirement("attention:every-moment-in-the-persons-zone")
async def test_a_trace_is_told_by_the_clock_of_who_reads_it(small: Living) -> None:
    await lives_in(small, "Asia/Kolkata")
    sent = await small.notify(message="Hello")
    told = await postroom_beside("trace", sent["delivery"]["delivery_id"])

    moments = [line[:27] for line in told.out.splitlines()[1:]]
    assert all(re.fullmatch(r"[\d-]{10} \d\d:\d\d:\d\d\.\d{3} IST", one) for one in moments), told.out
    now = datetime.now(ZoneInfo("Asia/Kolkata")).replace(tzinfo=None)
    assert abs(now - datetime.fromisoformat(moments[0][:-4])) < timedelta(minutes=5)
