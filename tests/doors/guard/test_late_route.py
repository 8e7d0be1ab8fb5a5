"""A route is understood when it is first asked for, and is then what the framework would have made at once."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, Path
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from starlette.routing import NoMatchFound

from postroom.doors.guard.late_route import LateRoute


def _app(route_class: type[APIRoute]) -> FastAPI:
    router = APIRouter(prefix="/v1", tags=["numbers"], route_class=route_class)

    @router.get("/numbers/{number}", operation_id="number", summary="A number")
    async def number(number: int = Path(le=9), twice: bool = False) -> dict[str, int]:
        """More about it."""
        return {"number": number * (2 if twice else 1)}

    @router.post("/numbers", status_code=201)
    async def keep(body: dict[str, int]) -> dict[str, int]:
        return body

    app = FastAPI()
    app.router.routes.extend(router.routes)
    return app


@pytest.fixture
def app() -> FastAPI:
    return _app(LateRoute)


def _routes(app: FastAPI) -> list[LateRoute]:
    return [route for route in app.routes if isinstance(route, LateRoute)]


def _understood(app: FastAPI) -> list[str]:
    return [route.name for route in _routes(app) if "dependant" in vars(route)]


def test_only_the_route_that_is_called_is_understood(app: FastAPI) -> None:
    client = TestClient(app)
    assert _understood(app) == []
    assert client.get("/v1/nothing").status_code == 404
    assert _understood(app) == []
    assert client.get("/v1/numbers/4?twice=yes").json() == {"number": 8}
    assert _understood(app) == ["number"]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/v1/numbers/4", None),
        ("GET", "/v1/numbers/10", None),
        ("GET", "/v1/numbers/four", None),
        ("GET", "/v1/numbers/4?twice=perhaps", None),
        ("HEAD", "/v1/numbers/4", None),
        ("PUT", "/v1/numbers/4", None),
        ("GET", "/v1/numbers", None),
        ("POST", "/v1/numbers", {"a": 1}),
        ("POST", "/v1/numbers", {"a": "one"}),
    ],
)
def test_it_answers_as_the_frameworks_own_route_does(method: str, path: str, body: Any) -> None:
    late, own = (TestClient(_app(kind)).request(method, path, json=body) for kind in (LateRoute, APIRoute))
    assert (late.status_code, late.text, late.headers) == (own.status_code, own.text, own.headers)


def test_the_document_knows_them_all(app: FastAPI) -> None:
    assert app.openapi() == _app(APIRoute).openapi()
    assert _understood(app) == ["number", "keep"]


def test_a_path_is_found_by_its_name_without_understanding_it(app: FastAPI) -> None:
    assert app.url_path_for("number", number=4) == "/v1/numbers/4"
    with pytest.raises(NoMatchFound):
        app.url_path_for("another")
    assert _understood(app) == []


def test_what_a_route_does_not_have_is_an_error(app: FastAPI) -> None:
    for _ in range(2):
        with pytest.raises(AttributeError, match="no colour"):
            _ = _routes(app)[0].colour


def test_two_apps_of_the_same_function_share_no_route(app: FastAPI) -> None:
    other = _app(LateRoute)
    TestClient(app).get("/v1/numbers/4")
    assert _understood(other) == []
