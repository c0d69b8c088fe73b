"""`refold serve`: every line is answered, every answer is the fold's, and a host can always begin again."""

import gc
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.dsh_log import Json, answer, header, line, lines, result, row, session

from refold.bridges.serve import Server
from refold.cli._policy import policy_of
from refold.commit import Commit
from refold.events import StepEnd, TurnStart, append_replacements, read_dsh
from refold.files import open_log
from refold.reducer import Counted, Dsh, Meter, Reducer, Reported

SESSION = Path(__file__).parents[1] / "examples" / "session.v4.jsonl.zstd"
KEEP3 = "keep3:gate=1000"
SMALL = "keep3:gate=0,keep=1,threshold=60,head=10,tail=10"
MARKER = "\n\n[... tool result middle pruned ...]\n\n"


class Host:
    """Speaks to a server in this process."""

    def __init__(self, policy: Any = KEEP3, meter: str = "dsh") -> None:
        self._server = Server(policy_of)
        self.say({"op": "hello", "protocol": 1, "policy": policy, "meter": meter})

    def say(self, request: Json) -> Json:
        return self.reply(line(request))

    def reply(self, sent: bytes) -> Json:
        reply = self._server.answer(sent)
        assert reply.count(b"\n") == 1
        assert reply.endswith(b"\n")
        value: Json = json.loads(reply)
        return value

    def ok(self, op: str, **request: Any) -> Json:
        reply = self.say({"op": op, **request})
        assert "error" not in reply
        ok: Json = reply["ok"]
        return ok

    def error(self, op: str, **request: Any) -> Json:
        reply = self.say({"op": op, **request})
        assert "ok" not in reply
        error: Json = reply["error"]
        return error

    def open(self, name: str, rows: list[Json], version: int = 4) -> None:
        self.ok("open", session=name, version=version)
        self.ok("events", session=name, rows=rows)


def recorded() -> list[Json]:
    with zstandard.open(SESSION, "rt", encoding="utf-8", newline="\n") as stored:
        return [json.loads(each) for each in stored.read().splitlines()[1:]]


def small(version: int, text: str = "x" * 100) -> list[Json]:
    """A session whose one result has been seen once, stopped inside its second turn."""
    return [
        *session(version, [{"type": "text", "text": text}])[1:],
        row("turn/start", 8, {"turn": 2}),
        row("step/start", 9, {"turn": 2, "step": 1}),
        row("step/end", 10, {"turn": 2, "step": 1}),
    ]


def committed(rows: list[Json], operations: list[Json]) -> list[Json]:
    """What a host appends for the operations, as docs/serve.md tells it to."""
    added: list[Json] = []
    for operation in operations:
        seq = len(rows) + len(added)
        data = json.loads(json.dumps(rows[operation["seq"]]["data"]))
        inner = data
        for key in operation["path"][:-1]:
            inner = inner[key]
        inner[operation["path"][-1]] = operation["content"]
        added += [row("compaction/prune", seq, operation["prune"]), row("tool/result", seq + 1, data)]
        added[-1] |= operation["surface"]
    return added


METERS: dict[str, Meter] = {"dsh": Dsh(4), "tiktoken": Counted(), "usage": Reported()}


@pytest.mark.parametrize("meter", METERS)
def test_a_plan_is_that_of_a_direct_fold_at_every_pre_step(meter: str) -> None:
    host, reducer, rows = Host(meter=meter), Reducer(policy_of(KEEP3), METERS[meter]), recorded()
    assert host.ok("open", session="s", version=4)["fingerprint"] == reducer.fingerprint
    view, sent, most = reducer.start(), 0, 0
    for event in open_log(SESSION):
        view = reducer.fold(view, event)
        if not isinstance(event, TurnStart | StepEnd):
            continue
        assert host.ok("events", session="s", rows=rows[sent : event.seq + 1])["position"] == event.seq + 1
        sent = event.seq + 1
        operations = host.ok("plan", session="s", position=sent)["operations"]
        facts = [
            (each["seq"], each["tool"], each["views"], each["tokens_before"], each["cut_at"]) for each in operations
        ]
        due = reducer.plan(view)
        assert facts == [(each.seq, each.tool, each.views, each.tokens_before, each.cut_at) for each in due]
        most = max(most, len(due))
    assert most == 26


