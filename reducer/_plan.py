"""The plan: which operations are due now. A question that only reads."""

from refold.events import Block, Text, ToolResult
from refold.reducer import _queue as queue
from refold.reducer import _weights as weights
from refold.reducer._measure import Meter, tokens_now
from refold.reducer._policy import Part, Policy
from refold.reducer._view import Node, Operation, PartState, State
from refold.reducer.which import code_points


class Known:
    """The facts a `when` may ask about, each worked out when it is asked. `freed` is what earlier parts cut now."""

    def __init__(self, state: State, index: int, freed: int) -> None:
        self._state, self._freed = state, freed
        self.part: PartState = state.parts[index]

    @property
    def measured(self) -> int | None:
        tokens = tokens_now(self._state)
        return None if tokens is None else max(0, tokens - self._freed)

    @property
    def original(self) -> int | None:
        tokens = tokens_now(self._state)
        return None if tokens is None else tokens + self._state.freed

    @property
    def context_window(self) -> int | None:
        return self._state.context_window

    @property
    def overflow(self) -> bool:
        return self._state.overflow

    @property
    def rent(self) -> int:
        return self.part.gain * (self._state.steps + 1) - self.part.moment

    @property
    def behind(self) -> int:
        tree = self.part.weights
        assert tree is not None, "kept for every part whose `when` weighs"
        first = weights.first_ripe(tree)
        if first >= self._state.sent:
            return 0
        return max(0, weights.before(tree, self._state.sent) - weights.before(tree, first) - self.part.gain)

    @property
    def idle_ms(self) -> int:
        if self._state.step_time is None:
            return 0
        return max(0, self._state.time - self._state.step_time)


def due(policy: Policy, meter: Meter, state: State) -> tuple[Operation, ...]:
    """The operations due now, in surface order. Parts run one after the other; each node is targeted once."""
    found: dict[int, Operation] = {}
    freed = 0
    for index, part in enumerate(policy.parts):
        now = state.parts[index]
        if now.ripe == 0:
            continue
        quota = part.when.quota(Known(state, index, freed))
        place = now.head
        while quota > 0 and place < now.boundary:
            entry = now.entries[place]
            node = queue.holder(state, index, place)
            place += 1
            if node is None or entry.slot in found:
                continue
            if node.cut_by >= 0 and node.steps == state.steps:
                continue  # an earlier part cut it in this very pre-step; the later one may take it up at the next
            operation = _operation(part, index, meter, state, node)
            found[entry.slot] = operation
            freed += operation.tokens_before - operation.tokens_after
            quota -= entry.gain_tokens if part.when.unit == "tokens" else entry.gain_chars
    return tuple(found[slot] for slot in sorted(found))


def _operation(part: Part, index: int, meter: Meter, state: State, node: Node) -> Operation:
    cut = queue.cut_content(part, meter, node)
    before = node.message
    assert cut is not None, "only what can be cut is admitted"
    assert isinstance(before, ToolResult)
    content, tokens = cut
    return Operation(
        seq=node.seq,
        before=before,
        content=content,
        tool=node.tool,
        views=state.steps - node.steps,
        tokens_before=node.tokens,
        tokens_after=tokens,
        chars_before=code_points(before.content),
        chars_after=code_points(content),
        cut_at=_cut_at(before.content, content),
        dropped=tuple(block for block in before.content if type(block) is not Text and block not in content),
        part=index,
        reason=part.name,
    )


def _cut_at(before: tuple[Block, ...], after: tuple[Block, ...]) -> int:
    """Code points of text that stay as they were, up to the first block or character that differs."""
    kept = 0
    for old, new in zip(before, after, strict=False):
        if old == new:
            kept += len(old.text) if type(old) is Text else 0
            continue
        if type(old) is Text and type(new) is Text:
            kept += _common(old.text, new.text)
        break
    return kept


def _common(one: str, other: str) -> int:
    """Length of the longest common prefix, by halving (each comparison runs in C)."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
