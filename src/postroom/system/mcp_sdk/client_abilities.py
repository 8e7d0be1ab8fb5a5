"""What the client of a call can do, as it said itself: newer ones with each call, older ones once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.server.context import ServerRequestContext
from mcp_types import CLIENT_CAPABILITIES_META_KEY, ElicitationCapability

from postroom.system.mcp_sdk.revision import REVISION


def is_newer(context: ServerRequestContext[Any, Any]) -> bool:
    return context.protocol_version == REVISION


def declares(context: ServerRequestContext[Any, Any], extension: str) -> bool:
    """With this very request: what it said with others does not count."""
    said = _mapping(_mapping(context.params).get("_meta")).get(CLIENT_CAPABILITIES_META_KEY)
    return is_newer(context) and extension in _mapping(_mapping(said).get("extensions"))


def shows_forms(context: ServerRequestContext[Any, Any]) -> bool:
    able = context.session.client_capabilities
    return able is not None and takes_forms(able.elicitation)


def takes_forms(able: ElicitationCapability | None) -> bool:
    """An empty object is from before there was another way than forms."""
    return able is not None and (able.form is not None or able.url is None)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
