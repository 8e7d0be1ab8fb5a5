"""Pictures of an X11 screen as plain PNG files, taken and read back."""

from __future__ import annotations

import ctypes
import struct
import zlib
from pathlib import Path

from postroom.desk.window.window import Area

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
