"""Passkeys: what a browser is asked, and whether its answer proves who is there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from postroom.domain.clock import Clock
from postroom.domain.console_session import digest
from postroom.domain.passkey import (
    CHALLENGE_LIFE_SECONDS,
    LONGEST_LABEL,
    Ceremony,
    Challenge,
    Passkey,
    Site,
    user_handle,
)
from postroom.domain.time import seconds

if TYPE_CHECKING:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

_MOST_CHARACTERS: Final = 16_384  # of what a browser answers
_ID: Final = re.compile(r"[\w-]{1,1400}", re.ASCII)  # the standard's 1,023 bytes in base64url
_NAME: Final = "Postroom"
_TRANSPORTS: Final = frozenset({"usb", "nfc", "ble", "internal", "cable", "hybrid", "smart-card"})


class PasskeyRefused(Exception):
    """One sentence for the person; what exactly was wrong helps only those who try."""


class PasskeyStore(Protocol):
    async def keep_challenge(self, challenge: Challenge, now_us: int) -> None: ...

    async def take_challenge(self, digest: str, now_us: int) -> Challenge | None: ...

    async def get(self, passkey_id: str) -> Passkey | None: ...

    async def of(self, person_id: str) -> Sequence[Passkey]: ...

    async def add(self, passkey: Passkey, by: str) -> bool: ...

    async def used(self, passkey: Passkey, counter: int, now_us: int) -> bool: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Passkeys:
    """
    `browser` is a secret of the browser before us: a challenge is answered where it was asked.

    The library is imported when it is first needed.
    """

    store: PasskeyStore
    clock: Clock
    new_challenge: Callable[[], bytes]

    async def registration(self, person_id: str, name: str, site: Site, browser: str) -> str:
        """What the browser is asked to make, as JSON."""
        from webauthn import generate_registration_options, options_to_json
        from webauthn.helpers.structs import (
            AuthenticatorSelectionCriteria,
            ResidentKeyRequirement,
            UserVerificationRequirement,
        )

        options = generate_registration_options(
            rp_id=site.rp_id,
            rp_name=_NAME,
            user_name=name,
            user_display_name=name,
            user_id=user_handle(person_id),
            challenge=await self._challenge(Ceremony.REGISTER, browser, person_id),
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED, user_verification=UserVerificationRequirement.REQUIRED
            ),
            exclude_credentials=_descriptors(await self.store.of(person_id)),
        )
        return options_to_json(options)

    async def register(self, person_id: str, by: str, answer: str, label: str, site: Site, browser: str) -> Passkey:
        from webauthn import verify_registration_response
        from webauthn.helpers import bytes_to_base64url

        credential, challenge = _read(answer), _challenge_in(answer)
        kept = await self._taken(challenge, Ceremony.REGISTER, browser)
        if kept is None or kept.person_id != person_id:
            raise PasskeyRefused("This took too long or was answered already. Try again.")
        verified = _verified(
            verify_registration_response,
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=site.rp_id,
            expected_origin=site.origin,
            require_user_verification=True,
        )
        made = Passkey(
            id=bytes_to_base64url(verified.credential_id),
            person_id=person_id,
            public_key=bytes_to_base64url(verified.credential_public_key),
            counter=verified.sign_count,
            transports=_transports(credential),
            label=_label(label),
            created_at_us=self.clock.now_us(),
        )
        if not await self.store.add(made, by):
            raise PasskeyRefused("This passkey is registered already, or there are too many: remove one first.")
        return made

    async def question(self, site: Site, browser: str) -> str:
        """What the browser is asked to prove, as JSON; any passkey of this site may answer."""
        from webauthn import generate_authentication_options, options_to_json
        from webauthn.helpers.structs import UserVerificationRequirement

        options = generate_authentication_options(
            rp_id=site.rp_id,
            challenge=await self._challenge(Ceremony.SIGN_IN, browser, None),
            user_verification=UserVerificationRequirement.REQUIRED,
        )
        return options_to_json(options)

    async def recognise(self, answer: str, site: Site, browser: str) -> Passkey:
        """The passkey that was shown, with its count moved on."""
        from webauthn import verify_authentication_response
        from webauthn.helpers import base64url_to_bytes

        credential, challenge = _read(answer), _challenge_in(answer)
        kept = await self._taken(challenge, Ceremony.SIGN_IN, browser)
        known = await self.store.get(credential["id"]) if kept else None
        if kept is None or known is None or not _is_handle(credential, known.person_id):
            raise PasskeyRefused("This passkey is not known here. Sign in by a link.")
        verified = _verified(
            verify_authentication_response,
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=site.rp_id,
            expected_origin=site.origin,
            credential_public_key=base64url_to_bytes(known.public_key),
            credential_current_sign_count=known.counter,
            require_user_verification=True,
        )
        if not await self.store.used(known, verified.new_sign_count, self.clock.now_us()):
            raise PasskeyRefused("This passkey was used somewhere else at the same moment. Try again.")
        return known

    async def _challenge(self, ceremony: Ceremony, browser: str, person_id: str | None) -> bytes:
        made, now_us = self.new_challenge(), self.clock.now_us()
        kept = Challenge(
            digest=digest(made.hex()),
            ceremony=ceremony,
            browser=digest(browser),
            person_id=person_id,
            expires_at_us=now_us + seconds(CHALLENGE_LIFE_SECONDS),
        )
        await self.store.keep_challenge(kept, now_us)
        return made

    async def _taken(self, challenge: bytes, ceremony: Ceremony, browser: str) -> Challenge | None:
        kept = await self.store.take_challenge(digest(challenge.hex()), self.clock.now_us())
        return kept if kept and kept.ceremony is ceremony and browser and kept.browser == digest(browser) else None


def _verified(verify: Callable[..., Any], **what: Any) -> Any:
    """The library refuses what a stranger made up in many ways; all of them mean the same here."""
    try:
        return verify(**what)
    except Exception as error:
        raise PasskeyRefused("The passkey could not be verified, so nothing was done.") from error


def _read(answer: str) -> dict[str, Any]:
    try:
        read = json.loads(answer) if len(answer) <= _MOST_CHARACTERS else None
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict) or not isinstance(read.get("response"), dict) or not _is_id(read.get("id")):
        raise PasskeyRefused("This is not a passkey's answer.")
    return read


def _is_id(said: object) -> bool:
    return isinstance(said, str) and _ID.fullmatch(said) is not None


def _challenge_in(answer: str) -> bytes:
    """As the browser quotes it; whether it is ours is asked of the store."""
    from webauthn.helpers import base64url_to_bytes

    try:
        said = json.loads(base64url_to_bytes(_read(answer)["response"]["clientDataJSON"]))
        return base64url_to_bytes(said["challenge"])
    except Exception as error:
        raise PasskeyRefused("This is not a passkey's answer.") from error


def _is_handle(credential: dict[str, Any], person_id: str) -> bool:
    from webauthn.helpers import bytes_to_base64url

    said = credential["response"].get("userHandle")
    return isinstance(said, str) and said.rstrip("=") == bytes_to_base64url(user_handle(person_id))


def _transports(credential: dict[str, Any]) -> tuple[str, ...]:
    said = credential["response"].get("transports")
    return tuple(sorted({one for one in said if isinstance(one, str)} & _TRANSPORTS)) if isinstance(said, list) else ()


def _label(text: str) -> str:
    return " ".join(text.split())[:LONGEST_LABEL] or "Passkey"


def _descriptors(known: Sequence[Passkey]) -> list[PublicKeyCredentialDescriptor]:
    from webauthn.helpers import base64url_to_bytes
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(one.id)) for one in known]
