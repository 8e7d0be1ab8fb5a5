"""What somebody probably meant by a key that a model does not know."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel

from postroom.domain.nearest import did_you_mean


def unknown_key(model: type[BaseModel], path: tuple[int | str, ...]) -> str:
    """The end of the sentence; `path` leads from the model to the key."""
    inner: type[BaseModel] | None = model
    for name in path[:-1]:
        inner = _below(inner, name)
    return did_you_mean(str(path[-1]), _keys(inner) if inner else ())


def _below(model: type[BaseModel] | None, name: int | str) -> type[BaseModel] | None:
    """The place in a list, or a name of the person's own choosing, is no field."""
    if model is None or str(name) not in model.model_fields:
        return model
    return _model_in(model.model_fields[str(name)].annotation)


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> type[BaseModel] | None:
    candidates = (annotation, *get_args(annotation))
    return next((one for one in candidates if isinstance(one, type) and issubclass(one, BaseModel)), None)
