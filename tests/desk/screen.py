"""A real X display with a window manager, and a hand on its keyboard and mouse."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tests.desk.picture import pixels, png
from tests.patience import PATIENCE_SECONDS

from postroom.desk.look import PALETTES
from postroom.desk.window.window import Area

RING = 15
ACCENTS = {bytes.fromhex(palette.accent[1:]) for palette in PALETTES.values()}
T = TypeVar("T")


def until(condition: Callable[[], T | None], what: str, seconds: float = PATIENCE_SECONDS) -> T:
    """Looks again and again, for a bounded time."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        time.sleep(0.01)
    return found


class Screen:
    """Xvfb chooses a free display number itself, so parallel runs never meet."""

    def __init__(self, folder: Path, size: str = "1280x800", *, window_manager: bool = True) -> None:
        reading, writing = os.pipe()
        self._processes = [
            subprocess.Popen(
                ["Xvfb", "-displayfd", str(writing), "-screen", "0", f"{size}x24", "-nolisten", "tcp", "-noreset"],
                pass_fds=(writing,),
                stderr=subprocess.DEVNULL,
            )
        ]
        os.close(writing)
        with os.fdopen(reading) as numbers:
            self.display = f":{numbers.readline().strip()}"
        self.environ = {**os.environ, "DISPLAY": self.display, "XDG_CONFIG_HOME": str(folder / "config")}
        self.environ |= {"GSETTINGS_BACKEND": "keyfile"}
        self.environ.pop("WAYLAND_DISPLAY", None)
        if window_manager:
            self._processes.append(self._start("openbox", stdout=subprocess.DEVNULL))
            until(lambda: "window id" in self.run("xprop", "-root", "_NET_SUPPORTING_WM_CHECK"), "the window manager")

    def stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait(PATIENCE_SECONDS)

    def run(self, *command: str, check: bool = False) -> str:
        done = subprocess.run(
            command, env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=PATIENCE_SECONDS
        )
        assert not check or done.returncode == 0, command
        return done.stdout.decode().strip()

    def split_in_two(self, left: int, right: int, height: int) -> None:
        self.run("xrandr", "--setmonitor", "L", f"{left}/210x{height}/210+0+0", "screen", check=True)
        self.run("xrandr", "--setmonitor", "R", f"{right}/250x{height}/210+{left}+0", "none", check=True)

    # windows

    def windows(self, title: str) -> list[str]:
        return self.run("xdotool", "search", "--onlyvisible", "--name", f"^{title}$").split()

    def window(self, title: str) -> str:
        """Once it is there and has the keyboard."""
        found = until(lambda: self.windows(title), f"the window {title!r}")[-1]
        until(lambda: self.active_title() == title, f"{title!r} to have the keyboard")
        until(lambda: self.ring(found), f"the input of {title!r} to have the keyboard")
        return found

    def active_title(self) -> str:
        return self.run("xdotool", "getactivewindow", "getwindowname")

    def gone(self, title: str) -> None:
        until(lambda: not self.windows(title), f"{title!r} to be closed")

    def place(self, window: str) -> dict[str, int]:
        """Of what is inside the frame, on the whole screen."""
        return self._geometry("-id", window)

    def _geometry(self, *which: str) -> dict[str, int]:
        words = {"Absolute upper-left X": "x", "Absolute upper-left Y": "y", "Width": "width", "Height": "height"}
        lines = self.run("xwininfo", *which, check=True).splitlines()
        pairs = (line.strip().split(":", 1) for line in lines if ":" in line)
        return {words[name]: int(value) for name, value in pairs if name in words}

    def window_process(self) -> int:
        """The newest window process on this display; Tk does not tell its process id to the window manager."""
        display = f"DISPLAY={self.display}".encode()
        found = [
            int(folder.name)
            for folder in Path("/proc").glob("[0-9]*")
            if b"postroom.desk.window" in _read(folder / "cmdline")
            and display in _read(folder / "environ").split(b"\0")
        ]
        return max(found, key=_started)

    def states(self, window: str) -> str:
        return self.run("xprop", "-id", window, "_NET_WM_STATE")

    # hands

    def type(self, text: str) -> None:
        self.run("xdotool", "type", "--delay", "8", text, check=True)

    def key(self, *names: str) -> None:
        self.run("xdotool", "key", "--delay", "8", *names, check=True)

    def point(self, x: int, y: int) -> None:
        self.run("xdotool", "mousemove", str(x), str(y), check=True)

    def click(self, window: str, x: int, y: int) -> None:
        self.run("xdotool", "mousemove", "--window", window, str(x), str(y), "click", "1", check=True)

    # clipboard

    def copy(self, text: str) -> int:
        """By another program, which keeps offering the text; its process id."""
        code = (
            "import sys, tkinter; t = tkinter.Tk(); t.withdraw(); t.clipboard_append(sys.stdin.read());"
            "t.update(); print(flush=True); t.mainloop()"
        )
        process = self._start(sys.executable, "-c", code, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        process.stdin.write(text.encode())
        process.stdin.close()
        process.stdout.readline()
        self._processes.append(process)
        return process.pid

    def clipboard(self) -> str:
        code = "import sys, tkinter; t = tkinter.Tk(); t.withdraw(); sys.stdout.write(t.clipboard_get())"
        return self.run(sys.executable, "-c", code)

    # eyes

    def picture(self, file: Path, window: str | None = None) -> Path:
        """Of what is really on the screen."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(png(*pixels(None, self._area(window), self.display)))
        return file

    def _area(self, window: str | None) -> Area:
        if window is not None:
            return Area(**self.place(window))
        return Area(**self._geometry("-root"))

    def ring(self, window: str) -> int | None:
        """How far down the area with the keyboard begins; the left edges of all of them are in one line."""
        area = self._area(window)
        edge = Area(x=area.x + RING, y=area.y, width=1, height=area.height)
        _, _, colours = pixels(None, edge, self.display)
        return next((index // 3 for index in range(0, len(colours), 3) if colours[index : index + 3] in ACCENTS), None)

    def _start(self, *command: str, **options: Any) -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, env=self.environ, stderr=subprocess.DEVNULL, **options)


def _started(process: int) -> int:
    """In ticks of the system; ids begin anew after 32,768 of them. One that is gone meanwhile is not the newest."""
    words = _read(Path(f"/proc/{process}/stat")).rpartition(b")")[2].split()
    return int(words[19]) if words else -1


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
