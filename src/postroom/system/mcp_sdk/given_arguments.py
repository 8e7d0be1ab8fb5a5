"""A tool's arguments read as the SDK reads them, at the price of those that were given and not of all there are."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata

_MAY_BE_JSON: Final = ("[", "{", "null")  # whatever else JSON can say, the SDK leaves as the text it was


class GivenArguments(FuncMetadata):
    """What the SDK finds out about all declared arguments at every call is found out once."""

    def pre_parse_json(self, data: dict[str, Any]) -> dict[str, Any]:
        texts = _declared(self.arg_model).texts
        for name, value in data.items():
            if isinstance(value, str) and name not in texts and value.lstrip().startswith(_MAY_BE_JSON):
                return super().pre_parse_json(data)
        return data

    def validate_arguments(self, arguments_to_validate: dict[str, Any]) -> dict[str, Any]:
        model = self.arg_model.model_validate(self.pre_parse_json(arguments_to_validate))
        return dict(model.__dict__) if _declared(self.arg_model).by_own_names else model.model_dump_one_level()


@dataclass(frozen=True, slots=True)
class _Declared:
    """Those that are texts and nothing else, and whether the function calls all by the names the model has for them."""

    texts: frozenset[str]
    by_own_names: bool


@cache
def _declared(model: type[ArgModelBase]) -> _Declared:
    fields = model.model_fields
    return _Declared(
        texts=frozenset(one.alias or name for name, one in fields.items() if one.annotation is str),
        by_own_names=not any(one.alias for one in fields.values()),
    )


def given_arguments(made: FuncMetadata) -> FuncMetadata:
    return GivenArguments(
        arg_model=made.arg_model,
        output_schema=made.output_schema,
        output_model=made.output_model,
        wrap_output=made.wrap_output,
    )
