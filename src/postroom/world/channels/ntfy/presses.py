"""
What was posted to the topic for answers, as presses; each once for those who go on from the position given with it.

A position is a moment by the server's clock, in microseconds, and always beyond the last one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from postroom.domain.assurance import Assurance
from postroom.domain.inbound_message import Listened, Press
from postroom.domain.time import SECOND_US
from postroom.world.channels.ntfy.actions import read_pressed

_OVERLAP_SECONDS: Final = 10  # a server may keep two messages in another order than it dates them
EVERYTHING: Final = "all"


def since(position: int | None) -> str:
    """From where to read, so that nothing is missed."""
    return EVERYTHING if position is None else str(max(0, position // SECOND_US - _OVERLAP_SECONDS))


class Presses:
    """Remembers what it has handed out in the last seconds, and with which position."""

    def __init__(self, channel: str, assurance: Assurance) -> None:
        self._channel = channel
        self._assurance = assurance
        self._given: dict[str, int] = {}

    def heard(self, position: int | None, told: Iterable[Mapping[str, Any]], *, everything: bool = True) -> Listened:
        new = self._new(position, told)
        if not new:
            return Listened(everything=everything)
        newest = max(_second(event) for event in new.values()) * SECOND_US
        reached = max(newest, 0 if position is None else position + 1)
        self._remember(new, reached)
        presses = [press for name, event in new.items() if (press := self._press(name, event)) is not None]
        return Listened(events=presses, position=reached, everything=everything)

    def has_new(self, position: int | None, told: Iterable[Mapping[str, Any]]) -> bool:
        return bool(self._new(position, told))

    def _new(self, position: int | None, told: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
        return {name: event for event in told if (name := _name(event)) and not self._is_handled(name, position)}

    def _is_handled(self, name: str, position: int | None) -> bool:
        """Asking with a position says that what came with it is handled; of what came later it says nothing."""
        return position is not None and name in self._given and self._given[name] <= position

    def _remember(self, new: Iterable[str], reached: int) -> None:
        oldest = reached - 2 * _OVERLAP_SECONDS * SECOND_US
        kept = {name: given for name, given in self._given.items() if given >= oldest}
        self._given = kept | dict.fromkeys(new, reached)

    def _press(self, name: str, event: Mapping[str, Any]) -> Press | None:
        pressed = read_pressed(str(event.get("message", "")))
        if pressed is None:
            return None
        token, topic = pressed
        return Press(
            channel=self._channel,
            event_id=f"press:{name}",
            callback_id=name,
            places=(topic,),
            sender=topic,
            token=token,
            assurance=self._assurance,
        )


def _name(event: Mapping[str, Any]) -> str | None:
    name = event.get("id")
    return name if event.get("event") == "message" and isinstance(name, str) and name else None


def _second(event: Mapping[str, Any]) -> int:
    moment = event.get("time")
    return moment if isinstance(moment, int) and not isinstance(moment, bool) else 0
