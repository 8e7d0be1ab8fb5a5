"""Turns values into pages: everything escaped, nothing silently missing."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from postroom.doors.console import words

if TYPE_CHECKING:
    from jinja2 import Environment


class Templates:
    def __init__(self, sandbox_url: str | None = None) -> None:
        """Where the sandbox's phone is, on every page, also on those of nobody who is signed in."""
        self._sandbox_url = sandbox_url

    @cached_property
    def environment(self) -> Environment:
        """Made for the first page: a household whose console no one opens needs no templates."""
        from jinja2 import Environment, PackageLoader, StrictUndefined

        environment = Environment(
            loader=PackageLoader("postroom.doors.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        environment.filters |= words.FILTERS
        environment.globals["sandbox_url"] = self._sandbox_url
        return environment

    def render(self, template: str, told_in: str = "UTC", **values: Any) -> str:
        """Moments are told in the zone of the one who reads."""
        with words.told_in(told_in):
            return self.environment.get_template(template).render(**values)
