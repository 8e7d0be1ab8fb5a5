"""Acts in the OpenAPI document of an app that has their routes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from fastapi import FastAPI

from postroom.kernel.acts.declaration import Act, HttpRoute, words_of
from postroom.kernel.acts.reading import answer_schema, arguments_schema
from postroom.kernel.acts.routes import ActRoute, operation_of
from postroom.kernel.serving.json_door import add_to_document, failures

_REFERENCE: Final = "#/components/schemas/{model}"


def describe_acts(app: FastAPI) -> None:
    """Adds the acts among an app's routes to its document, where they stand among the others."""

    def add(document: dict[str, Any]) -> None:
        written, components = document["paths"], document.setdefault("components", {}).setdefault("schemas", {})
        paths: dict[str, Any] = {}
        for one in app.router.routes:
            path = re.sub(r"\{(\w+):\w+\}", r"{\1}", getattr(one, "path", ""))
            if isinstance(one, ActRoute):
                paths.setdefault(path, {})[one.declared.method.lower()] = _described(one.kind, one.declared, components)
            elif path in written:
                paths.setdefault(path, {}).update(written[path])
        document["paths"] = {**paths, **{path: one for path, one in written.items() if path not in paths}}

    add_to_document(app, add)


def _described(kind: type[Act[Any]], route: HttpRoute, components: dict[str, Any]) -> dict[str, Any]:
    schema = arguments_schema(kind, route)
    properties, required = schema["properties"], schema.get("required", [])
    in_url = {name: one for name, one in properties.items() if route.is_in_path(name) or route.is_in_query(name)}
    answer: dict[str, Any] = {"description": "OK"}
    if answer_schema(kind) != {"type": "null"}:
        media = "text/event-stream" if route.streams else "application/json"
        answer["content"] = {media: {"schema": _answer_schema(kind, components)}}
    described: dict[str, Any] = {
        "operationId": operation_of(kind, route),
        "tags": [route.tag],
        "summary": route.summary or words_of(kind).removesuffix("."),
        "responses": {
            str(route.status): answer,
            **{str(code): {**answer, "description": words} for code, words in route.more.items()},
            **{str(code): one for code, one in failures(*route.refusals).items()},
        },
    }
    if in_url:
        described["parameters"] = [_parameter(name, one, name in required, route) for name, one in in_url.items()]
    if rest := {name: one for name, one in properties.items() if name not in in_url}:
        needed = [name for name in required if name not in in_url]
        body = {**schema, "properties": rest, "required": needed}
        if not needed:
            del body["required"]
        described["requestBody"] = {"required": bool(needed), "content": {"application/json": {"schema": body}}}
    return described


def _parameter(name: str, schema: Mapping[str, Any], required: bool, route: HttpRoute) -> dict[str, Any]:
    about = {key: one for key, one in schema.items() if key != "description"}
    told = {"description": schema["description"]} if "description" in schema else {}
    place = "path" if route.is_in_path(name) else "query"
    return {"name": name, "in": place, "required": required or place == "path", **told, "schema": about}


def _answer_schema(kind: type[Act[Any]], components: dict[str, Any]) -> Mapping[str, Any]:
    schema = answer_schema(kind, _REFERENCE)
    components.update(schema.pop("$defs", {}))
    if name := schema.get("title"):
        components[name] = schema
        return {"$ref": _REFERENCE.format(model=name)}
    return schema
