"""The MCP server, asked by the official SDK's own client over standard input and output."""

import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent
from tests.archive.logs import Log, dsh_lines
from tests.archive.test_recall import BAD, session

from refold.archive import definition
from refold.events import ToolResult

SERVED = str(Path(__file__).with_name("served.py"))
Ask = Callable[..., Awaitable[tuple[str, bool]]]

ONE_LINE = "汉字 and more. " * 312_500  # 5,937,500 bytes
MANY_LINES = "".join(f"line {number}\n" for number in range(100_000))


def long_session() -> Log:
    log = Log()
    log.turn()
    log.called("web_fetch", ONE_LINE, "a")
    log.called("bash", MANY_LINES, "b")
    log.turn()
    return log


def asked(folder: Path, log: Log, ask_all: Callable[[Client, Ask], Awaitable[None]], *options: str) -> None:
    """Start the server on a session, as a client would, and ask it."""
    path = folder / "session.v4.jsonl"
    path.write_bytes(dsh_lines(log.events))
    start = StdioServerParameters(command=sys.executable, args=[SERVED, "--mcp", str(path), *options])

    async def run() -> None:
        async with Client(stdio_client(start)) as client:

            async def ask(**arguments: Any) -> tuple[str, bool]:
                result = await client.call_tool("read_tool_result_log", arguments)
                (content,) = result.content
                assert isinstance(content, TextContent)
                return content.text, bool(result.is_error)

            await ask_all(client, ask)

    anyio.run(run)


def test_a_client_lists_the_tool_and_reads_by_turn_step_and_time(tmp_path: Path) -> None:
    log = session()

    async def ask_all(client: Client, ask: Ask) -> None:
        (tool,) = (await client.list_tools()).tools
        assert tool.name == "read_tool_result_log"
        assert tool.description == definition("zh")["description"]
        assert tool.input_schema == definition("zh")["parameters"]
        listing, failed = await ask()
        assert "已归档：turn 1（3 条 / 2 步）、turn 3（1 条 / 1 步）" in listing
        assert not failed
        assert (await ask(turn=1))[0].count("\n--- turn 1 ") == 3
        assert re.findall(r" ---\n(.*)\n\n（", (await ask(turn=1, step=2))[0]) == ["found"]
        (time,) = (event.time for event in log.events if isinstance(event, ToolResult) and event.call_id == "d")
        assert "--- turn 3 step 1 · bash" in (await ask(time=str(time)))[0]

    asked(tmp_path, log, ask_all)


def test_each_bad_argument_gets_its_documented_error(tmp_path: Path) -> None:
    async def ask_all(client: Client, ask: Ask) -> None:
        for arguments, _, english in BAD:
            if arguments.get("turn") == arguments.get("turn"):  # JSON has no NaN
                assert await ask(**arguments) == (f"Error: {english}", True)
        wrong = await client.call_tool("read_file", {})
        assert wrong.is_error

    asked(tmp_path, session(), ask_all, "--lang", "en")


@pytest.mark.parametrize(("step", "whole"), [(1, ONE_LINE), (2, MANY_LINES)], ids=["one line", "100,000 lines"])
def test_pages_of_a_long_result_put_together_are_the_original(
    step: int, whole: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    pages: list[str] = []

    async def ask_all(client: Client, ask: Ask) -> None:
        answer, _ = await ask(turn=1, step=step)
        offset, limit = map(int, re.findall(r"可用 offset=(\d+), limit=(\d+)", answer)[0])
        while offset:
            answer, failed = await ask(turn=1, step=step, offset=offset, limit=limit)
            assert not failed
            assert len(answer.encode()) <= 48_000
            body, more, rest = answer.partition(" ---\n")[2].rpartition("\n…（本结果还有 ")
            pages.append(body if more else rest.split("\n\n（共 1 条匹配")[0])
            goes_on = re.findall(r"续取：offset=(\d+)", rest) if more else []
            offset = int(goes_on[0]) if goes_on else 0

    asked(tmp_path, long_session(), ask_all)
    assert "".join(pages) == whole
    record_property("pages", f"{len(pages)} of {len(whole.encode()):,} bytes")


def test_a_session_is_read_as_far_as_it_has_come(tmp_path: Path) -> None:
    log = session()

    async def ask_all(client: Client, ask: Ask) -> None:
        assert "turn 4" not in (await ask())[0]
        log.called("bash", "said meanwhile", "e")
        (tmp_path / "session.v4.jsonl").write_bytes(dsh_lines(log.events))
        assert "said meanwhile" in (await ask(turn=4))[0]
        (tmp_path / "session.v4.jsonl").write_bytes(b"{}\n")
        answer, failed = await ask(turn=4)
        assert failed
        assert answer.startswith("错误：读取归档失败：")

    asked(tmp_path, log, ask_all)


def test_half_a_character_in_a_result_is_shown_escaped_and_the_server_goes_on(tmp_path: Path) -> None:
    log = Log()
    log.turn()
    log.called("bash", "half: \ud83d.", "a")
    log.turn()

    async def ask_all(client: Client, ask: Ask) -> None:
        assert "half: \\ud83d." in (await ask(turn=1))[0]
        assert not (await ask(turn=1))[1]

    asked(tmp_path, log, ask_all)