def test_how_a_log_is_divided_into_batches_changes_nothing() -> None:
    rows = recorded()
    replies = []
    for size in (1, 7, len(rows)):
        host = Host()
        host.ok("open", session="s", version=4)
        for start in range(0, len(rows), size):
            host.ok("events", session="s", rows=rows[start : start + size])
        replies.append((host.ok("plan", session="s", position=len(rows)), host.ok("status", session="s")))
    assert replies[0] == replies[1] == replies[2]


def test_a_restarted_process_that_gets_the_log_again_gives_the_same_bytes() -> None:
    rows = recorded()
    plan = line({"op": "plan", "session": "s", "position": len(rows)})
    before, after = Host(), Host()
    for host in (before, after):
        host.open("s", rows)
    assert before.reply(plan) == after.reply(plan)
    # Opening again is the same as a restart, whatever was sent before.
    before.ok("open", session="s", version=4)
    assert before.error("plan", session="s", position=len(rows))["kind"] == "request"
    before.ok("events", session="s", rows=rows)
    assert before.reply(plan) == after.reply(plan)


def test_many_sessions_of_different_versions_do_not_touch_each_other() -> None:
    alone = {}
    for version in range(6):
        host = Host(SMALL)
        host.open("s", small(version), version)
        alone[version] = host.ok("plan", session="s", position=11)
    crowd = Host(SMALL)
    names = [(f"s{number}", number % 6) for number in range(60)]
    for name, version in names:
        crowd.ok("open", session=name, version=version)
    for seq in range(11):
        for name, version in names:
            crowd.ok("events", session=name, rows=[small(version)[seq]])
    for name, version in names:
        assert crowd.ok("plan", session=name, position=11) == alone[version]


@pytest.mark.parametrize("version", range(6))
def test_an_operation_is_spelled_in_the_words_of_the_hosts_log_version(version: int) -> None:
    host = Host(SMALL)
    host.open("s", small(version), version)
    (operation,) = host.ok("plan", session="s", position=11)["operations"]
    keys = ("start", "end") if version < 3 else ("startSeq", "endSeq")
    assert operation["surface"] == {"surfaceOp": {"op": "replace", **dict.fromkeys(keys, 5)}, "sourceEventSeqs": [5]}
    # ceil(100 / 4) + 4 a block + 4 a message, and 4 more for the block that wraps a result up to V3
    price = 37 if version < 4 else 33
    span = {"start": 5, "end": 5}
    assert operation["prune"] == {"shadowedRange": span, "shadowedSeqs": [5], "shadowedTokenCount": price}
    assert operation["path"] == (["message", "content", 0, "content"] if version < 4 else ["message", "content"])
    assert operation["content"] == [{"type": "text", "text": "x" * 10 + MARKER + "x" * 10}]


@pytest.mark.parametrize("version", range(6))
def test_what_a_host_appends_is_what_refold_apply_would_write(version: int) -> None:
    host, rows = Host(SMALL), small(version)
    host.open("s", rows, version)
    added = committed(rows, host.ok("plan", session="s", position=11)["operations"])
    log = lines(header(version), *rows)
    reducer = Reducer(policy_of(SMALL), Dsh(version))
    view = reducer.fold_all(reducer.start(), read_dsh([log]))
    written = b"".join(append_replacements(lambda: [log], Commit(reducer, view, version).replacements))
    expected = [json.loads(each) for each in written.splitlines()[12:]]
    assert [each | {"time": 0} for each in added] == [each | {"time": 0} for each in expected]
    assert host.ok("events", session="s", rows=added)["position"] == 13
    assert host.ok("plan", session="s", position=13)["operations"] == []
    assert host.ok("status", session="s")["results"] == {"cut": 1}


def test_a_lone_surrogate_comes_in_and_goes_out_as_the_escape_that_javascript_writes() -> None:
    host = Host(SMALL)
    host.open("s", small(4, "\ud83d" + "x" * 99), 4)
    (operation,) = host.ok("plan", session="s", position=11)["operations"]
    assert operation["content"][0]["text"] == "\ud83d" + "x" * 9 + MARKER + "x" * 10


