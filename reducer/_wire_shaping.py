"""What to shape: a chain of operations for each category, and when its entries are old enough."""

import msgspec

from refold.events import PolicyError
from refold.reducer._checks import whole_number
from refold.reducer._wire_ops import CATEGORIES, OWN_VOICE, Category, Inline, OpRule


class Chain(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """Operations in order, for entries that were sent whole `after_views` times and have `keep_last` newer ones.

    An entry is a message with something of the category in it. Entries that left the surface count as newer ones still,
    so that an entry once shaped stays so.
    """

    ops: tuple[OpRule, ...] = ()
    after_views: int = 0
    keep_last: int = 0

    def __post_init__(self) -> None:
        whole_number("after_views", self.after_views, 0)
        whole_number("keep_last", self.keep_last, 0)


class Shaping(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """A chain for each category; an empty one shapes nothing. Raises PolicyError.

    `keep_spans` takes whole messages away but for the newest so many spans (a message, or an answer with the results
    of its calls), never of the running turn and never a system message; 0 takes none.
    """

    reasoning: Chain = Chain()
    tool_result: Chain = Chain()
    tool_arguments: Chain = Chain()
    assistant_text: Chain = Chain()
    keep_spans: int = 0

    def __post_init__(self) -> None:
        whole_number("keep_spans", self.keep_spans, 0)
        for category in CATEGORIES:
            if not isinstance(self.chain(category), Chain):
                raise PolicyError(f"must be a Chain of operations, got {self.chain(category)!r}", field=category)
        for category in sorted(OWN_VOICE):
            if any(isinstance(op, Inline) and op.replacement for op in self.chain(category).ops):
                raise PolicyError(
                    "in the model's own voice Inline may only delete, for models copy what is put there; "
                    "leave its replacement empty",
                    field=category,
                )

    def chain(self, category: Category) -> Chain:
        found: Chain = getattr(self, category)
        return found


NEOCODE_TRIM = Shaping(keep_spans=24)
"""NeoCode's trim, beside its micro-compact (a5b9f731). Without a profile it slides on with every message and breaks
the prompt's prefix each time, as there; a profile with `loop` moves it to where a tool loop starts."""
