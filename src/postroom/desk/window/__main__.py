"""Shows one window for the server that started this process."""

from __future__ import annotations

import os
import sys
import threading
import time
from queue import SimpleQueue
from typing import Any

from postroom.desk.model import PopupEnding, PopupOutcome, WindowEvent, WindowSign
from postroom.desk.window.window import CLOSE, HANG_UP, Sitting, decode_sheet, encode


def main() -> int:
    front_end = _front_end()
    if front_end is None:
        ending = PopupEnding(outcome=PopupOutcome.NO_TOOLKIT)
        _emit(WindowEvent(sign=WindowSign.FAILED, ending=ending))
        return 1
    sheet = decode_sheet(sys.stdin.buffer.readline())
    commands: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=(commands,), daemon=True).start()
    sitting = Sitting(sheet, emit=_emit, commands=commands, clock=time.monotonic)
    return int(front_end.run(sitting))


def _front_end() -> Any:
    """Imported while the server is still putting the sheet together."""
    try:
        from postroom.desk.window import tk_front
    except ImportError:
        return None
    return tk_front


def _listen(commands: SimpleQueue[str]) -> None:
    for _ in sys.stdin.buffer:
        commands.put(CLOSE)
    commands.put(HANG_UP)


def _emit(event: WindowEvent) -> None:
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
