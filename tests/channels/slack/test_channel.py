from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.channels.slack.fake_slack import FakeSlack

from postroom.channels.slack.channel import Slack
from postroom.channels.slack.web_api import SlackCall
from postroom.kernel.values.errors import TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import Listen, Probe, Reconcile
from postroom.message.delivery import Intent, Message, Receipt, ReceiptKind
from postroom.message.markup import Button, Markup, Revision

CARD = Markup(buttons=((Button(label="☑ Yes", token="q1:yes"),),))


async def send(slack: Slack, **changes: Any) -> Receipt:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "C1", "text": "Hello"}
    [part] = slack.prepare(Message(**(given | changes)))
    return await slack.send(part, 5.0)


@pytest.mark.parametrize(
    ("tokens", "why"),
    [
        (("",), "bot token is malformed: it begins with xoxb-"),
        (("xapp-1",), "bot token is malformed: it begins with xoxb-"),
        (("xoxb-1 2",), "bot token is malformed"),
        (("xoxb-1", "xoxb-1"), "app token is malformed: it begins with xapp-"),
        (("xoxb-1", "", "slack.com/api"), "must be a plain http"),
        (("xoxb-1", "", "https://a:b@slack.com/api"), "must be a plain http"),
    ],
)
def test_malformed_credentials_are_refused_at_once(tokens: tuple[str, ...], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Slack("slack", *tokens)


def test_it_listens_only_with_an_app_token() -> None:
    deaf, hearing = Slack("a", "xoxb-1"), Slack("b", "xoxb-1", "xapp-1")

    assert [(one.name, one.capabilities.inbound, isinstance(one, Listen)) for one in (deaf, hearing)] == [
        ("a", False, False),
        ("b", True, True),
    ]
    assert isinstance(deaf, Probe)
    assert isinstance(deaf, Reconcile)


@pytest.mark.parametrize("text", ["C024BE91L", "G1", "D1", "U1", "W012A3CDE", " U1 "])
def test_an_address_is_an_id(text: str) -> None:
    assert Slack("a", "xoxb-1").address(text) == text.strip()


@pytest.mark.parametrize("text", ["general", "#general", "@ada", "u1", "C", "T024BE7LH", "C1\n", "C１"])
def test_a_name_is_no_address(text: str) -> None:
    assert Slack("a", "xoxb-1").address(text) is None


async def test_a_receipt_names_the_direct_message_that_a_person_is_written_to_in(fake: FakeSlack, slack: Slack) -> None:
    fake.answers["chat.postMessage"] = [{"ok": True, "channel": "D1", "ts": "1700000000.000100"}]

    assert await send(slack, address="U1") == Receipt("1700000000.000100", conversation="D1")
    assert fake.tokens == ["Bearer xoxb-1"]


async def test_a_reaction_that_stands_there_already_has_succeeded(fake: FakeSlack, slack: Slack) -> None:
    fake.answers["conversations.open"] = [{"ok": True, "channel": {"id": "D1"}}]
    fake.answers["reactions.add"] = [{"ok": True}, {"ok": False, "error": "already_reacted"}]

    for _ in range(2):
        receipt = await send(slack, address="U1", intent=Intent.REACT, thread="1.2", emoji="👍")
        assert receipt == Receipt.of_change(ReceiptKind.REACTION, "D1", "1.2", "D1")
    assert fake.called("reactions.add") == [{"channel": "D1", "timestamp": "1.2", "name": "+1"}] * 2


async def test_an_edit_has_a_receipt_of_its_own(fake: FakeSlack, slack: Slack) -> None:
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("1.2",), conversation="D1")

    assert await send(slack, address="U1", text="Closed", revises=revises) == Receipt.of_change(
        ReceiptKind.EDIT, "D1", "1.2", "D1"
    )
    [body] = fake.called("chat.update")
    assert (body["channel"], body["ts"], [block["type"] for block in body["blocks"]]) == ("D1", "1.2", ["section"])


