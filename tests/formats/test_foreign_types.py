"""What no writer writes: files cut off or spoilt, and fields that hold another type, are lost or come twice."""

import copy
import json
from collections.abc import Iterator
from itertools import cycle
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import check
from tests.formats.reading import DATA

from refold.events import FormatError
from refold.events.formats import Format, Source, named

EXCERPTS = (
    ("pi", "pi_aborted.jsonl"),
    ("pi", "pi_compaction.jsonl"),
    ("pi", "pi_tree.jsonl"),
    ("kimi_cli", "kimi_cli_context.jsonl"),
    ("kimi_cli", "kimi_cli_wire.jsonl"),
    ("kimi_cli", "kimi_cli_protocol.jsonl"),
    ("opencode", "opencode_storage.json"),
    ("openhands", "openhands_v0.jsonl"),
    ("openhands", "openhands_v1.json"),
    ("swe_agent", "swe_agent_calls.traj"),
    ("swe_agent", "swe_agent_text.traj"),
    ("mini_swe_agent", "mini_swe_agent_text.traj.json"),
    ("mini_swe_agent", "mini_swe_agent_1_1.traj.json"),
    ("inspect_ai", "inspect_ai_browser.json"),
)
JUNK = (None, True, -1, 1e308, 2**70, "", "\ud800", [], {}, [None], [[]], {"a": 1}, "9999-12-31T23:59:59-23:59")


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value but the value itself."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield (*path, key)
        yield from places(below, (*path, key))


def spoilt(value: Any) -> Iterator[Any]:
    """The value with one field of another type, or without it, or with an element twice: each place in turn."""
    junk = cycle(JUNK)
    every = list(places(value))
    for number, path in enumerate(every[:: max(1, len(every) // 150)]):
        changed = copy.deepcopy(value)
        at = changed
        for key in path[:-1]:
            at = at[key]
        if number % 5 == 3:
            del at[path[-1]]
        elif number % 5 == 4 and isinstance(at, list):
            at.append(copy.deepcopy(at[path[-1]]))
        else:
            at[path[-1]] = next(junk)
        yield changed


def survives(form: Format, source: Source) -> None:
    form.detect(source)
    try:
        sessions = form.read(source)
    except FormatError:
        return
    for session in sessions:
        check(session)


@pytest.mark.parametrize(("form", "name"), EXCERPTS)
def test_a_file_cut_off_or_spoilt_anywhere_breaks_no_reader(form: str, name: str) -> None:
    never_breaks(named(form), Source((DATA / name).read_bytes(), name))


@pytest.mark.parametrize(("form", "name"), EXCERPTS)
def test_a_field_of_another_type_breaks_no_reader(form: str, name: str) -> None:
    text = (DATA / name).read_text("utf-8")
    if name.endswith(".jsonl"):
        for rows in spoilt([json.loads(line) for line in text.splitlines()]):
            survives(named(form), Source("\n".join(map(json.dumps, rows)).encode(), name))
    else:
        for document in spoilt(json.loads(text)):
            survives(named(form), Source(json.dumps(document).encode(), name))


@pytest.mark.parametrize(("form", "name"), EXCERPTS)
def test_nesting_without_end_is_refused(form: str, name: str) -> None:
    for deep in (b"[" * 100_000, b'{"a":' * 100_000):
        assert not named(form).detect(Source(deep, name))
        with pytest.raises(FormatError):
            named(form).read(Source(deep, name))
