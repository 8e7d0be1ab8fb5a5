"""Acts as tools of an MCP server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import structlog
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations

from postroom.kernel.acts.declaration import Act, Call, Hints, Tool, words_of
from postroom.kernel.acts.reading import answer_of, arguments_schema, read, tool_answer_schema
from postroom.kernel.guard.tools import GuardedServer, Inside, Rule, caller
from postroom.kernel.serving.mcp import Tool as MadeTool
from postroom.kernel.serving.mcp import unchecked_tool
from postroom.kernel.values.errors import InternalError, PostroomError
from postroom.kernel.values.fields import strict_json
from postroom.kernel.values.principal import kind_of

_log = structlog.get_logger("postroom.acts")


def add_tools(
    server: GuardedServer,
    acts: Iterable[type[Act[Any]]],
    work: Any,
    words: Mapping[str, str] | None = None,
    butler: str = "",
) -> None:
    """`words` fills what the words of a tool leave open; `butler` is whose server it is, if it is one's."""
    for kind in acts:
        if (tool := kind.declared.tool) is not None:
            description = words_of(kind).format_map(words) if words else words_of(kind)
            server.add_made(_made(kind, tool, server, work, description), rule_of(kind, tool, butler))


def rule_of(kind: type[Act[Any]], tool: Tool, butler: str = "") -> Rule:
    return lambda caller: kind.declared.admits(caller, tool, butler)


def _made(kind: type[Act[Any]], tool: Tool, server: GuardedServer, work: Any, words: str) -> MadeTool:
    return unchecked_tool(
        partial(_answer, kind, tool, server, work),
        name=tool.name,
        description=words,
        parameters=arguments_schema(kind, tool),
        annotations=_annotations(tool.hints),
        answers=tool_answer_schema(kind),
        meta=tool.meta,
    )


def _annotations(hints: Hints) -> ToolAnnotations:
    """
    What the protocol takes for granted is not said: a tool changes things, may destroy, and acts on the world; nor of
    one that only reads, what it does to the world.
    """
    return ToolAnnotations(
        read_only_hint=hints.reads or None,
        destructive_hint=None if hints.reads or hints.destroys else False,
        idempotent_hint=(hints.repeats and not hints.reads) or None,
        open_world_hint=None if hints.open_world or hints.reads else False,
    )


async def _answer(
    kind: type[Act[Any]],
    tool: Tool,
    server: GuardedServer,
    work: Any,
    arguments: Mapping[str, Any],
    context: Context[Any, Any] | Inside,
) -> Any:
    """A refusal is something that a model can act on, not a broken call."""
    who = caller(context, server.policy.verifier)
    meta = {} if isinstance(context, Inside) else context.request_context.meta or {}
    try:
        one, renamed = read(kind, arguments, tool)
        call: Call[Any] = Call(work=work, caller=who, door=server.name, meta=dict(meta), context=context)
        answer = await one.do(call)
        if isinstance(answer, CallToolResult | InputRequiredResult):
            return answer
        said = answer_of(kind).dump_python(answer, mode="json", by_alias=True)
        return told(kind, {**said, "renamed": dict(renamed)} if renamed else said)
    except PostroomError as error:
        return told(kind, dict(kind.refused(error)))
    except Exception as error:  # the last line before a model: it gets the act's answer, whatever went wrong
        _log.error("act.bug", act=tool.name, kind=str(kind_of(who)), error=error.__class__.__name__)
        return told(kind, dict(kind.refused(InternalError("internal error"))))


def told(kind: type[Act[Any]], document: dict[str, Any]) -> CallToolResult | dict[str, Any]:
    """As it is, or with the act's own words for it first."""
    words = kind.in_words(document)
    return with_words(words, document) if words else document


def with_words(words: str, document: dict[str, Any]) -> CallToolResult:
    content = [TextContent(type="text", text=text) for text in (words, strict_json(document, ensure_ascii=False))]
    return CallToolResult(content=list(content), structured_content=document)
