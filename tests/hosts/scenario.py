"""One agent's run, the same in every host: 40 model calls, 39 files read, and what must have been sent.

The gate opens at 5,000 tokens, so that the first large results are there when it does and stay whole for good.
"""

import re
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from refold.events import Event
from refold.events.formats._messages import Message
from refold.prompt import rendered, rendered_block
from refold.reducer import Counted, Policy, Reducer, presets
from refold.replay import asked

EXAMPLES = Path(__file__).parents[2] / "examples"
STEPS = 40
RESTART = 21
"""The call that is never answered in the run that is broken off; a new process makes it again."""

PROMPT = "Read the files and tell what is in them."
POLICY: Policy = presets.keep3(gate=5_000, threshold=3_000, head=1_000, tail=500, tools=("read_*",))
CUT = "\n\n[... tool result middle pruned ...]\n\n"
FROZEN = 5
"""The last step whose result is there when the gate opens."""


def text_of(step: int) -> str:
    """What the tool returns in a step, 1 to 39: every third result is small, one in five is not ASCII."""
    line = f"file {step}: " + ("内容と😀 and more " if step % 5 == 0 else "content and more ") * 3 + "\n"
    return line * (10 if step % 3 == 0 else 90)


def expected(step: int, frozen: int = FROZEN) -> list[str]:
    """How the result of a step must be sent, call by call, until the end of the run; those up to `frozen` whole."""
    calls = STEPS - step
    whole = calls if step <= frozen or step % 3 == 0 else min(3, calls)
    return ["whole"] * whole + ["cut"] * (calls - whole)


def views(calls: Sequence[dict[str, str]], step: int) -> list[str]:
    """How the result of a step was sent, call by call; `calls` hold the results' texts by call id."""
    whole = text_of(step)
    names = {whole: "whole", whole[:1_000] + CUT + whole[-500:]: "cut"}
    return [names.get(call[f"call-{step}"], "otherwise") for call in calls if f"call-{step}" in call]


def said(messages: Sequence[Message]) -> list[Any]:
    """Messages of a host's list in the form of `refold messages`."""
    found = []
    for message in messages:
        content = [rendered_block(block) for block in message.content]
        named = {"call_id": message.call_id, "is_error": message.is_error} if message.role == "tool" else {}
        found.append({"role": message.role, **named, "content": content})
    return found


def prompts(events: Sequence[Event]) -> list[list[Any]]:
    """What each model call of a log must have been sent, in the same form; the system's text aside."""
    reducer = Reducer(POLICY, Counted(), mode="derive")
    calls = asked(reducer, events, lambda event, before, after: None)
    return [
        [rendered(message) for message in reducer.messages(view) if message.role != "system"] for _, _, view in calls
    ]


def example(name: str, capsys: pytest.CaptureFixture[str]) -> list[int]:
    """Runs an example; how many characters it says that each model call was sent, and that its history keeps."""
    runpy.run_path(str(EXAMPLES / name))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.endswith(("characters", "breakpoints"))]
    return [int(re.findall(r"[\d,]+\d|\d", line)[0].replace(",", "")) for line in lines]


def of_example(frozen: int) -> list[int]:
    """The same, by the rule: 12 pages, cut from their fourth sending on, but for the first `frozen`."""
    pages = [len(f"Page {number}. " + "What stands on it, at length. " * 400) for number in range(1, 13)]
    cut = 4096 + len(CUT) + 1024
    sent = [
        sum(cut if frozen < page <= read - 3 else length for page, length in enumerate(pages[:read], 1))
        for read in range(13)
    ]
    return [*sent, sum(pages)]
