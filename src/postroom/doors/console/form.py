"""What a page sends back: urlencoded fields, and proof that the page was ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from postroom.domain.console_session import is_form_token

_MOST_FIELDS: Final = 2_000
_TYPE: Final = "application/x-www-form-urlencoded"
TOKEN_FIELD: Final = "form_token"  # noqa: S105  # the name of a field, not a secret


class FormRefused(Exception):
    """The form did not come from one of our own pages, or cannot be read."""


@dataclass(frozen=True, slots=True)
class Form:
    fields: Sequence[tuple[str, str]] = field(default_factory=tuple)

    def get(self, name: str) -> str:
        """The last one, as a browser would overwrite; empty when it is missing."""
        return next((value for key, value in reversed(self.fields) if key == name), "")

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key == name]


async def read_form(request: Request) -> Form:
    check_origin(request)
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise FormRefused("This is not a form of the console.")
    try:
        pairs = parse_qsl((await request.body()).decode(), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise FormRefused("The form cannot be read.") from None
    return Form(tuple((name, value.replace("\0", "")) for name, value in pairs))


def check_origin(request: Request) -> None:
    """
    Browsers say where a form comes from; only our own pages may send one.

    Something that says nothing at all is no browser, and has the API for its purposes.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    own = {f"{scheme}://{request.headers.get('host', '')}".lower() for scheme in ("http", "https")}
    if site not in (None, "same-origin") or (origin is not None and origin.lower() not in own):
        raise FormRefused("This form was sent by another site, so nothing was done.")
    if site is None and origin is None:
        raise FormRefused("This form does not say where it comes from, so nothing was done.")


def check_token(form: Form, session_secret: str) -> None:
    if not is_form_token(session_secret, form.get(TOKEN_FIELD)):
        raise FormRefused("This form belongs to another session, so nothing was done. Open the page again.")