def test_a_bad_batch_changes_nothing_and_its_reply_names_the_row() -> None:
    host, rows = Host(SMALL), small(4)
    host.ok("open", session="s", version=4)
    host.ok("events", session="s", rows=rows[:3])
    bad: list[tuple[list[Json], str, int, str]] = [
        (rows[4:6], "log", 3, "seq 4 where 3 must follow"),
        (rows[2:4], "log", 3, "seq 2 where 3 must follow"),
        ([rows[3], row("tool/result", 4, {})], "log", 4, "tool/result"),
        ([rows[3], {"type": "tool/result"}], "log", 4, "seq None where 4 must follow"),
        ([rows[3], row("no/such", 4, {}, surfaceOp="append")], "log", 4, "upgrade refold"),
        (
            [*rows[3:5], result(5, [], 4) | {"surfaceOp": {"op": "replace", "startSeq": 1, "endSeq": 1}}],
            "surface",
            5,
            "",
        ),
    ]
    for batch, kind, seq, words in bad:
        error = host.error("events", session="s", rows=batch)
        assert (error["kind"], error["seq"]) == (kind, seq)
        assert words in error["message"]
        assert host.ok("status", session="s")["position"] == 3
    host.ok("events", session="s", rows=rows[3:])
    assert len(host.ok("plan", session="s", position=11)["operations"]) == 1


def test_a_type_nobody_knows_is_taken_on_trust_and_noted_once() -> None:
    host = Host()
    host.ok("open", session="s", version=4)
    unknown = [row("future/thing", seq, {}) for seq in range(3)]
    (note,) = host.ok("events", session="s", rows=unknown[:2])["notes"]
    assert "'future/thing' is unknown" in note
    assert host.ok("events", session="s", rows=unknown[2:]) == {"position": 3, "notes": []}


@pytest.mark.parametrize(
    ("sent", "id", "words"),
    [
        (b"", None, "not JSON"),
        (b"nonsense", None, "not JSON"),
        (b'{"op":"plan","session":"s"', None, "not JSON"),
        (b"\xff\xfe", None, "not UTF-8"),
        (b"[]", None, "object"),
        (b'{"id":1}', 1, "op"),
        (b'{"op":"fold","id":"a"}', "a", "fold"),
        (b'{"op":"plan","session":"s","id":2}', 2, "position"),
        (b'{"op":"plan","session":"s","position":0,"id":3}', 3, "no session 's' is open"),
        (b'{"op":"close","session":"s","id":4}', 4, "no session 's' is open"),
        (b'{"op":"open","session":"s","version":6,"id":5}', 5, "upgrade refold"),
        (b'{"op":"open","session":"s","version":4,"polcy":1,"id":6}', 6, "polcy"),
        (b'{"op":"hello","protocol":9,"policy":"keep3","id":7}', 7, "protocol 9"),
        (b'{"op":"events","session":"s","rows":[' + b"[" * 5000 + b"]" * 5000 + b"]}", None, "nested too deep"),
    ],
)
def test_a_bad_line_gets_an_error_and_the_next_line_an_answer(sent: bytes, id: Any, words: str) -> None:
    host = Host()
    reply = host.reply(sent)
    assert (reply["id"], reply["error"]["kind"]) == (id, "request")
    assert words in reply["error"]["message"]
    assert host.ok("open", session="t", version=4)["position"] == 0


def test_nothing_is_opened_before_a_policy_is_known() -> None:
    server = Server(policy_of)
    reply = json.loads(server.answer(line({"op": "open", "session": "s", "version": 4})))
    assert reply["error"]["message"] == "no policy is known yet: say hello first"


def test_a_bad_policy_is_refused_by_name_and_an_object_is_a_policy_too() -> None:
    assert "no preset 'keep4'" in Host().error("hello", protocol=1, policy="keep4")["message"]
    assert Host().error("hello", protocol=1, policy={"name": 4})["kind"] == "policy"
    assert Host().error("hello", protocol=1, policy={"name": "mine", "parts": "\ud800"})["kind"] == "policy"
    assert Host().ok("hello", protocol=1, policy={"name": "mine"})["policy"] == "mine"


def test_a_plan_is_refused_where_the_host_has_more_events_than_it_sent() -> None:
    host = Host(SMALL)
    host.open("s", small(4)[:10], 4)
    assert "11 events, and 10 have been sent" in host.error("plan", session="s", position=11)["message"]


