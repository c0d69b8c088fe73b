"""One block under one chain: what stands in its place on the wire."""

import json
import re
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from refold.events import AssistantMessage, Block, Opaque, Reasoning, Text, ToolResult, ToolUse
from refold.reducer._view import Node
from refold.reducer._wire_ops import About, Category, Op, run
from refold.reducer._wire_profiles import Profile

STUB: Final = "."
_STRING = re.compile(r'("(?:[^"\\]|\\.)*")(\s*:)?')


def category_of(node: Node, block: Block) -> Category | None:
    """The category under which the block may be shaped, None for what never is."""
    if isinstance(node.message, ToolResult):
        return "tool_result" if isinstance(block, Text) else None
    if not isinstance(node.message, AssistantMessage):
        return None
    if isinstance(block, Text):
        return "assistant_text"
    if isinstance(block, ToolUse):
        return "tool_arguments"
    return "reasoning" if isinstance(block, Reasoning) or is_signed(block) else None


def is_signed(block: Block) -> bool:
    """Does the block carry its provider's proof? It is then sent as it is, or not at all."""
    if isinstance(block, Reasoning):
        return bool(block.signature)
    if isinstance(block, Opaque):
        return '"type":"redacted_thinking"' in block.json
    return "ignature" in block.extra  # Google signs calls and texts too: thoughtSignature


def is_bound(block: Block) -> bool:
    """Where a provider binds reasoning to its prefix it is the signed blocks that it binds."""
    return isinstance(block, Reasoning | Opaque) and is_signed(block)


def shaped(block: Block, ops: tuple[Op, ...], about: About, profile: Profile) -> tuple[Block | None, list[str]]:
    """The block behind its chain, None where it goes, itself where nothing gets smaller; and what failed."""
    if isinstance(block, ToolUse):
        return (block, []) if is_signed(block) else _call(block, ops, about)
    text = "" if isinstance(block, Opaque) else block.text
    new, failures = run(ops, text, about)
    if new is None or (text.strip() and not new.strip()):
        return _gone(block, about, profile), failures
    if is_signed(block) or isinstance(block, Opaque) or len(new) >= len(text):
        return block, failures
    return replace(block, text=new), failures


def _gone(block: Text | Reasoning | Opaque, about: About, profile: Profile) -> Block | None:
    """What is left of a block that its chain takes away."""
    if about.category != "reasoning":
        return block if is_signed(block) else None
    if not profile.stub:
        return None
    if is_signed(block) or isinstance(block, Opaque) or len(block.text) <= len(STUB):
        return block
    return replace(block, text=STUB)


def _call(block: ToolUse, ops: tuple[Op, ...], about: About) -> tuple[Block, list[str]]:
    text, failures = arguments(block.arguments, lambda value: run(ops, value, about))
    return (block if text == block.arguments else replace(block, arguments=text)), failures


def arguments(text: str, change: Callable[[str], tuple[str | None, list[str]]]) -> tuple[str, list[str]]:
    """JSON text in which each string value that `change` would change is `{"omitted_chars": N}` instead.

    A model copies half-real arguments into new calls, so no value is ever shortened; no tool takes an object where it
    wants a text. Everything else keeps its bytes. What is no JSON stays whole, and the failure says so.
    """
    if not text.strip():
        return text, []
    try:  # numbers as they are written: Python reads none of more than 4,300 digits
        json.loads(text, parse_int=str, parse_float=str, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return text, ["the arguments are no JSON"]
    failures: list[str] = []

    def kept_or_replaced(found: re.Match[str]) -> str:
        if found[2]:
            return found[0]  # a key
        value = json.loads(found[1])
        new, failed = change(value)
        failures.extend(failed)
        omitted = f'{{"omitted_chars":{len(value)}}}'
        return found[0] if new == value or len(omitted) >= len(found[0]) else omitted

    return _STRING.sub(kept_or_replaced, text), failures


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no JSON number")
