"""See every request and every connection that a service makes, without reading logs."""

from __future__ import annotations

import http.client
import logging
import socket
import threading
from typing import Any, Final

import requests

from postroom.world.channels.apprise.trail import TRAIL, Trail
from postroom.world.http.whole_answer import MOST_BYTES

# They write whole URLs, which hold the tokens of many services.
_TALKERS: Final = ("urllib3.connection", "urllib3.connectionpool", "urllib3.poolmanager", "urllib3.util.retry")
_PIECE_BYTES: Final = 65_536
_SWITCHING: Final = 101
_lock = threading.Lock()
_installed = False


def install() -> None:
    """Once for the process. Whatever runs without a trail of ours goes on exactly as before."""
    global _installed
    with _lock:
        if not _installed:
            _watch_requests()
            _watch_departures()
            _pass_over_provisional_answers()
            _watch_sockets()
            _keep_quiet()
            _installed = True


def _watch_requests() -> None:
    original = requests.sessions.Session.send

    def send(self: requests.Session, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        trail = TRAIL.get()
        if trail is None:
            return original(self, request, **options)
        ours = {"timeout": trail.left_seconds, "allow_redirects": False, "proxies": {}, "stream": True}
        trail.begin()
        try:
            answer = original(self, request, **(options | ours))
            if not options.get("stream"):
                _read_whole(answer)
        except BaseException:
            trail.failed()
            raise
        trail.answered(answer.status_code, answer.headers.get("Retry-After"))
        return answer

    requests.sessions.Session.send = send  # type: ignore[method-assign]


def _read_whole(answer: requests.Response) -> None:
    """The library itself would unpack an answer of any size; a service has no need of so many words."""
    collected = bytearray()
    for piece in answer.iter_content(_PIECE_BYTES):
        collected += piece
        if len(collected) > MOST_BYTES:
            answer.close()
            raise requests.exceptions.ContentDecodingError("the answer is too long")
    answer._content = bytes(collected)


def _pass_over_provisional_answers() -> None:
    """Python's client passes over 100 and takes 103 for the answer, which would be "not sent"; RFC 9110, 15.2."""
    original = http.client.HTTPResponse._read_status  # type: ignore[attr-defined]

    def read_status(self: http.client.HTTPResponse) -> tuple[str, int, str]:
        version, status, reason = original(self)
        is_provisional = TRAIL.get() is not None and _SWITCHING < status < 200
        return version, http.HTTPStatus.CONTINUE if is_provisional else status, reason

    http.client.HTTPResponse._read_status = read_status  # type: ignore[attr-defined]


def _watch_departures() -> None:
    original = http.client.HTTPConnection.send

    def send(self: http.client.HTTPConnection, data: Any) -> None:
        trail = TRAIL.get()
        if trail is not None:
            if self.sock is None and self.auto_open:
                self.connect()  # a connection that fails, also at its encryption, has said nothing
            trail.leave()
        original(self, data)

    http.client.HTTPConnection.send = send  # type: ignore[method-assign]


def _watch_sockets() -> None:
    connect, connect_ex, sendto = socket.socket.connect, socket.socket.connect_ex, socket.socket.sendto

    def watched_connect(self: socket.socket, address: Any) -> None:
        trail = _judged(address)
        connect(self, address)
        if trail is not None:
            trail.opened(self)

    def watched_connect_ex(self: socket.socket, address: Any) -> int:
        trail = _judged(address)
        answer = connect_ex(self, address)
        if trail is not None:
            trail.opened(self)
        return answer

    def watched_sendto(self: socket.socket, data: Any, *more: Any) -> int:
        trail = _judged(more[-1])
        if trail is not None:
            trail.opened(None)
        return sendto(self, data, *more)

    socket.socket.connect = watched_connect  # type: ignore[method-assign,assignment]
    socket.socket.connect_ex = watched_connect_ex  # type: ignore[method-assign,assignment]
    socket.socket.sendto = watched_sendto  # type: ignore[method-assign,assignment]


def _judged(address: object) -> Trail | None:
    trail = TRAIL.get()
    if trail is not None:
        trail.judge(address)
    return trail


def _keep_quiet() -> None:
    """The library's own words hold paths, payloads and answers; what the trail says takes their place."""
    library = logging.getLogger("apprise")
    library.setLevel(logging.WARNING)
    library.addFilter(lambda record: False)
    for name in _TALKERS:
        logging.getLogger(name).addFilter(lambda record: TRAIL.get() is None)
