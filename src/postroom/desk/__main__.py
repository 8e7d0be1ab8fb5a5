"""`python -m postroom.desk`: the same as `postroom desk`, for clients that start it without our own program."""

from __future__ import annotations

import sys

import typer

from postroom.desk.commands import desk
from postroom.kernel.values.errors import SettingsError


def main() -> None:
    app = typer.Typer(add_completion=False)
    app.command()(desk)
    try:
        app(prog_name="postroom desk")
    except SettingsError as error:
        sys.stderr.write(f"postroom desk: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
