"""What a model is answered: from the log, from the archive, and from both."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.archive.logs import Log

from refold.archive import Archive, ArchiveError, Rules, Shelf, definition, originals, read_tool_result_log, recall
from refold.archive.answer import BUDGET, rendered
from refold.archive.keeper import Keeper, admitted
from refold.events import Event, Opaque, Text, ToolResult
from refold.reducer import presets


def session() -> Log:
    """Three turns: two results in step 1 of the first, one in its step 2; none in the second; one in the third."""
    log = Log()
    log.turn()
    log.step(("bash", '{"command":"ls -l"}', "a"), ("read", '{"file_path":"/p/x.py"}', "b"))
    log.result("one\ntwo\nthree", "a")
    log.result("x = 1", "b", is_error=True)
    log.called("grep", "found", "c", pattern="TODO")
    log.turn()
    log.step()
    log.turn()
    log.called("bash", (Text("shown"), Opaque('{"type":"image"}')), "d")
    log.turn()
    return log


SHELF = Shelf(session().events)


def test_a_step_is_answered_in_the_words_of_the_plugin() -> None:
    assert read_tool_result_log(SHELF, turn=1, step=1) == (
        "查询：第 1 轮 第 1 步\n\n"
        "--- turn 1 step 1 · bash · ls -l · 第 1-3 行 / 共 3 行 · 13 字节 ---\none\ntwo\nthree\n\n"
        "--- turn 1 step 1 · read · /p/x.py · 第 1-1 行 / 共 1 行 · 5 字节 ---\nx = 1\n\n"
        "（共 2 条匹配，已显示 2 条）\n\n"
        "取回提示（overclock）：归档内容同样只在紧随其后的下一步决策中可见，请立即使用；"
        "若总结需引用多步原文，建议总结前按轮整轮取回一次。"
    )


def test_a_page_says_where_to_go_on() -> None:
    assert read_tool_result_log(SHELF, turn=1, step=1, offset=2, limit=1, lang="en") == (
        "Query: turn 1, step 1\n\n"
        "--- turn 1 step 1 · bash · ls -l · lines 2-2 of 3 · 13 bytes ---\ntwo\n\n"
        "… (lines of this result not shown: 1; go on with offset=3, limit=1)\n\n"
        "--- turn 1 step 1 · read · /p/x.py ---\n(offset=2 is beyond this result's last line, 1)\n\n"
        "(2 match, 2 shown)\n\n"
        "Where step clearing is on, what you fetch is visible to the very next step only: use it at once; to sum up "
        "several steps, fetch the turn once just before."
    )


def test_a_list_names_what_there_is_and_gives_no_text() -> None:
    assert read_tool_result_log(SHELF) == (
        "查询：归档清单\n\n"
        "已归档：turn 1（3 条 / 2 步）、turn 3（1 条 / 1 步）\n\n"
        "--- turn 1 step 1 · bash · ls -l · 13 字节 / 3 行 ---\n（清单模式不返回正文）\n\n"
        "--- turn 1 step 1 · read · /p/x.py · 5 字节 / 1 行 ---\n（清单模式不返回正文）\n\n"
        "--- turn 1 step 2 · grep · TODO · 5 字节 / 1 行 ---\n（清单模式不返回正文）\n\n"
        "--- turn 3 step 1 · bash · 5 字节 / 1 行 ---\n（清单模式不返回正文）"
    )


def test_blocks_other_than_text_are_counted() -> None:
    assert "· 5 字节 · 另有 1 个非文本块 ---\nshown\n" in read_tool_result_log(SHELF, turn=3)


BAD: list[tuple[dict[str, Any], str, str]] = [
    ({"turn": 0}, "轮次编号必须为正整数", "turn must be a whole number of at least 1"),
    ({"turn": -3}, "轮次编号必须为正整数", "turn must be a whole number of at least 1"),
    ({"turn": 1.5}, "轮次编号必须为正整数", "turn must be a whole number of at least 1"),
    ({"turn": "first"}, "轮次编号必须为正整数", "turn must be a whole number of at least 1"),
    ({"turn": True}, "轮次编号必须为正整数", "turn must be a whole number of at least 1"),
    ({"turn": [1]}, "轮次编号必须为正整数", "turn must be a whole number of at least 1"),
    ({"turn": float("nan")}, "轮次编号必须为正整数", "turn must be a whole number of at least 1"),
    ({"turn": "٣"}, "轮次编号必须为正整数", "turn must be a whole number of at least 1"),
    ({"turn": 1, "step": 0}, "步骤编号必须为正整数", "step must be a whole number of at least 1"),
    ({"turn": 1, "offset": 0}, "offset 必须为正整数", "offset must be a whole number of at least 1"),
    ({"turn": 1, "limit": "all"}, "limit 必须为正整数", "limit must be a whole number of at least 1"),
    (
        {"step": 2},
        "step 需配合 turn 使用，如 read_tool_result_log({ turn: 3, step: 2 })",
        "step goes with a turn, as in read_tool_result_log({ turn: 3, step: 2 })",
    ),
    (
        {"step": 2, "time": "0"},
        "step 需配合 turn 使用，如 read_tool_result_log({ turn: 3, step: 2 })",
        "step goes with a turn, as in read_tool_result_log({ turn: 3, step: 2 })",
    ),
    (
        {"turn": 1, "time": "0"},
        "time 已确定轮次，不能与 turn 同用",
        "time names a turn by itself: leave out one of the two",
    ),
    ({"turn": 1, "offset": "3:0"}, "offset 必须为正整数", "offset must be a whole number of at least 1"),
    ({"turn": 1, "offset": "0:1"}, "offset 必须为正整数", "offset must be a whole number of at least 1"),
    ({"turn": 1, "offset": "4:1"}, "没有第 4 条结果（共 3 条匹配）", "there is no result 4 (3 match)"),
    (
        {"turn": 2},
        "第 2 轮没有归档条目（已归档：turn 1、turn 3）",
        "nothing is archived of turn 2 (archived: turn 1, turn 3)",
    ),
    (
        {"turn": 1, "step": 9},
        "第 1 轮第 9 步没有归档条目（已归档：turn 1 的 step 1、2）",
        "nothing is archived of turn 1, step 9 (archived: turn 1, step 1, 2)",
    ),
    (
        {"time": "yesterday"},
        '无法解析时间 "yesterday"：请用 ISO 8601 或毫秒时间戳',
        'cannot read "yesterday" as a time: give ISO 8601 or milliseconds since 1970',
    ),
    (
        {"time": "0"},
        "没有归档条目覆盖 1970-01-01T00:00:00.000Z（已归档：turn 1、turn 3）",
        "nothing is archived that covers 1970-01-01T00:00:00.000Z (archived: turn 1, turn 3)",
    ),
    (
        {"turn": 1, "lines": 3},
        "未知参数：lines（可用：turn、step、time、offset、limit）",
        "unknown argument: lines (there are turn, step, time, offset, limit)",
    ),
]


@pytest.mark.parametrize(("asked", "chinese", "english"), BAD, ids=[json.dumps(asked) for asked, _, _ in BAD])
def test_a_bad_argument_is_answered_with_what_is_wrong(asked: dict[str, Any], chinese: str, english: str) -> None:
    assert recall(SHELF, asked).error == chinese
    assert recall(SHELF, asked, "en").error == english
    assert rendered(recall(SHELF, asked)) == f"错误：{chinese}"


@pytest.mark.parametrize("time", ["9" * 18, "-" + "9" * 18, "0001-01-01", "9999-12-31T23:59:59+00:00"])
def test_a_time_far_away_is_answered_too(time: str) -> None:
    assert "没有归档条目覆盖" in str(recall(SHELF, {"time": time}).error)


def test_numbers_may_come_as_text_and_as_floats() -> None:
    exact = recall(SHELF, {"turn": 1, "step": 1, "offset": 2, "limit": 1})
    assert recall(SHELF, {"turn": " 1 ", "step": "1", "offset": 2.0, "limit": "1"}) == exact


def test_an_unknown_turn_names_the_last_20_and_a_list_the_last_20_and_40() -> None:
    log = Log()
    for turn in range(1, 61):
        log.turn()
        log.called("bash", f"result {turn}")
    shelf = Shelf(log.events)
    named = re.findall(r"turn (\d+)", str(recall(shelf, {"turn": 99}, "en").error))
    assert named == ["99", *map(str, range(41, 61))]
    listed = read_tool_result_log(shelf)
    assert re.findall(r"turn (\d+)（", listed) == [str(turn) for turn in range(41, 61)]
    assert re.findall(r"--- turn (\d+) ", listed) == [str(turn) for turn in range(21, 61)]


def test_an_unknown_step_names_the_last_50() -> None:
    log = Log()
    log.turn()
    for step in range(60):
        log.called("bash", f"result {step}")
    error = str(recall(Shelf(log.events), {"turn": 1, "step": 99}, "en").error)
    assert error.endswith("step " + ", ".join(map(str, range(11, 61))) + ")")


def test_an_answer_never_exceeds_its_budget() -> None:
    log = Log()
    log.turn()
    for size in (10, 7_000, 30_000, 43_000, 5_000_000, 12_000):
        log.called("bash", "汉" * (size // 3), command="漢" * 200)
    shelf = Shelf(log.events)
    for asked in ({}, {"turn": 1}, {"turn": 1, "limit": 1}, {"turn": 1, "limit": 5}, {"turn": 1, "offset": 2}):
        answer = rendered(recall(shelf, asked))
        assert len(answer.encode()) <= BUDGET == 48_000
    assert "⚠️ 还有 3 条未显示" in rendered(recall(shelf, {"turn": 1}))


def test_more_results_of_one_step_than_an_answer_holds_a_line_of_are_all_read_by_following_the_answers() -> None:
    """Seven results, every line of which has 8,000 bytes: no limit that holds for all of them shows them all."""
    texts = [letter * 100_000 for letter in "abcdef"] + ["汉" * 40_000]
    log = Log()
    log.turn()
    log.step(*(("bash", "{}", f"call-{place}") for place in range(len(texts))))
    for place, text in enumerate(texts):
        log.result(text, f"call-{place}")
    shelf = Shelf(log.events)

    first = read_tool_result_log(shelf, turn=1, step=1, limit=1)
    named = re.findall(r'，可用 offset="(\d+:\d+)", limit=(\d+)', first)
    assert [offset for offset, _ in named] == ["6:1", "7:1"], "five are shown"

    read = {}
    for offset, limit in re.findall(
        r'，可用 offset="(\d+:\d+)", limit=(\d+)', read_tool_result_log(shelf, turn=1, step=1)
    ):
        place, asked, text = int(offset.split(":")[0]), {"offset": offset, "limit": limit}, ""
        while True:
            answer = read_tool_result_log(shelf, turn=1, step=1, **asked)
            assert len(answer.encode()) <= BUDGET
            assert "（共 1 条匹配，已显示 1 条）" in answer
            body = re.search(
                r' ---\n(.*)\n…（本结果还有 \d+ 行未显示；续取：offset="(\d+:\d+)", limit=(\d+)）', answer, re.DOTALL
            )
            if body is None:
                last = re.search(r" ---\n(.*)\n\n（共 1 条匹配", answer, re.DOTALL)
                assert last
                read[place] = text + last[1]
                break
            text += body[1]
            asked = {"offset": body[2], "limit": body[3]}
    assert [read[place] for place in sorted(read)] == texts


def follow(shelf: Shelf, step: int) -> str:
    """All of a step's only result, as a model reads it that does what the answers say."""
    asked: dict[str, Any] = {"turn": 1, "step": step}
    read, answers = "", 0
    while True:
        answer = read_tool_result_log(shelf, **asked)
        answers += 1
        assert len(answer.encode()) <= BUDGET
        body = re.search(
            r" ---\n(.*)\n…（本结果还有 \d+ 行未显示；续取：offset=(\d+), limit=(\d+)）", answer, re.DOTALL
        )
        named = re.search(r"，可用 offset=(\d+), limit=(\d+)", answer)
        if body:
            read += body[1]
            asked |= {"offset": int(body[2]), "limit": int(body[3])}
        elif named:
            asked |= {"offset": int(named[1]), "limit": int(named[2])}
        else:
            last = re.search(r" ---\n(.*)\n\n（共 1 条匹配，已显示 1 条）", answer, re.DOTALL)
            assert last
            return read + last[1]


