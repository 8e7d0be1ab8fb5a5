"""Three machines of one household as `docs/how-to/postgresql.md` lays them out, and what they share."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests.services import databases
from tests.services.pgbouncer import PgBouncer
from tests.services.postgres import PostgresServer
from tests.services.redis import RedisServer

from chaos import journal
from chaos.ledger_compare import Comparison, compare
from chaos.ledger_rows import read_rows
from chaos.machines import machine_process
from chaos.machines.machine_process import Start
from chaos.machines.network import Machine, Network, network
from chaos.processes import Child, Overdue
from chaos.provider import Provider
from chaos.rig import Rig
from chaos.scenario import World

_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 40.0
_LOOK_SECONDS: Final = 0.05
_PORTS: Final = {"messenger": 41_001, "switchboard": 41_002, "general": 41_003, "api": 41_004}
_DOOR: Final = ("up", "--only", ",".join(_PORTS))
_OTHERS: Final = (("up", "--only", "api"), ("worker",))
_SECRETS: Final = ("tokens.json", "household.key")


@dataclass(slots=True)
class Stand:
    """One machine, and what runs on it; `door` is the one that hears the bot and takes messages in."""

    machine: Machine
    door: bool
    clock_offset_seconds: float = 0.0
    running: list[tuple[Child, Path]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://{self.machine.front}:{_PORTS['api']}"


@dataclass(slots=True, kw_only=True)
class Site:
    """`reached` is the database as the machines have it, directly or through a pooler."""

    rig: Rig
    network: Network
    stands: list[Stand]
    reached: dict[str, str]
    logs: int = 0

    @property
    def door(self) -> Stand:
        return self.stands[0]

    def home(self, stand: Stand) -> Path:
        return self.rig.directory / f"home-{stand.machine.number}"

    def token(self, name: str) -> str:
        """Of a butler, or of the operator."""
        kept = json.loads((self.home(self.door) / "tokens.json").read_text())
        found: str = kept["operator"] if name == "operator" else kept["butlers"][name]
        return found

    async def start(self, source: Path | None = None) -> None:
        """The door first: it makes the secrets that every machine needs."""
        for stand in self.stands:
            await self.start_one(stand, source)

    async def start_one(self, stand: Stand, source: Path | None = None) -> None:
        home = self.home(stand)
        home.mkdir(exist_ok=True)
        if not stand.door:
            for name in _SECRETS:
                shutil.copy(self.home(self.door) / name, home / name)
        for words in (_DOOR,) if stand.door else _OTHERS:
            stand.running.append(self._process(stand, words, source))
        for child, log in stand.running:
            await _up(child, log)

    async def stop_one(self, stand: Stand) -> tuple[str, ...]:
        """Orderly; what is wrong with how it ended."""
        said: list[str] = []
        for child, _ in stand.running:
            child.terminate()
        for child, log in stand.running:
            try:
                code = await child.ended(_STOP_SECONDS)
            except Overdue:
                said.append(f"a process of machine {stand.machine.number} did not stop")
            else:
                said += [f"a process ended with {code}: {_tail(log)}"] if code else []
        stand.running.clear()
        return tuple(said)

    async def stop(self) -> tuple[str, ...]:
        return tuple([sentence for stand in self.stands for sentence in await self.stop_one(stand)])

    async def quiet(self, seconds: float) -> None:
        """Until nothing in the ledger is left to do, or the time is over: the comparison then says what is left."""
        until = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < until:
            if not any(row.status in ("pending", "in_progress") for row in await read_rows(self.rig.environment)):
                return
            await asyncio.sleep(_LOOK_SECONDS * 5)

    async def compare(self) -> tuple[Comparison, int]:
        """And how many calls had an unknown outcome, which nothing here explains one by one."""
        rows = await read_rows(self.rig.environment)
        unknown = sum(row.uncertain_attempts for row in rows)
        plain = [replace(row, uncertain_attempts=0) for row in rows if _is_message(row.token)]
        arrived = {token: parts for token, parts in (await self.rig.provider.received()).items() if _is_message(token)}
        return compare(plain, arrived, list(journal.read(self.rig.journal))), unknown

    def _process(self, stand: Stand, words: tuple[str, ...], source: Path | None) -> tuple[Child, Path]:
        self.logs += 1
        log = self.rig.directory / f"machine-{stand.machine.number}-{self.logs}.log"
        start = Start(
            machine=stand.machine,
            environment=self._environment(stand),
            words=words,
            log=log,
            clock_offset_seconds=stand.clock_offset_seconds,
            source=source,
        )
        return self.rig.processes.start(machine_process.main, start), log

    def _environment(self, stand: Stand) -> dict[str, str]:
        provider, door = self.rig.provider, self.door.machine.front
        endpoints = {name: f"http://{door}:{port}/mcp" for name, port in _PORTS.items() if name != "api"}
        own = {
            "POSTROOM_HOME": str(self.home(stand)),
            "POSTROOM_HOST": stand.machine.front,
            "POSTROOM_SANDBOX": "false",
            "POSTROOM_APPROVALS__ENABLED": "false",
            "POSTROOM_TELEGRAM__TOKEN": "1000:" + "a" * 35,
            "POSTROOM_TELEGRAM__API_BASE_URL": f"http://{provider.host}:{provider.bot_api_port}",
            "POSTROOM_OWNER__TELEGRAM_CHAT_ID": "1000",
            "POSTROOM_DELIVERY__SLOTS_PER_CHANNEL": "2" if stand.door else "8",  # something is left for the workers
            "POSTROOM_TELEMETRY__LOG_LEVEL": "ERROR",
            **{f"POSTROOM_PORTS__{name.upper()}": str(port) for name, port in _PORTS.items()},
            **({} if stand.door else {"POSTROOM_ENDPOINTS": json.dumps(endpoints)}),
        }
        return {**self.rig.environment, **own, **self.reached}


@asynccontextmanager
async def site(world: World, name: str, *, machines: int = 3, pooled: bool = False) -> AsyncIterator[Site]:
    with (
        network(machines) as net,
        tempfile.TemporaryDirectory(prefix="postroom-chaos-", ignore_cleanup_errors=True) as folder,
        _servers(Path(folder), net, pooled=pooled) as (url, reached),
    ):
        async with Provider(Path(folder), host=net.here.front) as provider:
            dice = random.Random(f"{world.seed}/{name}")
            rig = Rig(directory=Path(folder), provider=provider, processes=world.processes, database_url=url, dice=dice)
            stands = [Stand(machine, door=number == 0) for number, machine in enumerate(net.machines)]
            try:
                yield Site(rig=rig, network=net, stands=stands, reached=reached)
            finally:
                for child in [child for stand in stands for child, _ in stand.running]:
                    child.end()


@contextmanager
def _servers(folder: Path, net: Network, *, pooled: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """PostgreSQL as seen from here, and what the machines are to be told about all of them."""
    folder.chmod(0o711)  # PostgreSQL runs as another user and has to pass through
    here = net.here.back
    postgres = PostgresServer(folder / "postgres", network=f"{here}/24")
    redis = RedisServer(folder / "redis", also_at=here)
    pooler: PgBouncer | None = None
    try:
        postgres.start()
        redis.start()
        with databases.temporary(postgres.url()) as url:
            reached = {
                "POSTROOM_DATABASE_URL": url.replace("127.0.0.1", here),
                "POSTROOM_REDIS_URL": redis.url().replace("127.0.0.1", here),
            }
            if pooled:
                pooler = PgBouncer(folder / "pgbouncer", url, server_connections=10, also_at=here)
                pooler.start()
                reached |= _through(pooler, reached["POSTROOM_DATABASE_URL"], here)
            yield url, reached
    finally:
        if pooler is not None:
            pooler.stop()
        redis.kill()
        postgres.kill()


def _through(pooler: PgBouncer, direct: str, here: str) -> dict[str, str]:
    """As `docs/how-to/postgresql.md#behind-pgbouncer` says."""
    return {
        "POSTROOM_DATABASE_URL": pooler.url.replace("127.0.0.1", here),
        "POSTROOM_POSTGRES__PREPARED_STATEMENTS": "false",
        "POSTROOM_POSTGRES__LISTEN_URL": direct,
    }


async def _up(child: Child, log: Path) -> None:
    async with asyncio.timeout(_START_SECONDS):
        while "Ctrl-C stops." not in _tail(log):
            if not child.alive:
                raise RuntimeError(f"a process did not start: {_tail(log)}")
            await asyncio.sleep(_LOOK_SECONDS)


def _is_message(token: str) -> bool:
    """The cards of questions are counted with their questions."""
    return token.startswith("m")


def _tail(log: Path) -> str:
    return log.read_text(errors="replace")[-2_000:] if log.exists() else ""
