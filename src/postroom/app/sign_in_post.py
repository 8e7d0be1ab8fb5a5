"""Who sends the links by which people sign in."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from postroom.app.store import OpenedStore
from postroom.domain.ids import IdMint
from postroom.system.clock import SystemClock
from postroom.system.loop import Loops
from postroom.system.signal import Signal
from postroom.work.delivery.plane import Plane
from postroom.work.people.sign_in_links import SignInPost
from postroom.world.store.people.sign_in_links import StoredSignInLinks


@asynccontextmanager
async def sending_links(
    store: OpenedStore, plane: Plane, mint: IdMint, base_url: str, due: Signal, loops: Loops
) -> AsyncIterator[None]:
    """Runs where the delivery plane runs."""
    post = SignInPost(
        queue=StoredSignInLinks(store.database, mint.mint),
        outbound=plane,
        channels=plane.known_channels.get,
        clock=SystemClock(),
        base_url=base_url,
    )
    async with loops.running("sign_in_links", post.look, wake=due):
        yield
