"""Runs the desk alone: `python -m postroom.desk`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from postroom.desk.asks.asking import Named, whose_questions
from postroom.desk.model import DEFAULT_PORT, from_settings
from postroom.kernel.running.telemetry import configure_log
from postroom.kernel.values.errors import SettingsError
from postroom.settings import Settings
from postroom.settings.load import from_process


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="postroom desk", description="Asks the person at the screen.")
    parser.add_argument("--http", action="store_true", help="serve MCP over HTTP instead of stdio")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--check", action="store_true", help="tell whether a popup can be shown, and how")
    parser.add_argument("--household", metavar="URL", help="whose open questions are shown here, by its API's address")
    parser.add_argument("--token", help="of the person who answers them; POSTROOM_TOKEN keeps it out of sight")
    chosen = parser.parse_args(arguments)
    try:
        return run(
            http=chosen.http,
            host=chosen.host,
            port=chosen.port,
            check=chosen.check,
            asked=Named(url=chosen.household, token=chosen.token),
        )
    except SettingsError as error:
        parser.error(str(error))


def run(
    *,
    http: bool,
    host: str,
    port: int,
    check: bool,
    asked: Named,
    owners_token: Callable[[Settings], str | None] = lambda _: None,
    as_json: bool = False,
) -> int:
    """What `postroom desk` does, too; there the owner's own token is at hand."""
    household, _ = from_process()
    settings = from_settings(household, os.environ, working_directory=Path.cwd(), user_home=Path.home())
    where = whose_questions(household, asked, owners_token)
    if check:
        from postroom.desk.check import check as examine

        return examine(settings, household=where, as_json=as_json)
    from postroom.desk.server import run_http, run_stdio

    configure_log("WARNING")
    if http:
        run_http(settings, host=host, port=port, household=where)
    else:
        run_stdio(settings, where)
    return 0


if __name__ == "__main__":
    sys.exit(main())
