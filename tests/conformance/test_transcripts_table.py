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

WRITTEN = {
    cells[0]: cells[1:]
    for line in (ROOT / "docs/transcripts.md").read_text().splitlines()
    if line.startswith("| ") and "/" in (cells := [cell.strip() for cell in line.strip("|").split("|")])[0]
}


@pytest.mark.parametrize("path", table.paths(FOLDER), ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_the_table_has_the_files_counts(path):
    written = WRITTEN[path.relative_to(FOLDER).as_posix()]

    found = table.row(path, FOLDER)

    if isinstance(found, str):
        assert written[0].startswith("refused: ")
    else:
        assert written[0] == found.format
        assert tuple(map(int, written[1:8])) == found.counts


def test_the_table_has_no_file_that_is_not_there():
    assert len(WRITTEN) == len(table.paths(FOLDER)) > 100
