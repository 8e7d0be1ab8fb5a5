"""What an ntfy server's answers mean, in a sentence of their own."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.header import decode_header, make_header
from typing import Any

import pytest
from tests.channels.recording_server import Seen, recording

from postroom.channels.ntfy.building import (
    MESSAGE_BYTES,
    NtfyCall,
    address,
    build,
    events,
    parts_of,
    read_refusal,
    sequence_id,
    title_of,
    until_reset,
)
from postroom.channels.ntfy.channel import Ntfy, Presses, found, since
from postroom.channels.shared import json_length
from postroom.kernel.http.call import HttpAnswer
from postroom.kernel.values.errors import CredentialsRefused, ProviderThrottled, ValidationError
from postroom.kernel.values.ids import DeliveryId
from postroom.message.delivery import REPEAT_MARK, Intent, Message, Priority
from postroom.message.inbound import Assurance
from postroom.message.markup import Button, Markup, Revision
from postroom.testing.case import HeldFiles

NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def refused(code: int) -> HttpAnswer:
    return HttpAnswer(status=code // 100, body=json.dumps({"code": code, "error": "no"}).encode())


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (40101, CredentialsRefused, "ntfy does not accept our token"),
        (40301, CredentialsRefused, "ntfy does not allow us this topic: the token needs access to it"),
        (40009, ValidationError, "ntfy answered 400: no"),
        (41301, ValidationError, "ntfy answered 413: no"),
        (50701, ValidationError, "ntfy answered 507: no; the topic takes no messages"),
        (42901, ProviderThrottled, "ntfy answered 429: no"),
        (42908, ProviderThrottled, "ntfy answered 429: no; the day's quota is used up"),
    ],
)
def test_each_refusal_has_its_class_and_its_sentence(code: int, kind: type[Exception], words: str) -> None:
    error = read_refusal(refused(code), "no", NOON)
    assert (type(error), error.message) == (kind, words)


@pytest.mark.parametrize(
    ("now", "wait"),
    [
        (NOON, 43_200.0),
        (datetime(2026, 3, 1, 23, 59, 30, tzinfo=UTC), 30.0),
        (datetime(2026, 3, 2, 0, 0, 1, tzinfo=UTC), 60.0),
        (datetime.fromisoformat("2026-03-01T23:00:00-05:00"), 72_000.0),
    ],
    ids=["noon", "nearly over", "their midnight is a little later", "another zone"],
)
def test_a_daily_quota_lasts_until_midnight_in_utc(now: datetime, wait: float) -> None:
    assert until_reset(now) == wait


def test_lines_that_are_no_events_are_passed_over() -> None:
    assert list(events(b'{"id":"a"}\n\n[1]\nnonsense\n{"id":"b"}')) == [{"id": "a"}, {"id": "b"}]


FILES = HeldFiles()
PNG = FILES.hold('Prüf "bild" eins zwei drei vier fünf sechs sieben acht.png', b"\x89PNG\r\n\r\n", "image/png")
LOG = FILES.hold("run.log", b"one\n", "text/plain")
LINK = Markup(buttons=((Button(label="Open", url="https://home.example/x"),),))


def message(**changes: Any) -> Message:
    fields: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "kitchen"}
    return Message(**(fields | {"text": "the report", "subject": "Größe", "attachments": (PNG, LOG)} | changes))


async def sent(given: Message) -> list[Seen]:
    async with recording(lambda seen: (200, {"id": "abc", "event": "message"})) as server:
        channel = Ntfy("ntfy", server.url, "tk_1", files=FILES)
        try:
            for part in channel.prepare(given):
                await channel.send(part, 10.0)
        finally:
            await channel.close()
    return server.seen


def said(seen: Seen, name: str) -> str:
    return str(make_header(decode_header(seen.headers[name])))


@pytest.mark.requirement("content:ntfy-files")
async def test_the_first_file_is_put_with_the_text_and_each_further_one_by_itself() -> None:
    picture, log = await sent(message(text="the report:\nall 3 °C"))

    assert (said(picture, "X-Message"), log.headers["X-Message"]) == ("the report:\nall 3 °C", "run.log")
    assert [(one.method, one.path, one.content) for one in (picture, log)] == [
        ("PUT", "/kitchen", b"\x89PNG\r\n\r\n"),
        ("PUT", "/kitchen", b"one\n"),
    ]
    assert (said(picture, "Filename"), said(picture, "X-Title")) == (PNG.name, "Größe")
    assert picture.headers["Filename"].isascii()
    assert (log.headers["Filename"], log.headers["Authorization"]) == ("run.log", "Bearer tk_1")
    assert picture.headers["X-Sequence-ID"] != log.headers["X-Sequence-ID"]


@pytest.mark.requirement("content:ntfy-files")
@pytest.mark.parametrize(
    "changes",
    [
        {"text": "word " * 1_000},
        {"text": r"C:\new"},
        {"markup": LINK},
    ],
    ids=["long", "backslash", "buttons"],
)
async def test_what_does_not_fit_beside_a_file_comes_before_it(changes: dict[str, Any]) -> None:
    *texts, picture, log = await sent(message(**changes))

    assert texts and {one.method for one in texts} == {"POST"}
    assert said(picture, "X-Message") == PNG.name
    assert [one.content for one in (picture, log)] == [b"\x89PNG\r\n\r\n", b"one\n"]


async def test_the_last_of_a_repetition_is_marked() -> None:
    picture, log = await sent(message(repeated=True))

    assert said(log, "X-Message") == f"run.log {REPEAT_MARK}"
    assert said(picture, "X-Message") == f"the report\n\n{REPEAT_MARK}"


def test_what_arrived_is_found_again_by_its_name() -> None:
    part = Ntfy("ntfy", files=FILES).prepare(message())[1]
    kept = {"event": "message", "id": "x1", "sequence_id": part.sequence_id, "message": part.text}

    receipt = found(part, [kept])

    assert receipt is not None and receipt.provider_id == "x1"
    assert found(part, [kept | {"sequence_id": "other"}]) is None


def test_an_edit_leaves_the_files_alone() -> None:
    revises = Revision(delivery_id=DeliveryId("d0"), provider_ids=("a", "b", "c"), files=2)

    [one] = Ntfy("ntfy").prepare(message(text="better", revises=revises))

    assert (one.text, one.keeps_file) == ("better", False)


SECOND = 1_780_000_000
US = 1_000_000


def event(name: str, text: str = "t0ken anna", second: int = SECOND, **more: Any) -> dict[str, Any]:
    return {"id": name, "time": second, "event": "message", "topic": "answers", "message": text, **more}


@pytest.fixture
def presses() -> Presses:
    return Presses("ntfy-home", Assurance.LOW)


@pytest.mark.parametrize(
    "text", ["hello", "one two three", "", "t" * 65 + " anna", "t0ken no/topic", "t\u00f6ken anna"]
)
def test_other_words_say_nothing_and_are_passed_over(presses: Presses, text: str) -> None:
    heard = presses.heard(None, [event("a", text)])
    assert (heard.events, heard.position) == ([], SECOND * US)


@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"event": "open", "id": "o"},
        {"event": "keepalive", "id": "k"},
        {"event": "message"},
        {"event": "message", "id": 7},
    ],
)
def test_what_is_no_message_says_nothing(presses: Presses, nonsense: dict[str, Any]) -> None:
    assert presses.heard(None, [nonsense]).position is None


def test_positions_grow_within_one_second_too_and_nothing_comes_twice(presses: Presses) -> None:
    first = presses.heard(None, [event("a")])
    second = presses.heard(first.position, [event("a"), event("b")])
    third = presses.heard(second.position, [event("a"), event("b")])

    assert [one.event_id for one in second.events] == ["press:b"]
    assert (first.position or 0) < (second.position or 0)
    assert third.position is None


def test_what_was_not_handled_comes_again(presses: Presses) -> None:
    before = presses.heard(None, [event("a")]).position
    presses.heard(before, [event("b")])
    again = presses.heard(before, [event("a"), event("b")])

    assert [one.event_id for one in again.events] == ["press:b"]


def test_a_message_that_the_server_shows_late_is_not_missed(presses: Presses) -> None:
    position = presses.heard(None, [event("a")]).position
    late = presses.heard(position, [event("late", second=SECOND - 5)])

    assert int(since(position)) <= SECOND - 5
    assert [one.event_id for one in late.events] == ["press:late"]
    assert (late.position or 0) > (position or 0)


def test_without_a_position_everything_is_read() -> None:
    assert since(None) == "all"


ANSWERS = "https://ntfy.example/answers"
YES, NO = Button(label="Yes", token="t-yes"), Button(label="No", token="t-no")


def calls(text: str = "Hi", **changes: Any) -> list[NtfyCall]:
    given: dict[str, Any] = {"delivery_id": DeliveryId("d1"), "intent": Intent.SEND, "address": "anna", "text": text}
    return list(build(Message(**(given | changes)), ANSWERS))


@pytest.mark.parametrize("topic", ["anna", "Anna_Phone-2", "a" * 64])
def test_a_topic_is_an_address_as_it_is_written(topic: str) -> None:
    assert address(f" {topic} ") == topic


@pytest.mark.parametrize("text", ["", "a" * 65, "anna/json", "anna,ben", "ä", "a b", "anna\n"])
def test_anything_else_is_not(text: str) -> None:
    assert address(text) is None


def test_the_title_is_the_subject_or_who_speaks() -> None:
    assert calls()[0].body.keys() == {"topic", "message", "priority", "sequence_id"}
    assert calls(origin_butler="health")[0].body["title"] == "health"
    with_subject = calls(origin_butler="health", subject="Pills\n now")[0].body
    assert (with_subject["title"], with_subject["tags"]) == ("Pills now", ["health"])


@pytest.mark.requirement("house:ntfy-one-name")
def test_the_same_part_has_the_same_name_for_ever_and_no_other_has_it() -> None:
    parts, others = calls("word " * 2000), calls("word " * 2000, delivery_id=DeliveryId("d2"))
    names = [call.sequence_id for call in parts]

    assert names == [call.sequence_id for call in calls("word " * 2000, repeated=True)][: len(names)]
    assert len({*names, *(call.sequence_id for call in others)}) == len(parts) + len(others)
    assert all(re.fullmatch(r"[-_A-Za-z0-9]{1,64}", name) for name in names)
    assert [call.body["sequence_id"] for call in parts] == names


def test_buttons_post_their_token_and_the_topic_of_the_card_to_the_answers() -> None:
    [call] = calls(markup=Markup(buttons=((YES, NO), (Button(label="Open", url="https://home.example/x"),))))

    assert call.body["actions"] == [
        {
            "action": "http",
            "label": label,
            "url": ANSWERS,
            "method": "POST",
            "body": f"{token} anna",
            "clear": True,
        }
        for label, token in (("Yes", "t-yes"), ("No", "t-no"))
    ] + [{"action": "view", "label": "Open", "url": "https://home.example/x"}]


def test_links_without_a_place_stand_below_the_text() -> None:
    links = tuple(Button(label=f"L{number}", url=f"https://home.example/{number}") for number in range(3))
    [call] = calls(markup=Markup(buttons=((YES,), links, (Button(label="Mail", url="mailto:a@b.c"),))))

    assert [action["label"] for action in call.body["actions"]] == ["Yes", "L0", "L1"]
    assert call.text == "Hi\n\nL2: https://home.example/2\nMail: mailto:a@b.c"


def test_without_a_topic_for_answers_nothing_can_be_pressed() -> None:
    message = Message(
        delivery_id=DeliveryId("d1"),
        intent=Intent.SEND,
        address="anna",
        text="Hi",
        markup=Markup(buttons=((YES,),)),
    )
    with pytest.raises(ValidationError, match="answers_topic"):
        build(message, "")


def test_buttons_stand_under_the_last_part() -> None:
    parts = calls("word " * 2000, markup=Markup(buttons=((YES,),)))
    assert ["actions" in call.body for call in parts] == [False] * (len(parts) - 1) + [True]


def test_an_edit_takes_the_names_of_what_was_sent_last_part_first_and_rings_no_bell() -> None:
    revises = Revision(delivery_id=DeliveryId("card"), provider_ids=("a", "b"))
    edits = calls("word " * 1000, revises=revises, priority=Priority.HIGH)

    assert [call.sequence_id for call in edits] == [sequence_id(DeliveryId("card"), place) for place in (1, 0)]
    assert all(call.is_edit and call.body["priority"] == 2 and "actions" not in call.body for call in edits)


def test_a_longer_text_goes_on_under_new_names_and_a_shorter_one_takes_the_others_away() -> None:
    card = DeliveryId("card")
    grown = calls("word " * 1500, revises=Revision(delivery_id=card, provider_ids=("a",)))
    again = calls("word " * 1000, revises=Revision(delivery_id=card, provider_ids=("a",), more=("b",)))
    short = calls("Closed", revises=Revision(delivery_id=card, provider_ids=("a", "f"), files=1, more=("b",)))

    named = [sequence_id(card, place) for place in range(3)]
    assert [(call.sequence_id, call.is_edit) for call in grown] == [(named[0], True), (named[1], False)]
    assert [(call.sequence_id, call.is_edit) for call in again] == [(named[1], True), (named[0], True)]
    assert [(call.sequence_id, call.deletes, call.about) for call in short] == [
        (named[2], True, "b"),
        (named[0], False, ""),
    ]


def test_buttons_alone_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="without their message"):
        calls("", revises=Revision(delivery_id=DeliveryId("card"), provider_ids=("a",)))


@pytest.mark.parametrize("text", ["a" * 9000, "ü" * 9000, "🫖" * 3000, '"' * 9000, "\\\n" * 5000])
def test_no_part_becomes_a_file_or_more_json_than_is_read(text: str) -> None:
    parts = parts_of(text, repeated=True)
    assert all(len(part.encode()) <= MESSAGE_BYTES for part in parts)
    assert all(json_length(part) <= 5_100 for part in parts)


def test_a_text_that_fits_is_left_alone() -> None:
    assert parts_of(" as\nit is ") == [" as\nit is "]
    assert [len(part) for part in parts_of("a" * 4096)] == [4095, 1]


def test_what_json_writes_longer_leaves_no_scraps_between_the_parts() -> None:
    lengths = [len(part.encode()) for part in parts_of('ä🫖"\\ ' * 2500)]
    assert len(lengths) == 7
    assert min(lengths[:-1]) > 3_500


def test_a_title_is_one_short_line() -> None:
    assert title_of("two\n lines") == "two lines"
    assert len(title_of("ü" * 500).encode()) <= 250
