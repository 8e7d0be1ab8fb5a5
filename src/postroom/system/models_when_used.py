"""Pydantic's models are built for their first use: most of those that libraries define are never used here."""

from __future__ import annotations

from pydantic import BaseModel


def build_models_when_used() -> None:
    """In this process, of all that are imported from now on. MCP alone has three generations of its messages."""
    BaseModel.model_config["defer_build"] = True
