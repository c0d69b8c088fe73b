"""The session of the frameworks' benchmark as refold reads it, and which results no longer stand whole in a prompt."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from frameworks.session import DONE, asked, content, prompt

from refold.events import (
    AssistantMessage,
    Event,
    StepEnd,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    ToolUse,
    TurnEnd,
    TurnStart,
    UserMessage,
)
from refold.lab.remembered import METER
from refold.reducer import Policy, Reducer, Tiktoken
from refold.replay import asked as replayed

TURNS = 4
TOOL = "read_file"
Cuts = list[frozenset[int]]


def arguments(number: int) -> str:
    return f'{{"number": {number}}}'


@cache
def tokens(text: str) -> int:
    """What the meter of the comparison counts for a text."""
    return Tiktoken().blocks((Text(text),))


def events(turns: int) -> Iterator[Event]:
    """The session in refold's words."""
    seq = 0
    for turn in range(turns):
        yield TurnStart(seq, 0, turn)
        yield UserMessage(seq + 1, 0, (Text(prompt(turn)),))
        seq += 2
        for step, number in enumerate((*asked(turn), None)):
            yield StepStart(seq, 0, turn, step)
            if number is None:
                yield AssistantMessage(seq + 1, 0, (Text(DONE),), turn, step)
                yield StepEnd(seq + 2, 0, turn, step)
                yield TurnEnd(seq + 3, 0, turn, "completed")
                seq += 4
            else:
                call = ToolUse(f"call-{number}", TOOL, arguments(number))
                yield AssistantMessage(seq + 1, 0, (call,), turn, step)
                yield ToolCall(seq + 2, 0, turn, step, call.id, TOOL, call.arguments)
                yield ToolResult(seq + 3, 0, (Text(content(number)),), turn, step, call.id, sources=(seq + 2,))
                yield StepEnd(seq + 4, 0, turn, step)
                seq += 5


def cut_by(policy: Policy, turns: int = TURNS) -> Cuts:
    """The results that refold has cut in each call's prompt, by the number of the file that was read."""
    told = list(events(turns))
    numbers = {event.seq: int(event.call_id.removeprefix("call-")) for event in told if isinstance(event, ToolResult)}
    gone: frozenset[int] = frozenset()
    cuts = []
    for _, _, view in replayed(Reducer(policy, METER, "what-if"), told, lambda event, before, after: None):
        gone |= {numbers[seq] for seq in view.enforced}
        cuts.append(gone)
    return cuts


def cut_in(prompts: Iterable[Sequence[str]], turns: int = TURNS) -> Cuts:
    """The same of the prompts that were sent, each given as the texts of its messages."""
    answered: list[int] = []
    cuts = []
    texts = iter(prompts)
    for turn in range(turns):
        for number in (*asked(turn), None):
            whole = set(next(texts))
            cuts.append(frozenset(done for done in answered if content(done) not in whole))
            if number is not None:
                answered.append(number)
    assert next(texts, None) is None, "one prompt a call"
    return cuts


def measured(policy: Policy, turns: int = TURNS) -> list[int]:
    """The tokens of each call's prompt under a policy."""
    reducer = Reducer(policy, METER, "what-if")
    steps = replayed(reducer, events(turns), lambda event, before, after: None)
    return [reducer.measure(view).tokens or 0 for _, _, view in steps]
