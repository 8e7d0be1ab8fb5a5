"""Turns values into pages: everything escaped, nothing silently missing."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from postroom.doors.console import words
from postroom.doors.console.sandbox_news import SandboxNews


class Templates:
    def __init__(self, sandbox: SandboxNews | None = None) -> None:
        """`sandbox` is known to every page, also to those of nobody who is signed in."""
        self.environment = Environment(
            loader=PackageLoader("postroom.doors.console"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self.environment.filters |= words.FILTERS
        self.environment.globals["sandbox"] = sandbox

    def render(self, template: str, **values: Any) -> str:
        return self.environment.get_template(template).render(**values)
