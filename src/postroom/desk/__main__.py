"""Runs the desk alone: `python -m postroom.desk`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from postroom.desk.settings import DEFAULT_PORT, DeskSettings, from_environment


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="postroom desk", description="Asks the person at the screen.")
    parser.add_argument("--http", action="store_true", help="serve MCP over HTTP instead of stdio")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=DEFAULT_PORT)
    parser.add_argument("--check", action="store_true", help="tell whether a popup can be shown, and how")
    parser.add_argument("--screenshot", type=Path, metavar="FILE", help="with --check: a picture of the popup")
    chosen = parser.parse_args(arguments)
    if chosen.screenshot and not chosen.check:
        parser.error("--screenshot needs --check")
    try:
        settings = from_environment(os.environ, working_directory=Path.cwd(), user_home=Path.home())
    except ValueError as error:
        parser.error(str(error))
    return _run(chosen, settings)


def _run(chosen: argparse.Namespace, settings: DeskSettings) -> int:
    if chosen.check:
        from postroom.desk.check import check

        return check(settings, screenshot=chosen.screenshot)
    from postroom.desk.server import run_http, run_stdio

    if chosen.http:
        run_http(settings, host=chosen.host, port=chosen.port)
    else:
        run_stdio(settings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
