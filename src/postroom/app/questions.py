"""Put questions together: what the doors call, and what runs beside the delivery plane."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from postroom.app.address_book import stored_people
from postroom.app.channels import known_channels, usable_channels
from postroom.app.household_key import household_key
from postroom.app.question_people import HouseholdAsked
from postroom.domain.ids import IdMint
from postroom.domain.ports import Clock
from postroom.system.settings import Settings
from postroom.work.questions.asking import Asking
from postroom.work.questions.bells import Bells
from postroom.work.questions.links import Links
from postroom.work.questions.places import ChannelAbility, Channels
from postroom.work.questions.planning import Planning
from postroom.work.questions.questions import Questions
from postroom.world.store.engine.database import Database
from postroom.world.store.questions.presentations import StoredPresentations
from postroom.world.store.questions.questions import StoredQuestions
from postroom.world.store.questions.seal import Seal

_ABILITIES: Final = {
    "telegram": ChannelAbility(buttons=True, edits=True, inbound=True, threads=True),
    "email": ChannelAbility(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AskingParts:
    """One set for a process: those who wait hear of every commit made with it."""

    asking: Asking
    links: Links
    questions: Questions
    bells: Bells
    store: StoredQuestions
    presentations: StoredPresentations
    planning: Planning
    token_key: bytes


def build_asking(settings: Settings, database: Database, clock: Clock, mint: IdMint) -> AskingParts:
    bells = Bells()
    store = StoredQuestions(database, Seal(household_key(settings.home, "secret answers")))
    presentations = StoredPresentations(database, mint.mint)
    people = HouseholdAsked(book=stored_people(database, mint))
    questions = Questions(store, clock, changed=bells.ring)
    planning = Planning(plans=presentations, people=people, channels=abilities(settings), clock=clock)
    return AskingParts(
        asking=Asking(questions=questions, store=store, planning=planning, bells=bells, clock=clock, mint=mint.mint),
        links=Links(questions=questions, store=store, cards=presentations, people=people, clock=clock, mint=mint.mint),
        questions=questions,
        bells=bells,
        store=store,
        presentations=presentations,
        planning=planning,
        token_key=household_key(settings.home, "buttons"),
    )


def abilities(settings: Settings) -> Channels:
    """Of every channel that may be named; those without credentials cannot be shown on."""
    usable = usable_channels(settings)
    known = {name: _ABILITIES.get(name, ChannelAbility()) for name in sorted(known_channels(settings))}
    return {name: replace(ability, configured=name in usable) for name, ability in known.items()}
