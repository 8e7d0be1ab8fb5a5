"""The machines get a newer version one after the other, under load; the first of the new ones migrates."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Final

from chaos.machines.site import site
from chaos.machines.trial import Trial, trial
from chaos.scenario import About, NotPermitted, Result, Scenario, World

_BASELINE: Final = "src/postroom/kernel/database/migrations/versions/m0109_baseline.py"
"""The former version is the one that brought it: every other migration is newer."""
_TREE: Final = Path(__file__).parents[2]
_SECONDS: Final = 60.0


async def upgrade(world: World) -> Result:
    asked = world.sized(5, 1)

    async def happening(one: Trial) -> None:
        door, first, second = one.place.stands
        for stand, others in ((first, (door, second)), (second, (door, first)), (door, (first, second))):
            one.complaints += await one.place.stop_one(stand)
            await one.place.start_one(stand)
            await one.goes_on()  # the others are still of the former version
            one.ask(asked, others)

    with tempfile.TemporaryDirectory(prefix="postroom-chaos-", ignore_cleanup_errors=True) as folder:
        revision = _ran("git", "-C", str(_TREE), "log", "-1", "--diff-filter=A", "--format=%h", "--", _BASELINE)
        former = _taken_out(revision, Path(folder))
        async with site(world, "upgrade") as place:
            await place.start(former)
            return await trial(place, happening, more=world.sized(100, 20), note=f"3 machines, from {revision}")


def _taken_out(revision: str, folder: Path) -> Path:
    """The former version's sources, as history has them."""
    packed = str(folder / "former.tar")
    _ran("git", "-C", str(_TREE), "archive", "--output", packed, revision, "src")
    _ran("tar", "-C", str(folder), "-xf", packed)
    return folder


def _ran(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except FileNotFoundError:
        raise NotPermitted(f"the program {command[0]} is not here") from None
    if done.returncode != 0:
        raise NotPermitted(f"the former version is not in the history here: {done.stderr.strip()[:200]}")
    return done.stdout.strip()


SCENARIOS: Final = [
    Scenario(
        name="machines-upgrade",
        what="machines upgraded one after the other under load, the first one migrates",
        run=upgrade,
        in_short=False,
        about=About.MACHINES,
        about_seconds=150.0,
    )
]
