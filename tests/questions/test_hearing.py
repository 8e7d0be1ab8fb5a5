"""Presses and words: who may answer, what they hear, and what is drawn afterwards."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.questions.asking_office import ANNA, CHANNELS, MINT, Office, opened_office
from tests.questions.card_post import CardPost
from tests.questions.sample_questions import new_question
from tests.questions.test_timekeeper import present

from postroom.kernel.database.engine import Marks
from postroom.kernel.database.moments import StoredMoments
from postroom.kernel.running.loop import Signal
from postroom.kernel.running.timekeeper import GAP_SECONDS, Listening
from postroom.kernel.values.ids import seconds
from postroom.message.delivery import Message, Receipt
from postroom.message.inbound import Assurance, Flag, InboundMessage, Press
from postroom.message.markup import Button
from postroom.message.outgoing import Outgoing
from postroom.questions.hearing import NOT_VALID, Hearing
from postroom.questions.model import QuestionStatus, Said, VerdictKind
from postroom.questions.presenter import Presenter
from postroom.questions.rules.cards import CardMaker


@dataclass
class Bot:
    said: list[tuple[str, str, bool]] = field(default_factory=list)
    drawn: list[Message] = field(default_factory=list)

    async def answer_press(self, callback_id: str, text: str = "", *, alert: bool = False) -> bool:
        self.said.append((callback_id, text, alert))
        return True

    def prepare(self, message: Message) -> list[Message]:
        return [message]

    async def send(self, part: Message, timeout_seconds: float) -> Receipt:
        self.drawn.append(part)
        return Receipt("edit")


@dataclass
class Chat:
    """Anna's phone: what is shown on it, and what she does there."""

    office: Office
    post: CardPost
    bot: Bot
    hearing: Hearing
    presenter: Presenter
    events: int = 0

    async def ask(self, **arguments: Any) -> str:
        view = await self.office.ask(to="anna", **arguments)
        await self.presenter.look()
        await self.presenter.idle()
        return view.question.id

    def button(self, label: str, card: Outgoing | None = None) -> Button:
        markup = (card or self.post.sent[0]).markup
        assert markup is not None
        return next(one for one in markup.every_button if one.label == label)

    async def press_beside(self, label: str, card: Outgoing | None = None, **changes: Any) -> str:
        """What is not among the answers stands behind the small button."""
        await self.press("…", card)
        return await self.press(label, self.post.sent[-1], **changes)

    async def press(self, label: str, card: Outgoing | None = None, **changes: Any) -> str:
        self.events += 1
        press = Press(
            channel="telegram",
            event_id=f"press:{self.events}",
            callback_id=str(self.events),
            places=("2000",),
            sender="2000",
            token=self.button(label, card).token or "",
        )
        await self.hearing.press(replace(press, **changes))
        return self.bot.said[-1][1]

    async def write(self, text: str, **changes: Any) -> bool:
        self.events += 1
        words = InboundMessage(
            channel="telegram",
            number=self.events,
            places=("2000",),
            sender="2000",
            message_id=str(self.events),
            text=text,
            alone=True,
        )
        return await self.hearing.words(replace(words, **changes))

    async def status(self, ask_id: str) -> QuestionStatus:
        question = await self.office.store.get(ask_id)
        assert question is not None
        return question.status


@pytest.fixture
async def chat(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Chat]:
    async with opened_office("sqlite", tmp_path, request) as office:
        post, bot, cards = CardPost(), Bot(), CardMaker(channels=CHANNELS, key=b"k")
        hearing = Hearing(
            questions=office.asking.questions,
            store=office.store,
            shown=office.presentations,
            people=office.asking.planning.people,
            cards=cards,
            outbound=post,
            bots={"telegram": bot},
            clock=office.clock,
            mint=MINT.mint,
        )
        presenter = Presenter(
            planning=office.asking.planning,
            claims=office.presentations,
            cards=cards,
            post=post,
            clock=office.clock,
            wake=Signal(),
        )
        yield Chat(office, post, bot, hearing, presenter)


async def test_a_press_is_answered_with_what_it_decided(chat: Chat) -> None:
    ask_id = await chat.ask()
    assert await chat.press("yes") == "✅ yes"
    assert await chat.status(ask_id) is QuestionStatus.ANSWERED
    assert await chat.press("no") == "Anna was first: yes."


async def test_a_press_that_comes_twice_under_one_id_has_one_verdict(chat: Chat) -> None:
    await chat.ask()
    first = await chat.press("yes", event_id="same")
    assert await chat.press("yes", event_id="same") == first


