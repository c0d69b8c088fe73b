"""The receipt: what a result too long for the log leaves in its place, and the file name under which it is kept.

Sizes are UTF-8 bytes, a lone surrogate counting 3. Both follow dsh-clear-tool-results 0.8. Nothing here reads a
clock, a file or the log: the same result gives the same receipt in every process.
"""

import json
import re
from types import MappingProxyType
from typing import Any, Literal

import msgspec

from refold.events import Block, Text

Lang = Literal["zh", "en"]

FOLDER = "tool-result-logs"
RESULTS = "results"
UNKNOWN_TOOL = "unknown_tool"
RECALL_TOOL = "read_tool_result_log"
TAIL_TOOLS = ("bash", "run_code")
"""Tools whose last lines matter most: a shell ends with its outcome."""


class Origin(msgspec.Struct, frozen=True):
    """What a result answers: the place of the call in the session, and what was asked. `place` counts the results of
    a step from 1."""

    turn: int
    step: int
    place: int
    tool: str
    call_id: str
    arguments: str = ""


class Preview(msgspec.Struct, frozen=True):
    """The lines of a text that a receipt shows. `clipped` says that one line alone was too long and was cut."""

    text: str
    lines: int
    total: int
    clipped: bool


class _Words(msgspec.Struct, frozen=True):
    header: str
    head: str
    tail: str
    path: str
    omitted: str
    clipped: str


_WORDS: MappingProxyType[str, _Words] = MappingProxyType(
    {
        "zh": _Words(
            header="[{what} · {size:,} 字节 / {total} 行 → 全文已落盘，此处是{side} {lines} 行]",
            head="开头",
            tail="尾部",
            path="路径：",
            omitted="……（中间省略 {omitted} 行，共 {total} 行）",
            clipped="……（该行过长，此处仅显示{side} {shown:,} 字节 / 共 {size:,} 字节）",
        ),
        "en": _Words(
            header="[{what} · {size:,} bytes / {total} lines → full text on disk, here: {side} {lines} lines]",
            head="first",
            tail="last",
            path="Path: ",
            omitted="…… ({omitted} of {total} lines left out)",
            clipped="…… (this line is too long: here are the {side} {shown:,} of {size:,} bytes)",
        ),
    }
)
_HEADERS = (
    re.compile(r"\[.+ · [\d,]+ 字节 / \d+ 行 → 全文已落盘，此处是(?:开头|尾部) \d+ 行\]"),
    re.compile(r"\[.+ · [\d,]+ bytes / \d+ lines → full text on disk, here: (?:first|last) \d+ lines\]"),
)


def plain_text(content: tuple[Block, ...]) -> str | None:
    """The text of a result that is nothing but text, its blocks joined by nothing; None where another block is."""
    if all(type(block) is Text for block in content):
        return "".join(block.text for block in content if type(block) is Text)
    return None


def size_of(text: str) -> int:
    """UTF-8 bytes of the text."""
    return len(text.encode("utf-8", "surrogatepass"))


def hint_of(arguments: str) -> str:
    """What a call was about, in at most 60 code points on one line; "" where its arguments do not tell."""
    try:
        asked: Any = json.loads(arguments)
    except (ValueError, RecursionError):
        return _one_line(arguments)
    if isinstance(asked, dict):
        for field in ("command", "file_path", "path", "pattern", "query", "description", "prompt", "url"):
            value = asked.get(field)
            if isinstance(value, str) and value.strip():
                return _one_line(value)
    return ""


def result_name(origin: Origin) -> str:
    """The file of a result, relative to its archive. Whatever a log holds, it names a file inside `results/`."""
    before, after = _around_place(origin)
    return f"{RESULTS}/{before}-{origin.place:02d}-{after}"


def _around_place(origin: Origin) -> tuple[str, str]:
    tool, call_id = name_part(origin.tool or UNKNOWN_TOOL, 16), name_part(origin.call_id, 12)
    return f"t{origin.turn:04d}-s{origin.step:04d}", f"{tool}-{call_id}.txt"


def name_part(value: str, limit: int) -> str:
    """A part of a file name: other than ASCII letters, digits, `.`, `_` and `-` each UTF-16 unit becomes `_`."""
    units = value.encode("utf-16-le", "surrogatepass")
    letters = (chr(units[at] | units[at + 1] << 8) for at in range(0, min(len(units), 2 * limit), 2))
    return "".join(letter if _PLAIN.fullmatch(letter) else "_" for letter in letters)


def receipt(origin: Origin, text: str, *, root: str | None, lang: Lang = "zh", preview_bytes: int = 300) -> str:
    """The receipt of a result. Its second line names the file under `root`, relative to the archive for None.

    Shells show their last lines, after the word on what is left out; other tools their first, before it.
    """
    words, name = _WORDS[lang], result_name(origin)
    from_end = origin.tool in TAIL_TOOLS
    shown, size = preview(text, preview_bytes, from_end), size_of(text)
    side = words.tail if from_end else words.head
    what = " · ".join(part for part in (_one_line(origin.tool) or UNKNOWN_TOOL, hint_of(origin.arguments)) if part)
    header = words.header.format(what=what, size=size, total=shown.total, side=side, lines=shown.lines)
    path = words.path + (name if root is None else f"{root.rstrip('/')}/{name}")
    notice = ""
    if shown.clipped:
        notice = words.clipped.format(side=side, shown=size_of(shown.text), size=size)
    elif shown.lines < shown.total:
        notice = words.omitted.format(omitted=shown.total - shown.lines, total=shown.total)
    body = (notice, shown.text) if from_end else (shown.text, notice)
    return "\n".join((header, path, *(part for part in body if part)))


def receipted_name(origin: Origin, content: tuple[Block, ...]) -> str | None:
    """The file that a logged result is the receipt of, relative to its archive; None for any other result.

    A receipt names the file of its own turn, step, tool and call, so one that is quoted, in a file or by another
    result, is none.
    """
    if len(content) != 1 or type(content[0]) is not Text:
        return None
    lines = content[0].text.split("\n", 2)
    if len(lines) < 2 or not any(header.fullmatch(lines[0]) for header in _HEADERS):
        return None
    folder, _, file = lines[1].rpartition("/")
    before, after = map(re.escape, _around_place(origin))
    named = re.fullmatch(rf"{before}-\d{{2,}}-{after}", file) and re.search(rf"[/ ：]{RESULTS}$", folder)
    return f"{RESULTS}/{file}" if named else None


def preview(text: str, budget: int, from_end: bool) -> Preview:
    """Whole lines from one end, at most `budget` bytes; a line that alone is longer is cut, in whole code points."""
    lines = text.split("\n")
    picked: list[str] = []
    used, clipped = 0, False
    for line in reversed(lines) if from_end else lines:
        size = size_of(line) + bool(picked)
        if used + size > budget:
            if not any(picked):
                picked.append(clip(line, budget - used - bool(picked), from_end))
                clipped = True
            break
        picked.append(line)
        used += size
    if from_end:
        picked.reverse()
    return Preview("\n".join(picked), len(picked), len(lines), clipped)


def clip(text: str, budget: int, from_end: bool) -> str:
    """At most `budget` bytes from one end, in whole code points."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= budget:
        return text
    at = len(data) - budget if from_end else budget
    step = 1 if from_end else -1
    while at < len(data) and data[at] & 0xC0 == 0x80:
        at += step
    return (data[at:] if from_end else data[:at]).decode("utf-8", "surrogatepass")


_PLAIN = re.compile(r"[A-Za-z0-9._-]")


def _one_line(text: str) -> str:
    return " ".join(text[:4096].split())[:60]
