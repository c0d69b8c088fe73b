"""What others do with old tool results, as presets: each a few lines of the algebra, from its documented behaviour.

`PEERS` maps a name to a function that makes the policy. Where the algebra has no word for something a peer does, the
docstring says what is left out.
"""

from collections.abc import Callable
from types import MappingProxyType
from typing import ClassVar, Literal

import msgspec

from refold.reducer import Part, Policy
from refold.reducer._checks import whole_number
from refold.reducer._view import PartState
from refold.reducer.how import HeadTail, Placeholder
from refold.reducer.ripe import KeepLast, KeepResults, KeepTokens, RipeRule, Turns
from refold.reducer.when import ALL, Above, Always, Batch, Facts, Idle, Least, Most, Watermark, WhenRule
from refold.reducer.which import Which

CLEARED = "[Old tool result content cleared]"
_GROWS = ("shrink", "clears results that are shorter than the placeholder, as the original does")
_COUNTS = ("order", "it counts results, or what they hold: which of two comes first matters")


class Polling(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Everything ripe, but only as often as `n` candidates have been born, the first time one candidate early.

    A part that keeps the newest k results then stands at what it stood at when the last such moment came.
    """

    n: int
    unit: ClassVar[Literal["tokens", "chars"]] = "tokens"
    weighs: ClassVar[bool] = False
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("Polling.n", self.n, 1)

    def quota(self, facts: Facts) -> int:
        return ALL if facts.part.ripe > (facts.part.admitted + 1) % self.n else 0

    def admits(self, part: PartState) -> bool:
        return True


class Reclaim(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """The oldest ripe candidates, until all that was ever cut has freed `tokens`; then nothing more."""

    tokens: int
    unit: ClassVar[Literal["tokens", "chars"]] = "tokens"
    weighs: ClassVar[bool] = False
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("Reclaim.tokens", self.tokens, 1)

    def quota(self, facts: Facts) -> int:
        if facts.measured is None or facts.original is None:
            return 0
        return self.tokens - (facts.original - facts.measured)

    def admits(self, part: PartState) -> bool:
        return True


def anthropic_clear(trigger: int = 100_000, keep: int = 3, clear_at_least: int = 0) -> Policy:
    """Anthropic's `clear_tool_uses_20250919`: over `trigger` input tokens all but the newest `keep` results go.

    The client sends everything each time, so the trigger is asked of the whole history and, once passed, stays
    passed. Nothing goes where it would free fewer than `clear_at_least` tokens. The server's own placeholder is not
    published; an id-less line stands for it. Source: beta context-management-2025-06-27, defaults of anthropic 2.14.0.
    """
    when: WhenRule = Above(trigger + 1, "original")
    if clear_at_least:
        when = Least((when, Batch(clear_at_least)))
    return _clear("anthropic-clear", when, KeepResults(keep), "[cleared]")


def langchain_clear(trigger: int = 100_000, keep: int = 3, clear_at_least: int = 0) -> Policy:
    """LangChain's ClearToolUsesEdit (1.5.2): as Anthropic's, done by the client on a copy, so again for every call.

    `clear_at_least` is another thing here: it is where clearing stops, and since every call starts anew from the
    whole history, what was cleared once is all that ever is.
    """
    when: WhenRule = Above(trigger + 1, "original")
    if clear_at_least:
        when = Least((when, Reclaim(clear_at_least)))  # type: ignore[arg-type]
    return _clear("langchain-clear", when, KeepResults(keep), "[cleared]")


def pydantic_clear(max_tokens: int = 100_000, keep_pairs: int = 3, min_clear_tokens: int = 0) -> Policy:
    """pydantic-ai-harness's ClearToolResults (0.62.0): the history itself is cut, so the prompt falls below the limit.

    The peer has no limit by default; the number is LangChain's. Left out: its other trigger, a count of messages.
    """
    when: WhenRule = Above(max_tokens + 1)
    if min_clear_tokens:
        when = Least((when, Batch(min_clear_tokens)))
    return _clear("pydantic-clear", when, KeepResults(keep_pairs), "[tool result cleared]")


def openai_trim(recent_turns: int = 2, max_output_chars: int = 500, preview_chars: int = 200) -> Policy:
    """openai-agents' ToolOutputTrimmer (0.24.0): what stands before the last `recent_turns` user messages.

    Turns are counted here, user messages there: one that comes in the middle of a turn counts there too. The preview
    stands here before the marker, there behind a line that names the tool: the same within 30 characters.
    """
    which = Which(("*",), errors=True, over_chars=max_output_chars)
    part = Part("openai-trim", Always(), which, Turns(recent_turns), HeadTail(preview_chars, 0))
    return Policy(part.name, (part,))


def swe_agent(n: int = 5, polling: int = 1) -> Policy:
    """SWE-agent's LastNObservations: all but the newest `n` observations, looked at again every `polling` of them.

    The task itself is its first observation, which it counts and never removes. Left out: tags, and its line tells the
    lines omitted, not the characters.
    """
    when: WhenRule = Always() if polling == 1 else Polling(polling)  # type: ignore[assignment]
    return _clear("swe-agent", when, KeepResults(n), "Old environment output: ({chars} characters omitted)")


def opencode_prune(protect: int = 40_000, minimum: int = 20_000) -> Policy:
    """OpenCode's prune, asked when a prompt's loop has ended: what lies beyond `protect` tokens of results that are
    older than the two newest turns, once that is over `minimum` tokens. Errors and the `skill` tool stay."""
    which = Which(("*",), ("skill",))
    part = Part(
        "opencode-prune", Batch(minimum), which, KeepTokens(protect, settled=3), Placeholder(CLEARED), broken=(_COUNTS,)
    )
    return Policy(part.name, (part,))


def qwen_watermark(high: int = 500_000, low: int = 250_000, keep: int = 5, idle: int = 3600) -> Policy:
    """qwen-code's microcompact: over `high` characters of results down to `low`, and everything after an idle hour.

    Left out: it asks for eleven tools of its own, and counts media by tokens.
    """
    when = Most((Watermark(high, low), Idle(idle)))
    part = Part("qwen-watermark", when, Which(("*",)), KeepLast(keep), Placeholder(CLEARED), broken=(_COUNTS,))
    return Policy(part.name, (part,))


def agenc_valve(high: int = 120_000, least: int = 6_000, keep: int = 5) -> Policy:
    """agenc-core's valve: over `high` characters of large results, the oldest go until half of that is left.

    Left out: the newest read of a path stays there, and so does what is younger than five minutes.
    """
    which = Which(("*",), errors=True, over_chars=least - 1)
    part = Part(
        "agenc-valve", Watermark(high, high // 2), which, KeepLast(keep), Placeholder(CLEARED), broken=(_COUNTS,)
    )
    return Policy(part.name, (part,))


def claude_code_idle(idle: int = 3600, keep: int = 5) -> Policy:
    """Claude Code's clearing after an idle hour: all but the newest `keep` results of eight tools."""
    tools = ("Read", "Bash", "PowerShell", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write")
    part = Part(
        "claude-code-idle",
        Idle(idle),
        Which(tools, errors=True),
        KeepLast(keep),
        Placeholder(CLEARED),
        broken=(_COUNTS,),
    )
    return Policy(part.name, (part,))


def mask_oldest(keep: int = 10) -> Policy:
    """Observation masking as "The Complexity Trap" measured it: at every step all but the newest `keep` results."""
    return _clear("mask-oldest", Always(), KeepResults(keep), "[masked]")


def _clear(name: str, when: WhenRule, ripe: RipeRule, line: str) -> Policy:
    part = Part(name, when, Which(("*",), errors=True), ripe, Placeholder(line), True, (_GROWS, _COUNTS))
    return Policy(name, (part,))


PEERS: MappingProxyType[str, Callable[..., Policy]] = MappingProxyType(
    {
        "anthropic-clear": anthropic_clear,
        "langchain-clear": langchain_clear,
        "pydantic-clear": pydantic_clear,
        "openai-trim": openai_trim,
        "swe-agent": swe_agent,
        "opencode-prune": opencode_prune,
        "qwen-watermark": qwen_watermark,
        "agenc-valve": agenc_valve,
        "claude-code-idle": claude_code_idle,
        "mask-oldest": mask_oldest,
    }
)
