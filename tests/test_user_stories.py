"""The three stories behind the summaries: what a long session must not lose, told on logs written for them."""

import pytest
from tests.sessions import Script

from refold.events import Text, ToolResult
from refold.excerpt import memo
from refold.laws.live import committed
from refold.reducer import Dsh, Policy, Reducer, message_at
from refold.reducer.presets import microcompact, microcompact_neocode

WARNING = "src/net/socket.c:212: warning: implicit declaration of function 'accept4'"
ISSUE = "PROJ-4711 accept4 is missing on the build host\nStatus: open\nReporter: kim\n" + "It fails since Monday. " * 40
REPORT = "\n".join(f"{number:3}. The module keeps its state in table {number * 7}." for number in range(1, 201))


def build_log(lines: int, at: int, telling: str) -> str:
    told = [f"[{number:4}/{lines}] CC build/obj/module_{number}.o" for number in range(1, lines + 1)]
    told[at - 1] = telling
    return "\n".join(told)


class Harness:
    """A live session in commit mode: at each pre-step the plan's operations are written to the log."""

    def __init__(self, policy: Policy) -> None:
        self.script = Script()
        self.reducer = Reducer(policy, Dsh(4))
        self.view = self.reducer.start()
        self._told = 0

    def turn(self, tool: str, result: str, **more: object) -> int:
        """A turn in which the model calls one tool; gives the result's seq."""
        self.script.start_turn()
        self._cut()
        self.script.user(f"turn {self.script.turn}")
        (seq,) = self.script.tool_step(result, tool=tool, **more)
        self._cut()
        self.script.plain_step()
        self.script.end_turn()
        return seq

    def _cut(self) -> None:
        self._fold()
        for operation in self.reducer.plan(self.view):
            event = committed(operation, self.view.position, 0)
            self.script.add(ToolResult, *[getattr(event, name) for name in event.__struct_fields__[2:]])
            self._fold()

    def _fold(self) -> None:
        new = self.script.events[self._told :]
        self.view = self.reducer.fold_all(self.view, new)
        self._told += len(new)

    def shown(self, seq: int) -> str:
        """What the model is sent now for the result that was born as `seq`."""
        self._fold()
        for event in self.script.events:
            if isinstance(event, ToolResult) and event.replaces == (seq, seq):
                seq = event.seq
        found = message_at(self.view, seq)
        assert found is not None
        return "".join(block.text for block in found.content if isinstance(block, Text))


def test_story_a_old_results_are_summarised_with_tool_size_and_exit_status_and_never_blank() -> None:
    harness = Harness(microcompact())
    log = build_log(5000, 3121, WARNING)
    for _ in range(7):
        harness.turn("read", "some file\n" * 30)
    build = harness.turn("bash", log)
    failed = harness.turn("bash", log + "\n[exit code: 2]")
    for _ in range(2):
        harness.turn("read", "some file\n" * 30)
    issue = harness.turn("mcp.jira.get_issue", ISSUE)
    for _ in range(17):
        harness.turn("grep", "src/a.c:1:hit\n" * 20)

    assert harness.script.turn == 29
    assert harness.shown(build) == f"[summary] bash [exit=0] lines=5000 chars={len(log)}"
    assert harness.shown(failed) == f"[summary] bash [exit=2] lines=5001 chars={len(log) + 15}"
    assert harness.shown(issue) == f"[summary] mcp.jira.get_issue lines=4 chars={len(ISSUE.strip())}"
    originals = {event.seq: event for event in harness.script.events}
    assert originals[build].content == (Text(log),), "what is needed again is in the log"
    assert originals[issue].content == (Text(ISSUE),)


@pytest.mark.parametrize("policy", [microcompact(), microcompact(retain=1), microcompact_neocode()])
def test_story_a_no_result_ever_reads_as_nothing(policy: Policy) -> None:
    harness = Harness(policy)
    tools = ("bash", "mcp.jira.get_issue", "diagnose", "memo_recall", "todo_write", "webfetch", "unheard_of", "read")
    seqs = [harness.turn(tool, f"{tool} said\n" * 40) for _ in range(4) for tool in tools]

    for seq in seqs:
        shown = harness.shown(seq)
        assert shown.strip()
        assert "content cleared" not in shown


@pytest.mark.parametrize("policy", [microcompact(), microcompact_neocode()], ids=lambda policy: policy.name)
def test_story_b_a_sub_agents_report_of_200_lines_survives_whole(policy: Policy) -> None:
    harness = Harness(policy)
    report = harness.turn("spawn_subagent", REPORT)
    older = harness.turn("bash", build_log(200, 1, "make: entering directory"))
    for _ in range(15):
        harness.turn("bash", "ok\n" * 100)

    assert harness.shown(report) == REPORT
    assert "lines=200 " in harness.shown(older), "all else of its age is summarised"


def test_story_c_a_fatal_line_at_2800_of_3000_is_in_the_excerpt_for_the_memory() -> None:
    fatal = "error: linker failed: undefined reference to `accept4'"
    log = build_log(3000, 2800, fatal)
    shown = memo(log, "tool result\ntool: bash\nstatus: ok")

    assert fatal in shown
    assert shown.startswith(f"tool result\ntool: bash\nstatus: ok\ncontent_excerpt:\n{log[:300]}\n...[truncated]...\n")
    assert shown.endswith(f"{log[-300:]}\n[content truncated for memo extraction]")
    assert len(shown) < 900