async def test_a_press_that_proves_little_approves_nothing(chat: Chat) -> None:
    ask_id = await chat.ask(kind="approve", options=None)
    told = await chat.press("Approve", assurance=Assurance.LOW)
    assert told == "This sender is not certain enough to decide; open the console."
    assert await chat.status(ask_id) is QuestionStatus.OPEN
    assert await chat.press("Approve") == "✅ Approve"


async def test_declining_is_an_end_of_its_own(chat: Chat) -> None:
    ask_id = await chat.ask()
    assert await chat.press_beside("Rather not") == "Noted: you would rather not answer."
    assert await chat.status(ask_id) is QuestionStatus.DECLINED


UNKNOWN = (
    "This sender is not verified. Ask the household's owner for a code (postroom pair NAME --channel CHANNEL), "
    "send it to me alone, as /pair CODE, and press again."
)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sender": "1000"}, "This question is for another person."),
        ({"sender": "9999"}, UNKNOWN),
        ({"sender": None}, UNKNOWN),
        ({"flags": frozenset({Flag.BOT})}, "Forwarded, automatic and anonymous messages are not answers."),
        ({"places": ("3000",)}, NOT_VALID),
        ({"token": "guessed"}, NOT_VALID),
    ],
)
@pytest.mark.requirement("ask:who-may-answer")
async def test_only_the_verified_person_who_was_asked_may_press_where_it_was_sent(
    chat: Chat, changes: dict[str, Any], told: str
) -> None:
    ask_id = await chat.ask()
    assert await chat.press("yes", **changes) == told
    assert chat.bot.said[-1][2]
    assert await chat.status(ask_id) is QuestionStatus.OPEN


async def test_ticks_are_kept_and_drawn_and_sent_in_the_end(chat: Chat) -> None:
    ask_id = await chat.ask(options=["a", "b"], multiple=True)
    assert await chat.press("Send") == "Choose at least one first."
    assert await chat.press("b") == "Chosen: b. Press Send when you are done."
    drawn = chat.post.sent[-1]
    assert (drawn.message, drawn.revises) == ("", "d1")
    assert chat.button("✅ b", drawn).token == chat.button("b").token
    assert await chat.press("b") == "Nothing chosen."
    await chat.press("a")
    assert await chat.press("Send") == "✅ a"
    assert await chat.status(ask_id) is QuestionStatus.ANSWERED


async def test_own_words_get_a_box_only_for_those_who_are_asked(chat: Chat) -> None:
    await chat.ask()
    assert await chat.press_beside("✏️ Other", sender="1000") == "This question is for another person."
    assert len(chat.post.sent) == 2
    assert await chat.press_beside("✏️ Other") == "Your next message here is your answer."
    box = chat.post.sent[-1]
    assert box.markup is not None and box.markup.force_reply


async def test_a_reply_to_any_part_of_the_card_answers(chat: Chat) -> None:
    ask_id = await chat.ask(kind="text", options=None)
    assert await chat.write("tomorrow", replies_to="d1-2", alone=False)
    question = await chat.office.store.get(ask_id)
    assert question is not None and question.answer is not None and question.answer.text == "tomorrow"
    assert len(chat.post.sent) == 1


@pytest.mark.requirement("ask:card-rest")
async def test_the_rest_is_drawn_and_taken_away_on_the_same_card_and_nothing_of_it_is_an_attempt(chat: Chat) -> None:
    ask_id = await chat.ask(options=["a", "b"], multiple=True)
    await chat.press("b")
    assert await chat.press("…") == ""
    rest = chat.post.sent[-1]
    assert (rest.message, rest.revises) == ("", "d1")
    assert rest.markup is not None and rest.markup.labels == (("✏️ Other", "Rather not"), ("‹ Back",))
    assert await chat.press("‹ Back", rest) == ""
    back = chat.post.sent[-1]
    assert (back.message, back.revises) == ("", "d1")
    assert back.markup is not None and back.markup.labels == (("a", "✅ b"), ("Send", "…"))
    assert await chat.status(ask_id) is QuestionStatus.OPEN
    assert len(await chat.office.store.attempts(ask_id)) == 1


@pytest.mark.requirement("ask:card-rest", "ask:who-may-answer")
@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sender": "1000"}, "This question is for another person."),
        ({"sender": "9999"}, UNKNOWN),
        ({"flags": frozenset({Flag.BOT})}, "Forwarded, automatic and anonymous messages are not answers."),
        ({"places": ("3000",)}, NOT_VALID),
        ({"token": "+guessed"}, NOT_VALID),
    ],
)
async def test_who_may_not_answer_is_told_so_and_opens_nothing(chat: Chat, changes: dict[str, Any], told: str) -> None:
    ask_id = await chat.ask()
    assert await chat.press("…", **changes) == told
    assert chat.bot.said[-1][2]
    assert (len(chat.post.sent), await chat.office.store.attempts(ask_id)) == (1, [])


