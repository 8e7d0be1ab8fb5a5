"""`postroom init`: write an editable household."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import Annotated

import typer

from postroom.cli.output import Json, say, say_json
from postroom.domain.settings_error import SettingsError

_SETTINGS = """\
# Settings of this household. Every key can also be set as POSTROOM_<SECTION>__<KEY>.
# `postroom config` prints what is in force and where it came from.

[owner]
# name = "Ada"
# telegram_chat_id = "123456789"
# email = "ada@example.org"

# [[contacts]]
# name = "Bob"
# aliases = ["Robert"]
# email = "bob@example.org"
# trusted = false

# More accounts, each under a name of its own; what NAME is, `postroom notify --channel NAME` says.
# kind is telegram, email, ntfy, slack, discord, webhook or apprise; ${VARIABLE} stands for a variable's value.
# [channels.slack-work]
# kind = "slack"
# bot_token = "${SLACK_TOKEN}"

# Credentials belong in secrets.toml beside this file (mode 0600), or in the environment:
# BUTLER_TELEGRAM_TOKEN, BUTLER_EMAIL_ADDRESS, BUTLER_EMAIL_PASSWORD.
"""


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where the household shall live.")],
    json: Json = False,
) -> None:
    """Write an editable household: settings and one folder per butler."""
    from postroom.system.roster.load import shipped_roster

    roster = directory / "roster"
    if roster.exists() or (directory / "postroom.toml").exists():
        raise SettingsError(
            f"{directory} already holds a household; name another folder, or start this one with --home."
        )
    directory.mkdir(parents=True, exist_ok=True)
    for source in sorted(shipped_roster().glob("*/butler.toml")):
        target = roster / source.parent.name / "butler.toml"
        target.parent.mkdir(parents=True)
        shutil.copyfile(source, target)
    (directory / "postroom.toml").write_text(_SETTINGS, encoding="utf-8")
    command = shlex.join(["postroom", "up", "--home", str(directory), "--roster", str(roster)])
    if json:
        say_json({"home": str(directory), "roster": str(roster), "command": command})
    else:
        say(f"A household is in {directory}. Start it with:\n  {command}")
