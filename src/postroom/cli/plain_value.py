"""Options whose value needs no conversion are taken as they are: Typer would import pydantic for each."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from typer._click.core import Parameter

_NO_UTF8: Final = re.compile("[\ud800-\udfff]")  # pydantic knows what to say about it
_INSTEAD: Final = "get_runtime_param"  # how a parameter finds what converts its value


class _Plain:
    def __init__(self, parameter: Any) -> None:
        self._converter = getattr(parameter, _INSTEAD)
        self._is_text = parameter.type_descriptor.annotation is str
        self._absent: Any = () if parameter.multiple else None

    def __call__(self) -> _Plain:
        return self

    def coerce(self, value: Any, **where: Any) -> Any:
        if value is None:
            return self._absent
        is_text = self._is_text and isinstance(value, str) and not _NO_UTF8.search(value)
        return value if is_text else self._converter().coerce(value, **where)


def sparing_pydantic(parameters: list[Parameter]) -> list[Parameter]:
    """The same parameters; with a Typer that works otherwise, nothing happens to them."""
    for one in parameters:
        if hasattr(one, _INSTEAD) and _INSTEAD not in vars(one):
            vars(one)[_INSTEAD] = _Plain(one)
    return parameters
