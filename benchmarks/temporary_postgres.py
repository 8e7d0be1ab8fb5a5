"""A new PostgreSQL server in a folder of its own, for the length of a `with` block."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.services.postgres import PostgresServer


@contextmanager
def temporary_postgres() -> Iterator[tuple[PostgresServer, Path]]:
    """The server, and the folder, which has room for more."""
    with tempfile.TemporaryDirectory(prefix="postroom-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        folder.chmod(0o711)  # PostgreSQL runs as another user and has to pass through
        server = PostgresServer(folder / "postgres")
        server.start()
        try:
            yield server, folder
        finally:
            server.stop()
