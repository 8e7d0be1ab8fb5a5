"""`postroom config`: the effective settings and where each came from."""

from __future__ import annotations

from typing import Any

from postroom.cli.output import Home, Json, say, say_json
from postroom.settings.load import from_process


def config(home: Home = None, json: Json = False) -> None:
    """Print the effective settings with their source; secrets are hidden."""
    settings, sources = from_process({"home": home})
    rows = _flat(settings.model_dump(mode="json"))
    if json:
        say_json({key: {"value": value, "source": _source(key, sources)} for key, value in rows})
        return
    for key, value in rows:
        say(f"{key} = {value!r}  # {_source(key, sources)}")


def _flat(values: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = []
    for name, value in values.items():
        rows += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) and value else [(f"{prefix}{name}", value)]
    return rows


def _source(key: str, sources: dict[str, str]) -> str:
    parts = key.split(".")
    names = [".".join(parts[:length]) for length in range(len(parts), 0, -1)]
    return next((sources[name] for name in names if name in sources), "default")