def test_a_closed_session_is_forgotten() -> None:
    host = Host(SMALL)
    host.open("s", small(4), 4)
    host.open("t", small(4), 4)
    assert host.ok("close", session="s") == {"sessions": 1}
    assert host.error("plan", session="s", position=11)["kind"] == "request"
    assert len(host.ok("plan", session="t", position=11)["operations"]) == 1


def test_a_session_holds_what_the_next_prompt_holds_and_not_its_log() -> None:
    # Sixty results of 100,000 characters each are cut one after the other: 6 MB of log, 0.4 MB of prompt.
    host = Host("keep3:gate=0,keep=1")
    rows = [row("turn/start", 0, {"turn": 1})]
    host.open("s", rows)
    tracemalloc.start()
    for step in range(1, 61):
        seq = len(rows)
        at = {"turn": 1, "step": step}
        call = {**at, "callId": "c1", "name": "bash", "arguments": "{}"}
        text = [{"type": "text", "text": f"{step:06d}" * 16_667}]
        rows += [row("step/start", seq, at), answer(seq + 1), row("tool/call", seq + 2, call), result(seq + 3, text, 4)]
        rows[seq + 1]["data"]["step"] = rows[seq + 3]["data"]["step"] = step
        rows.append(row("step/end", seq + 4, at))
        host.ok("events", session="s", rows=rows[seq:])
        added = committed(rows, host.ok("plan", session="s", position=len(rows))["operations"])
        rows += added
        if added:
            host.ok("events", session="s", rows=added)
        # The test's own copy goes, so that what is measured is the server's.
        for place in range(seq - 8):
            rows[place] = {}
    gc.collect()
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert host.ok("status", session="s")["results"] == {"cut": 59, "waiting": 1}
    assert held < 1_500_000


def test_the_process_answers_line_by_line_and_ends_with_its_input() -> None:
    refold = Path(sys.executable).with_name("refold")
    requests = [
        {"op": "hello", "protocol": 1, "policy": SMALL, "id": 0},
        {"op": "open", "session": "s", "version": 4, "id": 1},
        {"op": "events", "session": "s", "rows": small(4), "id": 2},
        {"op": "plan", "session": "s", "position": 11, "id": 4},
    ]
    sent = [line(request) for request in requests]
    sent.insert(3, b"x" * 20_000 + b"\n")
    sent.append(b'{"op":"status","sess')  # the host dies here
    command = [refold, "serve", "--max-line", "10000"]
    done = subprocess.run(command, input=b"".join(sent), capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    replies = [json.loads(reply) for reply in done.stdout.splitlines()]
    assert [reply["id"] for reply in replies] == [0, 1, 2, None, 4, None]
    assert "longer than 10000 bytes" in replies[3]["error"]["message"]
    assert [operation["seq"] for operation in replies[4]["ok"]["operations"]] == [5]
    assert "not JSON" in replies[5]["error"]["message"]


def test_two_processes_with_the_same_session_know_nothing_of_each_other() -> None:
    refold = Path(sys.executable).with_name("refold")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    one, other = (subprocess.Popen([refold, "serve"], **pipes) for _ in range(2))  # type: ignore[call-overload]

    def ask(process: Any, request: Json) -> Json:
        process.stdin.write(line(request))
        process.stdin.flush()
        reply: Json = json.loads(process.stdout.readline())
        return reply

    with one, other:
        for process in (one, other):
            ask(process, {"op": "hello", "protocol": 1, "policy": SMALL})
            ask(process, {"op": "open", "session": "s", "version": 4})
        ask(one, {"op": "events", "session": "s", "rows": small(4)})
        assert ask(other, {"op": "plan", "session": "s", "position": 11})["error"]["kind"] == "request"
        ask(other, {"op": "events", "session": "s", "rows": small(4)})
        plan = {"op": "plan", "session": "s", "position": 11}
        assert ask(one, plan) == ask(other, plan)


def test_what_a_policy_of_ones_own_prints_is_no_reply(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from refold import presets\nprint('loading')\npolicy = presets.keep3()\n", "utf-8"
    )
    refold = Path(sys.executable).with_name("refold")
    hello = line({"op": "hello", "protocol": 1, "policy": "mine:policy"})
    done = subprocess.run([refold, "serve"], input=hello, capture_output=True, timeout=60, cwd=tmp_path)
    (reply,) = done.stdout.splitlines()
    assert json.loads(reply)["ok"]["policy"] == "keep3"
    assert done.stderr == b"loading\n"