@pytest.mark.requirement("ask:card-rest")
async def test_on_a_card_that_is_over_nothing_is_opened_and_the_end_is_told(chat: Chat) -> None:
    await chat.ask()
    await chat.press("…")
    rest = chat.post.sent[-1]
    assert await chat.press("yes") == "✅ yes"
    sent = len(chat.post.sent)
    for label, card in (("…", None), ("‹ Back", rest), ("✏️ Other", rest)):
        assert await chat.press(label, card) == "Anna was first: yes."
    assert len(chat.post.sent) == sent


@pytest.mark.requirement("ask:card-rest")
@pytest.mark.parametrize(("label", "asked"), [("…", {}), ("b", {"options": ["a", "b"], "multiple": True})])
async def test_buttons_that_were_drawn_while_the_question_ended_do_not_stay_on_its_card(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, label: str, asked: dict[str, Any]
) -> None:
    ask_id = await chat.ask(**asked)
    submit = chat.post.submit

    async def ends_first(outgoing: Outgoing, **how: Any) -> Any:
        await chat.office.asking.questions.cancel(ask_id, "done")
        return await submit(outgoing, **how)

    monkeypatch.setattr(CardPost, "submit", lambda _, outgoing, **how: ends_first(outgoing, **how))
    await chat.press(label)
    drawn, closed = chat.post.sent[-2:]
    assert drawn.markup is not None and (closed.markup, closed.revises) == (None, "d1")
    assert "✖️ Taken back" in closed.message


@pytest.mark.requirement("ask:card-rest")
async def test_the_rest_opens_on_a_copy_that_only_its_press_names(chat: Chat) -> None:
    await chat.ask()
    assert await chat.press("…", message_id="d1-2") == ""
    assert len(chat.post.sent) == 2
    assert await chat.press("…", message_id="99") == ""
    assert len(chat.post.sent) == 2
    [drawn] = chat.bot.drawn
    assert drawn.revises is not None and drawn.revises.provider_ids == ("99",)
    assert drawn.text == "" and drawn.markup is not None and drawn.markup.labels[-1] == ("‹ Back",)


@pytest.mark.requirement("ask:own-words")
@pytest.mark.parametrize("asked", [1, 2])
async def test_a_text_that_replies_to_nothing_is_for_others_however_many_questions_are_open(
    chat: Chat, asked: int
) -> None:
    ids = [await chat.ask(question=f"Ship number {number}?") for number in range(asked)]
    sent = len(chat.post.sent)
    for text in ("yes", "1", "What is on today?"):
        assert not await chat.write(text)
    assert {await chat.status(one) for one in ids} == {QuestionStatus.OPEN}
    assert len(chat.post.sent) == sent


@pytest.mark.requirement("ask:own-words")
async def test_after_other_the_next_message_is_the_answer_and_the_box_says_so(chat: Chat) -> None:
    ask_id = await chat.ask()
    await chat.ask(question="Another?")
    assert await chat.press_beside("✏️ Other") == "Your next message here is your answer."
    assert "“Ship it?”" in chat.post.texts[-1] and "as your next message here" in chat.post.texts[-1]
    assert await chat.write("after lunch", said_at_us=chat.office.clock.now_us() - seconds(3600))
    question = await chat.office.store.get(ask_id)
    assert question is not None and question.answer is not None and question.answer.text == "after lunch"
    assert not await chat.write("What is on today?")


@pytest.mark.requirement("ask:own-words")
async def test_of_two_questions_the_one_whose_other_was_pressed_last_gets_the_next_message(chat: Chat) -> None:
    first = await chat.ask()
    second = await chat.ask(question="Another?")
    await chat.press_beside("✏️ Other")
    chat.office.clock.jump(1)
    await chat.press_beside("✏️ Other", chat.post.sent[1])
    assert await chat.write("after lunch")
    assert (await chat.status(first), await chat.status(second)) == (QuestionStatus.OPEN, QuestionStatus.ANSWERED)


@pytest.mark.requirement("ask:own-words")
@pytest.mark.parametrize("changes", [{"alone": False}, {"flags": frozenset({Flag.FORWARDED})}, {"replies_to": "other"}])
async def test_after_other_only_the_persons_own_next_words_alone_with_us_count(
    chat: Chat, changes: dict[str, Any]
) -> None:
    ask_id = await chat.ask()
    await chat.press_beside("✏️ Other")
    assert not await chat.write("after lunch", **changes)
    assert await chat.status(ask_id) is QuestionStatus.OPEN


