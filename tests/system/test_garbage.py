"""Garbage is looked for less often, and still found."""

from __future__ import annotations

import subprocess
import sys

_SCRIPT = """
import gc, weakref
from postroom.system.garbage import collect_less_often

collect_less_often()

class Node:
    pass

node = Node()
node.itself = node
gone = weakref.ref(node)
del node
kept = []
while gone() is not None and len(kept) < 1_000_000:
    kept.append([])
print(gc.get_freeze_count() > 0, gone() is None)
"""


def test_what_was_there_at_the_start_is_not_looked_at_again_and_a_cycle_still_goes_by_itself() -> None:
    ran = subprocess.run([sys.executable, "-c", _SCRIPT], capture_output=True, text=True, timeout=60, check=True)

    assert ran.stdout.split() == ["True", "True"]


_COMMAND = """
import atexit, gc
atexit.register(lambda: print(gc.get_freeze_count() > 0))
from postroom.system.garbage import collect_little

collect_little()
print(gc.isenabled(), gc.get_freeze_count())
"""


def test_a_command_does_not_take_its_source_apart_at_its_end() -> None:
    ran = subprocess.run([sys.executable, "-c", _COMMAND], capture_output=True, text=True, timeout=60, check=True)

    assert ran.stdout.split() == ["True", "0", "True"]
