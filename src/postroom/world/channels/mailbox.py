"""One e-mail address: plain ASCII, one mailbox, nothing around it."""

from __future__ import annotations

import re
from ipaddress import ip_address

LONGEST_ADDRESS = 254
_LONGEST_LOCAL_PART = 64

_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_MAILBOX = re.compile(rf"({_ATOM}(?:\.{_ATOM})*)@({_LABEL}(?:\.{_LABEL})*)")


def mailbox(text: str) -> str | None:
    """
    The address with its domain in lower case, or None.

    The local part keeps its case: only the receiving server knows whether it
    matters. "=?" would let a mail reader decode the address into another one.
    """
    text = text.strip(" ")
    match = _MAILBOX.fullmatch(text)
    if match is None or len(text) > LONGEST_ADDRESS:
        return None
    local_part, domain = match.groups()
    if len(local_part) > _LONGEST_LOCAL_PART or "=?" in local_part or domain.rpartition(".")[2].isdigit():
        return None
    return f"{local_part}@{domain.lower()}"


def domain_of(address: str) -> str:
    return address.rpartition("@")[2]


def is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
