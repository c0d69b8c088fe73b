"""Published surface cases and real fixture logs: the fold gives the official nodes, generation and prices."""

import json
from pathlib import Path

import pytest
import zstandard

from refold.events import RefoldError, read_dsh
from refold.reducer import Dsh, Reducer, presets, surface_seqs
from refold.reducer._surface import nodes

DATA = Path(__file__).parent / "data"
CASES = json.loads((DATA / "vectors/surface.json").read_text())["cases"]
EXPECTED = json.loads((DATA / "logs/expected-surfaces.json").read_text())


def fold(log):
    reducer = Reducer(presets.none(), Dsh(log.version))
    return reducer, reducer.fold_all(reducer.start(), log)


def row(event):
    """A case's compact notation as a whole V0 row."""
    kind, seq = event["type"], event["seq"]
    text = [{"type": "text", "text": "t"}]
    if kind == "user/message":
        data = {"id": f"m{seq}", "role": "user", "source": {"kind": "user"}, "content": text}
    elif kind == "assistant/message":
        message = {"id": f"m{seq}", "role": "assistant", "source": {"kind": "model"}, "content": text}
        data = {"turn": 1, "step": 1, "message": message}
    elif kind == "tool/result":
        call = event["callId"]
        block = {"type": "tool-result", "toolCallId": call, "content": text}
        source = {"kind": "tool", "callId": call}
        message = {"id": event.get("messageId", "m"), "role": "user", "source": source, "content": [block]}
        data = {"turn": 1, "step": 1, "message": message}
    else:
        data = {"turn": 1}
    rest = {"surfaceOp": event["op"], "sourceEventSeqs": event["src"]}
    return {"type": kind, "seq": seq, "time": 1, "data": data, **{k: v for k, v in rest.items() if v is not None}}


def log_of(events):
    header = {"type": "session", "version": 0, "id": "s", "createdAt": 0, "delegationDepth": 0}
    rows = [header, *map(row, events)]
    return read_dsh([b"".join(json.dumps(each).encode() + b"\n" for each in rows)], name="case")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_surface_case(case):
    if "nodes" in case:
        _, view = fold(log_of(case["events"]))
        assert list(surface_seqs(view)) == case["nodes"]
        assert view.replace_generation == case["gen"]
    else:
        with pytest.raises(RefoldError):
            fold(log_of(case["events"]))


REASONS = {
    "unknown start": "start seq 42, which is not found",
    "start after end by position": "1 stands after 0",
    "no provenance on replace": "do not cite",
    "empty sourceEventSeqs on user": "must not be empty",
    "duplicate sources": "duplicates",
    "missing surfaceOp on surface type": "surfaceOp",
    "sources on log-only": "sourceEventSeqs",
    "tool/result over two nodes": "exactly one current node",
    "tool/result other callId": "may change only content",
    "tool/result new message id": "may change only content",
}


@pytest.mark.parametrize(("name", "reason"), REASONS.items())
def test_a_refused_case_says_which_rule_it_breaks(name, reason):
    case = next(case for case in CASES if case["name"] == name)

    with pytest.raises(RefoldError, match=reason):
        fold(log_of(case["events"]))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_fixture_log_folds_to_the_official_surface(name):
    packed = (DATA / "logs" / f"{name}.zst").read_bytes()
    expected = EXPECTED[name]

    _, view = fold(read_dsh([zstandard.ZstdDecompressor().decompress(packed)], name=name))

    assert view.position == expected["events"]
    assert list(surface_seqs(view)) == expected["surfaceNodes"]
    assert view.replace_generation == expected["replaceGeneration"]
    prices = [node.tokens for _, node in nodes(view)]
    known = [(mine, price) for mine, price in zip(prices, expected["estimatedTokensPerNode"], strict=True) if price]
    assert [mine for mine, _ in known] == [price for _, price in known]
    assert known
