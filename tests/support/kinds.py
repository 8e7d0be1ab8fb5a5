"""The shipped kinds of channels with what each can do."""

from __future__ import annotations

from postroom.message.channel import KnownChannels
from postroom.settings.accounts import shipped_kinds

KINDS: KnownChannels = {name: kind.capabilities for name, kind in shipped_kinds().items()}
