"""What the benchmarks time, each in a process of its own: python timed.py resume|decode-and-resume|peak|steps ...

Prints one line of JSON. Times are in seconds, of the work alone: imports and tables are made before.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median
from time import perf_counter, process_time
from typing import Any

from refold import Dsh, Reducer, presets
from refold.events import (
    AssistantMessage,
    Event,
    StepEnd,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    ToolUse,
    TurnStart,
    read_dsh,
)
from refold.events._dsh_wire import decoder
from refold.events._lines import Lines
from refold.files import blocks_of

MAX_LINE = 64 << 20
WARM_UP, STEPS, A_STEP = 20, 200, 10


def resume(log: str) -> tuple[int, int | None, int]:
    """What a host does after /resume: nodes on the surface, tokens measured, operations due."""
    reducer = Reducer(presets.keep3(), Dsh(version=0))
    view = reducer.fold_all(reducer.start(), read_dsh(blocks_of(log)))
    return view.alive, reducer.measure(view).tokens, len(reducer.plan(view))


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = perf_counter(), process_time()
    work()
    return perf_counter() - wall, process_time() - cpu


def resumed(log: str, runs: int) -> dict[str, Any]:
    nodes, tokens, due = resume(log)
    times = [timed(lambda: resume(log)) for _ in range(runs)]
    return {**_columns(times), "nodes": nodes, "tokens": tokens, "due": due}


def decoded_and_resumed(log: str, runs: int) -> dict[str, Any]:
    """The log decoded and nothing else, and the whole resume, in turns."""
    header, *blocks = Lines(blocks_of(log), MAX_LINE)
    blocks.insert(0, header.partition(b"\n")[2])
    lines = decoder(0).decode_lines

    def decode() -> None:
        for block in blocks:
            lines(block)

    pairs = [(timed(decode), timed(lambda: resume(log))) for _ in range(runs + 1)][1:]
    return {"decode": _columns([first for first, _ in pairs]), "resume": _columns([second for _, second in pairs])}


def _columns(times: list[tuple[float, float]]) -> dict[str, list[float]]:
    return {"wall": [wall for wall, _ in times], "cpu": [cpu for _, cpu in times]}


def steps(results: int) -> dict[str, float]:
    """One step's fold and plan behind so many results: each adds a large result, and one operation is due."""
    reducer = Reducer(presets.keep3(gate=0, threshold=100, head=20, tail=10), Dsh(version=0), "derive")
    view = reducer.fold_all(reducer.start(), _history(results))
    times = []
    for _ in range(WARM_UP + STEPS):
        events = list(_step(view.position, 1))
        start = process_time()
        for event in events:
            view = reducer.fold(view, event)
        due = reducer.plan(view)
        times.append(process_time() - start)
        assert len(due) == 1, "one operation is due at each step"
    return {"median": median(times[WARM_UP:]), "mean": mean(times[WARM_UP:])}


def _history(results: int) -> Iterator[Event]:
    yield TurnStart(0, 0, 1)
    seq = 1
    for _ in range(results // A_STEP - 3):
        yield from (events := list(_step(seq, A_STEP)))
        seq += len(events)
    for _ in range(3):
        yield from (events := list(_step(seq, 1)))
        seq += len(events)


def _step(seq: int, calls: int) -> Iterator[Event]:
    ids = [f"c{number}" for number in range(calls)]
    yield StepStart(seq, 0, 1, seq)
    yield AssistantMessage(seq + 1, 0, tuple(ToolUse(id_, "read", "{}") for id_ in ids), 1, seq)
    for at, id_ in enumerate(ids, seq + 2):
        yield ToolCall(at, 0, 1, seq, id_, "read", "{}")
    for at, id_ in enumerate(ids, seq + 2):
        yield ToolResult(at + calls, 0, (Text("x" * 400),), 1, seq, id_, sources=(at,))
    yield StepEnd(seq + 2 + 2 * calls, 0, 1, seq)


def peak_memory() -> int:
    """The most bytes this process has had in memory."""
    status = Path("/proc/self/status")
    if status.exists():  # the usage below counts what the parent had when it forked, too
        return next(int(line.split()[1]) << 10 for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most << 10


def main(what: str, *given: str) -> None:
    match what, given:
        case "resume", (log, runs):
            facts: Any = resumed(log, int(runs))
        case "decode-and-resume", (log, runs):
            facts = decoded_and_resumed(log, int(runs))
        case "steps", (results,):
            facts = steps(int(results))
        case "peak", ():
            facts = peak_memory()
        case "peak", (log,):
            resume(log)
            facts = peak_memory()
    print(json.dumps(facts))


if __name__ == "__main__":
    main(*sys.argv[1:])
