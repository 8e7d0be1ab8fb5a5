"""The order in which modules start: each after those it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from postroom.system.settings import SettingsError


def order(dependencies: Mapping[str, Sequence[str]], *, source: str) -> list[str]:
    """
    Names sorted so that every module follows its dependencies, by name where
    there is a choice. `source` is the file that lists them; raises SettingsError.
    """
    for name in sorted(dependencies):
        for needed in dependencies[name]:
            if needed not in dependencies:
                raise SettingsError(f"{source}: modules.{name} needs modules.{needed}, which is not there.")
    placed: list[str] = []
    while ready := [name for name in sorted(dependencies) if _is_ready(name, dependencies, placed)]:
        placed += ready
    if len(placed) < len(dependencies):
        circle = _circle(dependencies, set(dependencies) - set(placed))
        raise SettingsError(f"{source}: modules.{circle[0]} needs itself: {' needs '.join(circle)}.")
    return placed


def _is_ready(name: str, dependencies: Mapping[str, Sequence[str]], placed: Sequence[str]) -> bool:
    return name not in placed and set(dependencies[name]) <= set(placed)


def _circle(dependencies: Mapping[str, Sequence[str]], stuck: set[str]) -> list[str]:
    """Everything that is stuck leads to a circle: follow it until a name comes again."""
    path = [min(stuck)]
    while True:
        following = min(name for name in dependencies[path[-1]] if name in stuck)
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)
