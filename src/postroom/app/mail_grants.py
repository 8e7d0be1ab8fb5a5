"""Where the grant of a mail account lies, and which provider gave it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from postroom.app.household_key import household_key
from postroom.system.settings.accounts import (
    EmailAccount,
    EmailSettings,
)
from postroom.world.channels.mail_oauth.grant import GrantFile
from postroom.world.channels.mail_oauth.provider import OauthProvider, oauth_provider

if TYPE_CHECKING:
    pass


def grant_file(name: str, home: Path) -> GrantFile:
    return GrantFile(home, name, household_key(home, "mail access"))


def mail_provider(options: EmailSettings | EmailAccount) -> OauthProvider:
    return oauth_provider(
        options.oauth_provider,
        tenant=options.oauth_tenant,
        token_url=options.oauth_token_url,
        authorize_url=options.oauth_authorize_url,
        device_url=options.oauth_device_url,
    )
