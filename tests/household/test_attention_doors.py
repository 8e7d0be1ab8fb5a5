"""A household's attention through its doors: agents, scripts, people, and strangers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.running.clock import SystemClock
from postroom.kernel.values.errors import PostroomError
from postroom.kernel.values.ids import parse_text, seconds, to_text
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings.peer import HttpPeer
from tests.household.living import ALL_DAY
from tests.patience import PATIENCE_SECONDS
from tests.telephone import CHATGPT, Answer, Telephone, settings_for, telephone

pytestmark = pytest.mark.asyncio(loop_scope="module")

ALWAYS_QUIET = {"zone": "UTC", "quiet_hours": ALL_DAY}
OWNER = Principal(Role.PERSON, "owner")
HEALTH = Principal(Role.BUTLER, "health")
GENERAL = Principal(Role.BUTLER, "general")
CRON = Principal(Role.PROGRAM, "cron", person="owner")
ANN = Principal(Role.USER, "ann")
AGENTS = [HEALTH, GENERAL, CRON, CHATGPT, ANN]
NO_NOTICE = "0" * 32


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Telephone]:
    settings = settings_for(tmp_path_factory.mktemp("home"))
    for who in (OWNER, CRON, ANN):
        TokenFile(settings.tokens_file).create(who)
    async with telephone(settings) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="module")
async def quiet(line: Telephone) -> AsyncIterator[Telephone]:
    """The owner sleeps."""
    assert (await line.call("PUT", "api", "/v1/people/owner/attention", ALWAYS_QUIET)).status == 200
    yield line
    assert (await line.call("DELETE", "api", "/v1/people/owner/attention")).status == 200


async def notify(line: Telephone, message: str = "Hello", caller: Principal = HEALTH, **more: Any) -> Answer:
    return await line.post("/v1/notify", {"channel": "telegram", "message": message, **more}, caller)


async def held(line: Telephone, message: str = "Held", caller: Principal = HEALTH, **more: Any) -> str:
    answer = await notify(line, message, caller, **more)
    assert (answer.status, answer.body["status"]) == (202, "deferred"), answer
    return str(answer.body["notice_id"])


async def tool(line: Telephone, part: str, name: str, arguments: dict[str, Any], caller: Principal) -> dict[str, Any]:
    url = line.household.addresses[part]
    peer = HttpPeer(part, url if part != "api" else f"{line.url('api')}/mcp", line.tokens.token_of(caller) or "")
    try:
        return await peer.call(name, arguments, 60)
    finally:
        await peer.close()


def fields(answer: Answer) -> list[str]:
    return fields_in(answer.body)


def fields_in(body: dict[str, Any]) -> list[str]:
    error = body["error"]
    return [one["field"] for one in (error["fields"] if isinstance(error, dict) else body["fields"])]


@pytest.mark.requirement("attention:fields")
async def test_a_script_says_how_urgent_it_is_and_hears_until_when_it_is_held(quiet: Telephone) -> None:
    asked = {"urgency": "passive", "category": "garden", "thread": "plants", "supersedes": "water", "needs_ack": True}
    answer = await notify(quiet, "Water the plants", expires_in_seconds=7200, **asked)

    assert (answer.status, answer.body["status"], answer.body["reasons"]) == (202, "deferred", ["quiet"])
    assert answer.body["until"].endswith("Z")
    notice = (await quiet.get(f"/v1/notices/{answer.body['notice_id']}", HEALTH)).body["notice"]
    assert {name: notice[name] for name in asked} == asked
    assert (notice["state"], notice["cell"], notice["agent"], notice["person"]) == ("held", "held", "health", "owner")
    assert notice["expires_at"] is not None and notice["decisions"][0]["decision"] == "hold"


@pytest.mark.requirement("attention:fields")
async def test_a_butlers_tool_takes_the_same_fields_and_asks_what_became_of_a_notice(quiet: Telephone) -> None:
    asked = {"channel": "telegram", "message": "By tool", "urgency": "normal", "supersedes": "t1", "needs_ack": True}
    answer = await tool(quiet, "health", "notify", asked, HEALTH)

    assert (answer["status"], answer["reasons"]) == ("deferred", ["quiet"]), answer
    own = await tool(quiet, "health", "notify_status", {"notice_id": answer["notice_id"]}, HEALTH)
    assert (own["status"], own["notice_state"], own["until"]) == ("deferred", "held", answer["until"]), own
    other = await tool(quiet, "general", "notify_status", {"notice_id": answer["notice_id"]}, GENERAL)
    assert other["status"] == "error" and "not found" in other["error_message"], other
    wrong = await tool(quiet, "health", "notify_status", {"notice_id": "x"}, HEALTH)
    assert "notice_id" in wrong["error_message"], wrong


@pytest.mark.requirement("attention:fields")
@pytest.mark.parametrize("priority", ["low", "medium", "high"])
async def test_a_priority_is_the_urgency_of_the_same_rank(quiet: Telephone, priority: str) -> None:
    notice_id = await held(quiet, f"With priority {priority}", priority=priority)

    notice = (await quiet.get(f"/v1/notices/{notice_id}", HEALTH)).body["notice"]
    assert notice["asked_urgency"] == {"low": "passive", "medium": "normal", "high": "time_sensitive"}[priority]


BAD: dict[str, tuple[str, Any]] = {
    "an urgency that is none": ("urgency", "loud"),
    "an urgency that is no text": ("urgency", 3),
    "a category that is no text": ("category", 5),
    "a category too long": ("category", "x" * 201),
    "a thread that is blank": ("thread", "  "),
    "a key with NUL": ("supersedes", "a\x00b"),
    "an acknowledgement that is a word": ("needs_ack", "yes"),
    "a life of zero": ("expires_in_seconds", 0),
    "a life too long": ("expires_in_seconds", 31 * 86_400),
    "a life that is a truth": ("expires_in_seconds", True),
    "a life that is a fraction": ("expires_in_seconds", 1.5),
    "a text too long": ("message", "x" * 100_001),
    "nobody": ("recipient", ""),
    "someone unknown": ("recipient", "Nobody I know"),
}


@pytest.mark.requirement("attention:fields")
@pytest.mark.parametrize(("name", "value"), BAD.values(), ids=BAD.keys())
async def test_what_is_wrong_is_named_and_nothing_is_stored(line: Telephone, name: str, value: Any) -> None:
    before = (await line.get("/v1/people/owner/attention/figures")).body["accepted"]
    over_http = await notify(line, **{name: value})
    by_tool = await tool(line, "health", "notify", {"channel": "telegram", "message": "Hi", name: value}, HEALTH)

    assert over_http.status == 400 and fields(over_http) == [name], over_http
    assert by_tool["status"] == "error" and fields_in(by_tool) == [name], by_tool
    assert (await line.get("/v1/people/owner/attention/figures")).body["accepted"] == before


@pytest.mark.requirement("attention:who-may")
@pytest.mark.parametrize("caller", AGENTS, ids=str)
async def test_no_agent_acknowledges_snoozes_mutes_or_is_away_for_a_person(quiet: Telephone, caller: Principal) -> None:
    notice_id = await held(quiet, "Only for people")
    later = {"until": "2999-01-01T00:00:00Z"}

    seen = 403 if caller is HEALTH else 404
    assert (await quiet.post(f"/v1/notices/{notice_id}/ack", None, caller)).status == seen
    assert (await quiet.post(f"/v1/notices/{notice_id}/snooze", {"for_seconds": 60}, caller)).status == seen
    for path, body in (("mute", {"agent": "general"}), ("unmute", {"agent": "general"}), ("away", later)):
        assert (await quiet.post(f"/v1/people/owner/{path}", body, caller)).status == 403
    for method in ("GET", "PUT", "DELETE"):
        assert (await quiet.call(method, "api", "/v1/people/owner/attention", {}, caller)).status == 403
    for path in ("/v1/people/owner/attention/figures", "/v1/people/owner/attention/plan", "/v1/notices?person=owner"):
        assert (await quiet.get(path, caller)).status == 403
    assert (await quiet.post("/v1/people/owner/attention/preview", {}, caller)).status == 403


@pytest.mark.requirement("attention:who-may")
async def test_by_tool_an_agent_is_refused_in_words_and_a_person_is_not(quiet: Telephone) -> None:
    notice_id = await held(quiet, "By tool", needs_ack=True)

    acts = {"mute": {"agent": "general"}, "ack": {"notice_id": notice_id}}
    for name, more in acts.items():
        with pytest.raises(PostroomError, match=f"health failed in {name}"):
            await tool(quiet, "health", name, more, HEALTH)
        for caller in (CRON, CHATGPT):
            with pytest.raises(PostroomError, match=f"may not call {name}"):
                await tool(quiet, "api", name, more, caller)
        stranger = await tool(quiet, "api", name, more, ANN)
        assert not stranger["ok"], stranger
    far = await quiet.post("/v1/people/owner/away", {"until": "5156-01-01T00:00:00Z"}, OWNER)
    assert far.body["error"]["message"] == "until: is more than a year ahead", far
    snoozed = await tool(quiet, "api", "snooze", {"notice_id": notice_id, "for_seconds": 600}, OWNER)
    assert snoozed["ok"] and "snooze" in snoozed["notice"]["reasons"], snoozed
    done = await tool(quiet, "api", "ack", {"notice_id": notice_id}, OWNER)
    assert done["notice"]["state"] == "acknowledged", done
    again = await tool(quiet, "api", "ack", {"notice_id": notice_id}, OWNER)
    assert again["notice"]["state"] == "acknowledged", again


@pytest.mark.requirement("attention:who-may")
async def test_an_agent_withdraws_its_own_notice_and_no_other(quiet: Telephone) -> None:
    notice_id = await held(quiet, "No longer true", supersedes="truth")

    for caller in (GENERAL, CRON, CHATGPT, ANN):
        assert (await quiet.post(f"/v1/notices/{notice_id}/withdraw", None, caller)).status == 404
        assert (await quiet.get(f"/v1/notices/{notice_id}", caller)).status == 404
        assert (await quiet.get(f"/v1/notices/{notice_id}/plan", caller)).status == 404
    others = await tool(quiet, "general", "recall", {"notice_id": notice_id}, GENERAL)
    assert (others["status"], others["error"]["fields"][0]["field"]) == ("error", "notice_id")
    for recalled in ({"notice_id": notice_id}, {"delivery_id": notice_id}):  # a second recall is the first one
        mine = await tool(quiet, "health", "recall", recalled, HEALTH)
        assert (mine["status"], mine["revises"]) == ("withdrawn", notice_id), mine
    assert (await quiet.get(f"/v1/notices/{notice_id}", HEALTH)).body["notice"]["state"] == "withdrawn"
    keyed = await held(quiet, "Nor this", supersedes="news")
    for caller, found in ((GENERAL, []), (HEALTH, [keyed])):
        by_key = await quiet.post("/v1/notices/withdraw", {"key": "news"}, caller)
        assert [one["notice_id"] for one in by_key.body["notices"]] == found, by_key
    assert (await quiet.post("/v1/notices/withdraw", {"keys": "news"}, HEALTH)).status == 422
    by_id = await held(quiet, "Neither is this")
    withdrawn = await quiet.post(f"/v1/notices/{by_id}/withdraw", None, HEALTH)
    assert (withdrawn.status, withdrawn.body["notice"]["state"]) == (200, "withdrawn")
    assert (await quiet.post(f"/v1/notices/{NO_NOTICE}/withdraw", None, HEALTH)).status == 404


@pytest.mark.requirement("attention:rest")
async def test_a_plan_says_what_will_happen_and_unless_what(quiet: Telephone) -> None:
    notice_id = await held(quiet, "Planned")
    notice = (await quiet.get(f"/v1/notices/{notice_id}", HEALTH)).body["notice"]

    (first, *_) = (await quiet.get(f"/v1/notices/{notice_id}/plan", HEALTH)).body["plan"]
    assert set(first) == {"at", "what", "where", "why", "unless"}
    assert (first["what"], first["at"]) == ("release", notice["until"]) and first["unless"]
    whole = (await quiet.get("/v1/people/owner/attention/plan", OWNER)).body["plan"]
    assert notice_id in {one["notice_id"] for one in whole}


@pytest.mark.requirement("attention:rest")
async def test_a_policy_is_set_shown_with_what_counts_and_taken_away(line: Telephone) -> None:
    written = {"preset": "calm", "zone": "Europe/Vienna", "quiet_hours": [{"from": "22:00", "until": "07:00"}]}
    before = (await line.get("/v1/people/owner/attention")).body

    put = await line.call("PUT", "api", "/v1/people/owner/attention", written, OWNER)

    assert (put.status, put.body["policy"], put.body["person_id"]) == (200, written, "owner")
    assert put.body["rules"]["slots"] == ["08:00", "12:30", "18:00"]
    assert put.body["hash"] != before["hash"] and before["policy"] is None
    assert (await line.get("/v1/people/owner/attention")).body == put.body
    gone = await line.call("DELETE", "api", "/v1/people/owner/attention")
    assert gone.body == before


WRONG: dict[str, tuple[Any, str]] = {
    "an unknown key": ({"quiet": []}, "quiet"),
    "an unknown zone": ({"zone": "Mars/Phobos"}, "zone"),
    "an hour that is none": ({"quiet_hours": [{"from": "25:00", "until": "07:00"}]}, "quiet_hours.0.from"),
    "an unknown person": ({"escalation": [{"after_seconds": 60, "person": "No One"}]}, "escalation.0.person"),
    "the person themselves": ({"escalation": [{"after_seconds": 60, "person": "owner"}]}, "escalation.0.person"),
    "an unknown channel": ({"fallback": ["pigeon"]}, "fallback.0"),
    "a preset that is none": ({"preset": "noisy"}, "preset"),
    "a list": ([], "body"),
}


@pytest.mark.requirement("attention:rest")
@pytest.mark.parametrize(("body", "field"), WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_policy_is_refused_by_its_field_and_not_kept(line: Telephone, body: Any, field: str) -> None:
    before = (await line.get("/v1/people/owner/attention")).body

    for method, path in (("PUT", "attention"), ("POST", "attention/preview")):
        answer = await line.call(method, "api", f"/v1/people/owner/{path}", body)
        assert (answer.status, fields(answer)) == (422, [field]), answer
    assert (await line.get("/v1/people/owner/attention")).body == before


@pytest.mark.requirement("attention:rest")
@pytest.mark.requirement("attention:difference")
async def test_a_preview_says_in_words_what_would_have_been_different(quiet: Telephone) -> None:
    await held(quiet, "Seen by the preview")

    answer = await quiet.post("/v1/people/owner/attention/preview", {"preset": "everything"}, OWNER)

    assert answer.status == 200 and "more interruption" in answer.body["difference"][0], answer
    assert answer.body["after"].get("release", 0) > answer.body["before"].get("release", 0)
    assert (await quiet.get("/v1/people/owner/attention")).body["policy"] == ALWAYS_QUIET


@pytest.mark.requirement("attention:rest")
async def test_what_is_listed_and_counted_adds_up(quiet: Telephone) -> None:
    notice_id = await held(quiet, "Counted")

    page = (await quiet.get("/v1/notices?person=owner&cell=held&limit=1", OWNER)).body
    assert [one["notice_id"] for one in page["notices"]] == [notice_id] == [page["next_cursor"]]
    older = (await quiet.get(f"/v1/notices?cell=held&cursor={notice_id}", OWNER)).body
    assert notice_id not in {one["notice_id"] for one in older["notices"]}
    figures = (await quiet.get("/v1/people/owner/attention/figures", OWNER)).body
    assert sum(figures["cells"].values()) == sum(figures["by_agent"].values()) == figures["accepted"]
    assert figures["unaccounted"] == []
    assert fields(await quiet.get("/v1/notices?cell=lost", OWNER)) == ["cell"]


async def test_what_ended_no_page_begins_none(quiet: Telephone) -> None:
    for page in ("notices?person=owner", "asks?limit=3", "approvals?status=all", "people/owner/history?limit=3"):
        assert fields(await quiet.get(f"/v1/{page}&cursor=zz", OWNER)) == ["cursor"], page


@pytest.mark.requirement("attention:rest")
async def test_a_muted_agent_is_heard_no_more_until_it_is_unmuted(line: Telephone) -> None:
    muted = await line.post("/v1/people/owner/mute", {"agent": "health", "for_seconds": 3600}, OWNER)
    assert (muted.status, muted.body["muted"]["agent"]) == (200, "health")

    answer = await notify(line, "Is anybody there?")
    assert (answer.status, answer.body["status"], answer.body["reasons"]) == (202, "muted", ["muted"]), answer
    by_tool = await tool(line, "health", "notify", {"channel": "telegram", "message": "Nobody?"}, HEALTH)
    asked = await tool(line, "health", "notify_status", {"notice_id": by_tool["notice_id"]}, HEALTH)
    assert (by_tool["status"], asked["status"], asked["notice_state"]) == ("muted", "muted", "muted")
    other = await notify(line, "It is me", GENERAL)
    assert other.body["status"] == "ok", other

    assert (await line.post("/v1/people/owner/unmute", {"agent": "health"}, OWNER)).status == 200
    assert (await notify(line, "And now?")).body["status"] == "ok"
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not any("2 of health" in one for one in await _owners_phone(line)):
            await asyncio.sleep(0.02)


@pytest.mark.requirement("attention:rest")
async def test_a_program_is_muted_and_unmuted_by_its_name_with_or_without_its_kind(line: Telephone) -> None:
    for muted, unmuted in (("cron", "program:cron"), ("program:cron", "cron")):
        assert (await line.post("/v1/people/owner/mute", {"agent": muted, "for_seconds": 3600}, OWNER)).status == 200
        assert (await notify(line, f"Muted as {muted}", CRON)).body["status"] == "muted"
        assert (await notify(line, f"Not {muted}", GENERAL)).body["status"] == "ok"
        assert (await line.post("/v1/people/owner/unmute", {"agent": unmuted}, OWNER)).status == 200
        assert (await notify(line, f"No longer {muted}", CRON)).body["status"] == "ok"


async def _owners_phone(line: Telephone) -> list[str]:
    found = await line.call("GET", "sandbox", "/sandbox/telegram/messages?limit=500", caller=None)
    return [one["text"] for one in found.body["messages"]]


@pytest.mark.requirement("attention:lowered")
async def test_critical_without_a_grant_says_what_it_became(line: Telephone) -> None:
    answer = await notify(line, "The house burns", urgency="critical")
    assert (answer.body["status"], answer.body["urgency"]) == ("ok", "time_sensitive"), answer
    asked = await tool(line, "health", "notify_status", {"notice_id": answer.body["notice_id"]}, HEALTH)
    assert asked["urgency"] == "time_sensitive", asked
    assert "urgency" not in (await notify(line, "The house stands", urgency="time_sensitive")).body


@pytest.mark.requirement("attention:rest")
async def test_a_snooze_is_at_least_a_minute(quiet: Telephone) -> None:
    path = f"/v1/notices/{await held(quiet, 'Snooze me')}/snooze"
    soon_us = SystemClock().now_us() + seconds(30)
    assert fields(await quiet.post(path, {"until": to_text(soon_us)}, OWNER)) == ["until"]
    assert fields(await quiet.post(path, {"for_seconds": 59}, OWNER)) == ["for_seconds"]
    assert (await quiet.post(path, {"for_seconds": 60}, OWNER)).status == 200


@pytest.mark.requirement("attention:rest")
async def test_while_a_person_is_away_notices_wait_and_back_ends_it(line: Telephone) -> None:
    until = to_text(SystemClock().now_us() + seconds(365 * 86_400))
    away = await line.post("/v1/people/owner/away", {"until": until}, OWNER)
    assert (away.status, away.body["away"]["until"]) == (200, until)

    assert (await notify(line, "Not now")).body["reasons"] == ["away"]
    assert len((await line.get("/v1/people/owner/attention")).body["away"]) == 1

    assert (await line.post("/v1/people/owner/away", {"back": True}, OWNER)).body["away"] is None
    assert (await notify(line, "Now again")).body["status"] == "ok"


@pytest.mark.requirement("attention:rest")
async def test_what_is_wrong_about_an_absence_is_said_once_and_back_may_be_false(line: Telephone) -> None:
    path, until = "/v1/people/owner/away", to_text(SystemClock().now_us() + seconds(3600))

    wrong = [await line.post(path, body, OWNER) for body in ({}, {"back": 5}, {"back": True, "until": until})]
    away = await line.post(path, {"back": False, "until": until}, OWNER)

    assert [one.body["error"]["message"] for one in wrong] == [
        "until: is required",
        "back: must be true or false",
        "back: is true and alone, or false",
    ]
    assert away.body["away"]["until"] == until
    assert (await line.post(path, {"back": True}, OWNER)).body["away"] is None


SILENCE: dict[str, tuple[str, Any, str]] = {
    "nothing to mute": ("mute", {}, "agent"),
    "a moment that is none": ("mute", {"agent": "x", "until": "tomorrow"}, "until"),
    "a moment that is over": ("mute", {"agent": "x", "until": "2001-01-01T00:00:00Z"}, "until"),
    "two ends": ("mute", {"agent": "x", "until": "2999-01-01T00:00:00Z", "for_seconds": 60}, "until"),
    "too long": ("mute", {"agent": "x", "for_seconds": 31 * 86_400}, "for_seconds"),
    "a thread for ever": ("mute", {"thread": "x", "until": "unmuted"}, "until"),
    "an unknown field": ("unmute", {"agent": "x", "when": 1}, "when"),
    "no end": ("away", {}, "until"),
    "an end before its start": (
        "away",
        {"from": "2999-01-02T00:00:00Z", "until": "2999-01-01T00:00:00Z"},
        "until",
    ),
    "an end that is over": ("away", {"from": "2001-01-01T00:00:00Z", "until": "2001-01-02T00:00:00Z"}, "until"),
    "an end beyond all reason": ("away", {"until": "5156-01-01T00:00:00Z"}, "until"),
    "an absence that is for ever": ("away", {"from": "2998-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z"}, "until"),
    "a stranger who stands in": ("away", {"until": "2999-01-01T00:00:00Z", "delegate": "No One"}, "delegate"),
    "who stands in for themselves": ("away", {"until": "2999-01-01T00:00:00Z", "delegate": "owner"}, "delegate"),
}


@pytest.mark.requirement("attention:rest")
@pytest.mark.parametrize(("act", "body", "field"), SILENCE.values(), ids=SILENCE.keys())
async def test_a_wrong_silence_is_refused_by_its_field(line: Telephone, act: str, body: Any, field: str) -> None:
    answer = await line.post(f"/v1/people/owner/{act}", body, OWNER)

    assert answer.status == 422 and field in fields(answer), answer


@pytest.mark.requirement("attention:rest")
@pytest.mark.parametrize("category", ["security", "approvals"])
async def test_what_reaches_people_always_is_not_muted_and_said_so_by_its_name(line: Telephone, category: str) -> None:
    answer = await line.post("/v1/people/owner/mute", {"category": category}, OWNER)

    assert (answer.status, fields(answer)) == (422, ["category"])
    assert f"category: '{category}' is mandatory here" in answer.body["error"]["message"]
    assert (await notify(line, "All the same", category=category)).body["status"] == "ok"


@pytest.mark.requirement("attention:rest")
async def test_what_is_not_there_is_not_found_and_a_body_must_be_one(quiet: Telephone) -> None:
    notice_id = await held(quiet, "There")
    for path in (f"/v1/notices/{NO_NOTICE}", f"/v1/notices/{NO_NOTICE}/plan", "/v1/people/no-one/attention"):
        assert (await quiet.get(path, OPERATOR)).status == 404
    assert (await quiet.post(f"/v1/notices/{NO_NOTICE}/ack", None, OWNER)).status == 404
    assert fields(await quiet.post(f"/v1/notices/{notice_id}/ack", {"by": "me"}, OWNER)) == ["by"]
    assert fields(await quiet.post(f"/v1/notices/{notice_id}/snooze", {"for_seconds": 1}, OWNER)) == ["for_seconds"]
    assert fields(await quiet.post(f"/v1/notices/{notice_id}/snooze", {"until": 5}, OWNER)) == ["until"]
    assert (await quiet.get(f"/v1/notices/{notice_id}", None)).status == 401
    await quiet.post(f"/v1/notices/{notice_id}/withdraw", None, HEALTH)
    again = await quiet.post(f"/v1/notices/{notice_id}/snooze", None, OWNER)
    assert (again.status, again.body["error"]["code"]) == (409, "illegal_transition")


@pytest.mark.requirement("attention:dry-run")
async def test_a_dry_run_says_how_it_would_be_held_and_leaves_nothing_behind(quiet: Telephone) -> None:
    before = (await quiet.get("/v1/people/owner/attention/figures")).body["accepted"]
    delivery = {"intent": "send", "channel": "telegram", "message": "Not really"}
    envelope = {"schema_version": "notify.v1", "origin_butler": "health", "delivery": delivery}
    messenger = Principal(Role.BUTLER, "messenger")

    held_back = await tool(quiet, "messenger", "messenger_dry_run", {"notify_request": envelope}, messenger)
    really = await notify(quiet, "Not really")

    assert held_back["would_be_held"]["reasons"] == ["quiet"] == really.body["reasons"]
    said, was = (parse_text(one["until"]) for one in (held_back["would_be_held"], really.body))
    assert 0 <= was - said < seconds(60)  # as long as its urgency may be held, from when it was asked
    assert held_back["would_be_held"]["words"].startswith("would be held until ")
    assert (await quiet.get("/v1/people/owner/attention/figures")).body["accepted"] == before + 1
    assert (await quiet.call("DELETE", "api", "/v1/people/owner/attention")).status == 200
    free = await tool(quiet, "messenger", "messenger_dry_run", {"notify_request": envelope}, messenger)
    assert "would_be_held" not in free and free["would_be_admitted"]
