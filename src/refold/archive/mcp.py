"""`read_tool_result_log` as an MCP server on standard input and output (extra `refold[mcp]`)."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import anyio
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams, TextContent, Tool

from refold.archive.answer import rendered
from refold.archive.recall import Answer, recall
from refold.archive.shelf import Shelf
from refold.archive.texts import TEXTS
from refold.archive.tool import definition
from refold.events import RefoldError
from refold.reducer._receipt import RECALL_TOOL, Lang


def serve(session: Callable[[], Shelf], lang: Lang = "zh") -> None:
    """Answer until standard input ends. `session` is asked anew for every call: it goes on while it is served."""
    anyio.run(_run, server(session, lang))


def server(session: Callable[[], Shelf], lang: Lang = "zh") -> Server[dict[str, Any]]:
    """The server alone, for a host with a transport of its own."""
    known = definition(lang)
    tool = Tool(name=known["name"], description=known["description"], input_schema=known["parameters"])

    async def list_tools(
        context: ServerRequestContext[dict[str, Any]], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[tool])

    async def call_tool(context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams) -> CallToolResult:
        answer = _answer(session, params, lang)
        shown = rendered(answer, lang).encode("utf-8", "backslashreplace").decode()  # no half character fits MCP's JSON
        text = TextContent(type="text", text=shown)
        return CallToolResult(content=[text], is_error=answer.error is not None)

    return Server("refold", version=version("refold"), on_list_tools=list_tools, on_call_tool=call_tool)


def _answer(session: Callable[[], Shelf], params: CallToolRequestParams, lang: Lang) -> Answer:
    if params.name != RECALL_TOOL:
        return Answer(error=f"there is no tool {params.name!r}, only {RECALL_TOOL}")
    try:
        return recall(session(), params.arguments or {}, lang)
    except (RefoldError, OSError) as error:
        return Answer(error=TEXTS[lang].unreadable_archive.format(error=error))


async def _run(served: Server[dict[str, Any]]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await served.run(incoming, outgoing, served.create_initialization_options())
