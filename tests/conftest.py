"""What every test may ask for: servers, ports, a home, a clock, a database, a console and a browser before it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import pytest_asyncio
from redis import Redis

from postroom.kernel.database.engine import Database
from postroom.kernel.running.process import collect_less_often
from tests import property_tests, quick_fields, quick_logs, quick_statements
from tests.clock import FakeClock
from tests.opened_database import KINDS, opened_database, opened_file
from tests.services import databases, ports
from tests.services.ready_databases import ReadyDatabases
from tests.services.redis import DATABASES
from tests.services.run import URL_VARIABLES, ServiceRun, server_url
from tests.services.server import ServiceError

if TYPE_CHECKING:
    from playwright.async_api import Browser

    from tests.console.browser import Site
    from tests.console.http import Caller
    from tests.household.living import Living

pytest_plugins = ["pytester", "tests.requirement_marks"]

_run_key: pytest.StashKey[ServiceRun] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-services", action="store_true", help="start no PostgreSQL and no Redis; skip what uses them")


def pytest_configure(config: pytest.Config) -> None:
    os.environ["TZ"] = "UTC"  # the zone of households that name none is the machine's
    property_tests.configure(config.getoption("--hypothesis-profile"))
    quick_logs.configure()
    quick_fields.configure()
    quick_statements.configure()
    is_worker = hasattr(config, "workerinput")
    if not (is_worker or config.option.collectonly or config.getoption("--no-services")):
        config.stash[_run_key] = ServiceRun()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Starts what a selected test will ask for, so that the URL variables are set before the first test runs."""
    if session.config.option.collectonly:
        return
    collect_less_often()
    wanted = {name for item in session.items for name in getattr(item, "fixturenames", ())}
    for name in URL_VARIABLES:
        if f"{name}_server_url" in wanted:
            with contextlib.suppress(ServiceError):  # the fixture will say it, in the tests that it concerns
                server_url(name)


def pytest_unconfigure(config: pytest.Config) -> None:
    run = config.stash.get(_run_key, None)
    if run is not None:
        run.close()


def _server_url(name: str) -> str:
    try:
        url = server_url(name)
    except ServiceError as error:
        pytest.fail(str(error), pytrace=False)
    if url is None:
        pytest.skip(f"--no-services was given and {URL_VARIABLES[name]} is not set")
    return url


@pytest.fixture(scope="session")
def postgres_server_url() -> str:
    """The test run's PostgreSQL server; tests want `postgres_url` or `new_postgres_url`."""
    return _server_url("postgres")


@pytest.fixture(scope="session")
def redis_server_url() -> str:
    return _server_url("redis")


@pytest.fixture(scope="session")
def ready_databases(postgres_server_url: str) -> Iterator[ReadyDatabases]:
    with contextlib.closing(ReadyDatabases(postgres_server_url)) as ready:
        yield ready


@pytest.fixture
def postgres_url(ready_databases: ReadyDatabases) -> str:
    """A database with every table and no row, this test's alone while it runs."""
    return ready_databases.lend()


@pytest.fixture
def new_postgres_url(postgres_server_url: str) -> Iterator[str]:
    """A database with nothing in it, not even tables, for this test alone."""
    with databases.temporary(postgres_server_url) as url:
        yield url


@pytest.fixture
def redis_url(redis_server_url: str, worker_number: int) -> str:
    """This worker's own Redis database, empty. Whatever was in it is gone."""
    url = f"{redis_server_url.rsplit('/', 1)[0]}/{worker_number % DATABASES}"
    with Redis.from_url(url) as client:
        client.flushdb()
    return url


@pytest.fixture(scope="session")
def worker_number() -> int:
    """0 without xdist."""
    return int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))


@pytest.fixture
def server_directory() -> Iterator[Path]:
    """For a server of the test's own; pytest's directories are closed to the user that PostgreSQL runs as."""
    with tempfile.TemporaryDirectory(prefix="postroom-test-", ignore_cleanup_errors=True) as directory:
        Path(directory).chmod(0o711)
        yield Path(directory) / "server"


@pytest.fixture
def free_port() -> int:
    return ports.free_port()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty POSTROOM_HOME, and none of the developer's own settings."""
    for name in list(os.environ):
        if name.startswith(("POSTROOM_", "BUTLER_")) and not name.startswith("POSTROOM_TEST_"):
            monkeypatch.delenv(name)
    directory = tmp_path / "home"
    directory.mkdir(mode=0o700)
    monkeypatch.setenv("POSTROOM_HOME", str(directory))
    return directory


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """Of either kind, with every table and no row."""
    async with opened_database(request.param, tmp_path, request) as one:
        yield one


@pytest.fixture
async def sqlite_database(tmp_path: Path) -> AsyncIterator[Database]:
    async with opened_file(tmp_path) as one:
        yield one


# The console and those before it; a whole household, which most tests need not wait for, is imported with the first.


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    """One for all: its pages are apart, each in a context of its own."""
    from tests.console.browser import launched

    async with launched() as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def site(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    from tests.console.browser import console_site
    from tests.household.living import LIFTED, QUICK

    async with console_site(browser, tmp_path_factory.mktemp("home"), LIFTED, QUICK) as one:
        yield one


@pytest_asyncio.fixture(loop_scope="session")
async def no_page_outlives_its_test(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    yield
    if "site" in request.fixturenames:
        one: Site = request.getfixturevalue("site")
        await one.end_test()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def caller(home: Living) -> AsyncIterator[Caller]:
    """Without a browser, before the household that the module calls its home."""
    from tests.console.http import calling

    async with calling(home) as one:
        yield one
