"""What the tests of deliveries share: an empty database of either kind, and a plane on a clock the test turns."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.clock import FakeClock
from tests.delivery.world import Parts, World, generous, living_world


@pytest.fixture
async def world(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[World]:
    """No limit is in the way, unless a test says otherwise, as `@pytest.mark.policy(slots_per_channel=1)`."""
    own = request.node.get_closest_marker("policy")
    policy = generous(**(own.kwargs if own else {}))
    async with living_world(tmp_path / "postroom.db", clock, Parts(policy=policy)) as one:
        yield one
