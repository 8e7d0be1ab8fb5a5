"""A process that does without a library: others see none, and one that is there stays."""

from __future__ import annotations

import subprocess
import sys

UNSEEN = """
from postroom.system.do_without import do_without
do_without("rich")
import structlog, sys
try:
    import rich
except ImportError:
    print("none", [name for name in sys.modules if name.startswith("rich.")])
"""
THERE_ALREADY = """
import json
from postroom.system.do_without import do_without
do_without("json")
import json
print(json.dumps("stays"))
"""


def said_by(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()


def test_those_who_look_for_it_find_none() -> None:
    assert said_by(UNSEEN) == "none []"


def test_what_is_imported_already_stays() -> None:
    assert said_by(THERE_ALREADY) == '"stays"'
