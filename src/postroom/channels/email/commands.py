"""`postroom login-mail`: a provider grants access to a mailbox, which is then kept sealed in the home."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from postroom.channels.email.kind import EmailAccount, EmailSettings
from postroom.channels.email.oauth import Grant, OauthProvider, by_code, by_page, grant_file, mail_provider
from postroom.kernel.running.terminal import Home, Json, complain, say, say_json
from postroom.kernel.values.errors import Mistyped, UserError
from postroom.kernel.values.fields import did_you_mean
from postroom.settings import Settings
from postroom.settings.load import from_process

Mailbox = EmailSettings | EmailAccount


def login_mail(
    account: Annotated[str, typer.Argument(metavar="[ACCOUNT]", help="The account of the settings.")] = "email",
    provider: Annotated[str, typer.Option("--provider", help="google or microsoft; as the settings say.")] = "",
    client_id: Annotated[str, typer.Option("--client-id", help="The client you registered there.")] = "",
    client_secret: Annotated[
        str,
        typer.Option(
            "--client-secret",
            help="Its secret; better in the settings, or POSTROOM_MAIL_CLIENT_SECRET.",
            envvar="POSTROOM_MAIL_CLIENT_SECRET",
            show_envvar=False,
        ),
    ] = "",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Where Google's page answers; 0: any.")] = 0,
    home: Home = None,
    json: Json = False,
) -> None:
    """Let Google or Microsoft grant access to a mailbox, without a password."""
    settings, _ = from_process({"home": home})
    mailbox = _mailbox(settings, account)
    chosen = provider or mailbox.oauth_provider
    if chosen not in ("google", "microsoft"):
        raise Mistyped("--provider: say google or microsoft.")
    identity = client_id or mailbox.oauth_client_id
    if not identity:
        raise Mistyped(
            "--client-id: name the client you registered with the provider; docs/how-to/channels.md says how."
        )
    secret = client_secret or mailbox.oauth_client_secret.reveal()
    asked = mail_provider(mailbox.model_copy(update={"oauth_provider": chosen}))
    grant = asyncio.run(_granted(asked, identity, secret, mailbox.address, port, json))
    grant_file(account, settings.home).write(grant)
    if json:
        say_json({"account": account, "address": mailbox.address, "provider": chosen, "granted": True})
    else:
        say(f"Access to {mailbox.address or account} is granted and kept, sealed, in the home.")
    if not mailbox.by_token or mailbox.oauth_provider != chosen:
        complain(f'Now set auth = "oauth2" and oauth_provider = "{chosen}" for this account in the settings.')


def _mailbox(settings: Settings, account: str) -> Mailbox:
    known: dict[str, Mailbox] = {name: one for name, one in settings.channels.items() if isinstance(one, EmailAccount)}
    if isinstance(settings.email, EmailSettings):
        known.setdefault("email", settings.email)
    if account not in known:
        raise UserError(
            f"ACCOUNT: there is no mailbox called '{account}'{did_you_mean(account, known)} See `postroom config`."
        )
    if not known[account].address:
        raise UserError("address: the account has none; set BUTLER_EMAIL_ADDRESS, or address in its section.")
    return known[account]


async def _granted(
    provider: OauthProvider, client_id: str, client_secret: str, user: str, port: int, as_json: bool
) -> Grant:
    tell = complain if as_json else say
    if provider.device_url:
        return await by_code(provider, client_id, client_secret, tell)
    return await by_page(provider, client_id, client_secret, tell, port=port, user=user)
