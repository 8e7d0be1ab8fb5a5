from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

import pytest
from tests.patience import PATIENCE_SECONDS
from tests.people.conftest import Shelf

from postroom.kernel.values.errors import Code, Refused
from postroom.kernel.values.principal import HOUSEHOLD_OWNER
from postroom.people.model import DecisionMode, MatchType, Person, Resolution
from postroom.people.names.normalise import keys_of
from postroom.people.names.resolve import TOKEN_SECONDS, Concerned
from postroom.people.person_rules import new_contact


async def asked(shelf: Shelf, query: str) -> Resolution:
    return await shelf.resolver.resolve(HOUSEHOLD_OWNER, query)


async def confirm(shelf: Shelf, query: str, token: str | None = None, address: str | None = None) -> None:
    await shelf.resolver.confirm(HOUSEHOLD_OWNER, query, token=token, address=address, by_person=False)


async def renamed(shelf: Shelf, contact: Person, name: str, telegram: str | None) -> None:
    new = new_contact(name=name, telegram_chat_id=telegram)
    await shelf.contacts.change(HOUSEHOLD_OWNER, contact.id, lambda _: new, now_us=shelf.clock.now_us())


async def test_an_address_is_certain_whatever_the_book_says(shelf: Shelf) -> None:
    bob = await shelf.add("Bob Miller", email="Bob@Example.org")

    for words in (bob.agent_address, bob.agent_address.upper(), "BOB@example.org"):
        found = await asked(shelf, words)
        assert (found.match_type, found.chosen and found.chosen.agent_address) == (
            MatchType.EXPLICIT,
            bob.agent_address,
        )
    assert (await asked(shelf, "agent://elsewhere/somebody")).resolved
    assert (await asked(shelf, "agent://contact/nobody")).decision_mode is DecisionMode.CONTACT_NOT_FOUND


async def test_a_likely_name_is_offered_and_confirmed_under_its_token(shelf: Shelf) -> None:
    maria = await shelf.add("Maria Rossi", telegram="2002")
    offered = await asked(shelf, "Marta Rossi")
    assert offered.decision_mode is DecisionMode.NEEDS_CONFIRMATION

    await confirm(shelf, "Marta Rossi", offered.resolution_token)

    known = await asked(shelf, "marta  rossi")
    assert (known.match_type, known.chosen and known.chosen.agent_address) == (MatchType.MEMORY, maria.agent_address)


async def test_a_token_works_once(shelf: Shelf) -> None:
    await shelf.add("Maria Rossi")
    offered = await asked(shelf, "Marta Rossi")
    await confirm(shelf, "Marta Rossi", offered.resolution_token)

    with pytest.raises(Refused) as refused:
        await confirm(shelf, "Marta Rossi", offered.resolution_token)

    assert refused.value.code is Code.RESOLUTION_EXPIRED


async def test_a_token_expires(shelf: Shelf) -> None:
    await shelf.add("Maria Rossi")
    offered = await asked(shelf, "Marta Rossi")

    await shelf.clock.advance(TOKEN_SECONDS + 1)

    with pytest.raises(Refused):
        await confirm(shelf, "Marta Rossi", offered.resolution_token)


async def test_a_token_is_for_its_own_words_and_owner(shelf: Shelf) -> None:
    await shelf.add("Maria Rossi")
    token = (await asked(shelf, "Marta Rossi")).resolution_token

    with pytest.raises(Refused):
        await confirm(shelf, "Mario Rossi", token)
    with pytest.raises(Refused):
        await shelf.resolver.confirm("agent://user/eve", "Marta Rossi", token=token, by_person=False)


async def test_of_several_candidates_the_token_says_which(shelf: Shelf) -> None:
    await shelf.add("Anna Kovács")
    schmidt = await shelf.add("Anna Schmidt")
    offered = await asked(shelf, "Anna")
    assert offered.decision_mode is DecisionMode.NEEDS_DISAMBIGUATION
    with pytest.raises(Refused):
        await confirm(shelf, "Anna", offered.resolution_token)  # which of them?
    token = next(one.resolution_token for one in offered.candidates if one.agent_address == schmidt.agent_address)

    await confirm(shelf, "Anna", token)

    found = await asked(shelf, "Anna")
    assert found.chosen is not None and found.chosen.agent_address == schmidt.agent_address


@pytest.mark.parametrize("what", ["moved", "lost the name", "deleted"])
async def test_a_contact_that_changed_since_it_was_shown_is_refused(shelf: Shelf, what: str) -> None:
    maria = await shelf.add("Maria Rossi", telegram="2002")
    offered = await asked(shelf, "Marta Rossi")

    if what == "deleted":
        await shelf.contacts.delete(HOUSEHOLD_OWNER, maria.id)
    else:
        await renamed(
            shelf, maria, "Maria Rossi" if what == "moved" else "Maria Bianchi", "666" if what == "moved" else "2002"
        )

    with pytest.raises(Refused) as refused:
        await confirm(shelf, "Marta Rossi", offered.resolution_token)
    assert refused.value.code is Code.RESOLUTION_STALE
    assert not (await asked(shelf, "Marta Rossi")).resolved


