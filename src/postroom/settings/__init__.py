"""Settings: one frozen object, read once."""

from postroom.settings.load import SettingsError, load
from postroom.settings.model import Contact, Owner, Ports, Settings
from postroom.settings.secret import Secret, SecretUrl
from postroom.settings.serving import ServingSettings

__all__ = ["Contact", "Owner", "Ports", "Secret", "SecretUrl", "ServingSettings", "Settings", "SettingsError", "load"]
