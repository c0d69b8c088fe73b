"""When: how much may be cut now? Nothing, everything that is ripe, or an amount."""

from typing import ClassVar, Final, Literal, Protocol

import msgspec

from refold.events import PolicyError
from refold.reducer._checks import some, whole_number
from refold.reducer._view import PartState

ALL: Final = 1 << 62


class Facts(Protocol):
    """What a `when` may know. Tokens are the meter's, None where it refused the log; chars are code points."""

    @property
    def part(self) -> PartState: ...
    @property
    def measured(self) -> int | None:
        """Tokens of the next prompt, less what earlier parts cut in this plan."""
        ...

    @property
    def original(self) -> int | None:
        """Tokens of the next prompt as if this reducer had cut nothing."""
        ...

    @property
    def context_window(self) -> int | None: ...
    @property
    def overflow(self) -> bool:
        """The provider has refused the open step's request as too long."""
        ...

    @property
    def rent(self) -> int:
        """Sum over the ripe candidates of tokens their cut would free x calls they were, or will be, read since."""
        ...

    @property
    def behind(self) -> int:
        """Tokens behind the first ripe candidate that stay, and that the last call sent as they stand."""
        ...

    @property
    def idle_ms(self) -> int:
        """Newest event time less that of the last step/start, at least 0."""
        ...


class When(Protocol):
    """`quota` is 0, ALL or an amount in `unit`; `admits` is asked at birth; `weighs` says that it reads `behind`."""

    @property
    def unit(self) -> Literal["tokens", "chars"]: ...
    @property
    def weighs(self) -> bool: ...

    def quota(self, facts: Facts) -> int: ...

    def admits(self, part: PartState) -> bool:
        """May a result born now ever be a candidate?"""
        ...


