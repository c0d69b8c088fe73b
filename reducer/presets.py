"""The presets: known systems as a few lines of the algebra each."""

from collections.abc import Callable
from types import MappingProxyType

from refold.events import PolicyError
from refold.reducer._policy import Part, Policy
from refold.reducer.how import MARKER, HeadTail
from refold.reducer.ripe import Views
from refold.reducer.when import Latch
from refold.reducer.which import Which

KEEP3_TOOLS = (
    "read",
    "glob",
    "grep",
    "bash",
    "web_search",
    "web_fetch",
    "mcp__browser-mcp__web_search",
    "mcp__browser-mcp__fetch_page",
)


def none() -> Policy:
    """Never cut anything."""
    return Policy("none")


def keep3(
    gate: int = 100_000,
    keep: int = 3,
    threshold: int = 8192,
    head: int = 4096,
    tail: int = 1024,
    tools: tuple[str, ...] = KEEP3_TOOLS,
) -> Policy:
    """The 8K gate: once `gate` tokens are measured, a large result is cut when the model has seen it `keep` times.

    A result is cut before its (keep+1)th sending to its first `head` and last `tail` code points if it arrived after
    the gate opened, its tool matches one of `tools`, it is no error, and it has more than `threshold` code points.
    Numbers: the dsh-feishu plugin, August 2026; transform: DSH's official pruner. Raises PolicyError.
    """
    how = _head_tail(threshold, head, tail)
    return Policy("keep3", (Part("keep3", Latch(gate), Which(tools, over_chars=threshold), Views(keep), how),))


def _head_tail(threshold: int, head: int, tail: int) -> HeadTail:
    how = HeadTail(head, tail)
    if threshold < how.kept:
        raise PolicyError(
            f"must be at least head + marker + tail = {head} + {len(MARKER)} + {tail} = {how.kept} code points, "
            f"got {threshold}",
            field="threshold",
        )
    return how


PRESETS: MappingProxyType[str, Callable[..., Policy]] = MappingProxyType({"none": none, "keep3": keep3})
