"""Every command, and how all of them fail: one sentence, no traceback."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from postroom.cli import (
    approvals,
    config,
    connectors,
    contacts,
    desk,
    doctor,
    init,
    login,
    migrate,
    notify,
    owner,
    prune,
    token,
    trace,
    up,
    why,
)
from postroom.cli.output import say
from postroom.domain.errors import PostroomError
from postroom.domain.mistake import Mistake

app = typer.Typer(
    name="postroom",
    help="Carries messages between AI agents and people.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _say_version(asked: bool) -> None:
    from postroom.settings.version import package_version

    if asked:
        say(f"postroom {package_version()}")
        raise typer.Exit


@app.callback()
def options(
    _version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Carries messages between AI agents and people."""


app.command("up")(up.up)
app.command("init")(init.init)
app.command("login")(login.login)
app.command("notify")(notify.notify)
app.command("trace")(trace.trace)
app.command("why")(why.why)
app.command("owner")(owner.owner)
app.command("doctor")(doctor.doctor)
app.command("config")(config.config)
app.add_typer(approvals.app, name="approvals")
app.add_typer(token.app, name="token")
app.add_typer(contacts.app, name="contacts")
app.add_typer(connectors.app, name="connectors")
app.command("desk")(desk.desk)
app.command("migrate")(migrate.migrate)
app.command("worker")(up.worker)
app.command("prune")(prune.prune)


def main() -> None:
    """Commands import the heavy parts when they run, so that a small one starts fast."""
    try:
        app()
    except (Mistake, PostroomError) as error:
        sys.stderr.write(f"postroom: {error}\n")
        sys.exit(1)
