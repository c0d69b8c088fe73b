"""Which old tool results may a model stop seeing in full, and when?

Fold a session's immutable events into a view; ask the view what is due before each model call:

    reducer = Reducer(presets.keep3(), Dsh(version=4))
    view = reducer.start()
    view = reducer.fold(view, event)        # each event, in seq order
    for operation in reducer.plan(view):    # before each step
        ...

`refold.events` is what happened, `refold.reducer` what follows from it.
"""

from refold.events import (
    FormatError,
    LogError,
    PolicyError,
    RefoldError,
    SurfaceError,
)
from refold.reducer import Counted, Dsh, Operation, Policy, Reducer, Reported, View, frozen, presets, results, views

__all__ = [
    "Counted",
    "Dsh",
    "FormatError",
    "LogError",
    "Operation",
    "Policy",
    "PolicyError",
    "Reducer",
    "RefoldError",
    "Reported",
    "SurfaceError",
    "View",
    "frozen",
    "presets",
    "results",
    "views",
]