async def test_new_buttons_leave_the_text_as_it_stands(fake: FakeSlack, slack: Slack) -> None:
    text = {
        "type": "section",
        "block_id": "x1",
        "text": {"type": "plain_text", "text": "Ship &amp; go?", "emoji": True},
    }
    old = {"type": "actions", "block_id": "x2", "elements": []}
    there = {"ts": "1.2", "text": "Ship &amp; go?", "blocks": [text, old]}
    fake.answers["conversations.replies"] = [{"ok": True, "messages": [there]}]
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("1.1", "1.2"))

    await send(slack, text="", markup=CARD, revises=revises)

    [body] = fake.called("chat.update")
    assert body["text"] == "Ship &amp; go?"
    assert body["blocks"][0] == {name: value for name, value in text.items() if name != "block_id"}
    assert [one["value"] for one in body["blocks"][1]["elements"]] == ["q1:yes"]
    assert len(body["blocks"]) == 2


async def test_buttons_of_a_message_that_is_gone_are_a_final_refusal(fake: FakeSlack, slack: Slack) -> None:
    fake.answers["conversations.replies"] = [{"ok": True, "messages": [{"ts": "1.1"}]}]

    with pytest.raises(ValidationError, match="the Slack message is gone"):
        await send(slack, text="", markup=CARD, revises=Revision(delivery_id=DeliveryId("d0"), provider_ids=("1.2",)))
    assert fake.called("chat.update") == []


async def test_a_probe_says_who_we_are_or_why_not(fake: FakeSlack, slack: Slack) -> None:
    fake.answers["auth.test"] = [
        {"ok": True, "user": "postroom", "team": "Acme"},
        {"ok": False, "error": "invalid_auth"},
    ]

    assert await slack.probe(5.0) == "@postroom in Acme"
    with pytest.raises(TargetUnavailable, match="Slack does not accept our token"):
        await slack.probe(5.0)


async def test_a_probe_says_when_no_answers_would_be_heard(fake: FakeSlack) -> None:
    fake.answers["auth.test"] = [{"ok": True, "user": "postroom", "team": "Acme"}]
    slack = Slack("slack-work", "xoxb-1", "xapp-1", fake.url)
    assert await slack.probe(5.0) == "@postroom in Acme"

    fake.answers["apps.connections.open"] = [{"ok": False, "error": "invalid_auth"}]

    with pytest.raises(TargetUnavailable, match=r"no answers are heard with app_token: .*invalid_auth"):
        await slack.probe(5.0)
    await slack.close()


@pytest.mark.requirement("house:slack-presses")
async def test_only_what_must_be_seen_is_shown_to_the_one_who_pressed(fake: FakeSlack, slack: Slack) -> None:
    assert await slack.answer_press("C1:U1:1.2", "✅ Yes")
    assert fake.calls == []

    assert await slack.answer_press("C1:U1:1.2", "This button is no longer valid. <!here>", alert=True)
    [body] = fake.called("chat.postEphemeral")
    assert (body["channel"], body["user"], body["thread_ts"]) == ("C1", "U1", "1.2")
    assert body["text"] == "This button is no longer valid. &lt;!here&gt;"


async def test_an_answer_to_a_press_that_fails_does_no_harm(fake: FakeSlack, slack: Slack) -> None:
    fake.answers["chat.postEphemeral"] = [{"ok": False, "error": "user_not_in_channel"}]

    assert not await slack.answer_press("C1:U1:", "Too late.", alert=True)
    assert not await slack.answer_press("nonsense", "Too late.", alert=True)


@pytest.mark.parametrize(
    ("answer", "raises"),
    [
        ({"ok": False, "error": "user_not_found"}, ValidationError),
        ({"ok": False, "error": "fatal_error"}, TargetUnavailable),
        ({"ok": False, "error": "missing_scope", "needed": "im:write"}, TargetUnavailable),
        ({"ok": True, "channel": {}}, TargetUnavailable),
    ],
)
async def test_a_person_whose_direct_message_cannot_be_named_is_not_reacted_to(
    fake: FakeSlack, slack: Slack, answer: dict[str, Any], raises: type[Exception]
) -> None:
    fake.answers["conversations.open"] = [answer]

    with pytest.raises(raises):
        await send(slack, address="U1", intent=Intent.REACT, thread="1.2", emoji="👍")
    assert fake.called("reactions.add") == []


@pytest.mark.requirement("content:what-was-sent-is-edited-or-deleted")
async def test_a_message_that_is_gone_already_is_deleted(fake: FakeSlack, slack: Slack) -> None:
    gone = Revision(delivery_id=DeliveryId("d0"), provider_ids=("1700000000.000100",), deletes=True)
    fake.answers["chat.delete"] = [
        {"ok": True, "channel": "C1", "ts": "1700000000.000100"},
        {"ok": False, "error": "message_not_found"},
        {"ok": False, "error": "cant_delete_message"},
    ]

    told = [await send(slack, text="", revises=gone) for _ in range(2)]
    with pytest.raises(ValidationError, match="cannot be deleted"):
        await send(slack, text="", revises=gone)

    assert told == [Receipt.of_change(ReceiptKind.DELETE, "C1", "1700000000.000100", "C1")] * 2


