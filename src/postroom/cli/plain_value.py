"""
Options whose value needs no conversion are taken as they are: Typer would import pydantic for each.

What is wrong with any other is said in our words, and not in the library's.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from typer._click.exceptions import BadParameter

if TYPE_CHECKING:
    from typer._click.core import Parameter

_NO_UTF8: Final = re.compile("[\ud800-\udfff]")  # what the shell passed on as it was
_INSTEAD: Final = "get_runtime_param"  # how a parameter finds what converts its value


class _Plain:
    def __init__(self, parameter: Any) -> None:
        self._converter = getattr(parameter, _INSTEAD)
        self._is_text = parameter.type_descriptor.annotation is str
        self._are_texts = parameter.type_descriptor.annotation == list[str]
        self._absent: Any = () if parameter.multiple else None

    def __call__(self) -> _Plain:
        return self

    def coerce(self, value: Any, **where: Any) -> Any:
        if value is None:
            return self._absent
        if self._is_text or self._are_texts:
            _refuse_bytes(value, **where)
        if self._is_text and isinstance(value, str):
            return value
        try:
            return self._converter().coerce(value, **where)
        except BadParameter as error:
            if told := _in_our_words(error.__cause__):
                raise BadParameter(told, ctx=error.ctx, param=error.param) from None
            raise


def _refuse_bytes(value: Any, **where: Any) -> None:
    texts = [value] if isinstance(value, str) else value
    if isinstance(texts, list | tuple) and any(isinstance(one, str) and _NO_UTF8.search(one) for one in texts):
        raise BadParameter("is not text in UTF-8", **where)


def _in_our_words(cause: BaseException | None) -> str | None:
    from pydantic import ValidationError

    from postroom.domain.field_words import words

    return words(cause.errors()[0]) if isinstance(cause, ValidationError) else None


def sparing_pydantic(parameters: list[Parameter]) -> list[Parameter]:
    """The same parameters; with a Typer that works otherwise, nothing happens to them."""
    for one in parameters:
        if hasattr(one, _INSTEAD) and _INSTEAD not in vars(one):
            vars(one)[_INSTEAD] = _Plain(one)
    return parameters
