"""A route that is understood when it is first asked for: a household has more than a hundred, most of them unused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from fastapi.routing import APIRoute
from starlette.routing import compile_path, get_name

_pattern = cache(compile_path)  # of the path alone, and only read


class LateRoute(APIRoute):
    """
    Knows its path and methods at once; the framework reads the function's signature, and makes the checkers of what
    comes in and goes out, when a call or the document asks for more than that.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **about: Any) -> None:
        self.path, self.endpoint = path, endpoint
        self.path_regex, self.path_format, self.param_convertors = _pattern(path)
        self.methods = {method.upper() for method in about.get("methods") or ("GET",)}
        self.name = about.get("name") or get_name(endpoint)
        self._about = about

    def __getattr__(self, name: str) -> Any:
        if "_about" not in self.__dict__:
            raise AttributeError(f"{self!r} has no {name}")
        super().__init__(self.path, self.endpoint, **self.__dict__.pop("_about"))
        return getattr(self, name)
