"""Where each part is."""

from __future__ import annotations

from collections.abc import Iterable

from postroom.domain.web_address import web_address
from postroom.system.roster.config import ButlerConfig
from postroom.system.settings import Settings


def port_for(settings: Settings, config: ButlerConfig) -> int:
    """The settings' word counts when it was given; otherwise the butler's own file."""
    if config.name in settings.ports.model_fields_set:
        port: int = getattr(settings.ports, config.name)
        return port
    return config.butler.port


class Endpoints:
    """URLs of the parts: this machine's own ports unless the settings say that a part lives elsewhere."""

    def __init__(self, settings: Settings, roster: Iterable[ButlerConfig]) -> None:
        self._host = settings.host
        self._elsewhere = settings.endpoints
        self._ports: dict[str, int] = {}
        self._own_switchboards: dict[str, str] = {}
        for config in roster:
            self._ports[config.name] = port_for(settings, config)
            if config.butler.switchboard is not None:
                self._own_switchboards[config.name] = config.butler.switchboard.url

    def bound(self, name: str, port: int) -> None:
        """A port that was left to the system to choose is known now."""
        self._ports[name] = port

    def port(self, name: str) -> int:
        return self._ports[name]

    def own_switchboard(self, caller: str) -> str | None:
        """Where that butler's file says its switchboard is."""
        return self._own_switchboards.get(caller)

    def url(self, name: str) -> str | None:
        if name in self._elsewhere:
            return self._elsewhere[name]
        return f"{web_address(self._host, self._ports[name])}/mcp" if name in self._ports else None
