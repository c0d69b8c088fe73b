"""One agent's run, the same in every host: 40 model calls that each read a file, and what must have been sent.

The gate stands at 8,000 tokens, so that the first large results are there when it opens and stay whole for good.
"""

from collections.abc import Sequence
from typing import Any

from refold.events import Event, SurfaceEvent, ToolResult
from refold.prompt import rendered
from refold.reducer import Counted, Policy, Reducer, presets
from refold.replay import asked

STEPS = 40
PROMPT = "Read the files and tell what is in them."
POLICY: Policy = presets.keep3(gate=8_000, threshold=3_000, head=1_000, tail=500, tools=("read_*",))
CUT = "\n\n[... tool result middle pruned ...]\n\n"


def text_of(step: int) -> str:
    """What the tool returns in a step, 1 to 39: every third result is small, one in five is not ASCII."""
    line = f"file {step}: " + ("内容と😀 " if step % 5 == 0 else "content and more ") * 3 + "\n"
    return line * (10 if step % 3 == 0 else 90)


def shown(text: str) -> str:
    """What keep3 leaves of a text over its threshold."""
    return text[:1_000] + CUT + text[-500:]


def views(calls: Sequence[dict[str, str]], call_id: str) -> list[str]:
    """How one result was sent, call by call: whole, cut, or else its text. `calls` hold the texts by call id."""
    sent = [call[call_id] for call in calls if call_id in call]
    whole = text_of(int(call_id.removeprefix("call-")))
    names = {whole: "whole", shown(whole): "cut"}
    return [names.get(text, text) for text in sent]


def prompts(events: Sequence[Event]) -> list[list[Any]]:
    """What each model call of the log must have been sent, in the form of `refold messages`, without a system text."""
    reducer = Reducer(POLICY, Counted(), mode="derive")
    found = []
    for _, _, view in asked(reducer, events, lambda event, before, after: None):
        found.append([rendered(message) for message in reducer.messages(view) if message.role != "system"])
    return found
