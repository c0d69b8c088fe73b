"""Every case of the published behaviour of dsh-clear-tool-results, as it is kept here; see NOTICE for the source.

Two cases differ on purpose: the "nudge", a replacement by equal content that served a patched core, is never planned;
and an index that was corrupt is rebuilt with all that is there, where the original forgot it (C9).
"""

import json
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from tests.archive.logs import Log

from refold.archive import (
    Origin,
    Original,
    Rules,
    Shelf,
    decided,
    originals,
    read_tool_result_log,
    recall,
    receipt,
)
from refold.archive.keeper import Keeper, admitted
from refold.archive.layout import project_key, session_segment
from refold.archive.store import Archive
from refold.events import Opaque, Text, ToolResult
from refold.reducer import presets
from refold.reducer._receipt import clip, preview, result_name

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "vectors" / "clear_tool_results.json").read_text())
CASES = [(generation, case["name"], case) for generation, cases in VECTORS.items() for case in cases]
RULES = Rules(cwd="/proj")


@pytest.mark.parametrize(("generation", "name", "case"), CASES, ids=[name for _, name, _ in CASES])
def test_published_case(generation: str, name: str, case: dict[str, Any], tmp_path: Path) -> None:
    CHECKS[name](case, tmp_path)


def test_no_case_is_checked_that_was_not_published() -> None:
    assert set(CHECKS) == {name for _, name, _ in CASES}


# admission


def offered(
    folder: Path,
    content: str | tuple[Any, ...],
    *,
    tool: str = "bash",
    call_id: str = "call_1",
    log: Log | None = None,
    rules: Rules | None = RULES,
    is_error: bool = False,
    **asked: Any,
) -> ToolResult:
    """One call's result as it is logged; the log, a fresh one by default, gets it."""
    log = log or started()
    arguments = asked.pop("arguments", {})
    log.step((tool, json.dumps(arguments), call_id))
    result = log.next_result(content, call_id, is_error)
    logged, warning = admitted(Keeper(folder), log.view(), result, log.receipts(RULES), rules, **asked)
    assert warning is None
    log.events.append(logged)
    return logged


def started() -> Log:
    log = Log()
    log.turn()
    return log


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*.txt"))


def index(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "index.json").read_bytes())


def is_receipt(logged: ToolResult) -> bool:
    (block,) = logged.content
    return isinstance(block, Text) and "全文已落盘，此处是" in block.text.split("\n")[0]


def passes(folder: Path, content: str | tuple[Any, ...], **how: Any) -> None:
    """The result is logged as it is, and nothing new is kept."""
    before = files(folder)
    logged = offered(folder, content, **how)
    assert logged.content == ((Text(content),) if isinstance(content, str) else content)
    assert files(folder) == before


def a1(case: Any, tmp: Path) -> None:
    passes(tmp, "a" * case["bytes"])
    assert not tmp.joinpath("index.json").exists()


def a2(case: Any, tmp: Path) -> None:
    logged = offered(tmp, "a" * case["bytes"])
    assert index(tmp)["results"][0]["bytes"] == 1025
    assert "· 1,025 字节" in logged.content[0].text.split("\n")[0]  # type: ignore[union-attr]


def a3(case: Any, tmp: Path) -> None:
    passes(tmp, "汉" * 341)
    assert is_receipt(offered(tmp, "汉" * 342))


def a4(case: Any, tmp: Path) -> None:
    assert is_receipt(offered(tmp, (Text("a" * 1024), Text("b"))))
    (file,) = files(tmp)
    assert (tmp / file).read_text() == "a" * 1024 + "b"
    assert index(tmp)["results"][0]["bytes"] == 1025


def a5(case: Any, tmp: Path) -> None:
    passes(tmp, (Text("a" * 5000), Opaque('{"type":"image"}')))


def a6(case: Any, tmp: Path) -> None:
    passes(tmp, "a" * 200_000, tool="read_tool_result_log")


def a7(case: Any, tmp: Path) -> None:
    assert is_receipt(offered(tmp, "line\n" * 40_000, tool="read", arguments={"file_path": "/proj/src/big.ts"}))
    (file,) = files(tmp)
    assert (tmp / file).read_text() == "line\n" * 40_000


def a7b(case: Any, tmp: Path) -> None:
    for path in (
        "/proj/tool-result-logs/results/t0001-s0001-01-bash-call_x.txt",
        "/home/x/.dsh/sessions/--other--/session/tool-result-logs/index.json",
        "tool-result-logs/round-0001.json",
    ):
        passes(tmp, "a" * 5000, tool="read", arguments={"file_path": path})
    assert is_receipt(offered(tmp, "a" * 5000, tool="read", arguments={"file_path": "/x/tool-result-logs/../y"}))


