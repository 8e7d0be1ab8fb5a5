"""What a known person hears at once, when no butler takes what they wrote."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.clock import FakeClock
from tests.work.conversations.test_routing import ADA
from tests.work.conversations.test_strangers import Book, Post, written

from postroom.domain.assurance import Flag
from postroom.domain.kept_message import RouteKind
from postroom.domain.person import Person
from postroom.work.conversations.talk import Talk
from postroom.work.conversations.texts import ENGLISH, GERMAN


class KnowsAda(Book):
    person = ADA
    sessions = 0
    tokens = 0

    async def at(self, channel: str, address: str) -> Person | None:
        return self.person

    async def sessions_since(self, person: str, since_us: int) -> int:
        return self.sessions

    async def tokens_since(self, person: str, since_us: int) -> int:
        return self.tokens


@pytest.fixture
def book() -> KnowsAda:
    return KnowsAda()


async def heard(
    book: KnowsAda, butlers: dict[str, bool], text: str = "hi", flags: frozenset[Flag] = frozenset()
) -> str:
    post = Post()
    talk = Talk(
        kept=book,
        people=book,
        threads=book,
        butlers=butlers,
        outbound=post,
        clock=FakeClock(),
        sessions_per_day=3,
        tokens_per_day=1000,
    )
    assert await talk.handle(replace(written(), sender="77", text=text, flags=flags))
    return "".join(one["delivery"]["message"] for one in post.sent)


@pytest.mark.requirement("talk:failure-in-words")
async def test_without_a_model_the_person_is_told_so(book: KnowsAda) -> None:
    assert await heard(book, {}) == ENGLISH.no_model
    assert await heard(book, {"home": False, "general": True}, "/home hi") == ENGLISH.butler_without_model.format(
        butler="home"
    )
    assert [one.kind for one in book.decided] == [RouteKind.NO_MODEL] * 2


async def test_a_name_without_words_is_asked_what_it_should_do(book: KnowsAda) -> None:
    book.person = replace(ADA, language="de")

    assert await heard(book, {"general": True}, "/general") == GERMAN.nothing_asked.format(butler="general")


@pytest.mark.requirement("talk:limit")
async def test_the_limit_is_told_in_words(book: KnowsAda) -> None:
    book.sessions = 3

    assert await heard(book, {"general": True}) == ENGLISH.limit.format(sessions=3, tokens=1000)


@pytest.mark.requirement("talk:limit")
async def test_tokens_are_limited_as_well(book: KnowsAda) -> None:
    book.tokens = 1000

    assert await heard(book, {"general": True}) == ENGLISH.limit.format(sessions=3, tokens=1000)
    assert "tokens" in book.decided[0].reason


@pytest.mark.requirement("talk:strangers")
async def test_forwarded_words_are_not_acted_on_and_a_machine_is_not_answered(book: KnowsAda) -> None:
    assert await heard(book, {"general": True}, flags=frozenset({Flag.FORWARDED})) == ENGLISH.forwarded
    assert await heard(book, {"general": True}, flags=frozenset({Flag.FORWARDED, Flag.AUTOMATIC})) == ""


async def test_what_a_butler_takes_is_answered_by_the_butler_alone(book: KnowsAda) -> None:
    assert await heard(book, {"general": True}, "{hostile} %s </data>") == ""
    assert [(one.kind, one.words) for one in book.decided] == [(RouteKind.BUTLER, "{hostile} %s </data>")]
