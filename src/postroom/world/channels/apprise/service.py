"""One service of the Apprise library, opened with our options and no others."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

import apprise
from apprise.plugins import url_to_dict

from postroom.world.channels.apprise.parts import ApprisePart, ServiceLimits
from postroom.world.channels.apprise.trail import TRAIL, Trail
from postroom.world.channels.apprise.url_rules import form_problem, service_problem
from postroom.world.channels.apprise.watch import install
from postroom.world.http.public_address import is_plainly_private


class OneService:
    """Blocks while it sends, so it is called from a thread; never from two at once, for plugins keep state."""

    def __init__(self, url: str, *, allow_private: bool) -> None:
        install()
        self._plugin = _opened(url, allow_private=allow_private)
        self.name = str(self._plugin.service_name)
        # The pause between two messages is the household's to keep; a thread that sleeps only uses up the deadline.
        self.spacing_seconds = max(float(self._plugin.request_rate_per_sec), 0.0)
        self._plugin.request_rate_per_sec = 0.0

    @property
    def limits(self) -> ServiceLimits:
        return ServiceLimits(body=int(self._plugin.body_maxlen), title=int(self._plugin.title_maxlen))

    def send(self, part: ApprisePart, trail: Trail) -> bool:
        try:
            return copy_context().run(self._notify, part, trail)
        finally:
            trail.end()

    def _notify(self, part: ApprisePart, trail: Trail) -> bool:
        TRAIL.set(trail)
        try:
            return bool(self._plugin.notify(body=part.text, title=part.title, body_format=apprise.NotifyFormat.TEXT))
        except Exception:  # any plugin may raise anything; the trail says what was sent before it did
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
