"""The laws on every real session that reads: books and fold after every event, cuts against the prompts around them."""

import os
from pathlib import Path

import pytest

from refold.commit import Commit
from refold.events import RefoldError, SurfaceEvent, SurfaceRewind
from refold.files import open_log
from refold.lab import peers
from refold.laws.books import prefix, sums
from refold.laws.case import Case
from refold.laws.fold import replay as replayed_in_parts
from refold.prompt import rendered_text
from refold.reducer import Counted, Dsh, Reducer, presets
from refold.reducer.which import code_points
from refold.replay import replay
from refold.transcripts import sessions_of

FOLDER = Path(os.environ["REFOLD_DATA"])
LONG = 400  # events; a longer session is folded in parts only, not looked at after every event


def small_keep3():
    return presets.keep3(gate=1, keep=1, threshold=60, head=10, tail=5, tools=("*",))


POLICIES = {
    "keep3": small_keep3,
    "round": presets.round_,
    "overclock": presets.overclock,
    "admission": presets.admission,
    "microcompact": lambda: presets.microcompact(retain=1),
    "microcompact-neocode": lambda: presets.microcompact_neocode(retain=1),
    "debt": presets.debt,
    "keep3+round": lambda: small_keep3() + presets.round_(),
    "overclock+keep3": lambda: presets.overclock() + small_keep3(),
    "debt+microcompact": lambda: presets.debt() + presets.microcompact(retain=2),
    "langchain-clear": lambda: peers.langchain_clear(1_000, keep=1, clear_at_least=2_000),
    "openai-trim": lambda: peers.openai_trim(recent_turns=1),
    "swe-agent": lambda: peers.swe_agent(n=2, polling=3),
    "opencode-prune": lambda: peers.opencode_prune(protect=1_000, minimum=500),
    "agenc-valve": lambda: peers.agenc_valve(high=6_000, least=500, keep=1),
}


def read(path):
    try:
        if path.suffix in (".zstd", ".jsonl") and path.parent.name == "dsh":
            log = open_log(str(path))
            return [(Dsh(log.version), tuple(log))]
        return [(Counted(), session.events) for session in sessions_of(str(path))[1]]
    except RefoldError:
        return []


PATHS = [path for path in sorted(FOLDER.rglob("*")) if path.is_file() and path.name != "MANIFEST.md"]


class RealCase(Case):
    """A case whose only log is a real one."""

    def __init__(self, reducer, events):
        self.policy, self.meter = reducer.policy, reducer.meter
        self._bytes, self._prices, self._cuts = {}, {}, {}
        views = [reducer.start()]
        for event in events:
            views.append(reducer.fold(views[-1], event))
        self.logs = ((reducer, events, tuple(views)),)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(FOLDER).as_posix())
def test_the_laws_hold(path, name):
    for meter, events in read(path):
        reducer = Reducer(POLICIES[name](), meter, "derive")
        if len(events) <= LONG:
            case = RealCase(reducer, events)
            prefix(case)
            sums(case)
            replayed_in_parts(case)
        prompts_agree_before_each_cut(reducer, events)
        commit_leaves_nothing_due(reducer, events)


def prompts_agree_before_each_cut(reducer, events):
    """Without a change by anyone a prompt begins with the one before; a cut keeps every byte before its own message."""
    calm, last = True, 0
    replayed = iter(replay(reducer, tracked(events, told := [])))
    for step in replayed:
        calm = not any(told)
        told.clear()
        if calm and not step.cuts:
            assert step.prefix_chars == last
        assert 0 <= step.prefix_chars <= min(last, step.prompt_chars) or last == 0
        last = step.prompt_chars


def tracked(events, told):
    """The events, noting for each whether it may change what an earlier prompt held."""
    for event in events:
        replaces = isinstance(event, SurfaceEvent) and getattr(event, "replaces", None) is not None
        told.append(replaces or isinstance(event, SurfaceRewind) or event.type == "request/header")
        yield event


def commit_leaves_nothing_due(reducer, events):
    """Every operation shrinks its result, names its original, and once committed nothing is due."""
    committing = Reducer(reducer.policy, reducer.meter, "commit")
    view = committing.fold_all(committing.start(), events)
    commit = Commit(committing, view, 0)
    grows = "shrink" in reducer.policy.broken
    for operation in commit.operations:
        assert rendered_text(operation.before)
        if not grows:
            assert operation.tokens_after < operation.tokens_before
            assert operation.dropped or code_points(operation.content) < code_points(operation.before.content)
    assert committing.plan(commit.view) == ()
    assert [m for m in committing.messages(commit.view) if m.role != "tool"] == [
        m for m in committing.messages(view) if m.role != "tool"
    ]
