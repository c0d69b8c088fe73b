"""docs/transcripts.md says of every file what its reader finds in it."""

import importlib.util
import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ["REFOLD_DATA"])

_spec = importlib.util.spec_from_file_location("transcripts_table", ROOT / "benchmarks/transcripts.py")
table = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(table)


def rows(text: str) -> dict[str, list[str]]:
    """The cells of each row that begins with a file's name, by that name."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:2] == "| "]
    return {cells[0]: cells[1:] for cells in lines if "/" in cells[0]}


COUNTS, OFF = map(rows, (ROOT / "docs/transcripts.md").read_text().split("## Calls off"))


@pytest.mark.parametrize("path", table.paths(FOLDER), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_the_tables_have_the_files_counts_and_the_calls_that_are_off(path):
    name = path.relative_to(FOLDER).as_posix()

    found = table.row(path, FOLDER)

    if isinstance(found, str):
        assert rows(found) == {name: COUNTS[name]}
        assert COUNTS[name][0].startswith("refused: ")
    else:
        assert COUNTS[name][0] == found.format
        assert tuple(map(int, COUNTS[name][1:8])) == found.counts
        assert rows(table.off(found) or "") == ({name: OFF[name]} if name in OFF else {})


def test_the_table_has_no_file_that_is_not_there():
    assert len(COUNTS) == len(table.paths(FOLDER)) > 100
