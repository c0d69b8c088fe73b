"""The table of docs/economics.md that says what a step takes: python benchmarks/step_time.py [RESULTS ...]

A step behind so many results, of refold and of each peer that is a Python package, one after the other in one run.
For refold it is the fold of step/start, an answer, its call, the result and step/end, and one plan with one operation
due (`timed.py steps`); for a peer what it does before one model call, in an agent of its own framework where it has
one. Needs the environments that `make peers-table` makes.
"""

import importlib
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from frameworks.session import CALLS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "economics.md"
WARM_UP, STEPS = 20, 200
SIZES = (100, 1_000, 5_000)
MOST = 100_000


class Peer(NamedTuple):
    """Where a peer is run, and its name there; `turns` of 26 calls each are timed, fewer where a call takes seconds."""

    name: str
    module: str
    environment: str
    contender: str
    turns: int = 9
    rated: bool = True


PEERS = (
    Peer("openai-agents ToolOutputTrimmer", "openai_agents_run", "openai-agents", "ToolOutputTrimmer"),
    Peer("pydantic-ai-harness ClearToolResults", "pydantic_ai_run", "pydantic-ai-harness", "ClearToolResults"),
    Peer("langchain ClearToolUsesEdit", "langchain_run", "langchain", "ContextEditingMiddleware"),
    Peer("cutctx ObservationMaskingPolicy", "lists_run", "strands-agents", "cutctx"),
    Peer("ctx-slim plan and apply", "lists_run", "strands-agents", "ctx-slim", 1),
    Peer("strands SlidingWindow (keeps 40 messages)", "lists_run", "strands-agents", "strands", rated=False),
)


def main(sizes: tuple[int, ...]) -> None:
    refold = {size: _refold(size) for size in (*sizes, MOST)}
    head = " | ".join(f"{size:,}" for size in (*sizes, MOST))
    lines = [f"| a step behind so many results | {head} |", "|---" * (len(sizes) + 2) + "|"]
    base = refold[1_000]
    flat = " | ".join(f"{refold[size] / base:.2f}" for size in (*sizes, MOST))
    lines.append(f"| refold, relative to itself at 1,000 | {flat} |")
    times = {peer: {size: _peer(peer, size) for size in sizes} for peer in PEERS}
    for peer, by_size in times.items():
        if peer.rated:
            ratios = " | ".join(f"{by_size[size] / refold[size]:,.0f}" for size in sizes)
            lines.append(f"| {peer.name}, relative to refold | {ratios} | |")
    lines.append(f"| refold, ms | {' | '.join(f'{refold[size]:.3f}' for size in (*sizes, MOST))} |")
    for peer, by_size in times.items():
        lines.append(f"| {peer.name}, ms | {' | '.join(f'{by_size[size]:,.3f}' for size in sizes)} | |")
    page = PAGE.read_text("utf-8")
    before, _, rest = page.partition("<!-- table: steps -->\n")
    PAGE.write_text(f"{before}<!-- table: steps -->\n" + "\n".join(lines) + "\n" + rest[rest.index("<!-- end -->") :])


def _refold(results: int) -> float:
    command = [sys.executable, str(ROOT / "benchmarks" / "timed.py"), "steps", str(results)]
    return 1000 * float(json.loads(_printed(command))["median"])


def _peer(peer: Peer, results: int) -> float:
    python = ROOT / ".cache" / "hosts" / peer.environment / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"{python} is not there: run `make peers-table`")
    command = [str(python), __file__, "--peer", peer.module, peer.contender, str(results), str(peer.turns)]
    ms = float(_printed(command))
    print(f"  {peer.name}: {results:,}: {ms:.3f} ms", file=sys.stderr, flush=True)
    return ms


def _printed(command: list[str]) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()[-1]


def measured(module: str, contender: str, results: int, turns: int) -> float:
    """The median in ms, of what follows the warm-up."""
    host = importlib.import_module(f"frameworks.{module}")
    make = getattr(host, "DUE", host.CONTENDERS)[contender]
    sent = host.run(make, results // CALLS, turns)
    return 1000 * statistics.median(call.seconds for call in sent[WARM_UP : WARM_UP + STEPS])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peer"]:
        module, contender, results, turns = sys.argv[2:]
        print(measured(module, contender, int(results), int(turns)))
    else:
        main(tuple(map(int, sys.argv[1:])) or SIZES)
