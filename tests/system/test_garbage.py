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