def a7c(case: Any, tmp: Path) -> None:
    log = started()
    assert is_receipt(offered(tmp, "a" * 5000, tool="read", arguments={"file_path": "/proj/big.ts"}, log=log))
    passes(tmp, "b" * 5000, tool="read", arguments={"file_path": "/proj/big.ts"}, log=log)


def a7d(case: Any, tmp: Path) -> None:
    first, second = started(), started()
    assert is_receipt(offered(tmp / "1", "a" * 5000, tool="read", arguments={"file_path": "src/a.ts"}, log=first))
    assert is_receipt(offered(tmp / "2", "a" * 5000, tool="read", arguments={"file_path": "src/a.ts"}, log=second))
    passes(tmp / "1", "a" * 5000, tool="read", arguments={"file_path": "/proj/src/a.ts"}, log=first)


def a7e(case: Any, tmp: Path) -> None:
    assert is_receipt(offered(tmp, "a" * 5000, tool="read"))


def a8(case: Any, tmp: Path) -> None:
    passes(tmp, "a" * 5000, is_error=True)


def a9(case: Any, tmp: Path) -> None:
    passes(tmp, "a" * 5000, nested=True)


def a10(case: Any, tmp: Path) -> None:
    passes(tmp, "a" * 5000, decision={"kind": "error"})
    passes(tmp, "a" * 5000, decision={"kind": "accept", "value": None})
    logged = offered(tmp, "a" * 5000)
    decision = decided({"kind": "accept", "content": ["old"], "additionalContexts": {"keep": "me"}}, logged)
    assert decision["additionalContexts"] == {"keep": "me"}
    assert decision["content"] == [{"type": "text", "text": logged.content[0].text}]  # type: ignore[union-attr]


def a13(case: Any, tmp: Path) -> None:
    passes(tmp, "a" * 5000, rules=None)
    log = started()
    log.step(("bash", "{}", "c"))
    result = log.next_result("a" * 5000, "c")
    assert admitted(None, log.view(), result, log.receipts(RULES), RULES) == (result, None)
    assert list(tmp.iterdir()) == []


def a14(case: Any, tmp: Path) -> None:
    (tmp / "blocker").write_text("a file where a folder should be")
    log = started()
    log.step(("bash", "{}", "c"))
    result = log.next_result("a" * 5000, "c")
    keeper = Keeper(tmp / "blocker" / "tool-result-logs")
    logged, warning = admitted(keeper, log.view(), result, log.receipts(RULES), RULES)
    assert logged is result
    assert warning is not None
    assert "blocker" in warning


# storage


def c1(case: Any, tmp: Path) -> None:
    told = case["in"]
    assert result_name(Origin(told["turn"], told["step"], 1, told["tool"], told["callId"])) == case["expect"]


def c2(case: Any, tmp: Path) -> None:
    assert result_name(Origin(1, 1, 1, case["in"]["tool"], "c" * 200)).endswith(case["expect"].removeprefix("..."))


def c3(case: Any, tmp: Path) -> None:
    assert result_name(Origin(0, 0, 1, "bash", "c")).startswith(case["expect"].removesuffix("..."))


def c6a(case: Any, tmp: Path) -> None:
    log = started()
    log.step(("bash", "{}", "c"))
    for _ in range(2):  # asked twice before the result is logged, as after a crash
        admitted(Keeper(tmp), log.view(), log.next_result("a" * 2000, "c"), log.receipts(RULES), RULES)
    assert len(index(tmp)["results"]) == len(files(tmp)) == 1


def c6b(case: Any, tmp: Path) -> None:
    log = started()
    log.step(("bash", "{}", ""), ("bash", "{}", ""))
    for text in ("a" * 2000, "b" * 2000):
        log.events.append(admitted(Keeper(tmp), log.view(), log.next_result(text, ""), log.receipts(RULES), RULES)[0])
    assert [row["callId"] for row in index(tmp)["results"]] == [None, None]
    assert all(file.endswith("-.txt") for file in files(tmp))


def c7(case: Any, tmp: Path) -> None:
    log = started()
    log.step(("bash", "{}", "x"), ("grep", "{}", "y"))
    for call_id in ("x", "y"):
        result = log.next_result("a" * 2000, call_id)
        log.events.append(admitted(Keeper(tmp), log.view(), result, log.receipts(RULES), RULES)[0])
    assert files(tmp) == ["results/t0001-s0001-01-bash-x.txt", "results/t0001-s0001-02-grep-y.txt"]


