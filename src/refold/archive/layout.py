"""Where an archive lies and what its files are called. No name from a log ever becomes a path outside it.

    <folder of the session log>/tool-result-logs/
        index.json                      what is here (schemaVersion 2 or 3)
        round-0003.json                 the original results of turn 3
        round-0003-step-0002.json       those of its step 2
        results/t0003-s0002-01-bash-call_ab12.txt

Names are those of dsh-clear-tool-results, project and session folders those of DSH's own log store.
"""

import re
from pathlib import Path

import msgspec

from refold.reducer._receipt import FOLDER, RESULTS

INDEX = "index.json"
LOCK = ".lock"
NO_PROJECT = "_no-cwd"

_SEPARATORS = re.compile(r"[/\\:]+")
_KEPT = re.compile(r"[A-Za-z0-9._-]")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_ROUND = re.compile(r"round-(\d{4,})(?:-step-(\d{3,}))?\.json", re.ASCII)
_RESULT = re.compile(r"t(\d{4,})-s(\d{4,})-(\d{2,})-([A-Za-z0-9._-]*)\.txt", re.ASCII)


def project_key(cwd: str | None) -> str:
    """The folder of a project's sessions, as DSH names it; at most 255 characters, not reversible."""
    if not cwd:
        return NO_PROJECT
    key = "-".join("".join(map(_escaped, part)) for part in _SEPARATORS.split("".join(_units(cwd))))
    return f"--{(key.lstrip('-') or 'root')[:251]}--"


def session_segment(session_id: str) -> str:
    """The folder of a session, as DSH names it: no two ids share one. Raises ValueError for an empty id.

    Unlike DSH, the name of a Windows device has its first letter escaped too.
    """
    if not session_id:
        raise ValueError("a session without an id has no folder: name one")
    if session_id in (".", ".."):
        return "~002E" * len(session_id)
    segment = "".join(map(_escaped, _units(session_id)))
    return _code(segment[0]) + segment[1:] if _DEVICE.match(segment) else segment


def archive_of(sessions: Path, cwd: str | None, session_id: str) -> Path:
    """The archive of a session under DSH's sessions folder. Raises ValueError for an empty id."""
    return sessions / project_key(cwd) / session_segment(session_id) / FOLDER


def archive_beside(log: Path) -> Path:
    """The archive that belongs to a session log, or to a session's folder."""
    return (log if log.is_dir() else log.parent) / FOLDER


def round_name(turn: int, step: int | None = None) -> str:
    """The file of a turn's originals, or of one of its steps. Raises ValueError below 0."""
    if turn < 0 or (step or 0) < 0:
        raise ValueError(f"turn {turn}, step {step}: negative numbers have no file")
    return f"round-{turn:04d}.json" if step is None else f"round-{turn:04d}-step-{step:04d}.json"


def round_of(name: str) -> tuple[int, int | None] | None:
    """The turn and step (None for the whole turn) that a file name stands for, None for any other name.

    The step may be written with three digits, as the plugin's README says, or four, as its code does.
    """
    found = _ROUND.fullmatch(name)
    return (int(found[1]), int(found[2]) if found[2] else None) if found else None


class ResultName(msgspec.Struct, frozen=True):
    """What the name of a kept result tells. `tool` and `call_id` may be cut or altered."""

    turn: int
    step: int
    place: int
    tool: str
    call_id: str


def result_of(file: str) -> ResultName | None:
    """What the name of a file in `results/` tells, None for any other name.

    Tool and call id both may hold dashes: the tool is the shortest beginning that leaves at most 12 characters.
    """
    found = _RESULT.fullmatch(file)
    if not found:
        return None
    parts = found[4].split("-")
    cuts = (("-".join(parts[:at]), "-".join(parts[at:])) for at in range(1, len(parts)))
    tool, call_id = next((cut for cut in cuts if len(cut[1]) <= 12), (found[4], ""))
    return ResultName(int(found[1]), int(found[2]), int(found[3]), tool, call_id)


def is_result(name: str) -> bool:
    """Is this, relative to an archive, the name of a kept result?"""
    folder, _, file = name.partition("/")
    return folder == RESULTS and _RESULT.fullmatch(file) is not None


def result_path(root: Path, name: str) -> Path | None:
    """The path of a kept result by its name relative to the archive, None for a name that is none of ours."""
    return root / name if is_result(name) else None


def _units(text: str) -> list[str]:
    data = text.encode("utf-16-le", "surrogatepass")
    return [chr(data[at] | data[at + 1] << 8) for at in range(0, len(data), 2)]


def _escaped(letter: str) -> str:
    return letter if _KEPT.fullmatch(letter) else _code(letter)


def _code(letter: str) -> str:
    return f"~{ord(letter):04X}"
