"""Every act there is, found where acts are declared."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from typing import Any

import postroom
from postroom.kernel.acts.declaration import Act, Command, HttpRoute, Tool

Door = Tool | HttpRoute | Command


@cache
def every_act() -> tuple[type[Act[Any]], ...]:
    """Those of modules called `acts`, and of any other that one of them brings along."""
    for module in pkgutil.walk_packages(postroom.__path__, "postroom."):
        if module.name.rpartition(".")[2] == "acts":
            importlib.import_module(module.name)
    found = [one for one in _below(Act) if "declared" in one.__dict__]
    return tuple(sorted(found, key=lambda one: f"{one.__module__}.{one.__name__}"))


def doors_of(kind: type[Act[Any]]) -> list[Door]:
    return [one for one in (kind.declared.tool, kind.declared.route, kind.declared.command) if one is not None]


def every_door() -> list[tuple[type[Act[Any]], Door]]:
    return [(kind, door) for kind in every_act() for door in doors_of(kind)]


def named(kind: type[Act[Any]], door: Door) -> str:
    return f"{kind.__module__.removeprefix('postroom.')}.{kind.__name__} as {type(door).__name__.lower()}"


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    for one in kind.__subclasses__():
        yield one
        yield from _below(one)
