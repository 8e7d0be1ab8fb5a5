"""What a household may never need is not in its memory: it is imported for its first use."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
import postroom.household.household
print(*sys.modules)
"""
FOR_THEIR_FIRST_USE = {
    *(
        "alembic",
        "apprise",
        "asyncpg",
        "croniter",
        "jinja2",
        "markdown_it",
        "rapidfuzz",
        "sqlalchemy.dialects.postgresql",
    ),
    *("postroom.channels.webpush.channel", "postroom.channels.apprise.channel"),
}


def test_a_household_on_sqlite_loads_nothing_of_postgres_schedules_markdown_or_web_push() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True, timeout=60)

    loaded = set(done.stdout.split())
    assert "sqlalchemy.dialects.sqlite" in loaded
    assert loaded & FOR_THEIR_FIRST_USE == set()