def c9(case: Any, tmp: Path) -> None:
    log = started()
    offered(tmp, "a" * 2000, log=log, call_id="old")
    (old,) = files(tmp)
    (tmp / "index.json").write_text("{ not json")
    offered(tmp, "b" * 2000, log=log, call_id="new")
    assert (tmp / old).read_text() == "a" * 2000
    assert [row["callId"] for row in index(tmp)["results"]] == ["old", "new"]  # the original forgot "old"


def c10(case: Any, tmp: Path) -> None:
    assert [session_segment(name) for name in case["in"]] == case["expect"]


def c11(case: Any, tmp: Path) -> None:
    keys = [project_key(path.replace("x*400", "x" * 400)) for path in case["in"]]
    assert keys[:3] == case["expect"][:3]
    assert len(keys[3]) == 255


def c13(case: Any, tmp: Path) -> None:
    passes(tmp, "q" * 1025, rules=Rules(root="/" + "h" * 700))
    assert is_receipt(offered(tmp, "q" * 4000, rules=Rules(root="/" + "h" * 700)))


# receipts


def lines(count: int) -> str:
    return "\n".join(f"line {number}" for number in range(count))


def b1(case: Any, tmp: Path) -> None:
    text = lines(49) + "\n" + "x" * (84_231 - len(lines(49)) - 1)
    told = case["in"]
    origin = Origin(1, 2, 1, told["tool"], "call_ab12", json.dumps({"command": told["hint"]}))
    header, path, *_ = receipt(origin, text, root="/abs").split("\n")
    assert (len(text), text.count("\n") + 1) == (told["bytes"], told["lines"])
    assert header == case["expect"].replace("K", "1")
    assert path == "路径：/abs/results/t0001-s0002-01-bash-call_ab12.txt"


def b5b(case: Any, tmp: Path) -> None:
    assert clip("y" * 400, 300, from_end=True) == "y" * 300
    assert clip("汉" * 200, 301, from_end=False) == "汉" * 100
    assert preview("汉" * 200, 301, from_end=False).text == "汉" * 100


def b6(case: Any, tmp: Path) -> None:
    text = f"FIRST\n{lines(200)}\nLAST"
    for tool in ("bash", "run_code"):
        shown = receipt(Origin(1, 1, 1, tool, "c"), text, root=None)
        assert shown.endswith("\nLAST")
        assert "FIRST" not in shown
        assert "此处是尾部" in shown
    for tool in ("grep", "web_fetch", "glob"):
        shown = receipt(Origin(1, 1, 1, tool, "c"), text, root=None)
        assert shown.split("\n")[2] == "FIRST"
        assert "LAST" not in shown
        assert "此处是开头" in shown


def b7(case: Any, tmp: Path) -> None:
    shown = preview(lines(80), 300, from_end=False).lines
    assert receipt(Origin(1, 1, 1, "grep", "c"), lines(80), root=None).endswith(
        case["expect"].replace("{80-shown}", str(80 - shown))
    )


# recall


def kept(tmp: Path, *results: tuple[int, int, str]) -> Shelf:
    """A shelf of an archive that holds (turn, step, text) each."""
    for turn, step, text in results:
        time = 1_000_000 * turn + 1000 * step
        result = ToolResult(-1, time, (Text(text),), turn, step, f"call_{turn}_{step}")
        Keeper(tmp).keep(Original(Origin(turn, step, 1, "bash", result.call_id), result))
    return Shelf(archive=Archive(tmp))


def d4(case: Any, tmp: Path) -> None:
    shelf = kept(tmp, (5, 1, lines(20)), (5, 2, lines(30)))
    assert read_tool_result_log(shelf, turn=5, offset=5, limit=3).count("第 5-7 行") == 2


def d5(case: Any, tmp: Path) -> None:
    assert case["expect"] in read_tool_result_log(kept(tmp, (1, 1, lines(20))), turn=1, limit=3)


def d6(case: Any, tmp: Path) -> None:
    shelf = kept(tmp, *((1, step, str(step) * 20_000) for step in (1, 2, 3)))
    answer = read_tool_result_log(shelf, turn=1)
    assert "已显示 2 条" in answer
    assert "⚠️ 还有 1 条未显示" in answer
    assert len(answer.encode()) <= 48_000


def d7(case: Any, tmp: Path) -> None:
    for turn in (0, -1, 1.5):
        assert recall(kept(tmp, (1, 1, "x")), {"turn": turn}).error == case["expect"]


