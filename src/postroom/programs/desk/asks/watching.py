"""A desk that shows the questions of one person of a household while it runs."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp

from postroom.domain.ids import IdMint
from postroom.programs.desk import drafts
from postroom.programs.desk.asks.board import Board
from postroom.programs.desk.asks.card import draft_folder
from postroom.programs.desk.asks.household import AskingHousehold
from postroom.programs.desk.asks.listening import AskListener
from postroom.programs.desk.asks.only_one import OnlyOne
from postroom.programs.desk.asks.showing import Shower
from postroom.programs.desk.desk import Desk
from postroom.programs.desk.household_address import HouseholdAddress
from postroom.programs.desk.settings import PopupSettings
from postroom.system.clock import SystemClock
from postroom.system.loop import Loops


@asynccontextmanager
async def watching(desk: Desk, settings: PopupSettings, at: HouseholdAddress | None) -> AsyncIterator[None]:
    """Without a household the desk works alone."""
    if at is None:
        yield
        return
    board, clock, only_one = Board(), SystemClock(), OnlyOne(_lock_file(settings, at))
    loops = Loops(clock, lambda _loop, _kind: None)
    async with aiohttp.ClientSession() as http:
        household = AskingHousehold(at, http)
        shower = Shower(
            desk=desk,
            household=household,
            board=board,
            clock=clock,
            mint=IdMint().mint,
            settle_seconds=settings.settle_seconds,
        )

        def forget(ask_id: str) -> None:
            shower.forget(ask_id)
            _discard(draft_folder(settings.drafts, ask_id))

        listener = AskListener(household, board, clock, only_one, forget)
        try:
            async with (
                loops.running("desk.listening", listener.look, cut_off=True),
                loops.running("desk.showing", shower.look, wake=board.changed, cut_off=True),
            ):
                yield
        finally:
            only_one.release()


def _lock_file(settings: PopupSettings, at: HouseholdAddress) -> Path:
    whose = hashlib.sha256(f"{at.url}\0{at.token.reveal()}".encode()).hexdigest()[:16]
    return settings.home / "desk" / f"watching-{whose}"


def _discard(folder: Path) -> None:
    for draft in drafts.waiting(folder):
        drafts.discard(draft.file)
