"""How another program starts this one: the words that go into its files."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from postroom.programs.connect.clients import Scope
from postroom.programs.connections import home_of


def own_program(scope: Scope) -> tuple[str, ...]:
    """Programs with windows have another PATH, so the whole path; but others who share a project have another one."""
    on_path = shutil.which("postroom")
    if scope is Scope.PROJECT and on_path:
        return ("postroom",)
    beside = Path(sys.executable).with_name("postroom")
    if beside.exists():
        return (str(beside),)
    return (on_path,) if on_path else (sys.executable, "-m", "postroom")


def home_options(home: str | None) -> tuple[str, ...]:
    """A household that is not at its usual place is named: the client's environment may be another."""
    usual = home_of({name: one for name, one in os.environ.items() if name != "POSTROOM_HOME"}, None)
    chosen = home_of(os.environ, home)
    return () if chosen == usual else ("--home", str(chosen.absolute()))
