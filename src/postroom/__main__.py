"""`postroom`, and `python -m postroom`."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """What coding agents start all the time goes its own way, past the tree of commands."""
    if sys.argv[1:2] in (["hook"], ["bridge"]):
        from postroom.agents.coding.quick import quickly
        from postroom.kernel.values.errors import UserError

        try:
            if quickly(sys.argv[1:]):
                return
        except UserError as error:
            sys.stderr.write(f"postroom: {error}\n")
            sys.exit(1)
    from postroom.kernel.running.process import collect_little

    collect_little()
    if sys.argv[1:2] in (["up"], ["worker"]):
        _import_little()
    from postroom.cli.application import main as tree

    tree()


def _import_little() -> None:
    """
    A household runs for weeks, and what is imported stays: models that no one uses, 3 MB; FastAPI's look at models of
    another age, 2 MB; colours in logs, which are JSON, 5 MB. On a terminal the bar has those all the same.
    """
    from postroom.kernel.running.process import build_models_when_used, do_without

    build_models_when_used()
    do_without("pydantic.v1")
    if not sys.stderr.isatty():
        do_without("rich")


if __name__ == "__main__":
    main()
