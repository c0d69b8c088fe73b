"""Processes that write archives. `python writer.py keep DIR STEP COUNT` keeps COUNT originals of a step.
`python writer.py kill DIR TIMES` lets TIMES writers run, kills each with SIGKILL, and prints what they had kept."""

import json
import os
import signal
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

from refold.archive import Origin, Original
from refold.archive.keeper import Keeper
from refold.events import Text, ToolResult

TURN = 1


def text_of(step: int, number: int) -> str:
    """Long enough to be written in several blocks, and never the same twice."""
    return f"{step}.{number} 漢字\n" * (50 + number % 7 * 1500)


def original(step: int, number: int, call_id: str | None = None) -> Original:
    call_id = f"{step}x{number}" if call_id is None else call_id
    seq = step * 1_000_000 + number
    result = ToolResult(seq, seq, (Text(text_of(step, number)),), TURN, step, call_id)
    return Original(Origin(TURN, step, 1, "bash", call_id), result)


def keep(folder: Path, step: int, numbers: range) -> None:
    """Half of them without a call id: they compete for one name."""
    keeper = Keeper(folder, patience=60)
    for number in numbers:
        one = original(step, number, None if number % 2 else "")
        keeper.keep(one)
        keeper.keep_round(TURN, None, [one])


def kill(folder: Path, times: int) -> dict[str, Any]:
    """`told` has [step, number] of every original that a killed writer knew to be kept, `midway` counts the writers
    that died between opening a file and renaming it."""
    told, midway = [], 0
    for step in range(1, times + 1):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            keeper = Keeper(folder / str(step % 5), patience=60)
            for number in count():
                one = original(step, number)
                keeper.keep(one)
                keeper.keep_round(TURN, step, [one])
                os.write(writing, f"{number}\n".encode())
        os.close(writing)
        reports = os.read(reading, 1 << 16) if step % 2 == 0 else b""
        time.sleep(step * 37 % 100 / 800)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while block := os.read(reading, 1 << 16):
            reports += block
        os.close(reading)
        told += [[step, int(number)] for number in reports.split(b"\n")[:-1]]
        midway += any((folder / str(step % 5)).rglob("*.tmp"))
    return {"told": told, "midway": midway}


if __name__ == "__main__":
    folder = Path(sys.argv[2])
    if sys.argv[1] == "keep":
        keep(folder, int(sys.argv[3]), range(int(sys.argv[4])))
    else:
        print(json.dumps(kill(folder, int(sys.argv[3]))))
