"""`postroom`, and `python -m postroom`."""

from __future__ import annotations

from postroom.cli.application import main

__all__ = ["main"]

if __name__ == "__main__":
    main()
