"""Meters: how many tokens the next request will carry.

A meter prices messages by an estimator and may anchor the sum on what a provider reported: up to the last answer the
report counts, behind it the estimate. `measure` is O(1): every sum it needs is kept by the fold.
"""

from typing import ClassVar

import msgspec
from pyrsistent import pvector

from refold.events import (
    AssistantChunks,
    AssistantMessage,
    Block,
    BlockEnd,
    BlockStart,
    Failure,
    Finish,
    FinishReason,
    Overflow,
    Reasoning,
    ReasoningDelta,
    RequestHeader,
    StepEnd,
    StepStart,
    SurfaceEvent,
    Text,
    TextDelta,
    ToolCallDelta,
    ToolUse,
    UnknownChunk,
)
from refold.events._events import Chunk
from refold.reducer._checks import whole_number
from refold.reducer._estimate import DshEstimator
from refold.reducer._estimate import Estimator as Estimator
from refold.reducer._tiktoken import Tiktoken
from refold.reducer._view import Anchor, Header, State

_ESTIMATORS = tuple(DshEstimator(version) for version in range(6))


OVERFLOW = "CONTEXT_WINDOW_EXCEEDED"


class Refused(Exception):
    """The official meter would refuse this log; the text says why. Never leaves the fold."""


class Dsh(msgspec.Struct, frozen=True, tag=True):
    """DSH's own measure: its estimator (UTF-16 units / 4), anchored on the provider's usage of the last answer.

    `version` is the log's format. V0 and V1 follow the official token meter exactly: the anchor's surface is that of
    the step/start plus the answer as it was streamed, so what a user said in that step counts twice until the next
    answer. Later formats take the surface just before the answer. A usage figure below the estimate is not believed.
    """

    version: int = 0
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        whole_number("Dsh.version", self.version, 0, 5)

    @property
    def estimator(self) -> Estimator:
        return _ESTIMATORS[self.version]

    @property
    def streams(self) -> bool:
        return self.version < 2

    def started(self, state: State, event: StepStart) -> None:
        if state.meter_step is not None:
            turn, step, _ = state.meter_step
            raise Refused(f"step/start at seq {event.seq} arrived before turn {turn}, step {step} ended")
        state.meter_step = (event.turn, event.step, state.tokens)

    def ended(self, state: State, event: StepEnd) -> None:
        if state.meter_step is None or state.meter_step[:2] != (event.turn, event.step):
            raise Refused(f"step/end at seq {event.seq} has no matching step/start")
        state.meter_step = None

    def answered(self, state: State, event: AssistantMessage, tokens: int, unsent: int) -> None:
        step, header, usage = state.meter_step, state.header, event.usage
        if step is None or step[1] != event.step or step[0] != event.turn:
            raise Refused(f"assistant/message at seq {event.seq} has no matching step/start")
        surface = state.tokens + tokens
        if self.version < 2:
            surface = step[2] + tokens
            if usage is not None and header is not None and event.sources is not None:
                blocks = streamed(state, event)
                if blocks != event.content:
                    surface = step[2] + (self.estimator.blocks(blocks) + 4 if blocks else 0)
        estimate = surface + (header.tokens if header else 0)
        if usage is not None and header is not None and usage.total - unsent >= estimate:
            state.anchor = Anchor(header, surface, usage.total - unsent, "usage")
        else:
            state.anchor = Anchor(header, surface, estimate, "estimated")


class _Plain(msgspec.Struct, frozen=True, tag=True):
    estimator: Tiktoken = Tiktoken()
    revision: ClassVar[int] = 1
    streams: ClassVar[bool] = False

    def started(self, state: State, event: StepStart) -> None:
        pass

    def ended(self, state: State, event: StepEnd) -> None:
        pass

    def answered(self, state: State, event: AssistantMessage, tokens: int, unsent: int) -> None:
        pass


class Counted(_Plain, frozen=True):
    """Every token counted with tiktoken (o200k_base), nothing reported: the same figure whatever the provider."""


class Reported(_Plain, frozen=True):
    """The provider's usage where the log has it, tiktoken for what came after and for logs that report none."""

    def answered(self, state: State, event: AssistantMessage, tokens: int, unsent: int) -> None:
        if event.usage is not None:
            state.anchor = Anchor(state.header, state.tokens + tokens, max(0, event.usage.total - unsent), "usage")


Meter = Dsh | Counted | Reported


class Measure(msgspec.Struct, frozen=True):
    """`tokens` the next request will carry by the meter; None where it refused the log, and `refusal` says why.

    `baseline` is what they rest on: `usage` or `estimated` of the last answer, `none` before anything was logged.
    """

    tokens: int | None
    surface_tokens: int
    baseline: str
    refusal: str | None


