"""`${VARIABLE}` in what was written stands for that variable's value."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


class MissingVariable(NamedTuple):
    key: str
    variable: str


def resolve(value: Any, environment: Mapping[str, str], missing: list[MissingVariable], key: str = "") -> Any:
    """Every text in it, however deep; what is not set is noted under its key, and stands for nothing."""
    if isinstance(value, Mapping):
        return {name: resolve(inner, environment, missing, _below(key, name)) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [resolve(inner, environment, missing, _below(key, number)) for number, inner in enumerate(value)]
    if not isinstance(value, str):
        return value
    missing += [MissingVariable(key, name) for name in _VARIABLE.findall(value) if name not in environment]
    return _VARIABLE.sub(lambda match: environment.get(match[1], ""), value)


def _below(key: str, name: object) -> str:
    return f"{key}.{name}" if key else str(name)
