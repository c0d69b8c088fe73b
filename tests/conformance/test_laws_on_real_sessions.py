"""The laws that a log alone can show, on every real session that reads and under every preset and peer.

A law of a live run (who is asked when, what a host commits) needs a host, and is checked on made-up sessions: of those
idempotent, shrink, local and commit = derive are looked at here as far as one pass over the log tells.
"""

import os
from functools import cache
from pathlib import Path

import pytest

from refold.commit import Commit
from refold.events import RefoldError, SurfaceEvent, SurfaceRewind
from refold.files import open_log
from refold.lab import peers
from refold.laws import LAWS
from refold.laws.case import Case, folded
from refold.prompt import rendered_text
from refold.reducer import Counted, Dsh, Reducer, presets
from refold.reducer.which import code_points
from refold.replay import replay
from refold.transcripts import sessions_of

FOLDER = Path(os.environ["REFOLD_DATA"])
OF_THE_FOLD = ("pure", "replay", "resume")  # at a few places of the log, resume at every step
OF_THE_BOOKS = ("prefix", "sums")  # every entry of every queue, counted anew in each view looked at
VIEWS = 60  # looked at so, spread over the session with its last among them; of a shorter session all


def small_keep3():
    return presets.keep3(gate=1, keep=1, threshold=60, head=10, tail=5, tools=("*",))


POLICIES = {
    **presets.PRESETS,
    "keep3-small": small_keep3,
    "microcompact-1": lambda: presets.microcompact(retain=1),
    "microcompact-neocode-1": lambda: presets.microcompact_neocode(retain=1),
    "keep3+round": lambda: small_keep3() + presets.round_(),
    "overclock+keep3": lambda: presets.overclock() + small_keep3(),
    "debt+microcompact": lambda: presets.debt() + presets.microcompact(retain=2),
    "anthropic-clear": lambda: peers.anthropic_clear(1_000, keep=1, clear_at_least=500),
    "pydantic-clear": lambda: peers.pydantic_clear(1_000, keep_pairs=1),
    "qwen-watermark": lambda: peers.qwen_watermark(high=20_000, low=5_000, keep=1, idle=60),
    "claude-code-idle": lambda: peers.claude_code_idle(idle=60, keep=1),
    "mask-oldest": lambda: peers.mask_oldest(keep=1),
    "langchain-clear": lambda: peers.langchain_clear(1_000, keep=1, clear_at_least=2_000),
    "openai-trim": lambda: peers.openai_trim(recent_turns=1),
    "swe-agent": lambda: peers.swe_agent(n=2, polling=3),
    "opencode-prune": lambda: peers.opencode_prune(protect=1_000, minimum=500),
    "agenc-valve": lambda: peers.agenc_valve(high=6_000, least=500, keep=1),
}


def test_every_peer_is_among_them():
    assert {peer.replace("_", "-") for peer in peers.PEERS} <= POLICIES.keys()


@cache
def read(path):
    try:
        if path.suffix in (".zstd", ".jsonl") and path.parent.name == "dsh":
            log = open_log(str(path))
            return [(Dsh(log.version), tuple(log))]
        return [(Counted(), session.events) for session in sessions_of(str(path))[1]]
    except RefoldError:
        return []


PATHS = [path for path in sorted(FOLDER.rglob("*")) if path.is_file() and path.name != "MANIFEST.md"]
LARGE = [path for path in PATHS if path.stat().st_size > 64_000]
EVERY = 4  # of the larger files a policy takes each fourth, the next policy those next to them
PAIRS = [
    (path, name)
    for path in PATHS
    for place, name in enumerate(POLICIES)
    if path not in LARGE or (LARGE.index(path) + place) % EVERY == 0
]


class RealCase(Case):
    """A case whose only log is a real one."""

    def __init__(self, reducer, events, views):
        self.policy, self.meter = reducer.policy, reducer.meter
        self._bytes, self._prices, self._cuts = {}, {}, {}
        self.logs = ((reducer, events, views),)


@pytest.mark.parametrize(
    ("path", "name"), PAIRS, ids=[f"{path.relative_to(FOLDER).as_posix()}-{name}" for path, name in PAIRS]
)
def test_the_laws_hold(path, name):
    for meter, events in read(path):
        reducer = Reducer(POLICIES[name](), meter, "derive")
        views = folded(reducer, events)
        some = tuple(views[-1 - len(views) * part // VIEWS] for part in range(VIEWS)) if len(views) > VIEWS else views
        for laws, looked_at in ((OF_THE_FOLD, views), (OF_THE_BOOKS, some)):
            case = RealCase(reducer, events, looked_at)
            for law in laws:
                if law not in reducer.policy.broken:
                    LAWS[law](case)
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