@pytest.mark.parametrize("text", ["汉" * 200_000, "a line of a log\n" * 20_000, "x" * 7_999 + "\n" + "y\n" * 9])
def test_following_the_answers_reads_every_byte(text: str) -> None:
    log = Log()
    log.turn()
    log.called("bash", text)
    assert follow(Shelf(log.events), 1) == text


def test_what_a_receipt_stands_for_comes_from_the_archive(tmp_path: Path) -> None:
    log, rules, texts = Log(), Rules(root=str(tmp_path)), ["first " * 400, "second\n" * 400, "short"]
    log.turn()
    for number, text in enumerate(texts):
        log.step(("bash", '{"command":"make"}', f"call_{number}"))
        result = log.next_result(text, f"call_{number}")
        log.events.append(admitted(Keeper(tmp_path), log.view(), result, log.receipts(rules), rules)[0])
    found = recall(Shelf(log.events, Archive(tmp_path)), {"turn": 1}).found
    assert [one.page.text for one in found if one.page] == texts
    assert [one.kept.row is not None for one in found] == [True, True, False]
    assert f"    路径：{tmp_path}/results/t0001-s0001-01-bash-call_0.txt ---\nfirst" in rendered(
        recall(Shelf(log.events, Archive(tmp_path)), {"turn": 1, "step": 1})
    )
    (tmp_path / "results" / "t0001-s0001-01-bash-call_0.txt").unlink()
    answer = recall(Shelf(log.events, Archive(tmp_path)), {"turn": 1})
    assert [one.page.text for one in answer.found if one.page] == texts[1:]
    assert answer.gone == 1
    assert "（另有 1 条的归档文件已不在或无法读取）" in rendered(answer)


