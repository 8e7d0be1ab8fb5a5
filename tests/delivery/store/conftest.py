"""The ledger on SQLite and on PostgreSQL."""

from __future__ import annotations

import pytest
from tests.delivery.stored import Store
from tests.opened_database import ledger_of

from postroom.kernel.database.engine import Database


@pytest.fixture
def store(database: Database) -> Store:
    return Store(database, ledger_of(database))
