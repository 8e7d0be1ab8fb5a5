"""Every route of the API and the adapters, with whatever their documents allow and do not allow."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.telephone import settings_for

from postroom.household.household import running
from postroom.household.store import parts_of
from postroom.kernel.guard.tokens import TokenFile
from postroom.kernel.values.principal import OPERATOR, Principal, Role
from postroom.settings import Settings

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
OURS = ("/contacts", "/v1/")
ENDLESS = ("/v1/asks/stream",)  # it goes on until its reader leaves
EXAMPLES = int(os.environ.get("POSTROOM_TEST_EXAMPLES", "3"))


@dataclass(slots=True)
class InThread:
    """The household in a thread, because hypothesis does not wait for anybody."""

    settings: Settings
    addresses: dict[str, str] = field(default_factory=dict)
    _ready: threading.Event = field(default_factory=threading.Event)
    _loop: asyncio.AbstractEventLoop | None = None
    _stop: asyncio.Event | None = None

    def run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with running(self.settings, parts_of(self.settings)) as household:
            self.addresses = household.addresses
            self._ready.set()
            await self._stop.wait()

    def __enter__(self) -> InThread:
        self._thread = threading.Thread(target=self.run)
        self._thread.start()
        assert self._ready.wait(30)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None and self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(30)

    _thread: threading.Thread = field(default_factory=threading.Thread)


@pytest.fixture(scope="module")
def household(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InThread]:
    home: Path = tmp_path_factory.mktemp("home")
    with InThread(settings_for(home)) as started:
        yield started


@pytest.mark.timeout(300)
@pytest.mark.parametrize("part", ["api", "chatgpt", "gemini"])
def test_no_request_breaks_a_route_or_its_promise(household: InThread, part: str) -> None:
    url = household.addresses[part]
    tokens = TokenFile(household.settings.tokens_file)
    principal = OPERATOR if part == "api" else Principal(Role.CONNECTOR, part)
    headers = {"Authorization": f"Bearer {tokens.token_of(principal)}"}
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    tried = [one.ok() for one in schema.get_all_operations() if one.ok().path.startswith(OURS)]
    tried = [one for one in tried if one.path not in ENDLESS]

    for operation in tried:
        for mode in GenerationMode:
            _try(operation, mode, headers)

    assert len(tried) >= (24 if part == "api" else 2)


def _try(operation: Any, mode: GenerationMode, headers: dict[str, str]) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def attempt(case: Any) -> None:
        if operation.path.endswith("/stream"):
            case.query["wait_seconds"] = 0  # how long it may wait is tried elsewhere
        if isinstance(case.body, dict) and "wait_seconds" in case.body:
            case.body["wait_seconds"] = 0
        case.call_and_validate(headers=headers, checks=CHECKS, timeout=30)

    with suppress(Unsatisfiable):  # a route that takes nothing cannot be given anything wrong
        attempt()
