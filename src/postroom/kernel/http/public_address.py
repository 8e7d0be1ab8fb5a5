"""Which addresses belong to the open internet, asked again for every connection that is made."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractResolver

from postroom.kernel.values.errors import TargetUnavailable

# What Python counts as global and is not, or leads to an address of the old kind that nothing here can judge.
_NOT_OPEN: Final = tuple(
    ip_network(text)
    for text in (
        "192.0.0.0/24",
        "192.88.99.0/24",
        "168.63.129.16/32",  # the inside of a cloud: metadata, served under a global address
        "100::/64",
        "64:ff9b:1::/48",
        "2001::/23",
        "2002::/16",
        "3fff::/20",
        "5f00::/16",
        "fec0::/10",
    )
)
_EMBEDDING: Final = (IPv6Network("::/96"), IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))


class PrivateAddress(OSError):
    """Raised instead of connecting; its words are always the same, so that they name no host."""

    def __init__(self) -> None:
        super().__init__("the address is not on the open internet")


def is_public(text: str) -> bool:
    """An address of the old kind that is written inside a new one is judged as what it is."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and any(address in network for network in _EMBEDDING):
        return is_public(str(IPv4Address(int(address) & 0xFFFFFFFF)))
    if address.is_multicast or not address.is_global:
        return False
    return not any(address in network for network in _NOT_OPEN)


def is_plainly_private(host: str) -> bool:
    """Without asking anybody: what is written as an address, or means this machine by its name."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return not is_public(name)


def public_only(resolver: AbstractResolver | None = None) -> aiohttp.TCPConnector:
    """Looks at the very address it is about to connect to, so a name that changes gains nothing."""
    return aiohttp.TCPConnector(socket_factory=_open, resolver=resolver)


def refused_as_private(error: BaseException | None, service: str) -> TargetUnavailable | None:
    while error is not None:
        if isinstance(error, PrivateAddress):
            return private_refusal(service)
        error = error.__cause__ or error.__context__
    return None


def private_refusal(service: str) -> TargetUnavailable:
    return TargetUnavailable(f"{service} leads to a private address, which needs allow_private = true")


def _open(info: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, address = info
    if not is_public(address[0]):
        raise PrivateAddress
    return socket.socket(family=family, type=kind, proto=protocol)
