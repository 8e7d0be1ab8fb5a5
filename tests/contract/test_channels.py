"""
The conformance suite: what every channel owes to the delivery path.

To run it over a channel of your own, write a fake provider (`connection.py`
holds the socket part), describe it as a `Case` and add it to `CASES`.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Iterator, Sequence

import pytest
from tests.contract.cases import CASES
from tests.contract.connection import FakeProvider, closed_port
from tests.contract.situations import REQUIRED, Case, Situation

from postroom.domain.capabilities import Capabilities
from postroom.domain.delivery import Intent, Message, Receipt
from postroom.domain.errors import OutcomeUncertain, PostroomError, TargetUnavailable, ValidationError
from postroom.domain.ids import DeliveryId
from postroom.domain.markup import Button, Markup, Revision
from postroom.domain.ports import Channel, Listen

PATIENCE_SECONDS = 15.0
EVERY_SITUATION = [
    pytest.param(case, situation, id=f"{case.name}-{situation.id}") for case in CASES for situation in case.situations
]
LINK = "https://home.example/a/canary-link"
CARD = Markup(buttons=((Button(label="Yes, do", url=LINK), Button(label="Open", url=f"{LINK}/2")),))
REVISION = Revision(delivery_id=DeliveryId("0198c0de"), provider_ids=("77",))
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def message(case: Case, **changes: object) -> Message:
    given = {"delivery_id": DeliveryId("0198c0de"), "intent": Intent.SEND, "address": case.address, "text": case.text}
    return Message(**(given | changes))  # type: ignore[arg-type]


async def attempt(channel: Channel, parts: Sequence[object], timeout_seconds: float) -> Receipt | PostroomError:
    try:
        return await channel.send(parts[0], timeout_seconds)
    except PostroomError as error:
        return error


async def play(case: Case, situation: Situation, provider: FakeProvider) -> Receipt | PostroomError:
    channel = case.connect(provider.port)
    try:
        given = message(case, markup=CARD, revises=REVISION) if situation.editing else message(case)
        sending = asyncio.create_task(attempt(channel, channel.prepare(given), situation.timeout_seconds))
        if situation.held:
            await provider.arrived.wait()
            assert not sending.done()
            provider.release.set()
        return await sending
    finally:
        await channel.close()


def everything_said(error: BaseException) -> Iterator[str]:
    seen: BaseException | None = error
    while seen is not None:
        yield from (str(seen), repr(seen), repr(vars(seen)), *traceback.format_exception(seen))
        seen = seen.__cause__ or seen.__context__


@pytest.mark.parametrize(("case", "situation"), EVERY_SITUATION)
async def test_each_answer_has_one_meaning_and_costs_one_call(
    case: Case, situation: Situation, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with asyncio.timeout(PATIENCE_SECONDS), case.provider() as provider:
        provider.behave(situation.script)
        outcome = await play(case, situation, provider)

    if situation.raises is None:
        assert isinstance(outcome, Receipt)
        assert outcome.provider_id
    else:
        assert type(outcome) is situation.raises
        assert outcome.retryable is (situation.raises is not ValidationError)
        assert outcome.retry_after_seconds == situation.retry_after_seconds
        told = [*everything_said(outcome), caplog.text]
        assert not [secret for secret in case.secrets if any(secret in text for text in told)]
        assert not any(case.text in text for text in told)
    assert provider.taken == situation.taken
    assert provider.connections == 1


@each_case
async def test_a_port_nobody_listens_on_means_not_sent(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    channel = case.connect(closed_port())
    with pytest.raises(TargetUnavailable) as caught:
        await channel.send(channel.prepare(message(case))[0], 5.0)
    await channel.close()

    assert not [secret for secret in case.secrets if secret in caplog.text + "".join(everything_said(caught.value))]


@each_case
async def test_a_cancelled_send_stays_cancelled_and_is_not_repeated(case: Case) -> None:
    hang = next(item for item in case.situations if item.raises is OutcomeUncertain and item.id.startswith("hang"))
    async with asyncio.timeout(PATIENCE_SECONDS), case.provider() as provider:
        provider.behave(hang.script)
        channel = case.connect(provider.port)
        sending = asyncio.create_task(channel.send(channel.prepare(message(case))[0], 60.0))
        await provider.arrived.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await channel.close()

    assert provider.connections == 1


@each_case
async def test_many_messages_at_once_are_each_sent_once(case: Case) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), case.provider() as provider:
        channel = case.connect(provider.port)
        parts = [channel.prepare(message(case, delivery_id=DeliveryId(f"d{number}")))[0] for number in range(20)]
        receipts = await asyncio.gather(*(channel.send(part, 10.0) for part in parts))
        await channel.close()

    assert provider.taken == len(receipts) == 20


@each_case
async def test_closing_twice_or_unused_is_harmless(case: Case) -> None:
    channel = case.connect(closed_port())
    await channel.close()
    await channel.close()


@each_case
def test_the_name_is_the_one_envelopes_use(case: Case) -> None:
    assert case.connect(1).name == case.name


@each_case
def test_a_channel_says_what_it_can_and_refuses_the_rest_before_any_call(case: Case) -> None:
    channel = case.connect(1)
    can = channel.capabilities

    assert isinstance(can, Capabilities)
    assert "plain" in can.formats
    assert can.inbound is isinstance(channel, Listen)
    for intent in [Intent.REPLY] * (not can.replies) + [Intent.REACT] * (not can.reacts):
        with pytest.raises(ValidationError):
            channel.prepare(message(case, intent=intent, thread="55", emoji="👍"))


@each_case
def test_an_address_is_canonical_and_others_are_not_addresses(case: Case) -> None:
    channel = case.connect(1)

    assert channel.address(case.address) == case.address
    assert channel.address(case.not_an_address) is None
    assert channel.address("") is None


@each_case
@pytest.mark.parametrize("text", ["", " \n\t ", "\ud800", "a\x00b"], ids=["empty", "blank", "surrogate", "nul"])
def test_text_nobody_can_carry_is_refused_before_any_call(case: Case, text: str) -> None:
    with pytest.raises(ValidationError):
        case.connect(1).prepare(message(case, text=text))


@each_case
def test_a_bad_address_is_refused_before_any_call(case: Case) -> None:
    with pytest.raises(ValidationError):
        case.connect(1).prepare(message(case, address=case.not_an_address))


@each_case
def test_a_message_with_buttons_is_carried_and_shows_none_of_its_links(case: Case) -> None:
    channel = case.connect(1)
    parts = list(channel.prepare(message(case, markup=CARD)))

    assert parts == list(channel.prepare(message(case, markup=CARD)))
    assert "canary" not in repr(parts)


@each_case
def test_what_was_sent_is_edited_or_that_is_refused_before_any_call(case: Case) -> None:
    channel = case.connect(1)
    if case.edits:
        assert len(channel.prepare(message(case, revises=REVISION))) == 1
    else:
        with pytest.raises(ValidationError, match="cannot be edited"):
            channel.prepare(message(case, revises=REVISION))


@each_case
def test_preparing_is_repeatable(case: Case) -> None:
    channel = case.connect(1)

    assert list(channel.prepare(message(case))) == list(channel.prepare(message(case)))


@each_case
@pytest.mark.parametrize("length", [1, 4075, 4090, 4096, 5000, 20_000])
def test_a_repeated_message_leaves_out_no_part_it_had_before(case: Case, length: int) -> None:
    channel, text = case.connect(1), ("word " * length)[:length]

    before = list(channel.prepare(message(case, text=text)))
    again = list(channel.prepare(message(case, text=text, repeated=True)))

    assert again[: len(before) - 1] == before[:-1]
    assert len(again) in (len(before), len(before) + 1)


@each_case
def test_nothing_shows_a_secret_or_the_message(case: Case) -> None:
    channel = case.connect(1)
    shown = repr(channel) + str(channel) + repr(channel.prepare(message(case)))

    assert not [hidden for hidden in (*case.secrets, case.text) if hidden in shown]


@each_case
def test_the_suite_knows_every_situation_for_each_channel(case: Case) -> None:
    assert {situation.id.partition("/")[0] for situation in case.situations} == REQUIRED
