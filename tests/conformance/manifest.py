"""The folder's manifest: which transcripts it holds, and what it counts in each."""

import os
import re
from pathlib import Path
from typing import NamedTuple

from refold.events.formats._source import Source

ROOT = Path(os.environ.get("REFOLD_DATA", "."))


class Counts(NamedTuple):
    """One row: model calls, tool results and those over 8192 characters, the largest prompt, errors and thinking."""

    requests: int
    results: int
    large: int
    max_prompt_tokens: int | None
    errors: int
    thinking: int


def names(folder: str) -> list[str]:
    """The transcripts in one format's folder."""
    return sorted(path.name for path in (ROOT / folder).iterdir() if path.is_file())


def everything() -> list[tuple[str, str]]:
    """Folder and name of every transcript that is one file."""
    folders = sorted(path.name for path in ROOT.iterdir() if path.is_dir())
    return [(folder, name) for folder in folders for name in names(folder)]


def source(folder: str, name: str) -> Source:
    return Source((ROOT / folder / name).read_bytes(), name)


def counted(folder: str) -> dict[str, Counts]:
    """The manifest's rows of one folder by file name; a blank count is 0, a blank prompt size None."""
    found = {}
    for line in (ROOT / "MANIFEST.md").read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].startswith(f"{folder}/"):
            requests, results, large, largest = (_number(cell) for cell in cells[-5:-1])
            errors, thinking = (_feature(cells[-1], name) for name in ("errors", "thinking"))
            name = cells[0].removeprefix(f"{folder}/")
            found[name] = Counts(requests or 0, results or 0, large or 0, largest, errors, thinking)
    return found


def _number(cell: str) -> int | None:
    return int(cell.replace(",", "")) if cell else None


def _feature(features: str, name: str) -> int:
    told = re.search(rf"(?:^|; )(\d+) {name}\b", features)
    return int(told[1]) if told else 0
