"""The monitors of this desktop, the primary one first."""

from __future__ import annotations

import ctypes
import sys

from postroom.programs.desk.window.placement import Area


def monitors(whole: Area) -> list[Area]:
    """Just the whole screen where nothing more is known."""
    try:
        found = _windows() if sys.platform == "win32" else [] if sys.platform == "darwin" else _x11()
    except (OSError, AttributeError):
        found = []
    return found or [whole]


class _MonitorInfo(ctypes.Structure):
    """XRRMonitorInfo"""

    _fields_ = (
        ("name", ctypes.c_ulong),
        ("primary", ctypes.c_int),
        ("automatic", ctypes.c_int),
        ("outputs_count", ctypes.c_int),
        ("x", ctypes.c_int),
        ("y", ctypes.c_int),
        ("width", ctypes.c_int),
        ("height", ctypes.c_int),
        ("width_mm", ctypes.c_int),
        ("height_mm", ctypes.c_int),
        ("outputs", ctypes.c_void_p),
    )


def _x11() -> list[Area]:
    xlib = ctypes.CDLL("libX11.so.6")
    randr = ctypes.CDLL("libXrandr.so.2")
    xlib.XOpenDisplay.restype = ctypes.c_void_p
    xlib.XDefaultRootWindow.restype = ctypes.c_ulong
    xlib.XDefaultRootWindow.argtypes = xlib.XCloseDisplay.argtypes = [ctypes.c_void_p]
    randr.XRRGetMonitors.restype = ctypes.POINTER(_MonitorInfo)
    randr.XRRGetMonitors.argtypes = [ctypes.c_void_p, ctypes.c_ulong, ctypes.c_int, ctypes.POINTER(ctypes.c_int)]
    randr.XRRFreeMonitors.argtypes = [ctypes.POINTER(_MonitorInfo)]
    display = xlib.XOpenDisplay(None)
    if not display:
        return []
    count = ctypes.c_int()
    infos = randr.XRRGetMonitors(display, xlib.XDefaultRootWindow(display), 1, ctypes.byref(count))
    try:
        return _primary_first([infos[index] for index in range(count.value)] if infos else [])
    finally:
        if infos:
            randr.XRRFreeMonitors(infos)
        xlib.XCloseDisplay(display)


def _primary_first(infos: list[_MonitorInfo]) -> list[Area]:
    ordered = sorted(infos, key=lambda info: not info.primary)
    return [Area(x=info.x, y=info.y, width=info.width, height=info.height) for info in ordered]


def _windows() -> list[Area]:
    """The monitor under the pointer alone; Windows itself falls back to the primary one."""
    from ctypes import wintypes

    class Info(ctypes.Structure):
        _fields_ = (
            ("size", wintypes.DWORD),
            ("monitor", wintypes.RECT),
            ("work", wintypes.RECT),
            ("flags", wintypes.DWORD),
        )

    user32 = ctypes.windll.user32  # type: ignore[attr-defined]
    user32.MonitorFromPoint.restype = wintypes.HANDLE
    user32.MonitorFromPoint.argtypes = [wintypes.POINT, wintypes.DWORD]
    user32.GetMonitorInfoW.argtypes = [wintypes.HANDLE, ctypes.POINTER(Info)]
    point, info = wintypes.POINT(), Info(size=ctypes.sizeof(Info))
    user32.GetCursorPos(ctypes.byref(point))
    if not user32.GetMonitorInfoW(user32.MonitorFromPoint(point, 1), ctypes.byref(info)):
        return []
    work = info.work
    return [Area(x=work.left, y=work.top, width=work.right - work.left, height=work.bottom - work.top)]
