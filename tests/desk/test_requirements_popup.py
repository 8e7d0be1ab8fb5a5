from __future__ import annotations

import re
from pathlib import Path

from tests.desk.requirements_popup import REQUIREMENTS

MARKER = re.compile(r'mark\.requirement\("(popup:[^"]+)"\)')


def test_every_requirement_has_a_test_and_every_marker_a_requirement() -> None:
    proved = {found for file in Path(__file__).parent.rglob("test_*.py") for found in MARKER.findall(file.read_text())}
    assert proved == REQUIREMENTS.keys()