def test_the_archive_alone_gives_what_its_rounds_hold(tmp_path: Path) -> None:
    log = session()
    Keeper(tmp_path).keep_turns(log.events)
    Keeper(tmp_path).keep_round(1, 2, originals(log.events))
    alone = Shelf(archive=Archive(tmp_path))
    for asked in ({}, {"turn": 1}, {"turn": 1, "step": 2}, {"turn": 3}, {"turn": 2}, {"time": "3605000"}):
        assert rendered(recall(alone, asked)) == rendered(recall(SHELF, asked))


def test_a_turn_that_goes_on_is_read_from_its_step_files(tmp_path: Path) -> None:
    log = session()
    Keeper(tmp_path).keep_round(1, 2, originals(log.events))
    (tmp_path / "round-0001-step-0002.json").rename(tmp_path / "round-0001-step-002.json")
    answer = recall(Shelf(archive=Archive(tmp_path)), {"turn": 1})
    assert [one.page.text for one in answer.found if one.page] == ["found"]


def test_originals_come_from_the_log_whatever_was_cut() -> None:
    log = session()
    results = [event for event in log.events if isinstance(event, ToolResult)]
    for before in results:
        sources = (before.seq,)
        cut = ToolResult(
            *log.at, (Text("[cut]"),), 9, 9, before.call_id, replaces=(before.seq, before.seq), sources=sources
        )
        log.events.append(cut)
    assert [one.result for one in originals(log.events)] == results
    assert rendered(recall(Shelf(log.events), {"turn": 1})) == rendered(recall(SHELF, {"turn": 1}))


