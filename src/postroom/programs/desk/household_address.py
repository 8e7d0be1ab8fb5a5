"""Whose questions this desk shows: a household, and the token of one person there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from postroom.domain.settings_error import SettingsError
from postroom.system.settings import Secret, Settings

_PERSONS: Final = ("pr_person_", "pr_user_")  # how a person's token begins; no other one answers


@dataclass(frozen=True, slots=True, kw_only=True)
class HouseholdAddress:
    """`token` is a person's own: whose questions are shown, and in whose name they are answered."""

    url: str
    token: Secret


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What the command line says."""

    url: str | None = None
    token: str | None = None


def whose_questions(
    settings: Settings, named: Named, owners_token: Callable[[Settings], str | None]
) -> HouseholdAddress | None:
    """None when the desk works alone. What is named on the command line must be whole; the rest may be missing."""
    if named.url is None and named.token is None:
        return _known(settings, owners_token) if settings.desk.questions else None
    url, token = named.url or settings.api_url, named.token or settings.token.reveal()
    if not token:
        raise SettingsError("--household needs the token of a person there: --token, or POSTROOM_TOKEN.")
    if not url.startswith(("http://", "https://")):
        raise SettingsError("--household must begin with http:// or https://.")
    return HouseholdAddress(url=url.rstrip("/"), token=Secret(token))


def _known(settings: Settings, owners_token: Callable[[Settings], str | None]) -> HouseholdAddress | None:
    """The household that commands speak to, otherwise the one on this machine if its owner has a token."""
    if settings.url and settings.token.reveal().startswith(_PERSONS):
        return HouseholdAddress(url=settings.api_url, token=settings.token)
    token = None if settings.url else owners_token(settings)
    return HouseholdAddress(url=settings.api_url, token=Secret(token)) if token else None
