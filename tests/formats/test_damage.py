"""Every reader on damaged excerpts of real files: a refusal, or sessions in good order that say what is missing."""

import json
from random import Random

import hypothesis
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import SEED
from tests.formats.damage import DAMAGES, damaged, detected, survives
from tests.formats.reading import DATA, lines

from refold.events import LogError
from refold.events.formats import FORMATS, Format, Source, read

EXCERPTS = sorted(path for path in DATA.iterdir() if path.suffix != ".md")
FILES = [(form, path.name) for path in EXCERPTS for form in FORMATS if form.detect(Source(path.read_bytes()))]
LINES = [(form, name) for form, name in FILES if name.endswith(".jsonl")]


@pytest.mark.parametrize(("form", "name"), FILES, ids=[name for _, name in FILES])
@hypothesis.seed(SEED)
@settings(max_examples=25, deadline=None, database=None)
@given(st.lists(st.sampled_from(DAMAGES), min_size=1, max_size=2), st.randoms(use_true_random=True))
def test_a_damaged_file_is_refused_or_read_in_good_order(form: Format, name: str, how: list, random: Random) -> None:
    data = damaged((DATA / name).read_bytes(), how, random)
    detected(data)
    survives(form, data)


@pytest.mark.parametrize(("form", "name"), LINES, ids=[name for _, name in LINES])
@hypothesis.seed(SEED)
@settings(max_examples=25, deadline=None, database=None)
@given(st.data())
def test_a_file_that_breaks_off_in_a_line_is_read_in_part_and_says_so(
    form: Format, name: str, data: st.DataObject
) -> None:
    lines = (DATA / name).read_bytes().splitlines(keepends=True)
    last = data.draw(st.integers(0, len(lines) - 1))
    torn = lines[last][: data.draw(st.integers(1, len(lines[last].rstrip()) - 1))]

    sessions = survives(form, b"".join(lines[:last]) + torn)

    assert any(session.partial for session in sessions) or not sessions


@pytest.mark.parametrize(("form", "name"), LINES, ids=[name for _, name in LINES])
def test_a_line_in_the_middle_that_is_no_json_makes_the_session_partial(form: Format, name: str) -> None:
    lines = (DATA / name).read_bytes().splitlines(keepends=True)
    for at in range(1, len(lines)):
        sessions = survives(form, b"".join([*lines[:at], b'{"torn\n', *lines[at:]]))
        assert any(session.partial for session in sessions), f"before line {at + 1}"


def test_half_a_character_in_a_field_of_a_dsh_log_is_a_log_error() -> None:
    header = {"type": "session", "version": 0, "id": "s", "createdAt": 1, "cwd": "/"}
    rows = (header, {"type": "turn/start", "data": {"turn": "\ud800"}})
    with pytest.raises(LogError, match="turn/start: a lone surrogate"):
        read(lines(*rows), "dsh")


def test_each_damage_does_what_its_name_says() -> None:
    rows = [json.dumps({"n": n}).encode() for n in range(20)]
    data, done = b"\n".join(rows), {how.__name__: how(b"\n".join(rows), Random(3)) for how in DAMAGES}

    assert data.startswith(done["cut"])
    assert len(done["flip"]) == len(data)
    assert sorted(done["shuffle"].split(b"\n")) == sorted(rows)
    assert set(done["repeat"].split(b"\n")) == set(rows)
    assert set(done["lose"].split(b"\n")) < set(rows)
    assert sum(line not in rows for line in done["spoil"].split(b"\n")) == 1
    assert all(changed != data for changed in done.values())
