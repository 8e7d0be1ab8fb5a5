"""What a screen reader is told by the Qt window."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec

import pytest
from tests.programs.desk.caller import SOURCE
from tests.programs.desk.screen import Screen

PROGRAM = """
import json, sys, time
from queue import SimpleQueue
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import QApplication, QWidget
from postroom.programs.desk.window.qt_front import QtWindow
from postroom.programs.desk.window.sitting import Sitting
from postroom.programs.desk.wire import Sheet
app = QApplication([])
sheet = Sheet(message="The message", title="Title", history=(("stt", "said before"),), options=("Yes & no",),
              draft_file="/nowhere/x", turn_file="/nowhere/turn", turn_token="x")
window = QtWindow(Sitting(sheet, emit=lambda event: None, commands=SimpleQueue(), clock=time.monotonic))
window.show_centred()
found = []
for widget in [window, *window.findChildren(QWidget)]:
    seen = QAccessible.queryAccessibleInterface(widget)
    text = seen.textInterface()
    content = text.text(0, text.characterCount()) if text else ""
    found.append([seen.role().name, seen.text(QAccessible.Text.Name), content])
print(json.dumps(found))
"""


@pytest.mark.requirement("popup:screen-reader")
@pytest.mark.skipif(find_spec("PySide6") is None, reason="PySide6 is not installed")
def test_every_part_of_the_window_has_a_role_a_name_and_its_text(screen: Screen) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**screen.environ, "PYTHONPATH": str(SOURCE), "QT_QPA_PLATFORM": "xcb"},
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 0, done.stderr
    found = {(role, name): text for role, name, text in json.loads(done.stdout)}
    assert found["EditableText", "Message"] == "The message"
    assert found["EditableText", "Conversation so far"] == "You\nsaid before"
    assert ("EditableText", "Your reply") in found
    for name in ("Yes & no", "Submit", "Cancel"):
        assert ("Button", name) in found
