"""A policy: parts that answer when, which, ripe and how, run one after the other."""

from typing import Any, ClassVar

import msgspec

from refold.events import PolicyError
from refold.reducer.how import HowRule
from refold.reducer.ripe import RipeRule
from refold.reducer.when import WhenRule, latch_of
from refold.reducer.which import WhichRule


class Part(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """One rule: cut `which` results that are `ripe` into `how`, as much as `when` allows.

    A host may put members of its own in any place: frozen msgspec Structs that answer the same question. A cut that
    would not make a result smaller is not made, unless `grow` asks for it. `broken` names the laws the part breaks by
    its nature, each with why.
    """

    name: str
    when: WhenRule
    which: WhichRule
    ripe: RipeRule
    how: HowRule
    grow: bool = False
    broken: tuple[tuple[str, str], ...] = ()
    revision: ClassVar[int] = 1

    def __post_init__(self) -> None:
        latch_of(self.when)


class Policy(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Parts in the order in which they run at a pre-step; none at all is the policy that never cuts."""

    name: str
    parts: tuple[Part, ...] = ()
    revision: ClassVar[int] = 1

    def __add__(self, other: "Policy") -> "Policy":
        return Policy(f"{self.name}+{other.name}", self.parts + other.parts)

    @property
    def broken(self) -> dict[str, str]:
        """The laws that a part breaks by its nature, each with why."""
        return {law: why for part in self.parts for law, why in part.broken}


def described(value: Any) -> Any:
    """The policy, meter or member as plain JSON values that name every type, field and revision."""
    if isinstance(value, msgspec.Struct):
        kind = type(value)
        facts = {field: described(getattr(value, field)) for field in kind.__struct_fields__}
        return {"type": f"{kind.__module__}.{kind.__qualname__}", "revision": getattr(kind, "revision", 1), **facts}
    if isinstance(value, tuple | list):
        return [described(item) for item in value]
    if isinstance(value, dict):
        return {key: described(value[key]) for key in sorted(value)}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise PolicyError(f"{value!r} is no msgspec Struct, tuple, text or number: it has no fingerprint", field="policy")
