"""Which call a result answers, where ids are repeated or empty."""

from time import process_time

import pytest

from refold.events import Text, ToolResult, ToolUse
from refold.events.formats._journal import Journal


def told(steps: list[int], *, results: list[int]) -> list[tuple[int, int]]:
    """The steps of the results: a session with so many calls in each step, none with an id, and results after them."""
    journal = Journal()
    journal.prompt(0, (Text("go"),))
    for calls, answered in zip(steps, results, strict=True):
        content = (ToolUse("", "read", "{}"),) * calls
        journal.request(0)
        journal.answer(0, content)
        journal.calls(0, content)
        for _ in range(answered):
            journal.result(0, "", (Text("x"),))
    return [
        (event.step, event.sources[0]) for event in journal.events if isinstance(event, ToolResult) and event.sources
    ]


def test_a_result_answers_the_first_open_call_of_the_newest_step() -> None:
    # seqs: 0 turn, 1 step, 2 prompt, 3 answer, 4 and 5 calls, 6 result, 7 step/end, 8 step, 9 answer, 10 call, 11 ...
    assert told([2, 1], results=[1, 2]) == [(1, 4), (2, 10), (1, 5)]


@pytest.mark.parametrize("id_", ["", "same"])
def test_ten_times_the_results_take_about_ten_times_as_long(id_: str) -> None:
    def seconds(results: int) -> float:
        journal, content = Journal(), (ToolUse(id_, "read", "{}"),)
        start = process_time()
        for _ in range(results):
            journal.request(0)
            journal.answer(0, content)
            journal.calls(0, content)
            journal.result(0, id_, (Text("x"),))
        return process_time() - start

    few = min(seconds(2_000) for _ in range(3))
    assert seconds(20_000) < 30 * few
