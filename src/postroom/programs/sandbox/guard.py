"""
Only this machine's own pages and programs may talk to the sandbox.

A web page anywhere can make a browser call 127.0.0.1. It cannot hide its
Origin, nor the Host name it used, so both are checked. A plain image or link
carries no Origin; for those the browser's Sec-Fetch-Site tells.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection, Mapping


def refusal_reason(headers: Mapping[str, str], method: str, path: str, hosts: Collection[str]) -> str | None:
    host = headers.get("Host", "")
    if not _is_ours(hostname(host), hosts):
        return "this Host is not served by the sandbox"
    origin = headers.get("Origin")
    if origin is not None and origin.lower() != f"http://{host.lower()}":
        return "requests from other origins are refused"
    site = headers.get("Sec-Fetch-Site", "none")
    if site not in {"none", "same-origin"} and not _opens_the_page(headers, method, path):
        return "requests from other sites are refused"
    return None


def hostname(host: str) -> str:
    """Without the port and the brackets of an IPv6 address."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()


def _is_ours(name: str, hosts: Collection[str]) -> bool:
    if name == "localhost" or name in hosts:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _opens_the_page(headers: Mapping[str, str], method: str, path: str) -> bool:
    """A link from another page, such as the console's, may open the phone and the mailbox."""
    return method == "GET" and headers.get("Sec-Fetch-Mode") == "navigate" and path in {"/", "/sandbox", "/sandbox/"}
