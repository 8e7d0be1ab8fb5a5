from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.services.dovecot import Dovecot
from tests.services.server import ServiceError


@pytest.fixture
def dovecot(server_directory: Path) -> Iterator[Dovecot]:
    """A mail server of this test's own."""
    server = Dovecot(server_directory)
    try:
        server.start()
    except ServiceError as error:
        pytest.fail(str(error), pytrace=False)
    yield server
    server.stop()
