"""What people write in rooms of Matrix is heard once and whole, whatever the homeserver shows of it first."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.channels.matrix.case import NOW, TOKEN
from tests.channels.matrix.person import AT_MS, PERSON, ROOM, US, Homeserver, event_named

from postroom.channels.matrix.channel import Matrix
from postroom.kernel.values.errors import TargetUnavailable
from postroom.message.inbound import InboundMessage
from postroom.testing import HttpProvider, raw_reply, reply

PLACE = "/_matrix/client/v1/media/download/elsewhere.example:8448/Ab_c-1"
GROUP = "!group:example.org"
DAY_MS = 24 * 3600 * 1_000


@pytest.fixture
def home() -> Homeserver:
    return Homeserver()


@pytest.fixture
async def server(home: Homeserver) -> AsyncIterator[HttpProvider]:
    async with HttpProvider(aside=home.answer) as provider:
        yield provider


def listener(server: HttpProvider, tmp_path: Path, **options: Any) -> Matrix:
    return Matrix(
        "matrix", f"http://127.0.0.1:{server.port}", TOKEN, places=tmp_path / "matrix.json", now=lambda: NOW, **options
    )


@pytest.fixture
async def channel(server: HttpProvider, tmp_path: Path) -> AsyncIterator[Matrix]:
    made = listener(server, tmp_path)
    yield made
    await made.close()


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"msgtype": "m.text", "body": words, **more}


async def heard(channel: Matrix, position: int | None = None) -> list[InboundMessage]:
    return [one for one in (await channel.listen(position, 0.1)).events if isinstance(one, InboundMessage)]


async def test_words_between_two_are_known_by_the_room_and_by_who_wrote_them(channel: Matrix, home: Homeserver) -> None:
    name = home.say(text("Is there tea?"))

    (one,) = await heard(channel)

    assert (one.text, one.author, one.places, one.alone) == ("Is there tea?", PERSON, (ROOM, PERSON), True)
    assert (one.thread_identity, one.said_at_us) == (f"{ROOM}:{name}", AT_MS * 1_000)


async def test_among_others_words_are_for_us_when_they_name_us(channel: Matrix, home: Homeserver) -> None:
    home.rooms[GROUP] = {US, PERSON, "@eve:example.org"}
    home.say(text("Hello all"), room=GROUP)
    home.say(text("Hello you", **{"m.mentions": {"user_ids": [US]}}), room=GROUP)

    first, second = await heard(channel)

    assert [(one.alone, one.addressed, one.places) for one in (first, second)] == [
        (False, False, (GROUP,)),
        (False, True, (GROUP,)),
    ]


async def test_an_answer_names_what_it_answers_and_is_without_its_quote(channel: Matrix, home: Homeserver) -> None:
    relation = {"m.in_reply_to": {"event_id": event_named(77)}}
    home.say(text(f"> <{US}> Shall I?\n> Really?\n\nYes, do", **{"m.relates_to": relation}))
    home.say(text("> a quote of my own\n\nYes"))

    first, second = await heard(channel)

    assert (first.text, first.replies_to) == ("Yes, do", event_named(77))
    assert (second.text, second.replies_to) == ("> a quote of my own\n\nYes", None)


async def test_what_says_nothing_is_not_heard(channel: Matrix, home: Homeserver) -> None:
    home.say(text("ours"), sender=US)
    home.say(text("* mended", **{"m.relates_to": {"rel_type": "m.replace", "event_id": event_named(1)}}))
    home.say({})
    home.say({"msgtype": "m.text", "body": 7})
    home.say(text("nobody"), sender="nobody")
    home.say({"msgtype": "m.image", "body": "cat.jpg", "url": "mxc://example.org/cat"})
    home.say(text("kettle"))

    events = await heard(channel)

    assert [one.text for one in events] == [None, "kettle"], "the name of a file is nobody's words"


async def test_a_file_comes_by_way_of_our_homeserver_with_the_words_beside_it(
    channel: Matrix, server: HttpProvider, home: Homeserver
) -> None:
    picture = {"msgtype": "m.image", "url": "mxc://elsewhere.example:8448/Ab_c-1", "info": {"size": 3}}
    home.say({**picture, "body": "The invoice", "filename": "invoice.jpg"})
    home.say({"msgtype": "m.file", "body": "secret.pdf", "file": {"url": "mxc://example.org/e2ee"}})
    first, second = await heard(channel)

    server.aside = lambda request: raw_reply(200, b"jpg") if request.path.endswith(PLACE) else reply(404, {})
    (brought,), (encrypted,) = await channel.bring_files(first, 10.0), await channel.bring_files(second, 10.0)

    assert (first.text, brought.name, brought.content) == ("The invoice", "invoice.jpg", b"jpg")
    assert (second.text, encrypted.content) == (None, None) and "encrypted" in encrypted.problem
    assert server.asides[-1].headers["authorization"] == f"Bearer {TOKEN}"


async def test_history_of_a_room_that_we_come_into_is_no_news(channel: Matrix, home: Homeserver) -> None:
    home.say(text("long ago"), at_ms=AT_MS - 2 * DAY_MS)
    home.say(text("a while ago"), at_ms=AT_MS - DAY_MS // 2)

    assert [one.text for one in await heard(channel)] == ["a while ago"]


async def test_what_a_look_leaves_out_is_read_page_by_page(channel: Matrix, home: Homeserver) -> None:
    words = [f"word {number}" for number in range(9)]
    home.shows = 3
    for one in words:
        home.say(text(one))

    assert [one.text for one in await heard(channel)] == words


async def test_a_restart_goes_on_where_it_was_and_asks_for_nothing_older(
    channel: Matrix, server: HttpProvider, home: Homeserver, tmp_path: Path
) -> None:
    home.say(text("before"))
    position = (await channel.listen(None, 0.1)).position
    home.say(text("while we were away"))
    again = listener(server, tmp_path)

    assert [one.text for one in await heard(again, position)] == ["while we were away"]
    await again.close()


async def test_where_the_place_is_not_known_the_last_day_is_heard_under_the_same_ids(
    channel: Matrix, server: HttpProvider, home: Homeserver, tmp_path: Path
) -> None:
    home.say(text("before"))
    first = await channel.listen(None, 0.1)
    home.say(text("after"))
    elsewhere = listener(server, tmp_path / "another machine")
    then = await elsewhere.listen(first.position, 0.1)
    await elsewhere.close()

    assert then.events[0].event_id == first.events[0].event_id
    assert len(then.events) == 2 and (then.position or 0) > (first.position or 0)


async def test_an_invitation_is_followed_unless_the_settings_say_otherwise(
    channel: Matrix, server: HttpProvider, home: Homeserver, tmp_path: Path
) -> None:
    home.rooms[GROUP], home.invited[GROUP] = {PERSON}, {US}
    shy = listener(server, tmp_path, join_invited=False)
    await shy.listen(None, 0.1)
    await shy.close()
    assert US not in home.rooms[GROUP]

    await channel.listen(None, 0.1)
    assert US in home.rooms[GROUP]
    assert home.direct[PERSON] == [GROUP, ROOM], "a chat that a person begins is the one they are written to in"


async def test_an_answer_of_no_homeserver_is_trouble_and_no_silence(channel: Matrix, server: HttpProvider) -> None:
    server.aside = lambda request: reply(200, {"hello": "world"})

    with pytest.raises(TargetUnavailable):
        await channel.listen(None, 0.1)
