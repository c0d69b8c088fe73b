"""`refold recall`: the original tool results of a session, for people, for programs, and for models over MCP."""

import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec

from refold.archive import Archive, Shelf, archive_beside
from refold.archive import recall as recalled
from refold.archive.answer import rendered
from refold.archive.recall import Answer, Found
from refold.cli import _options as options
from refold.cli._output import print_json
from refold.cli._session import opened, told
from refold.prompt import rendered_block
from refold.reducer._receipt import FOLDER, RESULTS


@click.command()
@options.session
@options.transcript_format
@options.chosen
@click.option("--turn", metavar="N", help="The results of this turn.")
@click.option("--step", metavar="N", help="Those of this step of it.")
@click.option("--time", metavar="T", help="Those of the turn at this time: ISO 8601, or milliseconds since 1970.")
@click.option("--offset", metavar="N", help="The first line of each result; K:N is line N of the K-th alone.")
@click.option("--limit", metavar="N", help="The most lines of each result.")
@click.option(
    "--lang",
    type=click.Choice(["zh", "en"]),
    help="The language of the answer. Default: en, with --mcp zh, that of the presets' placeholders.",
)
@click.option("--mcp", "over_mcp", is_flag=True, help="Serve the tool read_tool_result_log over MCP on stdio.")
@options.max_line
@options.as_json
def recall(
    session: str,
    format: str | None,
    chosen: str | None,
    turn: str | None,
    step: str | None,
    time: str | None,
    offset: str | None,
    limit: str | None,
    lang: Any,
    over_mcp: bool,
    max_line: int,
    as_json: bool,
) -> None:
    """Give back the original tool results of SESSION; without --turn or --time list what there is.

    They come from the log and from the archive beside it, the folder tool-result-logs. SESSION may be such a folder.
    """
    source = _Source(session, format, chosen, max_line)
    asked = {"turn": turn, "step": step, "time": time, "offset": offset, "limit": limit}
    if over_mcp:
        if as_json or any(value is not None for value in asked.values()):
            raise click.UsageError("--mcp serves whatever a model asks for: leave the other options out")
        _serve(source, lang or "zh")
        return
    answer = recalled(source.shelf(), asked, lang or "en", listed=None)
    if answer.error is not None:
        raise click.ClickException(answer.error)
    if as_json:
        print_json({"session": session, **_facts(answer)})
    else:
        _print(rendered(answer, lang or "en", budget=None))


def _print(text: str) -> None:
    """To a terminal, what a tool gave back must not steer it: control characters are spelled out there."""
    if sys.stdout.isatty():
        text = _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")
    sys.stdout.flush()


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def _serve(source: "_Source", lang: Any) -> None:
    if source.session == "-":
        raise click.UsageError("standard input belongs to the MCP client: name a session")
    if sys.stdin is None:
        raise click.UsageError("standard input is closed, and requests come from there")
    try:
        from refold.archive.mcp import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("anyio", "mcp"):
            raise
        raise click.UsageError("--mcp needs the MCP SDK: pip install 'refold[mcp]'") from None
    serve(_Watched(source), lang)


class _Watched:
    """The session's shelf, read again only when a file of it has changed: a model pages through one result for long."""

    def __init__(self, source: "_Source") -> None:
        self._source = source
        self._seen: tuple[Any, ...] = ()
        self._shelf = Shelf()

    def __call__(self) -> Shelf:
        seen = _state(Path(self._source.session))
        if seen != self._seen:
            self._shelf = self._source.shelf()
            self._seen = seen
        return self._shelf


def _state(session: Path) -> tuple[Any, ...]:
    """Names, sizes and times of the files that a recall reads; what is gone is left out."""
    archive = session if session.name == FOLDER else archive_beside(session)
    folders = [session] if session.is_dir() else []
    files = [session, *(file for folder in [*folders, archive, archive / RESULTS] for file in folder.glob("*"))]
    states = []
    for file in sorted(set(files)):
        with suppress(FileNotFoundError):
            state = file.stat()
            states.append((file, state.st_size, state.st_mtime_ns))
    return tuple(states)


class _Source(msgspec.Struct, frozen=True):
    """Where the originals are read from."""

    session: str
    format: str | None
    chosen: str | None
    max_line: int

    def shelf(self) -> Shelf:
        path = Path(self.session)
        if path.name == FOLDER and path.is_dir():
            return Shelf(archive=Archive(path))
        archive = None if self.session == "-" else Archive(archive_beside(path))
        return Shelf(told(opened(self.session, self.max_line, self.format, self.chosen)), archive)


def _facts(answer: Answer) -> dict[str, Any]:
    turns = [{"turn": one.turn, "results": one.results, "steps": one.steps} for one in answer.turns]
    return {"query": answer.query, "turns": turns, "results": list(map(_result, answer.found)), "gone": answer.gone}


def _result(found: Found) -> dict[str, Any]:
    kept, page = found.kept, found.page
    origin, result = kept.original.origin, kept.original.result
    facts = {
        "turn": kept.turn,
        "step": kept.step,
        "seq": result.seq if result.seq >= 0 else None,
        "call_id": origin.call_id,
        "tool": origin.tool,
        "hint": kept.hint,
        "time": kept.time,
        "is_error": result.is_error,
        "file": kept.row.file if kept.row else None,
        "bytes": found.bytes,
        "lines": found.lines,
    }
    if page is None:
        return facts
    others = [] if kept.row else [rendered_block(block) for block in result.content]
    others = [block for block in others if not isinstance(block, dict) or block.get("type") != "text"]
    return {**facts, "first_line": page.first, "last_line": page.last, "text": page.text, "other_blocks": others}
