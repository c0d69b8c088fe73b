"""`read_tool_result_log` as a tool for models: its definition, and its answers."""

from types import MappingProxyType
from typing import Any

from refold.archive.answer import rendered
from refold.archive.recall import recall
from refold.archive.shelf import Shelf
from refold.reducer._receipt import RECALL_TOOL, Lang

_ABOUT: MappingProxyType[Lang, dict[str, str]] = MappingProxyType(
    {
        "zh": {
            "": "读取已清除归档或已落盘的工具结果原文。传 turn 读取该轮全部结果；传 turn+step 只读取该步；"
            "传 time 读取该时刻所在轮；都不传则返回归档清单。较长的结果用 offset/limit 按行分页，"
            "两者对每条结果各自生效；超过 8000 字节的行按多行计。",
            "turn": "对话轮次编号（1 起）。",
            "step": "步骤编号（1 起，一次模型决策为一步），需配合 turn。",
            "time": "ISO 8601 时间（未注明时区按 UTC）或毫秒时间戳。",
            "offset": '从每条结果的第几行开始（1 起）；"6:1" 表示只取第 6 条匹配结果，从第 1 行开始。',
            "limit": "每条结果最多返回多少行。",
        },
        "en": {
            "": "Gives back original tool results that were cleared or put on disk. With turn: all results of that "
            "turn. With turn and step: those of that step. With time: those of the turn at that time. With none of "
            "them: a list of what there is. Page through long results with offset and limit, in lines of each result "
            "by itself; a line over 8,000 bytes counts as several.",
            "turn": "Number of the turn, from 1.",
            "step": "Number of the step in its turn, from 1; a step is one decision of the model. Goes with turn.",
            "time": "ISO 8601 (UTC where no zone is named) or milliseconds since 1970.",
            "offset": 'The first line wanted of each result, from 1; "6:1" is line 1 of the sixth result that matches '
            "and of no other.",
            "limit": "The most lines wanted of each result.",
        },
    }
)


def definition(lang: Lang = "zh") -> dict[str, Any]:
    """The tool as `name`, `description` and `parameters`, a JSON schema (2020-12)."""
    about = _ABOUT[lang]
    kinds = {name: ["string", "integer"] if name == "time" else ["integer", "string"] for name in about if name}
    properties = {name: {"type": kind, "description": about[name]} for name, kind in kinds.items()}
    parameters = {"type": "object", "additionalProperties": False, "properties": properties}
    return {"name": RECALL_TOOL, "description": about[""], "parameters": parameters}


def read_tool_result_log(
    shelf: Shelf | None,
    turn: int | str | None = None,
    step: int | str | None = None,
    time: int | str | None = None,
    offset: int | str | None = None,
    limit: int | str | None = None,
    *,
    lang: Lang = "zh",
) -> str:
    """The original results of a turn, of one of its steps, or of the turn that covers a time; with none of them a list
    of what there is. At most 48,000 UTF-8 bytes, in whole entries.

    `time` is ISO 8601 (UTC where it names no zone) or Unix milliseconds, `offset` (from 1) and `limit` are in
    lines; an `offset` "6:1" is line 1 of the sixth result alone.
    What cannot be answered is answered with what is wrong. `shelf` is None where there is no session.
    """
    asked = {"turn": turn, "step": step, "time": time, "offset": offset, "limit": limit}
    return rendered(recall(shelf, asked, lang), lang)