def d8(case: Any, tmp: Path) -> None:
    error = recall(kept(tmp, (1, 1, "x")), {"turn": 99}).error
    assert error == "第 99 轮没有归档条目（已归档：turn 1）"


def d9(case: Any, tmp: Path) -> None:
    shelf = kept(tmp, (3, 1, "three"), (4, 1, "four"))
    for time in ("4001000", 4001000, "1970-01-01T01:06:41Z", "1970-01-01T02:06:41.000+01:00"):
        assert [found.kept.turn for found in recall(shelf, {"time": time}).found] == [4]
    assert "无法解析时间" in str(recall(shelf, {"time": "not-a-time"}).error)


def d10(case: Any, tmp: Path) -> None:
    shelf = kept(tmp, (1, 1, "first"), (1, 2, "second"))
    (tmp / files(tmp)[0]).unlink()
    answer = recall(shelf, {"turn": 1})
    assert [found.page.text for found in answer.found if found.page] == ["second"]
    assert answer.gone == 1


def d11(case: Any, tmp: Path) -> None:
    shelf = kept(tmp, (3, 1, "three"))
    assert recall(shelf, {"turn": "3"}) == recall(shelf, {"turn": 3})
    assert recall(shelf, {"turn": 3}).error is None


def d12(case: Any, tmp: Path) -> None:
    assert recall(None, {"turn": 1}).error == case["expect"]
    assert read_tool_result_log(None) == "错误：无可用会话上下文"


# the earlier generation


def round_text(log: Log, seq: int) -> str | None:
    """What `round` makes of a result at the pre-step at the end of the log; None where it leaves it."""
    reducer, view = log.reducer(presets.round_()), log.view(presets.round_())
    found = [operation for operation in reducer.plan(view) if operation.seq == seq]
    return found[0].content[0].text if found else None  # type: ignore[union-attr]


def round_clears(case: Any, tmp: Path) -> None:
    log = Log()
    for _ in range(3):
        log.turn()
        log.step(("bash", "{}", "a"), ("bash", "{}", "b"))
        good, bad = log.result("x" * 500, "a"), log.result("y" * 500, "b", is_error=True)
    log.turn()
    for result in (good, bad):
        assert round_text(log, result.seq) == (
            "[第 3 轮 第 1 步工具结果已清除归档，可用 read_tool_result_log(turn: 3, step: 1) 读取]"
        )


def round_skips_rewritten(case: Any, tmp: Path) -> None:
    log = started()
    result = log.called("bash", "x" * 9000)
    cut = ToolResult(*log.at, (Text("x" * 5159),), 1, 1, "c", replaces=(result.seq, result.seq), sources=(result.seq,))
    log.events.append(cut)
    log.turn()
    assert round_text(log, cut.seq) is None


def no_round_file(case: Any, tmp: Path) -> None:
    log = started()
    log.called("bash", "kept")
    log.turn()
    log.step()
    log.turn()
    Keeper(tmp).keep_turns(log.events)
    assert [path.name for path in tmp.glob("round-*")] == ["round-0001.json"]
    assert [row["turn"] for row in index(tmp)["rounds"]] == [1]


def overclock_step(case: Any, tmp: Path) -> None:
    log = started()
    first = log.called("bash", "x" * 900, "a")
    second = log.called("bash", "y" * 900, "b")
    log.end_step()
    reducer, view = log.reducer(presets.overclock()), log.view(presets.overclock())
    assert [operation.seq for operation in reducer.plan(view)] == [first.seq]
    assert Keeper(tmp).keep_round(1, 2, originals(log.events))
    document = json.loads((tmp / "round-0001-step-0002.json").read_bytes())
    assert (document["turn"], document["step"]) == (1, 2)
    assert [entry["seq"] for entry in document["toolResults"]] == [second.seq]


def overclock_turn(case: Any, tmp: Path) -> None:
    """The last step's results are cleared at the next pre-step; nothing is replaced by what stands there."""
    log = started()
    first = log.called("bash", "x" * 900, "a")
    last = log.called("bash", "y" * 900, "b")
    log.turn()
    reducer, view = log.reducer(presets.overclock()), log.view(presets.overclock())
    operations = reducer.plan(view)
    assert [operation.seq for operation in operations] == [first.seq, last.seq]
    assert all(operation.content != operation.before.content for operation in operations)


