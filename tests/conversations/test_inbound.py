"""A message that was stored and never decided is handed on again, once it is old enough."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from structlog.testing import capture_logs
from tests.clock import START_US, FakeClock
from tests.patience import PATIENCE_SECONDS
from tests.people.known_people import household_people
from tests.support.counted import CountedLoops

from postroom.approvals.store.approvals import HeardThreads
from postroom.conversations.inbound import (
    AGE_SECONDS,
    HEARERS,
    Forgotten,
    Hearer,
    Inbound,
    hand_over,
    heard_by,
    hearing_handler,
    keeping_handler,
    of_messages,
    reopening_handler,
    replies_in,
)
from postroom.conversations.model import InboundStatus, RouteKind
from postroom.conversations.store import StoredInbound, StoredTroubles
from postroom.kernel.database.engine import Database
from postroom.kernel.values.errors import StoreUnavailable, TargetUnavailable
from postroom.kernel.values.ids import IdMint, seconds
from postroom.message.inbound import Flag, InboundEvent, InboundMessage, InboundTrouble, Listened, Press
from postroom.questions.asked_people import AskedPeople

WORDS = InboundMessage(channel="discord", number=1, message_id="9", places=("77",), text="hi")


@pytest.fixture
def kept(database: Database) -> StoredInbound:
    return StoredInbound(database, IdMint().mint)


async def test_it_goes_to_the_handlers_in_their_order_until_one_takes_it(kept: StoredInbound, clock: FakeClock) -> None:
    heard: list[str] = []

    def handler(name: str, takes: bool):  # type: ignore[no-untyped-def]
        async def handle(event: InboundEvent) -> bool:
            assert event == WORDS
            heard.append(name)
            if name == "broken":
                raise LookupError
            return takes

        return handle

    await kept.keep(WORDS, clock.now_us())
    handlers = [handler("broken", False), handler("passes", False), handler("takes", True), handler("never", True)]
    forgotten = Forgotten(kept=kept, handlers=handlers, clock=clock)
    await clock.advance(AGE_SECONDS)
    again_us = await forgotten.look()

    assert (heard, again_us) == ([], clock.now_us() + seconds(AGE_SECONDS)), "until then it may be in hand"
    await clock.advance(1)
    await forgotten.look()
    assert heard == ["broken", "passes", "takes"]


class Bot:
    """Numbers are messages; the position is the number after the last."""

    def __init__(self, *batches: list[int]) -> None:
        self.batches = list(batches)
        self.offsets: list[int | None] = []
        self.waited: list[float] = []
        self.broken = 0

    async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
        self.offsets.append(position)
        self.waited.append(timeout_seconds)
        if self.broken:
            self.broken -= 1
            raise TargetUnavailable("away")
        numbers = self.batches.pop(0) if self.batches else []
        messages = [InboundMessage(channel="pager", number=one, message_id="1", places=("5",)) for one in numbers]
        position = max(numbers) + 1 if numbers else None
        return Listened(events=messages, position=position, everything=len(numbers) < 100)


class Offsets:
    def __init__(self) -> None:
        self.saved: dict[str, int] = {}

    async def offset(self, source: str) -> int | None:
        return self.saved.get(source)

    async def save_offset(self, source: str, position: int) -> None:
        self.saved[source] = position


def reader(bot: Bot, seen: list[int], clock: FakeClock) -> Inbound:
    async def handle(message: InboundMessage) -> bool:
        seen.append(message.number)
        return True

    return Inbound(source="pager", bot=bot, offsets=Offsets(), handlers=[handle, handle], clock=clock)


async def test_messages_are_handed_over_in_order_and_once(clock: FakeClock) -> None:
    bot, seen = Bot([7, 8], [9]), list[int]()
    inbound = reader(bot, seen, clock)

    assert [await inbound.poll(0) for _ in range(3)] == [2, 1, 0]

    assert seen == [7, 8, 9]
    assert bot.offsets == [None, 9, 10]


async def test_a_bot_that_is_away_is_asked_again_later(clock: FakeClock) -> None:
    bot, seen = Bot([7]), list[int]()
    bot.broken = 1
    inbound = reader(bot, seen, clock)

    assert await inbound.look() == clock.now_us() + seconds(5)
    assert seen == []
    assert await inbound.look() == clock.now_us()
    assert seen == [7]


async def test_numbers_that_jump_back_after_a_quiet_week_are_followed(clock: FakeClock) -> None:
    bot, seen = Bot([900], [12, 13]), list[int]()
    inbound = reader(bot, seen, clock)

    for _ in range(3):
        await inbound.poll(0)

    assert seen == [900, 12, 13]
    assert bot.offsets == [None, 901, 14]


class Watch:
    def __init__(self) -> None:
        self.looks: list[tuple[str, int, bool]] = []

    async def patience(self, channel: str, longest_seconds: float) -> float:
        return 3.0

    async def looked(self, channel: str, began_us: int, *, everything: bool) -> None:
        self.looks.append((channel, began_us, everything))


async def test_the_watch_says_how_long_to_wait_and_hears_how_far_was_read(clock: FakeClock) -> None:
    full = list(range(100))
    bot, watch = Bot(full, []), Watch()
    inbound = replace(reader(bot, [], clock), watch=watch)

    for _ in range(2):
        await inbound.look()

    assert watch.looks == [("pager", clock.now_us(), False), ("pager", clock.now_us(), True)]
    assert bot.waited == [3.0, 3.0]


ADA = {"id": 5, "is_bot": False, "first_name": "Ada"}


def written(text: str | None = "hi", **more: Any) -> InboundMessage:
    values: dict[str, Any] = {"places": ("5",), "sender": "5", "replies_to": "3", **more}
    return InboundMessage(channel="pager", number=7, message_id="9", text=text, **values)


@pytest.mark.parametrize(
    ("message", "addresses"),
    [
        (written(), ["5"]),
        (written(places=("-5", "@chan")), ["-5", "@chan"]),
        (written(places=()), []),
        (written(replies_to=None), []),
        (written(text=None), []),
        (written(sender=None), []),
    ],
    ids=["in a chat", "in a chat with a name", "nowhere", "to nothing of ours", "without words", "by no person"],
)
def test_only_a_persons_answers_to_messages_are_replies(message: InboundMessage, addresses: list[str]) -> None:
    found = [(one.channel, one.address, one.provider_id) for one in replies_in(message)]

    assert found == [("pager", one, "3") for one in addresses]


async def test_where_a_person_wrote_is_remembered_under_every_address_of_the_place(
    database: Database, clock: FakeClock
) -> None:
    notebook = HeardThreads(database)

    assert not await hearing_handler(notebook, clock)(written(places=("-5", "@chan")))

    assert [await notebook.heard("pager", place, "9") for place in ("-5", "@chan", "5")] == [True, True, False]


async def test_a_message_somebody_stumbles_over_holds_nobody_up(clock: FakeClock) -> None:
    bot, seen = Bot([7, 8]), list[int]()
    inbound = reader(bot, seen, clock)

    async def stumble(message: InboundMessage) -> bool:
        return bool(message.places[9]) if message.number == 7 else False

    await replace(inbound, handlers=[of_messages(stumble), *inbound.handlers]).poll(0)
    await inbound.poll(0)

    assert seen == [7, 8]
    assert bot.offsets == [None, 9]


async def test_a_surprise_is_no_reason_to_stop_listening(clock: FakeClock) -> None:
    bot, seen, quiet = Bot([7]), list[int](), asyncio.Event()
    inbound, loops = reader(bot, seen, clock), CountedLoops(clock)
    answer, surprises = bot.listen, iter([RuntimeError("surprise")])

    async def listen(position: int | None, timeout_seconds: float) -> Listened:
        for surprise in surprises:
            raise surprise
        found = await answer(position, timeout_seconds)
        if not found.events:
            quiet.set()
            await asyncio.Event().wait()
        return found

    bot.listen = listen  # type: ignore[method-assign]
    async with asyncio.timeout(PATIENCE_SECONDS), loops.running("inbound", inbound.look, cut_off=True):
        await clock.parked()
        await clock.advance(6)
        await quiet.wait()

    assert (seen, loops.errors) == ([7], [("inbound", "RuntimeError")])


@pytest.mark.requirement("mail:deaf-said")
async def test_a_week_of_the_same_refusal_is_one_line_and_one_sentence(database: Database, clock: FakeClock) -> None:
    bot, troubles = Bot(), StoredTroubles(database)
    bot.broken = 100
    inbound = replace(reader(bot, [], clock), troubles=troubles)
    with capture_logs() as logs:
        for _ in range(100):
            await inbound.look()
        assert [one.sentence for one in await troubles.listed()] == ["away"]
        await inbound.look()
        await inbound.look()

    assert [one["event"] for one in logs] == ["inbound.unavailable", "inbound.available"]
    assert await troubles.listed() == []


@pytest.mark.requirement("mail:deaf-said")
async def test_what_an_earlier_process_left_is_ended_by_the_first_look_that_works(
    database: Database, clock: FakeClock
) -> None:
    troubles = StoredTroubles(database)
    await troubles.begin(InboundTrouble(channel="pager", sentence="away", since_us=START_US))
    await replace(reader(Bot([7]), [], clock), troubles=troubles).look()

    assert await troubles.listed() == []


@pytest.mark.requirement("mail:reopened")
async def test_only_a_persons_own_proved_words_open_an_address() -> None:
    class Opened(list[tuple[str, str]]):
        async def reopen_bounced(self, channel: str, address: str) -> bool:
            self.append((channel, address))
            return True

    opened = Opened()
    handle = reopening_handler(opened)
    proved = InboundMessage(channel="email", number=1, message_id="1", places=("a@b",), sender="a@b")

    assert not await handle(proved)
    for flag in Flag:
        await handle(replace(proved, flags=frozenset({flag})))
    await handle(replace(proved, sender=None))
    assert opened == [("email", "a@b")]


async def test_who_pressed_is_heard_before_all_others_and_in_the_order_of_what_they_did(clock: FakeClock) -> None:
    ada, ben = (partial(written, sender=one, places=(one,)) for one in ("5", "6"))
    press = Press(channel="pager", event_id="p", callback_id="p", places=("5",), sender="5", token="t")
    heard: list[InboundEvent] = [ben("one"), ada("before"), ben("two"), press, ada("after")]

    class Mixed(Bot):
        async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
            return Listened(events=heard, position=8)

    seen: list[str | None] = []

    async def handle(event: InboundEvent) -> bool:
        seen.append(event.text if isinstance(event, InboundMessage) else "a press")
        return True

    await replace(reader(Mixed(), [], clock), handlers=[handle]).poll(0)

    assert seen == ["before", "a press", "after", "one", "two"]


async def test_presses_on_different_cards_are_answered_side_by_side_and_those_on_one_in_their_order(
    clock: FakeClock,
) -> None:
    """Each answer is a call to the provider: the last of a crowd would wait for all of them."""
    press = Press(channel="pager", event_id="", callback_id="c", places=("5",), sender="5", token="t")
    first, again = (replace(press, event_id=one, message_id="10") for one in ("tick", "send"))
    other = replace(press, event_id="other card", message_id="11")
    seen, both_begun = list[str](), asyncio.Barrier(2)

    class Pressed(Bot):
        async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
            return Listened(events=[first, again, other, written("words")], position=9)

    async def handle(event: InboundEvent) -> bool:
        if event in (first, other):
            await both_begun.wait()  # each waits until the other was handed over, too
        seen.append(event.event_id if isinstance(event, Press) else "words")
        return True

    inbound = replace(reader(Pressed(), [], clock), handlers=[handle])
    async with asyncio.timeout(10):
        await inbound.poll(0)

    assert seen.index("tick") < seen.index("send")
    assert sorted(seen[:3]) == ["other card", "send", "tick"]
    assert seen[3] == "words"


async def test_when_one_press_cannot_be_kept_all_that_came_with_it_come_again(clock: FakeClock) -> None:
    press = Press(channel="pager", event_id="", callback_id="c", places=("5",), sender="5", token="t")
    both = [replace(press, event_id=one, message_id=one) for one in ("kept", "not kept")]
    seen = list[str]()

    class Pressed(Bot):
        async def listen(self, position: int | None, timeout_seconds: float) -> Listened:
            return Listened(events=both, position=9)

    async def handle(event: InboundEvent) -> bool:
        assert isinstance(event, Press)
        if event.event_id == "not kept":
            raise StoreUnavailable("away")
        seen.append(event.event_id)
        return True

    inbound = replace(reader(Pressed(), [], clock), handlers=[handle])
    with pytest.raises(StoreUnavailable):
        await inbound.poll(0)

    assert seen == ["kept"]
    assert await inbound.offsets.offset("pager") is None


KEPT_WORDS = InboundMessage(channel="telegram", number=1, message_id="9", places=("77",), text="yes")
PRESS = Press(channel="telegram", event_id="e", callback_id="c", places=("77",), sender="77", token="t")


@pytest.fixture
async def people(database: Database) -> AskedPeople:
    stored, _ = await household_people(database)
    return AskedPeople(book=stored)


def hearer(name: str) -> Hearer:
    return next(one for one in HEARERS if one.name == name)


@pytest.mark.requirement("talk:stored-first")
async def test_it_is_stored_first_and_a_second_time_nothing_more_is_done(
    kept: StoredInbound, people: AskedPeople, clock: FakeClock
) -> None:
    seen = list[InboundStatus]()

    async def takes(event: InboundEvent) -> bool:
        assert isinstance(event, InboundMessage)
        seen.append((await kept.named(event)).status)
        return True

    handlers = [keeping_handler(kept, clock), heard_by(hearer("questions"), takes, kept, clock, people, {})]
    for _ in range(2):
        await hand_over(KEPT_WORDS, handlers, "telegram")

    assert seen == [InboundStatus.RECEIVED]
    found = await kept.named(KEPT_WORDS)
    assert (found.kind, found.reason) == (RouteKind.ANSWER, "it answers a question")


@pytest.mark.requirement("talk:order")
@pytest.mark.parametrize(
    ("text", "replies_to", "answers"),
    [
        ("/general what is on?", None, False),
        ("@General what is on?", None, False),
        ("/general what is on?", "7", True),
        ("/other what is on?", None, True),
        ("general", None, True),
    ],
)
async def test_words_to_a_butler_by_name_answer_no_open_question_unless_they_reply_to_it(
    kept: StoredInbound, people: AskedPeople, clock: FakeClock, text: str, replies_to: str | None, answers: bool
) -> None:
    heard: list[InboundEvent] = []

    async def takes(event: InboundEvent) -> bool:
        heard.append(event)
        return True

    handler = heard_by(hearer("questions"), takes, kept, clock, people, {"general": True})
    assert await handler(replace(KEPT_WORDS, text=text, replies_to=replies_to)) is answers
    assert bool(heard) is answers


async def test_what_a_handler_leaves_is_undecided_and_a_press_is_no_message(
    kept: StoredInbound, people: AskedPeople, clock: FakeClock
) -> None:
    async def leaves(event: InboundEvent) -> bool:
        return isinstance(event, Press)

    handlers = [keeping_handler(kept, clock), heard_by(hearer("commands"), leaves, kept, clock, people, {})]
    await hand_over(KEPT_WORDS, handlers, "telegram")
    await hand_over(PRESS, handlers, "telegram")

    assert (await kept.named(KEPT_WORDS)).status is InboundStatus.RECEIVED
