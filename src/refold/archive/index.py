"""`index.json`: what an archive holds. The files are the truth; the index only knows more about them."""

import os
from pathlib import Path
from typing import Any

import msgspec

from refold.archive.layout import INDEX, is_result, result_of, round_of
from refold.archive.originals import Original
from refold.archive.rounds import encoded, originals_in, parsed
from refold.reducer._receipt import RESULTS, UNKNOWN_TOOL, hint_of, result_name, size_of


class ResultRow(msgspec.Struct, frozen=True, rename="camel"):
    """One file in `results/`. `file` is its absolute path where it was written, `rel_file` its name in the archive."""

    turn: int
    step: int
    call_id: str | None
    tool: str
    hint: str
    file: str
    rel_file: str
    bytes: int
    lines: int
    time: int


class RoundRow(msgspec.Struct, frozen=True, rename="camel"):
    """One round file; `step` is None for a whole turn. Times are those of its first and last result."""

    turn: int
    step: int | None = None
    file: str = ""
    time_from: int = 0
    time_to: int = 0
    count: int = 0
    tools: tuple[str, ...] = ()
    step_count: int | None = None


class Index(msgspec.Struct):
    """The index in memory. `other` holds the keys that refold does not know."""

    session_id: str | None = None
    workspace: str | None = None
    results: dict[str, ResultRow] = {}
    rounds: dict[tuple[int, int | None], RoundRow] = {}
    other: dict[str, Any] = {}


_KNOWN = ("schemaVersion", "sessionId", "workspace", "updatedAt", "results", "rounds", "steps")


def read_index(root: Path) -> Index:
    """The index as its file tells, rows that make no sense left out; empty where there is no file.

    Raises ValueError where the file is no index, OSError where it cannot be read.
    """
    try:
        data = (root / INDEX).read_bytes()
    except FileNotFoundError:
        return Index()
    value = parsed(data)
    if not any(isinstance(value.get(key), list) for key in ("results", "rounds", "steps")):
        raise ValueError("has no list of results or rounds")
    index = Index(_text(value.get("sessionId")), _text(value.get("workspace")))
    for row in _rows(value, "results", ResultRow):
        if is_result(row.rel_file):
            index.results[row.rel_file] = row
    for row in (*_rows(value, "rounds", RoundRow), *_rows(value, "steps", RoundRow)):
        if round_of(row.file) == (row.turn, row.step):
            index.rounds[row.turn, row.step] = row
    index.other = {key: part for key, part in value.items() if key not in _KNOWN}
    return index


def heal(index: Index, root: Path) -> None:
    """Add a row for each file that has none, with what the file tells.

    A file that cannot be read gets no row, and stays where it is. Raises OSError where the folders cannot be listed.
    """
    for name in _listed(root / RESULTS):
        relative = f"{RESULTS}/{name}"
        if relative not in index.results and result_of(name):
            _adopt_result(index, root, name)
    names = dict.fromkeys(_listed(root))
    for name in names:
        round = round_of(name)
        if round is not None and (round not in index.rounds or index.rounds[round].file not in names):
            _adopt_round(index, root / name, round)


def encoded_index(index: Index) -> bytes:
    """The index as its file holds it: schemaVersion 3 once a result is kept, else 2; rows sorted.

    `updatedAt` is the newest time of any row: an archive reads no clock.
    """
    results = sorted(index.results.values(), key=lambda row: (row.turn, row.step, row.rel_file))
    rounds = sorted(index.rounds.values(), key=lambda row: (row.turn, row.step or 0))
    times = [row.time for row in results] + [row.time_to for row in rounds]
    value: dict[str, Any] = {
        "schemaVersion": 3 if results else 2,
        "sessionId": index.session_id,
        "workspace": index.workspace,
        "updatedAt": max(times, default=0),
    }
    if results:
        value["results"] = [msgspec.to_builtins(row) for row in results]
    if rounds or not results:
        value["rounds"] = [_told(row) for row in rounds if row.step is None]
        value["steps"] = [_told(row) for row in rounds if row.step is not None]
    return encoded({**value, **index.other})


def result_row(root: Path, original: Original) -> ResultRow:
    """The row of a result that is being kept."""
    origin, text = original.origin, original.text
    name = result_name(origin)
    return ResultRow(
        origin.turn,
        origin.step,
        origin.call_id or None,
        origin.tool,
        hint_of(origin.arguments),
        str((root / name).absolute()),
        name,
        size_of(text),
        text.count("\n") + 1,
        original.result.time,
    )


def round_row(file: str, turn: int, step: int | None, kept: list[Original]) -> RoundRow:
    """The row of a round file that holds these originals, at least one."""
    times = [original.result.time for original in kept]
    tools = tuple(dict.fromkeys(original.origin.tool or UNKNOWN_TOOL for original in kept))
    steps = len({original.origin.step for original in kept}) if step is None else None
    return RoundRow(turn, step, file, min(times), max(times), len(kept), tools, steps)


def _adopt_result(index: Index, root: Path, name: str) -> None:
    told, path = result_of(name), root / RESULTS / name
    try:
        text, time = path.read_bytes().decode("utf-8", "surrogatepass"), path.stat().st_mtime_ns // 1_000_000
    except (OSError, UnicodeDecodeError):
        return
    if told is not None:
        relative = f"{RESULTS}/{name}"
        whole = told.call_id if 0 < len(told.call_id) < 12 else None
        facts = (told.turn, told.step, whole, told.tool, "", str(path.absolute()), relative)
        index.results[relative] = ResultRow(*facts, size_of(text), text.count("\n") + 1, time)


def _adopt_round(index: Index, path: Path, round: tuple[int, int | None]) -> None:
    try:
        kept = originals_in(parsed(path.read_bytes()), round[0])
    except (OSError, ValueError):
        return
    if kept:
        index.rounds[round] = round_row(path.name, *round, kept)


def _listed(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def _rows(value: dict[str, Any], key: str, kind: Any) -> list[Any]:
    listed = value.get(key)
    rows = []
    for row in listed if isinstance(listed, list) else ():
        try:
            rows.append(msgspec.convert(row, kind))
        except msgspec.ValidationError:
            continue  # a row that makes no sense; its file is still there, and heals it
    return rows


def _told(row: RoundRow) -> dict[str, Any]:
    return {key: part for key, part in msgspec.to_builtins(row).items() if part is not None}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
