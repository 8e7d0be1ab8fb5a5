"""How often the interpreter looks for garbage: in a command that is soon over, and in a process that runs for weeks."""

from __future__ import annotations

import atexit
import gc

_THRESHOLDS = (50_000, 20, 50)


def collect_less_often() -> None:
    """
    What is loaded at the start stays, so no collection need look at it again; and
    a delivery makes few cycles, so looking after every 700 objects is a tenth of
    the work for nothing.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)


def collect_little() -> None:
    """A command makes little and ends soon: most that it could look at, and would take apart at its end, is source."""
    gc.set_threshold(*_THRESHOLDS)
    atexit.register(gc.freeze)
