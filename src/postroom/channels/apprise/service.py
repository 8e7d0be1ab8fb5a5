"""One service of the Apprise library, opened with our options and no others."""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from typing import Any, Final

import apprise
from apprise.plugins import url_to_dict

from postroom.channels.apprise.building import ApprisePart, Departure, ServiceLimits, form_problem, service_problem
from postroom.kernel.http.call import is_plainly_private

# They write whole URLs, which hold the tokens of many services.
_TALKERS: Final = ("urllib3.connection", "urllib3.connectionpool", "urllib3.poolmanager", "urllib3.util.retry")
_THREAD: Final = "apprise"


class OneService:
    """Sends in threads that end with the process, one message after the other, for plugins keep state."""

    def __init__(self, url: str, *, allow_private: bool) -> None:
        _keep_quiet()
        self._plugin = _opened(url, allow_private=allow_private)
        self._turn = threading.Lock()
        self.name = str(self._plugin.service_name)
        # The pause between two messages is the household's to keep; a thread that sleeps only uses up the deadline.
        self.spacing_seconds = max(float(self._plugin.request_rate_per_sec), 0.0)
        self._plugin.request_rate_per_sec = 0.0

    @property
    def limits(self) -> ServiceLimits:
        return ServiceLimits(body=int(self._plugin.body_maxlen), title=int(self._plugin.title_maxlen))

    def begin(self, part: ApprisePart, departure: Departure, patience_seconds: float) -> Future[None]:
        """Runs from the moment the library is asked to send: until then it can be cancelled, and nothing has left."""
        sending: Future[None] = Future()
        given = (part, departure, sending, time.monotonic() + patience_seconds)
        threading.Thread(target=self._send, args=given, name=_THREAD, daemon=True).start()
        return sending

    def _send(self, part: ApprisePart, departure: Departure, sending: Future[None], ends_at: float) -> None:
        if not self._turn.acquire(timeout=max(ends_at - time.monotonic(), 0.0)):
            return
        try:
            if sending.set_running_or_notify_cancel():
                departure.begin()
                departure.worked = self._notify(part, max(ends_at - time.monotonic(), 0.01))
                sending.set_result(None)
        finally:
            self._turn.release()

    def _notify(self, part: ApprisePart, left_seconds: float) -> bool:
        self._plugin.socket_connect_timeout = self._plugin.socket_read_timeout = left_seconds
        try:
            return bool(self._plugin.notify(body=part.text, title=part.title, body_format=apprise.NotifyFormat.TEXT))
        except Exception:  # any plugin may raise anything, at any moment
            return False


def _opened(url: str, *, allow_private: bool) -> Any:
    """Raises ValueError with a sentence that repeats nothing of the URL."""
    _refuse(form_problem(url))
    _refuse(service_problem([url.partition("://")[0]]))
    found = url_to_dict(url)  # type: ignore[no-untyped-call]
    if found:
        _refuse(service_problem([found["schema"]], found.get("qsd") or ()))
    plugin = apprise.Apprise.instantiate(url, asset=_asset()) if found else None
    if plugin is None:
        raise ValueError("the Apprise url names no service that can be used here")
    if (recipients := len(plugin)) > 1:
        _refuse(f"names {recipients} recipients; make an account for each, so that every message has one outcome")
    if "host" in type(plugin).template_tokens and not allow_private and is_plainly_private(str(plugin.host)):
        _refuse("leads to a private address, which needs allow_private = true")
    return plugin


def _refuse(problem: str | None) -> None:
    if problem:
        raise ValueError(f"the Apprise url {problem}")


def _asset() -> apprise.AppriseAsset:
    return apprise.AppriseAsset(
        app_id="Postroom",
        app_desc="Postroom",
        image_url_mask="",
        image_url_logo="",
        http_redirects=False,
        storage_mode="memory",
        default_service_retry=0,
        allow_templates=False,
        interpret_emojis=False,
        interpret_escapes=False,
        pgp_autogen=False,
        pem_autogen=False,
    )


def _keep_quiet() -> None:
    """The libraries' own words hold paths, payloads and answers; none of them is written down."""
    library = logging.getLogger("apprise")
    library.setLevel(logging.WARNING)
    library.addFilter(_unheard)
    for name in _TALKERS:
        logging.getLogger(name).addFilter(_of_others)


def _unheard(_record: logging.LogRecord) -> bool:
    return False


def _of_others(_record: logging.LogRecord) -> bool:
    return threading.current_thread().name != _THREAD
