"""Every shipped channel, and the example of the documentation, as the installed suite wants them described."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from tests.contract import beeper

from postroom.settings.accounts import shipped_kinds
from postroom.testing import Case


def of_kind(kind: str) -> ModuleType:
    """It has a `CASE`, the `OPTIONS` of an account, and the `THREAD` that a message could belong to."""
    return import_module(f"tests.channels.{kind}.case")


CASES: tuple[Case, ...] = (*(of_kind(kind).CASE for kind in shipped_kinds()), beeper.CASE)
