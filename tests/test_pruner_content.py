"""The official transform, block by block: the published cases, and its refusals."""

import json
from pathlib import Path

import msgspec
import pytest

from refold.events import Block, Opaque, PolicyError, Text, ToolResult
from refold.prompt import rendered_block
from refold.reducer import presets
from refold.reducer._view import Node
from refold.reducer.how import MARKER
from refold.reducer.which import code_points

VECTORS = json.loads((Path(__file__).parent / "data/vectors/pruner.json").read_text())


def block_of(value) -> Block:
    if value.keys() == {"type", "text"} and value["type"] == "text":
        return Text(value["text"])
    return Opaque(json.dumps(value, separators=(",", ":")))


def cut(config, blocks):
    """What the pruner makes of a result's content, None where it leaves it alone."""
    policy = presets.pruner(config["thresholdChars"], config["headChars"], config["tailChars"])
    part = policy.parts[0]
    node = Node(0, ToolResult(0, 0, tuple(map(block_of, blocks)), 1, 1, "c"), 1_000, 0, 0)
    if part.which.refuses(node) == "small":
        return None
    return [rendered_block(block) for block in part.how.content(node)]


def test_the_marker_is_the_official_one():
    assert VECTORS["marker"] == MARKER
    assert len(MARKER) == VECTORS["markerCodePoints"] == 39


@pytest.mark.parametrize("case", VECTORS["content"], ids=lambda case: case["name"])
def test_official_content_case(case):
    measured = sum(len(block["text"]) for block in case["blocks"] if block["type"] == "text")

    assert measured == case["measure"]
    assert code_points(tuple(map(block_of, case["blocks"]))) == case["measure"]
    assert cut(case["config"], case["blocks"]) == case["expected"]


NAMES = {"thresholdChars": "threshold", "headChars": "head", "tailChars": "tail"}


@pytest.mark.parametrize("case", VECTORS["config"], ids=lambda case: json.dumps(case["config"]))
def test_official_config_case(case):
    given = {NAMES.get(name, name): value for name, value in case["config"].items()}

    if "resolved" in case:
        how = presets.pruner(**given).parts[0].how
        assert how.kept == case["pruned_length"]
    elif set(given) <= set(NAMES.values()):
        with pytest.raises(PolicyError) as refused:
            presets.pruner(**given)
        assert refused.value.field in given
    else:
        with pytest.raises(TypeError, match="maxChars"):
            presets.pruner(**given)


def test_a_cut_keeps_a_text_blocks_other_fields():
    node = Node(0, ToolResult(0, 0, (Text("x" * 100, '{"note":1}'),), 1, 1, "c"), 1_000, 0, 0)

    (block,) = presets.pruner(50, 4, 3).parts[0].how.content(node)

    assert msgspec.structs.astuple(block) == ("xxxx" + MARKER + "xxx", '{"note":1}')
