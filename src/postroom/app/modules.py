"""What became of each module a butler's file asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class LoadedModules:
    """One module's failure leaves the butler degraded, not dead."""

    def __init__(self, states: Mapping[str, dict[str, Any]]) -> None:
        self._states = dict(states)

    def states(self) -> dict[str, dict[str, Any]]:
        return {name: dict(state) for name, state in self._states.items()}


def ok(**more: Any) -> dict[str, Any]:
    return {"status": "ok", **more}


def failed(phase: str, error: str) -> dict[str, Any]:
    return {"status": "failed", "phase": phase, "error": error}