def test_a_turn_in_a_round_and_in_files_of_its_own_is_given_once(tmp_path: Path) -> None:
    log, rules, text = Log(), Rules(), "long " * 400
    log.turn()
    log.step(("bash", "{}", "a"))
    log.events.append(admitted(Keeper(tmp_path), log.view(), log.next_result(text, "a"), log.receipts(rules), rules)[0])
    log.called("bash", "short", "b")
    Keeper(tmp_path).keep_round(1, None, originals(log.events))
    for shelf in (Shelf(log.events, Archive(tmp_path)), Shelf(archive=Archive(tmp_path))):
        assert [one.page.text for one in recall(shelf, {"turn": 1}).found if one.page] == [text, "short"]


def test_a_result_whose_receipt_was_never_logged_is_found(tmp_path: Path) -> None:
    """The process died between the archive and the log."""
    log, rules = Log(), Rules()
    log.turn()
    log.step(("bash", "{}", "a"))
    admitted(Keeper(tmp_path), log.view(), log.next_result("long " * 400, "a"), log.receipts(rules), rules)
    found = recall(Shelf(log.events, Archive(tmp_path)), {"turn": 1}).found
    assert [one.page.text for one in found if one.page] == ["long " * 400]


def test_an_archive_that_cannot_be_listed_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "tool-result-logs").write_text("a file where a folder should be")
    with pytest.raises(ArchiveError, match=r"tool-result-logs.*Not a directory"):
        Shelf(archive=Archive(tmp_path / "tool-result-logs"))


@pytest.mark.parametrize("policy", [presets.round_(), presets.overclock()], ids=["round", "overclock"])
def test_a_recalled_result_is_read_once_before_it_is_cleared(policy: Any) -> None:
    """The step that recalls is followed by one that sees the text; only then it may go."""
    log = Log()
    log.turn()
    log.called("bash", "secret " * 200, "a")
    log.turn()
    reducer = log.reducer(policy)
    answer = read_tool_result_log(Shelf(log.events), turn=1)
    recalled = log.called("read_tool_result_log", answer, "b", turn=1)

    def due(events: list[Event]) -> list[int]:
        return [operation.seq for operation in reducer.plan(reducer.fold_all(reducer.start(), events))]

    log.end_step()
    assert recalled.seq not in due(log.events)
    log.step()
    view = reducer.fold_all(reducer.start(), log.events)
    assert any(message.content == recalled.content for message in reducer.messages(view))
    log.end_step()
    assert (recalled.seq in due(log.events)) == (policy.name == "overclock")
    log.turn()
    assert recalled.seq in due(log.events)


def test_the_tool_is_defined_as_a_json_schema() -> None:
    for lang in ("zh", "en"):
        tool = definition(lang)  # type: ignore[arg-type]
        assert tool["name"] == "read_tool_result_log"
        schema = tool["parameters"]
        assert (schema["type"], schema["additionalProperties"]) == ("object", False)
        assert list(schema["properties"]) == ["turn", "step", "time", "offset", "limit"]
        assert schema["properties"]["turn"]["type"] == ["integer", "string"]
