"""A picture of the window, written as PNG with nothing but the platform's own means."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
import zlib
from pathlib import Path

from postroom.programs.desk.window.placement import Area

_ALL_PLANES = 0xFFFFFFFF
_Z_PIXMAP = 2
_PICTURE_SECONDS = 10


def capture(window: int, area: Area, file: str) -> None:
    if sys.platform == "darwin":
        _run("screencapture", "-x", f"-R{area.x},{area.y},{area.width},{area.height}", file)
    elif sys.platform == "win32":
        _run("powershell", "-NoProfile", "-Command", _windows_script(area, file))
    else:
        Path(file).write_bytes(png(*pixels(window, Area(x=0, y=0, width=area.width, height=area.height))))


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


def _run(*command: str) -> None:
    subprocess.run(command, check=True, timeout=_PICTURE_SECONDS, stdout=subprocess.DEVNULL)  # noqa: S603


def _windows_script(area: Area, file: str) -> str:
    quoted = file.replace("'", "''")
    return (
        "Add-Type -AssemblyName System.Drawing;"
        f"$b=New-Object Drawing.Bitmap {area.width},{area.height};"
        f"[Drawing.Graphics]::FromImage($b).CopyFromScreen({area.x},{area.y},0,0,$b.Size);"
        f"$b.Save('{quoted}')"
    )
