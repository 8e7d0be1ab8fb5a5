"""A dry run meets the same channel as the real one, and survives it as well."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.clock import FakeClock
from tests.work.delivery.world import Parts, generous, living_world

from postroom.domain.delivery import Message
from postroom.work.delivery.dry_run import DryRun


async def test_a_channel_that_stumbles_is_told_without_the_words_it_stumbled_over(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(message: Message) -> Sequence[Any]:
        raise RuntimeError(message.text)

    async with living_world(tmp_path / "p.db", clock, Parts(policy=generous())) as world:
        monkeypatch.setattr(world.telegram, "prepare", stumble)
        path = world.plane.acceptance
        dry_run = DryRun(acceptance=path, known_channels=world.plane.known_channels, clock=clock, mint=path.mint)
        delivery = {"intent": "send", "channel": "telegram", "message": "a secret", "recipient": "1000"}

        told = await dry_run.run({"schema_version": "notify.v1", "origin_butler": "health", "delivery": delivery})

        assert told["would_be_admitted"] is False
        assert told["refusal"]["class"] == "internal_error"
        assert "secret" not in str(told)
        assert [type(bug) for bug in world.tally.bugs] == [RuntimeError]
