"""Shows one window for the server that started this process."""

from __future__ import annotations

import os
import sys
import threading
import time
from queue import SimpleQueue
from typing import Any

from postroom.programs.desk.window.sitting import CLOSE, HANG_UP, Sitting
from postroom.programs.desk.wire import decode_sheet, encode


def main() -> int:
    front_end = _front_end(sys.argv[1])
    if front_end is None:
        _emit({"event": "failed", "reason": "no_toolkit"})
        return 1
    sheet = decode_sheet(sys.stdin.buffer.readline())
    commands: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(commands,), daemon=True).start()
    sitting = Sitting(sheet, emit=_emit, commands=commands, clock=time.monotonic)
    return int(front_end.run(sitting))


def _front_end(name: str) -> Any:
    """Imported while the server is still putting the sheet together."""
    try:
        if name == "qt":
            _prepare_qt()
            from postroom.programs.desk.window import qt_front

            return qt_front
        from postroom.programs.desk.window import tk_front
    except ImportError:
        return None
    return tk_front


def _prepare_qt() -> None:
    """
    XWayland lets a window stay on top, plain Wayland does not.

    The accessibility bridge must be up before a screen reader looks at the window.
    """
    if os.environ.get("DISPLAY"):
        os.environ.setdefault("QT_QPA_PLATFORM", "xcb")
    os.environ.setdefault("QT_LINUX_ACCESSIBILITY_ALWAYS_ON", "1")
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # without a display Qt aborts


def _listen(commands: SimpleQueue[str]) -> None:
    for _ in sys.stdin.buffer:
        commands.put(CLOSE)
    commands.put(HANG_UP)


def _emit(event: dict[str, Any]) -> None:
    """A server that has gone away is no reason to fail: the draft is on disk."""
    try:
        sys.stdout.buffer.write(encode(event))
        sys.stdout.buffer.flush()
    except OSError:
        return


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # the listening thread would make an orderly end abort
