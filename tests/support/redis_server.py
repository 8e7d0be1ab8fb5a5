"""A real Redis server for a test, on a free loopback port and in a temporary folder."""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

_ATTEMPTS = 200  # of 50 ms: ten seconds at most
_prefixes = (f"t{uuid.uuid4().hex[:8]}-{number}" for number in itertools.count())


def fresh_prefix() -> str:
    """Nobody else's keys, on whichever server."""
    return next(_prefixes)


class RedisServer:
    def __init__(self, folder: Path, *options: str) -> None:
        self._folder = folder
        self._options = options
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        arguments = ["--bind", "127.0.0.1", "--port", str(self._port), "--dir", str(self._folder), "--save", ""]
        command = [_program(), *arguments, "--loglevel", "warning", *self._options]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        patience = Retry(ConstantBackoff(0.05), _ATTEMPTS)
        errors = [redis.exceptions.ConnectionError, redis.exceptions.BusyLoadingError]
        with redis.Redis.from_url(self.url, retry=patience, retry_on_error=errors) as client:
            client.ping()

    def stop(self) -> None:
        """At once and without goodbye, like a crash."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(timeout=10)
            self._process = None

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Connections stay, answers stop."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGCONT)


@contextmanager
def own_redis(*options: str) -> Iterator[RedisServer]:
    """A server that the test may stop."""
    with tempfile.TemporaryDirectory(prefix="postroom-redis-") as folder:
        server = RedisServer(Path(folder), *options)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@contextmanager
def own_cluster() -> Iterator[RedisServer]:
    """A cluster of one node: it has all slots, and refuses keys of different slots in one call."""
    with own_redis("--cluster-enabled", "yes", "--cluster-port", str(_free_port())) as server:
        with redis.Redis.from_url(server.url) as client:
            client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            for _ in range(_ATTEMPTS):
                if client.execute_command("CLUSTER INFO")["cluster_state"] == "ok":
                    break
                time.sleep(0.05)
        yield server


@contextmanager
def any_redis() -> Iterator[str]:
    """The URL of a server that is only used: the one the environment names, or one of our own."""
    given = os.environ.get("POSTROOM_TEST_REDIS_URL")
    if given:
        yield given
        return
    with own_redis() as server:
        yield server.url


def _program() -> str:
    found = shutil.which("redis-server")
    if found is None:
        pytest.skip("redis-server is not installed; set POSTROOM_TEST_REDIS_URL or install it")
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
