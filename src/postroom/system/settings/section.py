"""What every section of the settings is made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_LONGEST_SECONDS = 366 * 24 * 3600
Positive = Annotated[int, Field(gt=0, le=10**9)]
Seconds = Annotated[float, Field(gt=0, le=_LONGEST_SECONDS)]


class SettingsSection(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", allow_inf_nan=False, arbitrary_types_allowed=True, use_attribute_docstrings=True
    )
