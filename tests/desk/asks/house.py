"""A living household in a thread of its own, so that a test can press keys while it works."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from anyio.from_thread import BlockingPortal, start_blocking_portal
from tests.desk.screen import until
from tests.household.living import LIFTED, QUICK, Living, living

from postroom.kernel.values.principal import OWNER, Principal, Role

SECONDS = 30


class House:
    def __init__(self, home: Path, *changes: dict[str, Any]) -> None:
        home.mkdir(mode=0o700, exist_ok=True)
        self._portal_context: AbstractContextManager[BlockingPortal] = start_blocking_portal()
        self._portal = self._portal_context.__enter__()
        self._living_context = self._portal.wrap_async_context_manager(living(home, LIFTED, QUICK, *changes))
        self.living: Living = self._living_context.__enter__()
        self.url = self.living.household.addresses["api"].rstrip("/")
        self.token = self.living.tokens.create(Principal(Role.PERSON, OWNER))

    def stop(self) -> None:
        self._living_context.__exit__(None, None, None)
        self._portal_context.__exit__(None, None, None)

    def ask(self, question: str, **more: Any) -> str:
        """By the butler health."""
        status, answer = self.call("/v1/asks", {"question": question, **more}, self.living.token("health"))
        assert status == 201, answer
        return str(answer["ask_id"])

    def read(self, ask_id: str) -> dict[str, Any]:
        return self.call(f"/v1/asks/{ask_id}", None, self.living.token("health"))[1]

    def end_of(self, ask_id: str) -> dict[str, Any]:
        """The question, once it is no longer open."""
        answer = self.call(f"/v1/asks/{ask_id}?wait=20", None, self.living.token("health"))[1]
        assert answer["status"] != "open"
        return answer

    def answer(self, ask_id: str, **given: Any) -> int:
        """By the owner, somewhere else."""
        return self.call(f"/v1/asks/{ask_id}/answer", given, self.token)[0]

    def cancel(self, ask_id: str) -> None:
        self.call(f"/v1/asks/{ask_id}/cancel", {}, self.living.token("health"))

    def cancel_all(self) -> None:
        for one in self.call("/v1/asks?status=open", None, self.living.token("health"))[1]["asks"]:
            self.cancel(one["ask_id"])

    def open(self, ask_id: str) -> bool:
        return bool(self.read(ask_id)["status"] == "open")

    def call(self, path: str, body: dict[str, Any] | None, token: str) -> tuple[int, dict[str, Any]]:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            with urlopen(Request(self.url + path, data=data, headers=headers), timeout=SECONDS) as response:
                return response.status, json.load(response)
        except HTTPError as error:
            return error.code, json.load(error)


def settled(house: House, ask_id: str) -> dict[str, Any]:
    until(lambda: not house.open(ask_id), "the question to end")
    return house.read(ask_id)