class _Member(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    unit: ClassVar[Literal["tokens", "chars"]] = "tokens"
    weighs: ClassVar[bool] = False
    revision: ClassVar[int] = 1

    def admits(self, part: PartState) -> bool:
        return True


class Always(_Member, frozen=True):
    """Whatever is ripe is cut at once."""

    def quota(self, facts: Facts) -> int:
        return ALL


class Latch(_Member, frozen=True):
    """Everything ripe, once the tokens measured at a boundary have reached `tokens`; it never closes again.

    What is present when it opens is frozen: never admitted to the queue, never cut.
    """

    tokens: int

    def __post_init__(self) -> None:
        whole_number("Latch.tokens", self.tokens, 0)

    def quota(self, facts: Facts) -> int:
        return ALL if facts.part.latch else 0

    def admits(self, part: PartState) -> bool:
        return part.latch is not None


class Above(_Member, frozen=True):
    """Everything ripe while the prompt measures at least `tokens`, as it is sent or as it was before any cut."""

    tokens: int
    of: Literal["sent", "original"] = "sent"

    def __post_init__(self) -> None:
        whole_number("Above.tokens", self.tokens, 0)

    def quota(self, facts: Facts) -> int:
        measured = facts.measured if self.of == "sent" else facts.original
        return ALL if measured is not None and measured >= self.tokens else 0


class Pressure(_Member, frozen=True):
    """Everything ripe while the prompt measures at least floor(window x `per_mille` / 1000), window from the log."""

    per_mille: int = 800

    def __post_init__(self) -> None:
        whole_number("Pressure.per_mille", self.per_mille, 1, 1000)

    def quota(self, facts: Facts) -> int:
        if facts.measured is None or facts.context_window is None:
            return 0
        return ALL if facts.measured >= facts.context_window * self.per_mille // 1000 else 0


class OnOverflow(_Member, frozen=True):
    """Everything ripe when the provider has refused the open step's request as too long."""

    def quota(self, facts: Facts) -> int:
        return ALL if facts.overflow else 0


class Idle(_Member, frozen=True):
    """Everything ripe when nothing was sent for `seconds` of event time: the provider's cache is cold anyway."""

    seconds: int

    def __post_init__(self) -> None:
        whole_number("Idle.seconds", self.seconds, 1)

    def quota(self, facts: Facts) -> int:
        return ALL if facts.idle_ms >= self.seconds * 1000 else 0


class Batch(_Member, frozen=True):
    """Everything ripe, once that frees at least `min_tokens`."""

    min_tokens: int

    def __post_init__(self) -> None:
        whole_number("Batch.min_tokens", self.min_tokens, 1)

    def quota(self, facts: Facts) -> int:
        return ALL if facts.part.gain >= self.min_tokens else 0


class Watermark(_Member, frozen=True):
    """When the candidates hold more than `high` code points, the oldest ripe ones go until `low` would be left."""

    high: int
    low: int
    unit: ClassVar[Literal["tokens", "chars"]] = "chars"

    def __post_init__(self) -> None:
        whole_number("Watermark.low", self.low, 0)
        whole_number("Watermark.high", self.high, self.low)

    def quota(self, facts: Facts) -> int:
        return facts.part.chars - self.low if facts.part.chars > self.high else 0


class Debt(_Member, frozen=True):
    """Everything ripe, once the rent paid for reading it again reaches the price of writing what stands behind anew.

    Prices are per thousand of the input price: `read` of a token that the cache holds, `write` of one that it takes
    in. Each call adds read x (tokens that could be cut) to the debt; it is due at (write - read) x (tokens behind the
    first cut that stay and are cached). After `idle_seconds` of event time without a call the cache is cold anyway
    and the cut is free, as it is behind a change that someone else has just made; 0 for a cache that never goes cold.
    """

    read: int = 100
    write: int = 1250
    idle_seconds: int = 300
    weighs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        whole_number("Debt.read", self.read, 0)
        whole_number("Debt.write", self.write, self.read)
        whole_number("Debt.idle_seconds", self.idle_seconds, 0)

    def quota(self, facts: Facts) -> int:
        if self.idle_seconds and facts.idle_ms >= self.idle_seconds * 1000:
            return ALL
        return ALL if self.read * facts.rent >= (self.write - self.read) * facts.behind else 0


class Least(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """As much as every part allows."""

    parts: "tuple[WhenRule, ...]"
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        some("Least.parts", self.parts, "at least one member")
        _one_unit(self.parts)

    @property
    def unit(self) -> Literal["tokens", "chars"]:
        return _one_unit(self.parts)

    @property
    def weighs(self) -> bool:
        return any(member.weighs for member in self.parts)

    def quota(self, facts: Facts) -> int:
        return min(part.quota(facts) for part in self.parts)

    def admits(self, part: PartState) -> bool:
        return all(member.admits(part) for member in self.parts)


class Most(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """As much as any part allows."""

    parts: "tuple[WhenRule, ...]"
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        some("Most.parts", self.parts, "at least one member")
        _one_unit(self.parts)

    @property
    def unit(self) -> Literal["tokens", "chars"]:
        return _one_unit(self.parts)

    @property
    def weighs(self) -> bool:
        return any(member.weighs for member in self.parts)

    def quota(self, facts: Facts) -> int:
        return max(part.quota(facts) for part in self.parts)

    def admits(self, part: PartState) -> bool:
        return any(member.admits(part) for member in self.parts)


WhenRule = Always | Latch | Above | Pressure | OnOverflow | Idle | Batch | Watermark | Debt | Least | Most


def latch_of(when: object) -> Latch | None:
    """The latch inside a rule, None where it has none. Raises PolicyError for a second one: a part has one latch."""
    if isinstance(when, Latch):
        return when
    found = [latch for part in getattr(when, "parts", ()) if (latch := latch_of(part))]
    if len(found) > 1:
        raise PolicyError("a part has one latch; join two policies with + instead", field="when")
    return found[0] if found else None


def _one_unit(parts: "tuple[WhenRule, ...]") -> Literal["tokens", "chars"]:
    units = {part.unit for part in parts if isinstance(part, Watermark | Least | Most)}
    if len(units) > 1:
        raise PolicyError("members that count chars and members that count tokens do not combine", field="when")
    return units.pop() if units else "tokens"
