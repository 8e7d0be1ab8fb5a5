"""`postroom config`: the effective settings and where each came from."""

from __future__ import annotations

from typing import Any

from postroom.cli.output import Home, Json, say, say_json
from postroom.system.settings.load import from_process, source_of


def config(home: Home = None, json: Json = False) -> None:
    """Print the effective settings with their source; secrets are hidden."""
    settings, sources = from_process({"home": home})
    values = _flat(settings.model_dump(mode="json"))
    rows = [(key, value, source_of(key, sources) or "default") for key, value in values]
    if json:
        say_json({key: {"value": value, "source": source} for key, value, source in rows})
        return
    for key, value, source in rows:
        say(f"{key} = {value!r}  # {source}")


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in values.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else [(f"{prefix}{name}", value)]
    return rows
