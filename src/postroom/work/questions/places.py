"""Where a person is shown a question: on each of their channels, or why not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from postroom.domain.errors import FieldError, ValidationError
from postroom.domain.nearest import did_you_mean
from postroom.domain.person import Person
from postroom.domain.presentation import PlannedPresentation
from postroom.work.questions.judge import CONSOLE, PRIVATE

NO_CHANNEL: Final = "no channel is set up; the question waits in the console"
GONE: Final = "this person is no longer known"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelAbility:
    """
    What a card on this channel can have; `configured` when there are credentials for it.

    `most_buttons`: how many at the most. `replies`: words can be written back there, beside what is pressed.
    `opens`: a press beside the buttons opens a page.
    """

    buttons: bool = False
    most_buttons: int | None = None
    edits: bool = False
    inbound: bool = False
    replies: bool = True
    threads: bool = False
    opens: bool = False
    configured: bool = True


Channels = Mapping[str, ChannelAbility]


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """
    When a question comes to a person's further channels, as long as no one has answered.

    `steps` are the person's own wish: channels, each so long after the one before; the others follow them.
    """

    seconds: float
    steps: Sequence[tuple[str | None, float]] = ()

    def after(self, channels: Sequence[str]) -> dict[str, float]:
        """Of these, the first of which is shown at once."""
        found, passed = dict.fromkeys(channels[:1], 0.0), 0.0
        for channel, gap in self.steps:
            passed += gap
            if channel is not None and channel in channels:
                found.setdefault(channel, passed)
        for channel in channels:
            if channel not in found:
                passed += self.seconds
                found[channel] = passed
        return found

    def gap(self, channel: str) -> float:
        """How long the one before it has the person's attention to itself."""
        return next((gap for name, gap in self.steps if name == channel), self.seconds)


ALL_AT_ONCE: Final = Turns(seconds=0)


def refuse_unknown_channels(wished: Sequence[str] | None, channels: Channels) -> None:
    """Raises ValidationError on `channels`; console and desk are always there."""
    known = {*channels, *PRIVATE}
    for name in wished or ():
        if name not in known:
            error = f"there is no channel “{name}”{did_you_mean(name, known)}"
            raise ValidationError.of([FieldError("channels", error, "unknown_channel")])


def places(
    person: Person, wished: Sequence[str] | None, channels: Channels, turns: Turns = ALL_AT_ONCE
) -> list[PlannedPresentation]:
    """
    One for each channel: on those that were named at once, on the person's own one after the other.

    Console and desk need no card: whatever is open is seen there.
    """
    if wished is not None:
        return [_place(person, name, channels) for name in wished if name not in PRIVATE]
    own = list(dict.fromkeys(one.channel for one in sorted(person.addresses, key=lambda one: one.rank)))
    names = own or [name for name, ability in channels.items() if ability.configured]
    found = [_place(person, name, channels) for name in names] or [nowhere(person.id, NO_CHANNEL)]
    after = turns.after([one.channel for one in found if one.failure is None])
    return [replace(one, after_seconds=after.get(one.channel, 0)) for one in found]


def nowhere(person_id: str, reason: str) -> PlannedPresentation:
    return PlannedPresentation(person_id=person_id, channel=CONSOLE, address="", failure=reason)


def _place(person: Person, channel: str, channels: Channels) -> PlannedPresentation:
    address, ability = person.address_on(channel), channels.get(channel)
    failure = None
    if ability is None or not ability.configured:
        failure = f"{channel} is not set up"
    elif address is None:
        failure = f"no address on {channel}"
    return PlannedPresentation(person_id=person.id, channel=channel, address=address or "", failure=failure)