# Whether a message arrived, by the marks that Slack keeps with it.

SINCE = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def part(slack: Slack, **changes: Any) -> SlackCall:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "C1", "text": "Hello"}
    [call] = slack.prepare(Message(**(given | changes)))
    return call


def message(ts: str, mark: str | None, text: str = "Hello", event_type: str = "postroom_delivery") -> dict[str, Any]:
    told: dict[str, Any] = {"type": "message", "ts": ts, "text": text, "bot_id": "B1"}
    return told | ({"metadata": {"event_type": event_type, "event_payload": {"mark": mark}}} if mark else {})


def page(*messages: dict[str, Any], cursor: str = "") -> dict[str, Any]:
    more = {"has_more": True, "response_metadata": {"next_cursor": cursor}} if cursor else {"has_more": False}
    return {"ok": True, "messages": list(messages), **more}


@pytest.mark.requirement("house:slack-found-again")
async def test_a_message_that_arrived_is_found_by_its_mark(fake: FakeSlack, slack: Slack) -> None:
    call = part(slack)
    fake.answers["conversations.history"] = [page(message("1.1", "another"), message("1.2", call.mark))]

    assert await slack.find(call, SINCE, 5.0) == Receipt("1.2", conversation="C1")
    [asked] = fake.called("conversations.history")
    oldest = (SINCE - timedelta(minutes=5)).timestamp()
    assert (asked["channel"], float(asked["oldest"]), asked["include_all_metadata"]) == ("C1", oldest, "true")


@pytest.mark.requirement("house:slack-found-again")
async def test_a_message_that_did_not_arrive_is_surely_absent(fake: FakeSlack, slack: Slack) -> None:
    call = part(slack)
    fake.answers["conversations.history"] = [
        page(message("1.1", "another"), cursor="more"),
        page(message("1.2", call.mark, event_type="somebody_elses"), {"text": "Hello", "user": "U1", "ts": "1.3"}),
    ]

    assert await slack.find(call, SINCE, 5.0) is None
    assert [asked.get("cursor") for asked in fake.called("conversations.history")] == [None, "more"]


async def test_a_reply_is_looked_for_in_its_thread(fake: FakeSlack, slack: Slack) -> None:
    call = part(slack, intent=Intent.REPLY, thread="1.1")
    fake.answers["conversations.replies"] = [page(message("1.5", call.mark))]

    assert await slack.find(call, SINCE, 5.0) == Receipt("1.5", conversation="C1")
    [asked] = fake.called("conversations.replies")
    assert asked["ts"] == "1.1"


@pytest.mark.parametrize(
    "answer",
    [
        {"ok": False, "error": "missing_scope", "needed": "channels:history"},
        {"ok": False, "error": "not_in_channel"},
        {"ok": False, "error": "channel_not_found"},
        {"ok": False, "error": "fatal_error"},
        {"ok": False, "error": "ratelimited"},
        {"ok": True},
        {"ok": True, "messages": [], "has_more": True},
        page(message("1.1", None)),
        page(cursor="for ever"),
    ],
    ids=["scope", "not in", "unknown", "broken", "throttled", "nothing", "no cursor", "marks withheld", "endless"],
)
@pytest.mark.requirement("house:slack-found-again")
async def test_when_slack_cannot_say_that_is_what_is_said(
    fake: FakeSlack, slack: Slack, answer: dict[str, Any]
) -> None:
    fake.answers["conversations.history"] = [answer]

    with pytest.raises(TargetUnavailable):
        await slack.find(part(slack), SINCE, 5.0)
    assert len(fake.calls) <= 10


async def test_what_may_be_done_twice_is_not_looked_for(fake: FakeSlack, slack: Slack) -> None:
    edit = part(slack, revises=Revision(delivery_id=DeliveryId("d0"), provider_ids=("1.2",)))
    reaction = part(slack, intent=Intent.REACT, thread="1.2", emoji="👍")

    assert [await slack.find(one, SINCE, 5.0) for one in (edit, reaction)] == [None, None]
    assert fake.calls == []
