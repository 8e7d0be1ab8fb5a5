"""Settings: one frozen object, read once; the model that checks them is imported when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from postroom.kernel.running.process import Secret, SecretUrl
from postroom.kernel.values.errors import SettingsError

if TYPE_CHECKING:
    from postroom.settings.model import ContactSettings, Owner, Ports, ServingSettings, Settings

__all__ = ["ContactSettings", "Owner", "Ports", "Secret", "SecretUrl", "ServingSettings", "Settings", "SettingsError"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("postroom.settings.model"), name)
