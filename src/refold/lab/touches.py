"""What a tool call does to files: which it reads, which lines of them, and which it writes.

By the argument names that coding agents use, and for a shell by the few commands that read or write a file by name.
"""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

import msgspec

END = 1 << 40


class Touch(msgspec.Struct, frozen=True):
    """A file that a call reads or writes, by the path as it was given; lines `first` to `last` from 1, END for all."""

    path: str
    writes: bool
    first: int = 1
    last: int = END

    def covers(self, other: "Touch") -> bool:
        """Does it read lines that the other read? One path may be given from the root and one from below it."""
        return same_file(self.path, other.path) and self.first <= other.last and other.first <= self.last


def same_file(one: str, other: str) -> bool:
    """`src/a.py` and `/home/me/project/src/a.py` are taken for one file, a bare name only for itself."""
    one, other = (path.replace("\\", "/").removeprefix("./") for path in (one, other))
    if one == other:
        return True
    short, long = sorted((one, other), key=len)
    return "/" in short and long.endswith("/" + short.lstrip("/"))


def arguments_of(text: str) -> dict[str, Any]:
    """A call's arguments; a text that is no JSON object is its own `input`."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {"input": text}
    return value if isinstance(value, dict) else {"input": text}


def texts(value: Any) -> Iterator[str]:
    """Every text inside arguments, as the tool got it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner)


def touches(tool: str, arguments: str) -> tuple[Touch, ...]:
    """The files a call reads or writes, as far as its arguments tell."""
    given = arguments_of(arguments)
    command = given.get("command", given.get("cmd", given.get("input")))
    if isinstance(command, list):
        command = command[-1] if command else ""
    path = next((given[name] for name in _PATHS if isinstance(given.get(name), str)), None)
    if path is not None and not _SEARCHES.search(tool):
        return (_named(tool, path, given),)
    if isinstance(command, str) and _PATCH.search(command):
        return tuple(Touch(found.strip(), True) for found in _PATCHED.findall(command))
    return tuple(_shell(command)) if isinstance(command, str) else ()


_PATHS = ("file_path", "path", "filename", "absolute_path", "relative_path", "target_file")
_SEARCHES = re.compile(r"grep|glob|find|search|^ls$|list", re.IGNORECASE)
_WRITES = re.compile(r"write|edit|replace|create|insert|patch|delete", re.IGNORECASE)
_PATCH = re.compile(r"^\*\*\* Begin Patch", re.MULTILINE)
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_READERS = frozenset({"cat", "head", "tail", "nl", "less", "more", "sed", "bat"})
_LINES = re.compile(r"(\d+)(?:,(\d+|\$))?p")
_COMMANDS = re.compile(r"&&|\|\||;|\||\n")
_REDIRECT = re.compile(r">>?\s*([^\s>&|;]+)")


def _named(tool: str, path: str, given: dict[str, Any]) -> Touch:
    asked = given.get("command")
    if _WRITES.search(tool) if not isinstance(asked, str) or " " in asked else asked != "view":
        return Touch(path, True)
    span = given.get("view_range")
    if isinstance(span, list) and len(span) == 2 and all(isinstance(line, int) for line in span):
        return Touch(path, False, span[0], span[1] if span[1] > 0 else END)
    first = next((given[name] for name in ("offset", "line_offset") if isinstance(given.get(name), int)), 1)
    count = next((given[name] for name in ("limit", "n_lines") if isinstance(given.get(name), int)), None)
    return Touch(path, False, first, END if count is None else first + count - 1)


def _shell(script: str) -> Iterator[Touch]:
    here = script.find("<<")
    for part in _COMMANDS.split(script if here < 0 else script[: script.find("\n", here)]):
        yield from (Touch(path, True) for path in _REDIRECT.findall(part) if path not in ("/dev/null",))
        try:
            words = shlex.split(_REDIRECT.sub(" ", part))
        except ValueError:
            continue
        if not words or words[0] not in _READERS:
            continue
        given = [word for word in words[1:] if not word.startswith("-")]
        if words[0] == "sed":
            given = given[1:]  # its script
        paths = [word for word in given if "/" in word or "." in word]
        in_place = words[0] == "sed" and any(word.startswith("-i") for word in words)
        lines = next((found for word in words[1:] if (found := _LINES.fullmatch(word))), None)
        first, last = (int(lines[1]), _last(lines)) if lines else (1, END)
        yield from (Touch(path, in_place, first, last) for path in paths)


def _last(lines: re.Match[str]) -> int:
    last = lines[2] or lines[1]
    return END if last == "$" else int(last)
