"""For authors of channels: what `docs/how-to/add-a-channel.md` names, at a path that stays."""
