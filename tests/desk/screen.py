"""A real X display with a window manager, and a hand on its keyboard and mouse."""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

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


# Pictures of it.

_ALL_PLANES = 0xFFFFFFFF
_Z_PIXMAP = 2


def pixel(file: Path, x: int, y: int) -> str:
    width, rows = _rows(file)
    offset = y * (width * 3 + 1) + 1 + x * 3
    return "#" + rows[offset : offset + 3].hex()


def difference(one: Path, other: Path) -> float:
    """The share of bytes that differ between two pictures of the same size."""
    (_, first), (_, second) = _rows(one), _rows(other)
    assert len(first) == len(second)
    return sum(a != b for a, b in zip(first, second, strict=True)) / len(first)


def size(file: Path) -> tuple[int, int]:
    data = file.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def _rows(file: Path) -> tuple[int, bytes]:
    data = file.read_bytes()
    (width,) = struct.unpack(">I", data[16:20])
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    return width, zlib.decompress(data[start + 4 : start + 4 + length])


def png(width: int, height: int, rgb: bytes) -> bytes:
    rows = b"".join(b"\0" + rgb[start : start + width * 3] for start in range(0, len(rgb), width * 3))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, 6)) + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


class _Image(ctypes.Structure):
    """The head of XImage, as far as it is read here."""

    _fields_ = (
        ("width", ctypes.c_int),
        ("height", ctypes.c_int),
        ("xoffset", ctypes.c_int),
        ("format", ctypes.c_int),
        ("data", ctypes.POINTER(ctypes.c_ubyte)),
        ("byte_order", ctypes.c_int),
        ("bitmap_unit", ctypes.c_int),
        ("bitmap_bit_order", ctypes.c_int),
        ("bitmap_pad", ctypes.c_int),
        ("depth", ctypes.c_int),
        ("bytes_per_line", ctypes.c_int),
        ("bits_per_pixel", ctypes.c_int),
    )


def pixels(window: int | None, area: Area, display_name: str | None = None) -> tuple[int, int, bytes]:
    """Width, height and RGB of part of an X11 window, or of the screen with everything on it."""
    xlib = ctypes.CDLL("libX11.so.6")
    xlib.XOpenDisplay.restype = ctypes.c_void_p
    xlib.XDefaultRootWindow.restype = ctypes.c_ulong
    xlib.XDefaultRootWindow.argtypes = xlib.XCloseDisplay.argtypes = [ctypes.c_void_p]
    xlib.XGetImage.restype = ctypes.POINTER(_Image)
    xlib.XGetImage.argtypes = [ctypes.c_void_p, ctypes.c_ulong, *[ctypes.c_int] * 2, *[ctypes.c_uint] * 2]
    xlib.XGetImage.argtypes += [ctypes.c_ulong, ctypes.c_int]
    xlib.XDestroyImage.argtypes = [ctypes.POINTER(_Image)]
    display = xlib.XOpenDisplay(None if display_name is None else display_name.encode())
    if not display:
        raise OSError("no display")
    try:
        source = xlib.XDefaultRootWindow(display) if window is None else window
        image = xlib.XGetImage(display, source, area.x, area.y, area.width, area.height, _ALL_PLANES, _Z_PIXMAP)
        if not image or image.contents.bits_per_pixel != 32:
            raise OSError("this display's pictures cannot be read")
        rgb = _rgb(image.contents)
        xlib.XDestroyImage(image)
        return area.width, area.height, rgb
    finally:
        xlib.XCloseDisplay(display)


def _rgb(image: _Image) -> bytes:
    """From rows of blue, green, red, unused."""
    data = ctypes.string_at(image.data, image.bytes_per_line * image.height)
    rgb = bytearray(image.width * image.height * 3)
    for row in range(image.height):
        first = row * image.bytes_per_line
        line = data[first : first + image.width * 4]
        start, end = row * image.width * 3, (row + 1) * image.width * 3
        rgb[start:end:3], rgb[start + 1 : end : 3], rgb[start + 2 : end : 3] = line[2::4], line[1::4], line[0::4]
    return bytes(rgb)
