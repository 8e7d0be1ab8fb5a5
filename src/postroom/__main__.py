"""`postroom`, and `python -m postroom`."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """What coding agents start all the time goes its own way, past the tree of commands."""
    if sys.argv[1:2] in (["hook"], ["bridge"]):
        from postroom.cli.quick import quickly
        from postroom.domain.errors import UserError

        try:
            if quickly(sys.argv[1:]):
                return
        except UserError as error:
            sys.stderr.write(f"postroom: {error}\n")
            sys.exit(1)
    from postroom.system.garbage import collect_little

    collect_little()
    from postroom.cli.application import main as tree

    tree()


if __name__ == "__main__":
    main()
