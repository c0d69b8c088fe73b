"""What follows from the events: surface, measure, view, policies, plan. Pure."""

from refold.reducer import how, presets, ripe, when, which, wire
from refold.reducer._dump import dump, load
from refold.reducer._estimate import DshEstimator
from refold.reducer._explain import Result, frozen, message_at, results, surface_seqs, views
from refold.reducer._measure import Counted, Dsh, Measure, Meter, Reported
from refold.reducer._policy import Part, Policy
from refold.reducer._range import compaction_range
from refold.reducer._reducer import Mode, Reducer
from refold.reducer._tiktoken import Tiktoken
from refold.reducer._view import Latch, Message, Operation, View

__all__ = [
    "Counted",
    "Dsh",
    "DshEstimator",
    "Latch",
    "Measure",
    "Message",
    "Meter",
    "Mode",
    "Operation",
    "Part",
    "Policy",
    "Reducer",
    "Reported",
    "Result",
    "Tiktoken",
    "View",
    "compaction_range",
    "dump",
    "frozen",
    "how",
    "load",
    "message_at",
    "presets",
    "results",
    "ripe",
    "surface_seqs",
    "views",
    "when",
    "which",
    "wire",
]
