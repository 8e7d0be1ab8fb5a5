"""Who is calling a FastAPI route, and whether they may."""

from __future__ import annotations

from typing import Annotated

import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient

from postroom.domain.principal import OPERATOR, Principal, Role
from postroom.doors.guard.depends import Caller, allowing
from postroom.doors.guard.http import Guard
from postroom.doors.guard.tool_policy import any_butler, butler, operator, person

TOKENS = {"operator": OPERATOR, "health": Principal(Role.BUTLER, "health"), "ann": Principal(Role.USER, "ann")}


class Tokens:
    def verify(self, token: str) -> Principal | None:
        return TOKENS.get(token)


@pytest.fixture
def client() -> TestClient:
    app = FastAPI()

    @app.get("/me")
    async def me(caller: Caller) -> str:
        return str(caller)

    @app.get("/people")
    async def people(caller: Annotated[Principal, Depends(allowing(person))]) -> str:
        return str(caller)

    @app.get("/open")
    async def opened(caller: Caller) -> str:
        return str(caller)

    return TestClient(Guard(app, verifier=Tokens(), public=["/open"], hosts=["testserver"]))


@pytest.mark.parametrize(
    ("path", "token", "status", "body"),
    [
        ("/me", "health", 200, "butler:health"),
        ("/me", "operator", 200, "operator"),
        ("/me", "wrong", 401, None),
        ("/people", "ann", 200, "user:ann"),
        ("/people", "operator", 200, "operator"),
        ("/people", "health", 403, None),
        ("/open", "wrong", 401, None),
    ],
)
def test_a_route_knows_its_caller(client: TestClient, path: str, token: str, status: int, body: str | None) -> None:
    response = client.get(path, headers={"Authorization": f"Bearer {token}"})

    assert response.status_code == status
    if body:
        assert response.json() == body


def test_the_rules_say_who() -> None:
    connector = Principal(Role.CONNECTOR, "chatgpt")
    everybody = [*TOKENS.values(), connector]

    def passing(rule: object) -> list[str]:
        return [str(one) for one in everybody if rule(one)]  # type: ignore[operator]

    assert passing(any_butler) == ["operator", "butler:health"]
    assert passing(butler("general")) == ["operator"]
    assert passing(person) == ["operator", "user:ann"]
    assert passing(operator) == ["operator"]
