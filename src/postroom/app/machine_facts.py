"""What runs here, for the folded part of the page Health: versions and kinds, never addresses or passwords."""

from __future__ import annotations

import platform
from importlib.metadata import version

from postroom.system.settings import Settings


def machine_facts(settings: Settings) -> dict[str, str]:
    return {
        "Postroom": version("postroom"),
        "Python": platform.python_version(),
        "Database": "SQLite" if settings.database.startswith("sqlite") else "PostgreSQL",
        "Shared state": "Redis" if settings.redis_url.reveal() else "in this process",
    }
