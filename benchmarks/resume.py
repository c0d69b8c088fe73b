"""The speed figures, measured side by side in one run: make bench.

Rivals take turns, so that what else the machine does falls on both; each figure is a median. CPU time decides, wall
time is shown beside it.
"""

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import session_log  # noqa: E402

TURNS, RUNS = 3, 3


def measured(*command: str, folder: Path = ROOT) -> Any:
    """What a benchmark process prints. Raises CalledProcessError where it fails, its words on standard error."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def refold(*arguments: str) -> Any:
    return measured(sys.executable, str(ROOT / "benchmarks" / "timed.py"), *arguments)


def against_official(log: str) -> None:
    from tests.oracle_client import install

    folder = install()
    script = shutil.copy(ROOT / "benchmarks" / "official.mjs", folder)
    ours, theirs = [], []
    for _ in range(TURNS):
        ours.append(refold("resume", log, str(RUNS)))
        theirs.append(measured("node", str(script), log, str(RUNS), folder=folder))
    facts = {(one["nodes"], one["tokens"]) for one in (*ours, *theirs)}
    if len(facts) != 1:
        raise SystemExit(f"refold and the official packages do not agree on nodes and tokens: {sorted(facts)}")
    _show_times("resume / official packages in Node", ours, theirs, 0.5)


def against_decoding(log: str) -> None:
    turns = [refold("decode-and-resume", log, str(RUNS)) for _ in range(TURNS)]
    _show_times("resume / msgspec decoding alone", [t["resume"] for t in turns], [t["decode"] for t in turns], 2.0)


def steps() -> None:
    few, many = zip(*((refold("steps", "1000"), refold("steps", "100000")) for _ in range(TURNS)), strict=True)
    ours, theirs = ({name: [one[name] for one in turn] for name in ("median", "mean")} for turn in (many, few))
    for name in ("median", "mean"):
        _show(f"a step at 100,000 results / at 1,000, {name}", median(ours[name]), median(theirs[name]), 2.0, "us", 1e6)


def memory(log: str, size: int) -> None:
    peak = median(refold("peak", log) - refold("peak") for _ in range(TURNS))
    _show("peak memory of a resume / decoded size", peak, size, 1.5, "MB", 1e-6)


def _show_times(name: str, ours: Sequence[Any], theirs: Sequence[Any], bar: float) -> None:
    for clock in ("cpu", "wall"):
        one, other = (median(time for turn in side for time in turn[clock]) for side in (ours, theirs))
        _show(f"{name}, {clock}", one, other, bar if clock == "cpu" else None, "ms", 1e3)


def _show(name: str, ours: float, theirs: float, bar: float | None, unit: str, factor: float) -> None:
    ratio = ours / theirs
    verdict = "" if bar is None else f"bar {bar:<4} {'met' if ratio <= bar else 'MISSED'}"
    print(
        f"{name:<48} {ours * factor:8.1f} / {theirs * factor:8.1f} {unit}  = {ratio:5.2f}  {verdict}".rstrip(),
        flush=True,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.jsonl")
        session_log.write(log)
        size = log.stat().st_size
        print(f"log: V0, {size / 1e6:.1f} MB; policy keep3; {TURNS} turns of {RUNS} runs each, medians")
        if shutil.which("node"):
            against_official(str(log))
        else:
            print("node is not installed: the comparison with the official packages is left out")
        against_decoding(str(log))
        steps()
        memory(str(log), size)


if __name__ == "__main__":
    main()
