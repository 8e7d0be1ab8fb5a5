"""The channel of a message that names none."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.delivery.rules.test_policy import CONTEXT, NOTIFY
from tests.delivery.world import Book, Parts, ScriptedChannel, World, envelope, generous, living_world
from tests.household.living import LIFTED, QUICK, living
from tests.support.envelopes import REACT
from tests.support.kinds import KINDS

from postroom.delivery.rules.limits import LimitPolicy
from postroom.delivery.rules.policy import DeliveryPolicy
from postroom.delivery.rules.target import Target, first_channel, in_own_order, prepared, resolve_target, signed
from postroom.kernel.text.markdown import parse
from postroom.kernel.text.rich import TEXT_LIMIT
from postroom.kernel.values.errors import FieldError, OutcomeUncertain, TargetUnavailable, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.channel import UNDECLARED, Capabilities
from postroom.message.delivery import Format, Intent, Message, OnUncertain, Receipt, Status
from postroom.message.markup import Button, Markup, Revision
from postroom.message.outgoing import AnswerStatus, Outcome, Outgoing
from postroom.message.wire import MAX_MESSAGE_CHARACTERS, parse_notify
from postroom.message.wishes import AUTO


class Known:
    async def owner(self, channel: str) -> str | None:
        return "owner@example.org" if channel == "email" else None

    async def addresses(self, name: str, channel: str) -> list[str]:
        return ["7"] if (name, channel) == ("Bob", "telegram") else []

    async def channels_of(self, name: str | None) -> list[str]:
        return []


@pytest.mark.parametrize(
    ("recipient", "channel"),
    [(None, "email"), ("Bob", "telegram"), ("Nobody", "telegram"), ("a@b.org", "email"), ("@someone", "telegram")],
)
async def test_the_channel_is_one_on_which_the_recipient_is_known(recipient: str | None, channel: str) -> None:
    assert await first_channel(recipient, Known(), KINDS) == channel


@pytest.mark.parametrize("recipient", ["\ud800", "a\0b"])
async def test_what_no_database_could_be_asked_for_is_not_looked_up(recipient: str) -> None:
    class Strict(Known):
        async def addresses(self, name: str, channel: str) -> list[str]:
            raise AssertionError(name)

    assert await first_channel(recipient, Strict(), KINDS) == "telegram"


SET_UP = {name: ScriptedChannel(name, FakeClock()) for name in ("telegram", "email")}


@pytest.mark.requirement("chan:auto")
@pytest.mark.parametrize(
    ("recipient", "channel"),
    [(None, "email"), ("Ann", "telegram"), ("stranger@example.org", "email")],
    ids=["the owner, whose first is not set up", "a contact", "a mailbox"],
)
async def test_it_becomes_a_channel_that_reaches_the_person(recipient: str | None, channel: str) -> None:
    placed = await in_own_order(replace(NOTIFY, channel=AUTO, recipient=recipient), Book(), SET_UP)

    assert placed == replace(NOTIFY, channel=channel, recipient=recipient)


@pytest.mark.requirement("chan:auto")
@pytest.mark.parametrize("recipient", ["Nobody", "2000", "@someone"])
async def test_who_is_not_known_is_not_guessed_at(recipient: str) -> None:
    with pytest.raises(ValidationError) as caught:
        await in_own_order(replace(NOTIFY, channel=AUTO, recipient=recipient), Book(), SET_UP)

    assert [(one.field, one.code) for one in caught.value.fields] == [("delivery.channel", "no_channel")]


class Pager:
    name = "pager"

    def __init__(self, *formats: str) -> None:
        self.capabilities = Capabilities(formats=formats)

    def address(self, text: str) -> str | None:
        return text

    def prepare(self, message: Message) -> Sequence[Any]:
        return [(message.text, message.format)]

    async def send(self, part: Any, timeout_seconds: float) -> Receipt:
        return Receipt("1")

    async def close(self) -> None: ...


def message(text: str, format: Format) -> Message:
    return Message(delivery_id=DeliveryId("d"), intent=Intent.SEND, address="a", text=text, format=format)


@pytest.mark.requirement("content:readable-elsewhere", "content:plain-exact")
def test_a_channel_gets_markdown_only_when_it_shows_it() -> None:
    written = "**b** [l](https://a.example)"

    plain = prepared(Pager("plain"), message(written, Format.MARKDOWN))
    both = prepared(Pager("plain", "markdown"), message(written, Format.MARKDOWN))
    exact = prepared(Pager("plain"), message(written, Format.PLAIN))

    assert plain == [("b l (https://a.example)", Format.PLAIN)]
    assert both == [(written, Format.MARKDOWN)]
    assert exact == [(written, Format.PLAIN)]


@pytest.mark.requirement("content:format-carried")
async def test_a_later_attempt_has_the_format_from_the_ledger(world: World) -> None:
    world.telegram.script.append(TargetUnavailable("away"))
    await world.send("**b**", format="markdown")
    await world.advance(3600)
    await world.telegram.called(2)

    assert [call.message.format for call in world.telegram.calls] == [Format.MARKDOWN] * 2


CARD = Markup(buttons=((Button(label="Yes", token="q1:yes"), Button(label="No", token="q1:no")),))


async def submit(world: World, **changes: Any) -> Outcome:
    given: dict[str, Any] = {"origin_butler": "health", "channel": "telegram", "message": "Ship|it?"}
    outcome = await world.plane.submit(Outgoing(**(given | changes)), request_id="r", wait_seconds=0)
    await world.idle()
    return outcome


async def sent_card(world: World, **changes: Any) -> DeliveryId:
    outcome = await submit(world, markup=CARD, **changes)
    assert outcome.delivery_id is not None
    return outcome.delivery_id


def problem(outcome: Outcome) -> list[FieldError]:
    assert isinstance(outcome.error, ValidationError)
    return list(outcome.error.fields)


@pytest.mark.requirement("house:a-revision-is-a-delivery")
async def test_a_revision_goes_where_the_message_went_and_names_all_its_parts(world: World) -> None:
    card = await sent_card(world, recipient="2000")

    await submit(world, revises=card, message="Ship it? Yes, said Anna.", recipient=None)

    edit = world.telegram.calls[-1].message
    assert (edit.address, edit.text) == ("2000", "Ship it? Yes, said Anna.")
    assert edit.revises == Revision(delivery_id=card, provider_ids=("1", "2"))
    assert [row["status"] for row in await world.rows()] == ["delivered", "delivered"]


async def test_buttons_reach_the_channel_and_a_plain_message_has_none(world: World) -> None:
    await sent_card(world)
    await submit(world)

    assert [call.message.markup for call in world.telegram.calls] == [CARD, CARD, None, None]
    assert [row["markup"] is None for row in await world.rows()] == [False, True]


async def test_buttons_survive_a_retry(world: World) -> None:
    world.telegram.script.append(OutcomeUncertain("cut"))

    await sent_card(world)
    await world.advance(5)

    assert [call.message.markup for call in world.telegram.calls] == [CARD] * 3


@pytest.mark.requirement("house:a-revision-is-a-delivery")
@pytest.mark.parametrize("on_uncertain", [None, OnUncertain.HOLD])
async def test_an_edit_of_unknown_outcome_is_made_again_and_never_marked(
    world: World, on_uncertain: OnUncertain | None
) -> None:
    card = await sent_card(world)
    world.telegram.script.append(OutcomeUncertain("cut"))

    outcome = await submit(world, revises=card, message="Closed", on_uncertain=on_uncertain)
    await world.advance(5)

    edits = world.telegram.calls[2:]
    assert [(call.text, call.message.repeated) for call in edits] == [("Closed", False)] * 2
    assert outcome.delivery_id is not None
    settled = await world.plane.acceptance.ledger.get(outcome.delivery_id)
    assert settled is not None
    assert (settled.status, settled.possible_duplicate) == (Status.DELIVERED, False)


async def test_the_same_revision_under_the_same_key_is_made_once(world: World) -> None:
    card = await sent_card(world)

    first = await submit(world, revises=card, message="Closed", idempotency_key="close")
    again = await submit(world, revises=card, message="Closed", idempotency_key="close")
    other = await submit(world, revises=card, message="Closed", idempotency_key="close", markup=CARD)

    assert first.delivery_id == again.delivery_id
    assert [call.text for call in world.telegram.calls[2:]] == ["Closed"]
    assert [one.code for one in problem(other)] == ["key_reused"]


async def test_a_message_that_has_not_arrived_cannot_be_revised_yet(world: World) -> None:
    world.telegram.script.append(OutcomeUncertain("cut"))
    card = await sent_card(world)

    outcome = await submit(world, revises=card, message="Closed")

    assert (outcome.status, outcome.retryable) == (AnswerStatus.ERROR, True)
    assert isinstance(outcome.error, TargetUnavailable)


@pytest.mark.requirement("house:a-revision-is-a-delivery")
@pytest.mark.parametrize(
    "changes",
    [
        {"revises": DeliveryId("0198c0de-0000-7000-8000-000000000001")},
        {"origin_butler": "relationship"},
        {"channel": "email"},
    ],
    ids=["a delivery that never was", "another sender's", "on another channel"],
)
async def test_only_a_message_of_the_same_sender_can_be_revised(world: World, changes: dict[str, Any]) -> None:
    card = await sent_card(world)

    outcome = await submit(world, **({"revises": card, "message": "Closed"} | changes))

    assert [(one.field, one.code) for one in problem(outcome)] == [("revises", "unknown_delivery")]
    assert len(await world.rows()) == 1


async def test_a_failed_message_cannot_be_revised(world: World) -> None:
    world.telegram.script.append(ValidationError("chat not found"))
    card = await sent_card(world)

    assert [one.code for one in problem(await submit(world, revises=card))] == ["unknown_delivery"]


async def test_a_revision_costs_what_a_reply_costs(tmp_path: Path, clock: FakeClock) -> None:
    policy = DeliveryPolicy(limits=LimitPolicy(recipient_per_minute=2), spacing_seconds={})
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=policy)) as world:
        card = await sent_card(world)
        closing = [await submit(world, revises=card, message=f"Closed {number}") for number in range(3)]

    assert [outcome.status for outcome in closing] == [AnswerStatus.ACCEPTED, AnswerStatus.ACCEPTED, AnswerStatus.ERROR]


async def test_a_signature_is_not_put_before_buttons_alone(tmp_path: Path, clock: FakeClock) -> None:
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=generous(sign=True))) as world:
        card = await sent_card(world, message="Ship it?")
        await submit(world, revises=card, message="", markup=CARD)

    assert world.telegram.texts == ["health: Ship it?", ""]


CHANNELS = {**KINDS, "pager": UNDECLARED}
SIGNED = {"messages": {"sign": True}}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({}, "health: Hello"),
        ({"channel": "pager"}, "health: Hello"),
        ({"channel": "email", "recipient": "ada@example.org"}, "Hello"),
        ({"origin_butler": "intents"}, "Hello"),
        ({"origin_butler": "approvals"}, "Hello"),
    ],
    ids=str,
)
def test_a_butler_s_chat_message_begins_with_its_name(fields: dict[str, Any], text: str) -> None:
    outgoing = parse_notify(envelope(**fields), CHANNELS)

    assert signed(outgoing, CHANNELS[outgoing.channel].style) == text


def test_a_reaction_has_nothing_to_sign() -> None:
    assert signed(parse_notify(REACT, CHANNELS), "chat") == ""


def test_the_name_counts_toward_the_length() -> None:
    with pytest.raises(ValidationError, match="with the butler's name before it"):
        signed(parse_notify(envelope("x" * MAX_MESSAGE_CHARACTERS), CHANNELS), "chat")


async def test_the_same_message_is_the_same_request_signed_or_not(tmp_path: Path, clock: FakeClock) -> None:
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as before:
        first = await before.send(idempotency_key="k")
    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous(sign=True))) as after:
        again = await after.send(idempotency_key="k")
        other = await after.send(idempotency_key="l")

        assert again["delivery"]["delivery_id"] == first["delivery"]["delivery_id"]
        assert other["status"] == "accepted"
        assert after.telegram.texts == ["health: Hello"]


async def test_a_signed_text_is_split_with_its_name(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK, SIGNED) as home:
        await home.notify(message="x" * TEXT_LIMIT)

        first, second = await home.texts()
        assert first + second in ("health: " + "x" * TEXT_LIMIT, "health:" + "x" * TEXT_LIMIT)
        assert max(len(first), len(second)) <= TEXT_LIMIT


async def test_what_a_person_approves_is_the_text_with_the_name(tmp_path: Path) -> None:
    asking = {"approvals": {"enabled": True, "ask_owner": False}}
    async with living(tmp_path, LIFTED, QUICK, SIGNED, asking) as home:
        action = {"action_id": (await home.notify(recipient="4242"))["action_id"]}
        shown = await home.call("messenger", "show_pending_action", action, caller="operator")
        assert "health: Hello" in json.dumps(shown)

        decision = {**action, "content_hash": shown["action"]["content_hash"]}
        await home.call("messenger", "approve_action", decision, caller="operator")
        await home.settled()

        assert await home.texts() == ["health: Hello"]


@pytest.mark.requirement("content:no-injection")
def test_in_markdown_the_name_is_a_paragraph_that_the_words_cannot_change() -> None:
    asked = parse_notify(envelope("(https://evil.example)\n==="), CHANNELS)

    text = signed(replace(asked, origin_butler="a_b_[c]", format=Format.MARKDOWN), "chat")

    assert parse(text).text == "a_b_[c]:\n\n(https://evil.example)"
    assert not parse(text).links


@pytest.mark.requirement("content:format-carried")
async def test_markdown_arrives_without_its_markup(tmp_path: Path) -> None:
    async with living(tmp_path, LIFTED, QUICK) as home:
        answer = await home.notify(message="**Hi** [l](https://a.example)", format="markdown")

        assert answer["status"] in ("ok", "accepted")
        assert await home.texts() == ["Hi l"]


class Nobody(Book):
    async def owner(self, channel: str) -> str | None:
        return None


def reply(channel: str, thread: str | None, sender: str = "ann@example.com") -> Outgoing:
    context = replace(CONTEXT, source_thread_identity=thread, source_sender_identity=sender)
    return replace(NOTIFY, intent=Intent.REPLY, channel=channel, context=context)


@pytest.mark.requirement("messenger:delivery-validation-and-lineage")
@pytest.mark.parametrize(
    ("notify", "target"),
    [
        (NOTIFY, Target("1000")),
        (replace(NOTIFY, recipient="-42"), Target("-42")),
        (replace(NOTIFY, recipient="Ann"), Target("2000")),
        (replace(NOTIFY, recipient=None), Target("1000")),
        (reply("telegram", "1000:55"), Target("1000", "55")),
        (reply("telegram", " -100123:7 "), Target("-100123", "7")),
        (reply("email", "<m@example.com>"), Target("ann@example.com", "<m@example.com>")),
        (reply("email", None), Target("ann@example.com")),
    ],
    ids=["address", "group", "contact", "owner", "reply", "reply in a group", "reply to mail", "mail without thread"],
)
async def test_a_target_is_found(notify: Outgoing, target: Target) -> None:
    assert await resolve_target(notify, ScriptedChannel(notify.channel, FakeClock()), Book()) == target


@pytest.mark.parametrize(
    ("notify", "field", "code"),
    [
        (replace(NOTIFY, recipient="Nobody"), "delivery.recipient", "unknown_recipient"),
        (replace(NOTIFY, recipient="Twin"), "delivery.recipient", "ambiguous_recipient"),
        (replace(NOTIFY, recipient=None), "delivery.recipient", "recipient_required"),
        (reply("telegram", "1000"), "request_context.source_thread_identity", "thread_format"),
        (reply("telegram", None), "request_context.source_thread_identity", "thread_format"),
        (reply("email", None, "not an address"), "request_context.source_sender_identity", "not_an_address"),
    ],
    ids=["unknown", "ambiguous", "no owner", "no message id", "no thread", "no mailbox"],
)
async def test_a_target_that_is_not_certain_is_refused(notify: Outgoing, field: str, code: str) -> None:
    with pytest.raises(ValidationError) as caught:
        await resolve_target(notify, ScriptedChannel(notify.channel, FakeClock()), Nobody())

    assert [(one.field, one.code) for one in caught.value.fields] == [(field, code)]


class Words(ScriptedChannel):
    """Where any word is an address."""

    def address(self, text: str) -> str | None:
        return text


@pytest.mark.parametrize(
    ("recipient", "address"),
    [("Ann", "2000"), ("alerts", "alerts"), ("user:Ann", "user:Ann"), ("2000", "2000")],
    ids=["a contact", "no contact", "no name", "a number"],
)
async def test_where_any_word_is_an_address_a_contact_is_still_found_by_name(recipient: str, address: str) -> None:
    notify = replace(NOTIFY, channel="push", recipient=recipient)

    assert await resolve_target(notify, Words("push", FakeClock()), Book()) == Target(address)