@pytest.mark.parametrize(
    "changes",
    [
        {"alone": False},
        {"sender": "9999"},
        {"sender": None},
        {"flags": frozenset({Flag.FORWARDED})},
        {"replies_to": "another-message"},
    ],
)
async def test_other_words_are_for_others_to_hear(chat: Chat, changes: dict[str, Any]) -> None:
    ask_id = await chat.ask()
    assert not await chat.write("yes", **changes)
    assert await chat.status(ask_id) is QuestionStatus.OPEN


@pytest.mark.parametrize("flag", [one for one in Flag if one is not Flag.UNVERIFIED])
async def test_a_reply_that_is_not_the_persons_own_is_kept_and_decides_nothing(chat: Chat, flag: Flag) -> None:
    ask_id = await chat.ask()
    assert await chat.write("yes", replies_to="d1-1", flags=frozenset({flag}))
    assert await chat.status(ask_id) is QuestionStatus.OPEN
    assert len(await chat.office.store.attempts(ask_id)) == 1
    assert len(chat.post.sent) == 1


@pytest.mark.requirement("mail:unproved-reply")
async def test_a_reply_whose_sender_is_not_proved_decides_nothing_and_the_person_is_told_of_the_link(
    chat: Chat,
) -> None:
    ask_id = await chat.ask()
    assert await chat.write("yes", replies_to="d1-1", sender=None, flags=frozenset({Flag.UNVERIFIED}))
    assert await chat.status(ask_id) is QuestionStatus.OPEN
    assert "not proved that this came from you; please use the link" in chat.post.sent[-1].message


@pytest.mark.requirement("ask:approve-exactly")
@pytest.mark.parametrize("text", ["1", "ok", "allow it", "allow."])
async def test_what_a_program_may_do_takes_the_exact_word_as_a_reply(chat: Chat, text: str) -> None:
    options = [{"value": "allow", "label": "Allow"}, {"value": "deny", "label": "Deny"}]
    ask_id = await chat.ask(question="May it run a command?", options=options, allow_text=False)
    assert not await chat.write("Allow")
    assert await chat.write(text, replies_to="d1-1")
    assert chat.post.texts[-1] == "Press a button, or reply with exactly “Allow” or “Deny”."
    assert await chat.status(ask_id) is QuestionStatus.OPEN
    assert await chat.write("allow", replies_to="d1-1")
    assert await chat.status(ask_id) is QuestionStatus.ANSWERED


@pytest.mark.parametrize("text", ["ok", "👍", "yes"])
async def test_nothing_but_the_exact_word_approves(chat: Chat, text: str) -> None:
    ask_id = await chat.ask(kind="approve", options=None)
    assert await chat.write(text, replies_to="d1-1")
    assert await chat.status(ask_id) is QuestionStatus.OPEN
    assert chat.post.texts[-1] == "Press a button, or reply with exactly “Approve” or “Deny”."
    assert not await chat.write("approve")
    assert await chat.status(ask_id) is QuestionStatus.OPEN
    assert await chat.write("approve", replies_to="d1-1")
    assert await chat.status(ask_id) is QuestionStatus.ANSWERED


async def test_a_text_sent_before_the_deadline_counts_when_it_is_read_after_it(chat: Chat) -> None:
    ask_id = await chat.ask(deadline_seconds=30)
    sent_at = chat.office.clock.now_us() + seconds(29)
    chat.office.clock.jump(40)
    assert await chat.write("yes", replies_to="d1-1", said_at_us=sent_at)
    assert await chat.status(ask_id) is QuestionStatus.ANSWERED


@pytest.mark.requirement("ask:after-a-gap")
async def test_after_a_gap_every_open_card_with_buttons_says_so_once(chat: Chat) -> None:
    await chat.ask()
    now = chat.office.clock.now_us()
    for _ in range(2):
        await chat.hearing.missed("telegram", now, now + seconds(1080))
    assert len(chat.post.sent) == 2
    edit = chat.post.sent[-1]
    assert edit.revises == "d1"
    assert "I could not hear you from 00:00 UTC to 00:18 UTC" in edit.message
    assert chat.button("yes", edit).token == chat.button("yes").token


