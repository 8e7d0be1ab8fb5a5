"""What was stored and never decided, because we died in between and the provider does not bring it again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from postroom.domain.clock import Clock
from postroom.domain.time import seconds
from postroom.work.conversations.inbound import Handler, hand_over
from postroom.work.conversations.kept import KeepsMessages

AGE_SECONDS: Final = 60.0  # until then it may be in hand


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    kept: KeepsMessages
    handlers: Sequence[Handler]
    clock: Clock

    async def look(self) -> int:
        """Each goes to the same handlers, in the same order, as if it had come now."""
        for one in await self.kept.undecided(self.clock.now_us() - seconds(AGE_SECONDS)):
            await hand_over(one.message, self.handlers, one.message.channel)
        return self.clock.now_us() + seconds(AGE_SECONDS)
