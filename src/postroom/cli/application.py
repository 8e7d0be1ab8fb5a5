"""Every command, and how all of them fail: one sentence, no traceback."""

from __future__ import annotations

import sys

import typer

from postroom.app.serving import PortTaken
from postroom.app.store import HomeInUse
from postroom.cli import config, connectors, doctor, migrate, notify, token, trace, up
from postroom.domain.errors import PostroomError
from postroom.settings import SettingsError

app = typer.Typer(
    name="postroom",
    help="Carries messages between AI agents and people.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.command("up")(up.up)
app.command("migrate")(migrate.migrate)
app.command("doctor")(doctor.doctor)
app.command("notify")(notify.notify)
app.command("trace")(trace.trace)
app.command("worker")(up.worker)
app.command("config")(config.config)
app.add_typer(token.app, name="token")
app.add_typer(connectors.app, name="connectors")


def main() -> None:
    try:
        app()
    except (SettingsError, PortTaken, HomeInUse, PostroomError) as error:
        sys.stderr.write(f"postroom: {error}\n")
        sys.exit(1)
