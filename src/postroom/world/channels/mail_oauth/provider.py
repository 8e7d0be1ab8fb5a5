"""Whom one asks for access to a mailbox, where, and for what."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

GOOGLE_SCOPES: Final = ("https://mail.google.com/",)
MICROSOFT_SCOPES: Final = (
    "offline_access",
    "https://outlook.office.com/IMAP.AccessAsUser.All",
    "https://outlook.office.com/SMTP.Send",
)
PROVIDERS: Final = ("google", "microsoft")


@dataclass(frozen=True, slots=True, kw_only=True)
class OauthProvider:
    """Google shows a page in the browser and sends the answer to this machine; Microsoft shows a code to type."""

    name: str
    title: str
    scopes: tuple[str, ...]
    token_url: str
    authorize_url: str = ""
    device_url: str = ""


def oauth_provider(
    name: str, *, tenant: str = "common", token_url: str = "", authorize_url: str = "", device_url: str = ""
) -> OauthProvider:
    """Raises ValueError for one that is not known; addresses that are given stand in for the provider's own."""
    if name == "google":
        return OauthProvider(
            name=name,
            title="Google",
            scopes=GOOGLE_SCOPES,
            token_url=token_url or "https://oauth2.googleapis.com/token",
            authorize_url=authorize_url or "https://accounts.google.com/o/oauth2/v2/auth",
        )
    if name == "microsoft":
        base = f"https://login.microsoftonline.com/{tenant}/oauth2/v2.0"
        return OauthProvider(
            name=name,
            title="Microsoft",
            scopes=MICROSOFT_SCOPES,
            token_url=token_url or f"{base}/token",
            device_url=device_url or f"{base}/devicecode",
        )
    raise ValueError(f"oauth_provider must be {' or '.join(PROVIDERS)}")
