"""The stream chunks of one block, in every way that providers were seen or may be feared to send them."""

from collections.abc import Callable, Sequence
from typing import Any

from tests.generated import Json, call_block, reasoning_block, text_block

WAYS = ("whole", "whole", "no end", "no start", "end only", "late", "confused")


def chunks(index: int, block: Json, way: str, pick: Callable[[Sequence[Any]], Any]) -> list[Json]:
    """`way` names what is odd about them; "late" goes on after the end, "confused" sends a delta of another type."""
    kind = block["type"]
    start = {"type": "block-start", "index": index, "blockType": kind}
    end = {"type": "block-end", "index": index, "block": block}
    if kind not in ("text", "reasoning", "tool-call"):
        return [start, end]
    pieces = pick((1, 3, 5))
    whole = block["arguments"] if kind == "tool-call" else block["text"]
    size = -(-len(whole) // pieces)
    deltas = [_delta(index, block, whole[i * size : (i + 1) * size], i) for i in range(pieces)]
    match way:
        case "whole":
            return [start, *deltas, end]
        case "no end":
            return [start, *deltas]
        case "no start":
            return deltas
        case "end only":
            return [end]
        case "confused":
            other = pick((text_block(""), reasoning_block(""), call_block("id", "name", "")))
            return [start, *deltas, _delta(index, other, "stray", 0)]
        case _:
            return [start, *deltas, end, deltas[0], start]


def _delta(index: int, block: Json, piece: str, place: int) -> Json:
    if block["type"] != "tool-call":
        return {"type": f"{block['type']}-delta", "index": index, "text": piece}
    name = {} if place else {"name": block["name"]}
    return {"type": "tool-call-delta", "index": index, "id": block["id"], **name, "argumentsDelta": piece}
