"""The MCP conformance program against a butler and the assistants' port, in both eras of the protocol."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.agents.connect.conformance import MISSING, conformance, with_token
from tests.agents.connect.real_clients import real_client
from tests.questions.askers import Askers, askers

from postroom.kernel.values.principal import OPERATOR

EXCUSED = {check for checks in MISSING.values() for check in checks}
ERAS = ("2025-11-25", "2026-07-28")


@pytest.mark.requirement("connect:conformance")
async def test_all_that_it_asks_of_a_product_passes_and_nothing_is_excused_in_vain(tmp_path: Path) -> None:
    real_client("conformance")
    failed: set[str] = set()
    async with askers(tmp_path / "home") as house:
        runs = [(part, era) for part in ("api", "health") for era in ERAS]
        every = await asyncio.gather(*(_checked(house, *run, tmp_path.joinpath(*run)) for run in runs))
    for run, found in zip(runs, every, strict=True):
        wrong = {check for check, status in found.items() if status == "FAILURE"}
        assert wrong <= EXCUSED, (run, wrong - EXCUSED)
        assert sum(status == "SUCCESS" for status in found.values()) >= 12, run
        failed |= wrong

    assert failed == EXCUSED


async def _checked(house: Askers, part: str, era: str, folder: Path) -> dict[str, str]:
    port = int(house.line.url(part).rpartition(":")[2])
    async with with_token(port, house.token(OPERATOR)) as url:
        return await conformance(url, era, folder)