@pytest.mark.requirement("chan:press-of-its-account")
async def test_a_press_on_another_account_is_not_valid_though_the_person_has_the_same_number_there(chat: Chat) -> None:
    ask_id = await chat.ask()
    bot = Bot()
    other = replace(chat.hearing, bots={**chat.hearing.bots, "work": bot})
    token = chat.button("yes").token or ""

    await other.press(
        Press(channel="work", event_id="press:9", callback_id="9", places=("2000",), sender="2000", token=token)
    )

    assert bot.said == [("9", NOT_VALID, True)]
    assert chat.bot.said == []
    assert await chat.status(ask_id) is QuestionStatus.OPEN


@pytest.mark.requirement("ask:clocks-differ")
async def test_a_clock_that_was_set_back_refuses_no_press_no_link_and_no_answer_in_the_console(chat: Chat) -> None:
    first, second = await chat.ask(), await chat.ask(question="And then?")
    chat.office.clock.jump(-3600)

    assert await chat.press("yes") == "✅ yes"
    said = Said(value="no")
    told = await chat.office.asking.answer(ANNA, second, said, channel="console", event_id="1")
    assert told.verdict.kind is VerdictKind.ACCEPTED
    assert await chat.status(first) is await chat.status(second) is QuestionStatus.ANSWERED


@pytest.mark.requirement("ask:clocks-differ")
async def test_a_reply_to_the_card_counts_however_slow_the_providers_clock_is(chat: Chat) -> None:
    ask_id = await chat.ask(kind="text", options=None)
    hour_ago = chat.office.clock.now_us() - seconds(3600)
    assert await chat.write("tomorrow", replies_to="d1-2", said_at_us=hour_ago)
    assert await chat.status(ask_id) is QuestionStatus.ANSWERED


async def test_the_third_answer_that_is_none_names_the_console(chat: Chat) -> None:
    await chat.ask(kind="approve", options=None)
    for _ in range(3):
        assert await chat.write("perhaps", replies_to="d1-1")
    told = [one.message for one in chat.post.sent[1:]]
    assert ["console" in one for one in told] == [False, False, True]


@dataclass
class Ear:
    office: Office
    gaps: list[tuple[str, int, int]] = field(default_factory=list)
    told: list[int] = field(default_factory=list)

    @property
    def clock(self) -> FakeClock:
        return self.office.clock

    def started(self) -> Listening:
        async def repair(channel: str, since_us: int, until_us: int) -> None:
            self.gaps.append((channel, since_us, until_us))

        marks = Marks(self.office.database)
        moments = StoredMoments(self.office.database)
        listening = Listening(marks, moments, self.clock, lambda: self.told.append(1))
        listening.after_a_gap(repair)
        listening.expect("telegram")
        return listening


async def test_nothing_is_known_before_the_first_look_and_nothing_is_owed_where_none_listens(small: Office) -> None:
    ear = Ear(small)
    shown = (await small.ask(to="anna")).question.id
    listening = ear.started()
    listening.expect("email")

    async def caught_up() -> int | None:
        return await listening.caught_up(await small.store.shown_on(shown))

    assert await caught_up() is None
    await present(small, CardPost())
    assert await caught_up() == 0
    await listening.looked("telegram", ear.clock.now_us(), everything=False)
    assert await caught_up() == 0
    await listening.looked("telegram", ear.clock.now_us(), everything=True)
    assert await caught_up() == ear.clock.now_us()
    assert ear.told == [1]


async def test_a_look_does_not_last_beyond_the_next_deadline(small: Office) -> None:
    ear = Ear(small)
    listening, now = ear.started(), ear.clock.now_us()
    assert await listening.patience("telegram", 25) == 0
    await listening.looked("telegram", now, everything=True)
    assert await listening.patience("telegram", 25) == 25
    await small.store.ask(replace(new_question(), expires_at_us=now + seconds(3.2)))
    assert await listening.patience("telegram", 25) == 4
    ear.clock.jump(4)
    assert await listening.patience("telegram", 25) == 0
    await listening.looked("telegram", ear.clock.now_us(), everything=True)
    assert await listening.patience("telegram", 25) == 25


async def test_a_gap_is_repaired_once_also_over_a_restart(small: Office) -> None:
    ear = Ear(small)
    listening, first = ear.started(), ear.clock.now_us()
    await listening.looked("telegram", first, everything=True)
    ear.clock.jump(GAP_SECONDS)
    await listening.looked("telegram", ear.clock.now_us(), everything=True)
    assert ear.gaps == []
    before = ear.clock.now_us()
    ear.clock.jump(GAP_SECONDS + 1)
    for listening in (ear.started(), ear.started()):
        await listening.looked("telegram", ear.clock.now_us(), everything=True)
    assert ear.gaps == [("telegram", before, before + seconds(GAP_SECONDS + 1))]