@pytest.mark.parametrize("what", ["moved", "lost the name", "better match", "deleted"])
async def test_memory_is_dropped_when_it_may_be_wrong(shelf: Shelf, what: str) -> None:
    maria = await shelf.add("Maria Rossi", telegram="2002")
    await confirm(shelf, "Marta Rossi", (await asked(shelf, "Marta Rossi")).resolution_token)
    assert (await asked(shelf, "Marta Rossi")).match_type is MatchType.MEMORY

    match what:
        case "moved":
            await renamed(shelf, maria, "Maria Rossi", "666")
        case "lost the name":
            await renamed(shelf, maria, "Maria Bianchi", "2002")
        case "deleted":
            await shelf.contacts.delete(HOUSEHOLD_OWNER, maria.id)
        case _:
            marta = await shelf.add("Marta Rossi", telegram="2009")

    found = await asked(shelf, "Marta Rossi")
    assert found.match_type is not MatchType.MEMORY
    if what == "better match":
        assert found.chosen is not None and found.chosen.agent_address == marta.agent_address
    else:
        assert not found.resolved


async def test_memory_survives_what_does_not_concern_it(shelf: Shelf) -> None:
    await shelf.add("Maria Rossi", telegram="2002")
    await confirm(shelf, "Marta Rossi", (await asked(shelf, "Marta Rossi")).resolution_token)

    await shelf.add("Zoltan Nagy")

    assert (await asked(shelf, "Marta Rossi")).match_type is MatchType.MEMORY


async def test_a_second_bearer_of_a_remembered_name_makes_it_a_question_again(shelf: Shelf) -> None:
    bob = await shelf.add("Bob")
    await confirm(shelf, "Bob", address=bob.agent_address)

    await shelf.add("Bob")

    assert (await asked(shelf, "Bob")).decision_mode is DecisionMode.NEEDS_DISAMBIGUATION


async def test_without_a_token_only_somebody_the_words_could_mean_is_remembered(shelf: Shelf) -> None:
    await shelf.add("Maria Rossi")
    mallory = await shelf.add("Mallory Black")

    with pytest.raises(Refused):
        await confirm(shelf, "Marta Rossi", address=mallory.agent_address)

    assert not (await asked(shelf, "Marta Rossi")).resolved


async def test_a_person_may_say_whom_any_words_mean(shelf: Shelf) -> None:
    maria = await shelf.add("Maria Rossi")

    memory = await shelf.resolver.confirm(HOUSEHOLD_OWNER, "mum", address=maria.agent_address, by_person=True)

    assert (await asked(shelf, "Mum")).match_type is MatchType.MEMORY
    assert [one.id for one in await shelf.memory.listed(HOUSEHOLD_OWNER, after=None, limit=9)] == [memory.id]
    assert await shelf.memory.forget(HOUSEHOLD_OWNER, memory.id)
    assert not (await asked(shelf, "Mum")).resolved


async def test_the_same_choice_again_is_counted(shelf: Shelf) -> None:
    maria = await shelf.add("Maria Rossi")
    confirm_again = partial(shelf.resolver.confirm, HOUSEHOLD_OWNER, "mum", address=maria.agent_address, by_person=True)
    await confirm_again()

    assert (await confirm_again()).confirm_count == 2


async def test_nobody_is_found_in_another_owners_book(shelf: Shelf) -> None:
    await shelf.add("Bob", owner="agent://user/eve")

    assert (await asked(shelf, "Bob")).decision_mode is DecisionMode.CONTACT_NOT_FOUND


class Paused(tuple[str, ...]):
    """Consonants that are looked at only when somebody lets the search go on."""

    def __init__(self, _consonants: Iterable[str]) -> None:
        self.looked_at, self.go_on = threading.Event(), threading.Event()

    def __iter__(self) -> Iterator[str]:
        self.looked_at.set()
        assert self.go_on.wait(PATIENCE_SECONDS)
        return super().__iter__()


async def test_a_book_does_not_change_under_a_search(shelf: Shelf) -> None:
    everybody = [new_contact(name=f"Mario {one}") for one in range(600)]
    await shelf.contacts.keep_in_step(HOUSEHOLD_OWNER, everybody, now_us=1)
    resolver = shelf.resolver
    keys = keys_of("Maria")
    consonants = Paused(keys.skeletons)

    searching = asyncio.create_task(resolver.search(HOUSEHOLD_OWNER, replace(keys, skeletons=consonants), 1))
    assert await asyncio.to_thread(consonants.looked_at.wait, PATIENCE_SECONDS)
    await shelf.contacts.keep_in_step(HOUSEHOLD_OWNER, [], now_us=2)
    catching_up = asyncio.create_task(resolver.search(HOUSEHOLD_OWNER, keys, 2))
    for _ in range(10):
        await asyncio.sleep(0)
    consonants.go_on.set()

    assert await searching
    assert await catching_up == []


# Which addresses the words of a search stand for.


@pytest.fixture
async def concerned(shelf: Shelf) -> Concerned:
    await shelf.add("Łucja Martin", "Grandma", email="Lucja@Example.org", telegram="4711")
    return Concerned(book=shelf.contacts)


async def test_a_name_stands_for_all_addresses_of_its_person(concerned: Concerned) -> None:
    assert sorted(await concerned.places("lucja")) == ["email:lucja@example.org", "telegram:4711"]


async def test_words_inside_a_name_or_an_address_stand_for_nobody(concerned: Concerned) -> None:
    for words in ("art", "4711", "  "):
        assert await concerned.places(words) == [], words


async def test_a_name_of_very_many_people_stays_bounded(shelf: Shelf) -> None:
    everybody = [new_contact(name=f"Lucja {one}") for one in range(120)]
    await shelf.contacts.keep_in_step(HOUSEHOLD_OWNER, everybody, now_us=1)

    assert len(await Concerned(book=shelf.contacts).people("lucja")) == 20