def measure_of(state: State) -> Measure:
    if state.refusal is not None:
        return Measure(None, state.tokens, "none", state.refusal)
    anchor = state.anchor
    if anchor is not None and anchor.header == state.header:
        return Measure(max(0, anchor.tokens + state.tokens - anchor.surface), state.tokens, anchor.kind, None)
    if state.header is None and state.tokens == 0:
        return Measure(0, 0, "none", None)
    return Measure((state.header.tokens if state.header else 0) + state.tokens, state.tokens, "estimated", None)


def tokens_now(state: State) -> int | None:
    """The measured tokens alone (the hot path of `measure_of`)."""
    if state.refusal is not None:
        return None
    anchor = state.anchor
    if anchor is not None and (anchor.header is state.header or anchor.header == state.header):
        return max(0, anchor.tokens + state.tokens - anchor.surface)
    return (state.header.tokens if state.header else 0) + state.tokens


def header_of(meter: Meter, event: RequestHeader) -> Header:
    return Header(event.system, event.tools, event.config, meter.estimator.header(event.system, event.tools))


def price(meter: Meter, event: SurfaceEvent) -> int:
    """Tokens of one message."""
    return meter.estimator.message(event)


def streamed(state: State, event: AssistantMessage) -> tuple[Block, ...]:
    """The answer's blocks put together from the chunks it cites, as the official BlockAssembler does, in any order.

    A block that ended is what its end says, whatever its deltas were. Raises Refused where the official meter does: a
    cited event that is no chunk of this step, a chunk of an unknown type, or a block of one that never ended.
    """
    chunks = _cited(state, event)
    blocks: dict[int, Block] = {}
    finish = ""
    for chunk in [chunk for chunk in chunks if type(chunk) in _TELLING]:
        if isinstance(chunk, BlockEnd):
            blocks.setdefault(chunk.index, chunk.block)
        elif isinstance(chunk, Finish):
            finish = chunk.reason.kind
        else:
            raise Refused(f"assistant/message at seq {event.seq} cites a chunk of an unknown type")
    for index in {chunk.index for chunk in chunks}:
        if index not in blocks and index != -1:
            blocks[index] = _assembled(index, chunks)
    if finish == "max-tokens":
        return tuple(block for block in blocks.values() if not isinstance(block, ToolUse))
    return tuple(blocks.values())


_TELLING = frozenset((BlockEnd, Finish, UnknownChunk))


def _assembled(index: int, chunks: tuple[Chunk, ...]) -> Block:
    """A block that never ended, from its deltas; what it began as decides its type, and which of them count."""
    text = arguments = name = kind = ""
    for chunk in chunks:
        if chunk.index != index:
            continue
        if isinstance(chunk, BlockStart):
            kind = kind or chunk.block_type
        elif isinstance(chunk, ToolCallDelta):
            kind = kind or "tool-call"
            arguments += chunk.arguments
            name = chunk.name or name
        elif isinstance(chunk, TextDelta | ReasoningDelta):
            kind = kind or ("text" if isinstance(chunk, TextDelta) else "reasoning")
            text += chunk.text
    if kind == "text":
        return Text(text)
    if kind == "reasoning":
        return Reasoning(text)
    if kind == "tool-call":
        return ToolUse("", name, arguments)
    raise Refused(f'cannot assemble an incomplete block of type "{kind}"')


def _cited(state: State, event: AssistantMessage) -> tuple[Chunk, ...]:
    """The chunks the answer cites, in the order in which it cites them."""
    sources = event.sources or ()
    by_seq: dict[int, Chunk] = {}
    for run in state.pending:
        if run.step != event.step or run.turn != event.turn:
            continue
        if sources == tuple(range(run.seq, run.seq + len(run.chunks))):
            return run.chunks  # the usual case: an answer cites one whole run
        by_seq.update(zip(range(run.seq, run.seq + len(run.chunks)), run.chunks, strict=True))
    for seq in sources:
        if seq not in by_seq:
            raise Refused(f"assistant/message at seq {event.seq} cites seq {seq}, no chunk of its step")
    return tuple(by_seq[seq] for seq in sources)


def forget_stream(state: State) -> None:
    """Chunks matter only inside their step."""
    if state.pending:
        state.pending = pvector()


def stream(state: State, run: AssistantChunks) -> None:
    state.pending = state.pending.append(run)


def stream_overflow(state: State, event: Overflow) -> None:
    """An overflow is a chunk of the stream too: an answer might cite it."""
    finish = Finish(FinishReason("error", Failure(OVERFLOW)))
    stream(state, AssistantChunks(event.seq, event.time, event.turn, event.step, (finish,)))
