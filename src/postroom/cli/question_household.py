"""The household whose questions a command is about: at POSTROOM_URL, or the one that runs here, as its owner."""

from __future__ import annotations

from postroom.cli.elsewhere import Elsewhere, elsewhere
from postroom.cli.not_running import no_owner_token
from postroom.domain.principal import OPERATOR
from postroom.system.settings.glance import SettingsGlance, glance_from_process


def question_household(home: str | None) -> Elsewhere:
    settings = glance_from_process({"home": home})
    return elsewhere(settings, home) or _here(settings)


def _here(settings: SettingsGlance) -> Elsewhere:
    from postroom.doors.guard.tokens import TokenFile

    token = TokenFile(settings.tokens_file).token_of(OPERATOR)
    if token is None:
        raise no_owner_token(settings.tokens_file)
    return Elsewhere(url=settings.own_api_url, token=token)
