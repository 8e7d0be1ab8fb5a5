"""Who takes part in the race of asking, and on which database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    product: str
    package: str  # whose version is told; empty: this tree
    database: str
    how: str = ""

    @property
    def name(self) -> str:
        return f"{self.product} on {self.database}"

    @property
    def ours(self) -> bool:
        return not self.package


_OURS = (
    "`postroom up` with messenger, switchboard, a butler and the API; asked with `POST /v1/asks`, waited for with "
    "`GET /v1/asks/ID?wait_seconds=25`, answered with a person's own token by `POST /v1/asks/ID/answer`; "
    "the agent that lives through the kills is `HouseholdAsks`; limits are lifted; leases, timeouts, pauses as in "
    "`make chaos`, so that a mail which a dead process had begun is taken up after 2 seconds in place of 30"
)
_THEIRS = (
    "`awaithumans serve` with its own defaults; asked with `POST /api/tasks`, waited for, as its own client does, with "
    "`GET /api/tasks/ID/poll?timeout=25`, answered by a signed-in person with `POST /api/tasks/ID/complete`; the "
    "agent that lives through the kills is `await_human`. Its server looks once a second whether an answer has come, "
    "and sends the mail from memory, after it has accepted the question"
)
DATABASES = ("SQLite", "PostgreSQL")
ASKERS = tuple(
    Asker(product=product, package=package, database=database, how=how)
    for product, package, how in (("Postroom", "", _OURS), ("awaithumans", "awaithumans", _THEIRS))
    for database in DATABASES
)
