"""Every command, and how all of them fail: one sentence, no traceback."""

from __future__ import annotations

import sys

import typer

from postroom.app.serving import PortTaken
from postroom.app.store import HomeInUse
from postroom.butler.config import RosterError
from postroom.cli import config, doctor, init, migrate, notify, token, trace, up
from postroom.domain.errors import PostroomError
from postroom.settings import SettingsError

app = typer.Typer(
    name="postroom",
    help="Carries messages between AI agents and people.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("up")(up.up)
app.command("init")(init.init)
app.command("migrate")(migrate.migrate)
app.command("doctor")(doctor.doctor)
app.command("notify")(notify.notify)
app.command("trace")(trace.trace)
app.command("worker")(up.worker)
app.command("config")(config.config)
app.add_typer(token.app, name="token")


def main() -> None:
    try:
        app()
    except (SettingsError, RosterError, PortTaken, HomeInUse, PostroomError) as error:
        sys.stderr.write(f"postroom: {error}\n")
        sys.exit(1)
