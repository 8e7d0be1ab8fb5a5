"""
A process that has read all of Postroom's source and becomes `postroom …` in a child whenever it is asked to.

    python -m tests.services.warm SOCKET

Reading the source costs most of a new process's first seconds, and tests start the same one again and again. The
children are processes like any other: with an environment, a folder, open files and a session of their own.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import tempfile
from typing import Any

MODULES = (
    *("postroom.__main__", "postroom.cli.application", "postroom.cli.up", "postroom.household.household"),
    *("uvicorn.protocols.http.httptools_impl", "uvloop", "asyncpg", "redis.asyncio"),
)
_LONGEST = 1 << 20


def serve(listener: socket.socket) -> dict[str, Any]:
    """Comes back in a child only, with what it shall be; ends when standard input does."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(0, selectors.EVENT_READ)
        waiting.register(listener, selectors.EVENT_READ)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            for key, _ in waiting.select():
                if key.fileobj == 0:
                    os._exit(0)
                if key.fileobj is not listener:
                    waiting.unregister(key.fileobj)
                    _tell_end(key.fd, *key.data)
                elif request := _start(listener, waiting):
                    return request


def _start(listener: socket.socket, waiting: selectors.BaseSelector) -> dict[str, Any] | None:
    caller, _ = listener.accept()
    text, files, _, _ = socket.recv_fds(caller, _LONGEST, 3)
    while not text.endswith(b"\n"):
        text += caller.recv(_LONGEST)
    child = os.fork()
    if not child:
        for number, file in enumerate(files):
            os.dup2(file, number)
        _let_go(waiting)
    for file in files:
        os.close(file)
    if not child:
        caller.close()
        return dict(json.loads(text))
    caller.sendall(f"{child}\n".encode())
    waiting.register(os.pidfd_open(child), selectors.EVENT_READ, (child, caller))
    return None


def _let_go(waiting: selectors.BaseSelector) -> None:
    """Of the other children, which are not this one's."""
    for key in waiting.get_map().values():
        if key.data:
            os.close(key.fd)
            key.data[1].close()


def _tell_end(pidfd: int, child: int, caller: socket.socket) -> None:
    os.close(pidfd)
    _, status = os.waitpid(child, 0)
    with caller:
        caller.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def become(request: dict[str, Any]) -> None:
    """What differs between this process and a new one."""
    os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None
    sys.modules["__main__"] = sys.modules["postroom.__main__"]
    sys.argv = [sys.modules["__main__"].__file__ or "", *request["words"]]
    sys.path[:1] = [request["folder"], *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.stdin = os.fdopen(0)
    sys.stdout = os.fdopen(1, "w", buffering=1)
    sys.stderr = os.fdopen(2, "w", buffering=1)


if __name__ == "__main__":
    for name in MODULES:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # children neither look through what is common to all of them nor take it apart at their end
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a key for all of a terminal is for the tests to answer
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen()
        wanted = serve(listening)
    become(wanted)
    if module := wanted.get("module"):
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.modules["__main__"].main()