def drops_image(case: Any, tmp: Path) -> None:
    log = started()
    image = Opaque('{"type":"image","attachment":{"name":"a.png"}}')
    result = log.called("bash", (Text("x" * 900), image))
    log.turn()
    reducer, view = log.reducer(presets.round_()), log.view(presets.round_())
    (operation,) = reducer.plan(view)
    assert [type(block) for block in operation.content] == [Text]
    assert operation.dropped == (image,)
    Keeper(tmp).keep_turns(log.events)
    (again,) = Archive(tmp).turn(1)
    assert again.result.content == result.content


def e1(case: Any, tmp: Path) -> None:
    (tmp / "index.json").write_text('{"schemaVersion":2,"rounds":[{"turn":1,"count":3}]}')
    answer = recall(Shelf(archive=Archive(tmp)), {})
    assert (answer.turns, answer.found, answer.error) == ((), (), None)
    assert "没有匹配的归档条目" in read_tool_result_log(Shelf(archive=Archive(tmp)))


def e2(case: Any, tmp: Path) -> None:
    block = {"type": "tool-result", "content": [{"type": "text", "text": "LEGACY-BODY"}]}
    event = {"data": {"step": 3, "message": {"content": [block]}}}
    entry = {"toolName": "bash", "call": {"data": {"arguments": '{"command":"echo hi"}'}}, "event": event}
    (tmp / "round-0001.json").write_text(json.dumps({"toolResults": [entry]}))
    shelf = Shelf(archive=Archive(tmp))
    (found,) = recall(shelf, {"turn": 1, "step": 3}).found
    assert found.page is not None
    assert (found.page.text, found.kept.hint, found.kept.original.origin.tool) == ("LEGACY-BODY", "echo hi", "bash")
    assert "没有归档条目" in str(recall(shelf, {"turn": 1, "step": 9}).error)


def enabled_mid_session(case: Any, tmp: Path) -> None:
    log = Log()
    seqs = []
    for _ in range(5):
        log.turn()
        seqs.append(log.called("bash", "x" * 900).seq)
    Keeper(tmp).keep_turns(log.events)
    assert sorted(path.name for path in tmp.glob("round-*")) == [f"round-000{turn}.json" for turn in (1, 2, 3, 4)]
    reducer, view = log.reducer(presets.round_()), log.view(presets.round_())
    assert [operation.seq for operation in reducer.plan(view)] == seqs[:4]


Check = Callable[[Any, Path], None]
CHECKS: MappingProxyType[str, Check] = MappingProxyType(
    {
        "A1 exactly 1024 bytes": a1,
        "A2 1025 bytes": a2,
        "A3 341 CJK chars (1023 bytes) / 342 (1026)": a3,
        "A4 1024 'a' block + 'b' block": a4,
        "A5 text + image": a5,
        "A6 read_tool_result_log 200000 bytes": a6,
        "A7 read big normal file first time": a7,
        "A7b read of any .../tool-result-logs/... path": a7b,
        "A7c same path second time": a7c,
        "A7d per session; relative path resolved with cwd": a7d,
        "A7e read without file_path": a7e,
        "A8 isError": a8,
        "A9 nested (exec.parent)": a9,
        "A10/A11 decision not accept / has value": a10,
        "A13 disabled / A15 no session": a13,
        "A14 write failure": a14,
        "C1 file name": c1,
        "C2 segments": c2,
        "C3 no cursor": c3,
        "C6a same callId twice": c6a,
        "C6b missing callId twice": c6b,
        "C7 two in one step": c7,
        "C9 corrupt index": c9,
        "C10 session dir names": c10,
        "C11 project keys": c11,
        "C13 receipt would be longer": c13,
        "B1 header": b1,
        "B5b clip": b5b,
        "B6 side": b6,
        "B7 omission": b7,
        "D4 turn 5, offset 5 limit 3 on two entries": d4,
        "D5 limit 3 of 20 lines": d5,
        "D6 three x 20000 bytes": d6,
        "D7 turn 0, -1, 1.5": d7,
        "D8 turn 99": d8,
        "D9 time ms / ISO / junk": d9,
        "D10 one .txt deleted": d10,
        "D11 turn '3'": d11,
        "D12 no session": d12,
        "round: turn 3 ends, two appended results (one error)": round_clears,
        "round: result already replaced by the official pruner": round_skips_rewritten,
        "round: turn without results": no_round_file,
        "overclock: step/end 2": overclock_step,
        "overclock: turn/end": overclock_turn,
        "result with text+image": drops_image,
        "E1 legacy index v2 with rounds only": e1,
        'E2 legacy round-0001.json {step 3, bash, arguments {"command":"echo hi"}, text LEGACY-BODY}': e2,
        "enable mid-session at turn 5 open": enabled_mid_session,
    }
)
