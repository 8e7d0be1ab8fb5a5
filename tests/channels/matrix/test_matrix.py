"""What goes into a room of Matrix: words that are only words, one event however often it is sent, the right room."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from tests.channels.matrix.case import CASE, TOKEN, accepted, connect, parts_of, refused
from tests.channels.matrix.person import PERSON, ROOM, US, Homeserver, event_named

from postroom.channels.matrix.building import address, build
from postroom.channels.matrix.channel import Matrix
from postroom.channels.matrix.kind import MATRIX
from postroom.kernel.values.errors import CredentialsRefused, TargetUnavailable, ValidationError
from postroom.message.delivery import REPEAT_MARK, Format, Intent, Message, ReceiptKind
from postroom.message.markup import Button, Markup, Revision
from postroom.testing import HttpProvider, Place
from postroom.testing.case import message

OTHER = "!other:example.org"
EDIT = Revision(delivery_id=message(CASE).delivery_id, provider_ids=(event_named(1), event_named(2)))


def said(text: str = "Tea is ready", **changes: Any) -> Message:
    return message(CASE, address=ROOM, text=text, **changes)


def contents(given: Message) -> list[dict[str, Any]]:
    return [dict(part.content) for part in build(given)]


@pytest.fixture
def home() -> Homeserver:
    return Homeserver()


@pytest.fixture
async def server(home: Homeserver) -> AsyncIterator[HttpProvider]:
    async with HttpProvider(*(accepted(number) for number in range(1, 100)), aside=home.answer) as provider:
        yield provider


@pytest.fixture
async def channel(server: HttpProvider) -> AsyncIterator[Matrix]:
    made = connect(Place(port=server.port))
    yield made
    await made.close()


async def sent_to(channel: Matrix, server: HttpProvider, to: str) -> str:
    """The room."""
    await channel.send(channel.prepare(replace(said(), address=to))[0], 10.0)
    return parts_of(server.messages[-1])[1]


# Words.


def test_markdown_is_html_in_which_what_was_written_is_only_text() -> None:
    (content,) = contents(
        said("**Tea** <img src=x onerror=alert(1)> [here](https://a.example/?a=1&b=2)", format=Format.MARKDOWN)
    )

    assert content["format"] == "org.matrix.custom.html"
    assert "<strong>Tea</strong> &lt;img" in content["formatted_body"] and "<img" not in content["formatted_body"]
    assert content["body"] == "Tea <img src=x onerror=alert(1)> here (https://a.example/?a=1&b=2)"


def test_plain_words_are_never_read_as_markup_and_ring_for_nobody_who_is_named_in_them() -> None:
    (content,) = contents(said("@room <b>Ada</b>, **now**"))

    assert content == {"msgtype": "m.text", "body": "@room <b>Ada</b>, **now**", "m.mentions": {}}


@pytest.mark.parametrize("letter", ["a", '"', "&", "💛", "\n"])
@pytest.mark.parametrize("style", list(Format))
def test_no_event_is_larger_than_a_homeserver_takes(letter: str, style: Format) -> None:
    text = "x" + letter * 40_000 + "x"
    edit = replace(EDIT, provider_ids=tuple(event_named(number) for number in range(20)))

    for given in (said(text, format=style), said(text, format=style, revises=edit)):
        sizes = [len(json.dumps(content, ensure_ascii=False).encode()) for content in contents(given)]
        assert max(sizes) <= 62_000
        assert "".join(one["body"].strip("* ") for one in contents(said(text, format=style))).count(letter) >= (
            40_000 if letter != "\n" else 0
        )


def test_a_link_stands_below_the_words_and_what_could_only_be_pressed_is_refused() -> None:
    link = Markup(buttons=((Button(label="Decide", url="https://home.example/d"),),))

    assert contents(said("May I?", markup=link))[0]["body"] == "May I?\n\nDecide: https://home.example/d"
    with pytest.raises(ValidationError, match="must be a link"):
        build(said("May I?", markup=Markup(buttons=((Button(label="Yes", token="t0ken"),),))))


def test_a_copy_that_may_be_a_second_one_says_so_at_its_end() -> None:
    assert contents(said(repeated=True))[-1]["body"].endswith(REPEAT_MARK)
    assert contents(said("**Tea**", repeated=True, format=Format.MARKDOWN))[-1]["body"] == REPEAT_MARK


def test_a_longer_edit_goes_on_in_a_message_of_its_own_and_a_shorter_one_takes_the_rest_back() -> None:
    most = MATRIX.max_units or 0
    longer = build(said("word " * (most // 2), revises=EDIT))
    shorter = build(said("Tea", revises=EDIT))
    wordless = said("", revises=EDIT)

    assert [one.act for one in longer] == [ReceiptKind.EDIT, ReceiptKind.EDIT, ReceiptKind.SENT]
    assert [(one.act, one.about) for one in shorter] == [
        (ReceiptKind.EDIT, event_named(1)),
        (ReceiptKind.DELETE, event_named(2)),
    ]
    assert shorter[0].content["m.new_content"]["body"] == "Tea"
    assert len({one.transaction for one in longer}) == 3
    with pytest.raises(ValidationError, match="needs its words"):
        build(wordless)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        (" !abc:example.org ", "!abc:example.org"),
        ("!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM", "!31hneApxJ_1o-63DmFrpeqnkFfWppnzWso1JvH3ogLM"),
        ("@ada:matrix.example.org:8448", "@ada:matrix.example.org:8448"),
        ("@ada:[2001:db8::1]", "@ada:[2001:db8::1]"),
        ("#kitchen:example.org", None),
        ("@ada", None),
        ("!a b:example.org", None),
        ("!../../x:y\n", None),
        ("!" + "a" * 300, None),
    ],
)
def test_an_address_is_a_room_or_a_person(text: str, canonical: str | None) -> None:
    assert address(text) == canonical


def test_a_name_cannot_lead_out_of_its_place_in_the_url() -> None:
    part = build(said(intent=Intent.REPLY, thread="$a/../b"))[0]

    assert part.content["m.relates_to"]["m.in_reply_to"]["event_id"] == "$a/../b"
    assert (
        "/"
        not in build(said(text="", revises=replace(EDIT, deletes=True, provider_ids=("$a/../b",))))[0].path.split(
            "/", 2
        )[1]
    )


# One event, however often it is sent.


async def test_a_reaction_that_stands_there_already_is_done(channel: Matrix, server: HttpProvider) -> None:
    server.behave(refused(400, "M_DUPLICATE_ANNOTATION"))
    given = said("", intent=Intent.REACT, thread=event_named(5), emoji="👍")

    assert (await channel.send(channel.prepare(given)[0], 10.0)).kind is ReceiptKind.REACTION


# The room.


async def test_a_person_is_written_to_in_the_room_that_is_theirs_and_ours(
    channel: Matrix, server: HttpProvider, home: Homeserver
) -> None:
    first, asked = await sent_to(channel, server, PERSON), len(home.asked)
    again = await sent_to(channel, server, PERSON)

    assert (first, again) == (ROOM, ROOM)
    assert len(home.asked) == asked, "asked again for what was known"
    assert all(one.headers.get("authorization") == f"Bearer {TOKEN}" for one in home.asked)


@pytest.mark.parametrize("why", ["unknown", "others are there", "they left", "we left", "encrypted"])
async def test_where_no_room_is_theirs_alone_one_is_made(
    why: str, channel: Matrix, server: HttpProvider, home: Homeserver
) -> None:
    match why:
        case "unknown":
            home.direct = {}
        case "others are there":
            home.rooms[ROOM].add("@eve:example.org")
        case "they left":
            home.rooms[ROOM].discard(PERSON)
        case "we left":
            del home.rooms[ROOM]
        case _:
            home.encrypted.add(ROOM)

    room = await sent_to(channel, server, PERSON)

    assert room != ROOM and home.invited[room] == {PERSON} and home.rooms[room] == {US}
    assert home.direct[PERSON][0] == room
    assert await sent_to(connect(Place(port=server.port)), server, PERSON) == room, "one more was made"


async def test_messages_to_two_people_at_once_make_one_room_for_each(
    channel: Matrix, server: HttpProvider, home: Homeserver
) -> None:
    home.direct, eve = {}, "@eve:example.org"
    parts = [channel.prepare(replace(said(), address=one))[0] for one in (PERSON, eve, PERSON, eve)]

    await asyncio.gather(*(channel.send(part, 10.0) for part in parts))

    assert {person: len(rooms) for person, rooms in home.direct.items()} == {PERSON: 1, eve: 1}


async def test_nothing_is_said_in_the_clear_into_an_encrypted_room(
    channel: Matrix, server: HttpProvider, home: Homeserver
) -> None:
    home.rooms[OTHER] = {US, PERSON}
    home.encrypted.add(OTHER)

    with pytest.raises(ValidationError, match="end-to-end encrypted"):
        await sent_to(channel, server, OTHER)
    assert server.messages == []


async def test_a_homeserver_that_is_away_while_a_room_is_looked_for_has_got_nothing(
    channel: Matrix, server: HttpProvider, home: Homeserver
) -> None:
    home.is_away = True

    with pytest.raises(TargetUnavailable):
        await sent_to(channel, server, PERSON)
    assert server.messages == []


async def test_people_see_that_an_answer_is_being_written(channel: Matrix, home: Homeserver) -> None:
    assert await channel.show_work(ROOM, event_named(1), 10.0)
    await channel.hide_work(ROOM, event_named(1), 10.0)

    assert [one.body["typing"] for one in home.asked if "/typing/" in one.path] == [True, False]


async def test_the_doctor_is_told_who_we_are_and_never_the_token(channel: Matrix, server: HttpProvider) -> None:
    assert await channel.probe(10.0) == US
    assert TOKEN not in repr(channel)
    server.behave(refused(401, "M_UNKNOWN_TOKEN", f"unknown {TOKEN}"))
    with pytest.raises(CredentialsRefused) as caught:
        await sent_to(channel, server, ROOM)
    assert TOKEN not in f"{caught.value!r} {caught.value.provider_response}"


@pytest.mark.parametrize(
    ("homeserver", "token"),
    [
        ("example.org", TOKEN),
        ("https://us:canary@example.org", TOKEN),
        ("https://example.org", "canary token"),
        ("https://example.org", ""),
    ],
)
def test_credentials_that_cannot_be_any_are_refused_without_repeating_them(homeserver: str, token: str) -> None:
    with pytest.raises(ValueError, match=r"homeserver|token") as caught:
        Matrix("matrix", homeserver, token)
    assert "canary" not in str(caught.value)
