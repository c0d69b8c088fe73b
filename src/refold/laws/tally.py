"""What came up in a run of sessions: a law that nothing put to the test holds for nothing."""

from collections import Counter

from refold.events import Overflow, ToolResult, TurnEnd, UserMessage
from refold.laws.case import Case
from refold.laws.run import Run
from refold.laws.script import Restart, Resume, Retry, Step
from refold.reducer import Policy, View
from refold.reducer import _surface as surface
from refold.reducer._view import Node
from refold.reducer.when import latch_of

ALWAYS = ("rewritten by others", "errors", "retries", "overflows", "blocked pre-steps", "resumes", "restarts")
WITH_PARTS = ("operations", "compaction over a candidate")
WITH_LATCH = ("latch opened", "frozen though large")


def names(policy: Policy) -> tuple[str, ...]:
    """The cases that have to come up for this policy."""
    found: tuple[str, ...] = ALWAYS
    if policy.parts:
        found += WITH_PARTS
    if any(latch_of(part.when) for part in policy.parts):
        found += WITH_LATCH
    return found


def came_up(case: Case) -> Counter[str]:
    """Which cases this session holds, each once."""
    run, acts = case.commit, case.script.acts
    steps = [act for act in acts if isinstance(act, Step)]
    found = {
        "operations": any(beat.operations for beat in run.beats),
        "errors": any(isinstance(event, ToolResult) and event.is_error for event in run.events),
        "retries": any(isinstance(failure, Retry) for step in steps for failure in step.failures),
        "overflows": any(isinstance(event, Overflow) for event in run.events),
        "blocked pre-steps": any(isinstance(event, TurnEnd) and event.reason == "blocked" for event in run.events),
        "resumes": any(isinstance(act, Resume) for act in acts),
        "restarts": any(isinstance(act, Restart) for act in acts),
        "latch opened": run.views[-1].latch is not None,
        "frozen though large": any(
            _frozen_though_large(case, run.views[beat.at], node)
            for beat in run.beats[::-1]
            for node in _results(run.views[beat.at])
        ),
    }
    return Counter(name for name, there in (*found.items(), *_replaced(run).items()) if there)


def _replaced(run: Run) -> dict[str, bool]:
    """What other hands did to results and to candidates."""
    written = {run.events[beat.at + 2 * number + 1].seq for beat in run.beats for number in range(len(beat.operations))}
    found = dict.fromkeys(("rewritten by others", "rewritten candidates", "compaction over a candidate"), False)
    for event, before in zip(run.events, run.views, strict=False):
        if isinstance(event, ToolResult) and event.replaces and event.seq not in written:
            found["rewritten by others"] = True
            found["rewritten candidates"] |= _is_candidate(surface.node_at(before, event.replaces[0]))
        elif isinstance(event, UserMessage) and event.replaces:
            gone = set(event.sources or ())
            found["compaction over a candidate"] |= any(
                node.seq in gone and _is_candidate(node) for node in _results(before)
            )
    return found


def _results(view: View) -> list[Node]:
    return [node for _, node in surface.nodes(view) if isinstance(node.message, ToolResult)]


def _is_candidate(node: Node | None) -> bool:
    return node is not None and any(place >= 0 for place in node.tickets)


def _frozen_though_large(case: Case, view: View, node: Node) -> bool:
    """Would the node be cut, had a latch not frozen it?"""
    for index, (part, now) in enumerate(zip(case.policy.parts, view.parts, strict=True)):
        there = now.latch is not None and case.commit.origins[node.seq] <= now.latch.seq
        if there and part.which.refuses(node) is None and case.cut(index, node) is not None:
            return True
    return False
