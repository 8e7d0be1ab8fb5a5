"""What every product is given: a folder, a database, a port that stays its own, and one mail server for all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from chaos.provider import Provider
from tests.services import databases
from tests.services.ports import free_port
from tests.services.postgres import PostgresServer

from benchmarks.peers.asking.products import Asker


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    folder: Path
    database: str  # empty: SQLite, in the folder
    port: int
    mail: Provider
    peers: str  # the Python that has the peers

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@asynccontextmanager
async def new_place(asker: Asker, postgres: PostgresServer, peers: str) -> AsyncIterator[Place]:
    """Empty, so that no product inherits what another run left."""
    with (
        TemporaryDirectory(prefix="postroom-asking-", ignore_cleanup_errors=True) as name,
        _database(asker, postgres) as url,
    ):
        async with Provider(Path(name)) as mail:
            yield Place(folder=Path(name), database=url, port=free_port(), mail=mail, peers=peers)


@contextmanager
def _database(asker: Asker, postgres: PostgresServer) -> Iterator[str]:
    if asker.database == "SQLite":
        yield ""
        return
    with databases.temporary(postgres.url("postgres")) as url:
        yield url
