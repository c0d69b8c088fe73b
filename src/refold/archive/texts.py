"""The words in which a recall is answered, in Chinese as dsh-clear-tool-results says them, and in English."""

from types import MappingProxyType

import msgspec

from refold.reducer._receipt import Lang


class Texts(msgspec.Struct, frozen=True):
    error: str
    no_session: str
    unreadable_archive: str
    unknown_argument: str
    turn_not_positive: str
    step_not_positive: str
    offset_not_positive: str
    limit_not_positive: str
    step_without_turn: str
    time_with_turn: str
    no_place: str
    bad_time: str
    no_turn: str
    no_step: str
    no_time: str
    none: str
    comma: str
    listing: str
    of_turn: str
    of_step: str
    query: str
    archived: str
    turn_count: str
    empty: str
    no_match: str
    head: str
    window: str
    head_end: str
    other_blocks: str
    path: str
    listed_size: str
    listed_note: str
    more: str
    beyond: str
    shown: str
    skipped: str
    skipped_one: str
    gone: str
    note: str


TEXTS: MappingProxyType[Lang, Texts] = MappingProxyType(
    {
        "zh": Texts(
            error="错误：{error}",
            no_session="无可用会话上下文",
            unreadable_archive="读取归档失败：{error}",
            unknown_argument="未知参数：{names}（可用：turn、step、time、offset、limit）",
            turn_not_positive="轮次编号必须为正整数",
            step_not_positive="步骤编号必须为正整数",
            offset_not_positive="offset 必须为正整数",
            limit_not_positive="limit 必须为正整数",
            step_without_turn="step 需配合 turn 使用，如 read_tool_result_log({{ turn: 3, step: 2 }})",
            time_with_turn="time 已确定轮次，不能与 turn 同用",
            no_place="没有第 {place} 条结果（共 {results} 条匹配）",
            bad_time='无法解析时间 "{time}"：请用 ISO 8601 或毫秒时间戳',
            no_turn="第 {turn} 轮没有归档条目（已归档：{known}）",
            no_step="第 {turn} 轮第 {step} 步没有归档条目（已归档：turn {turn} 的 step {known}）",
            no_time="没有归档条目覆盖 {time}（已归档：{known}）",
            none="无",
            comma="、",
            listing="归档清单",
            of_turn="第 {turn} 轮",
            of_step="第 {turn} 轮 第 {step} 步",
            query="查询：{query}",
            archived="已归档：{turns}",
            turn_count="turn {turn}（{results} 条 / {steps} 步）",
            empty="本会话还没有归档的工具结果。",
            no_match="（没有匹配的归档条目）",
            head="--- turn {turn} step {step} · {what}",
            window=" · 第 {first}-{last} 行 / 共 {total} 行 · {size} 字节",
            head_end=" ---",
            other_blocks=" · 另有 {blocks} 个非文本块",
            path="\n    路径：{file}",
            listed_size=" · {size:,} 字节 / {total} 行",
            listed_note="（清单模式不返回正文）",
            more="\n…（本结果还有 {rest} 行未显示；续取：offset={offset}{limit}）",
            beyond="（offset={offset} 已超出本结果的 {total} 行）",
            shown="（共 {results} 条匹配，已显示 {shown} 条）",
            skipped="⚠️ 还有 {skipped} 条未显示：输出预算 {budget} 字节已到上限。"
            "请缩小 turn+step 范围，或用 offset/limit 分页。",
            skipped_one="turn {turn} step {step} · {what}：{size:,} 字节 / {total} 行，"
            "可用 offset={offset}, limit={limit}",
            gone="（另有 {gone} 条的归档文件已不在或无法读取）",
            note="取回提示（overclock）：归档内容同样只在紧随其后的下一步决策中可见，请立即使用；"
            "若总结需引用多步原文，建议总结前按轮整轮取回一次。",
        ),
        "en": Texts(
            error="Error: {error}",
            no_session="no session to read from",
            unreadable_archive="the archive cannot be read: {error}",
            unknown_argument="unknown argument: {names} (there are turn, step, time, offset, limit)",
            turn_not_positive="turn must be a whole number of at least 1",
            step_not_positive="step must be a whole number of at least 1",
            offset_not_positive="offset must be a whole number of at least 1",
            limit_not_positive="limit must be a whole number of at least 1",
            step_without_turn="step goes with a turn, as in read_tool_result_log({{ turn: 3, step: 2 }})",
            time_with_turn="time names a turn by itself: leave out one of the two",
            no_place="there is no result {place} ({results} match)",
            bad_time='cannot read "{time}" as a time: give ISO 8601 or milliseconds since 1970',
            no_turn="nothing is archived of turn {turn} (archived: {known})",
            no_step="nothing is archived of turn {turn}, step {step} (archived: turn {turn}, step {known})",
            no_time="nothing is archived that covers {time} (archived: {known})",
            none="none",
            comma=", ",
            listing="what is archived",
            of_turn="turn {turn}",
            of_step="turn {turn}, step {step}",
            query="Query: {query}",
            archived="Archived: {turns}",
            turn_count="turn {turn} (results: {results}, steps: {steps})",
            empty="No tool result of this session is archived yet.",
            no_match="(nothing matches)",
            head="--- turn {turn} step {step} · {what}",
            window=" · lines {first}-{last} of {total} · {size} bytes",
            head_end=" ---",
            other_blocks=" · blocks other than text: {blocks}",
            path="\n    Path: {file}",
            listed_size=" · {size:,} bytes / {total} lines",
            listed_note="(a listing gives no text)",
            more="\n… (lines of this result not shown: {rest}; go on with offset={offset}{limit})",
            beyond="(offset={offset} is beyond this result's last line, {total})",
            shown="({results} match, {shown} shown)",
            skipped="⚠️ {skipped} not shown: an answer holds {budget} bytes. Narrow it by turn and step, or page with "
            "offset and limit.",
            skipped_one="turn {turn} step {step} · {what}: {size:,} bytes / {total} lines; "
            "offset={offset}, limit={limit} fit",
            gone="({gone} more are archived in files that are gone or cannot be read)",
            note="Where step clearing is on, what you fetch is visible to the very next step only: use it at once; to "
            "sum up several steps, fetch the turn once just before.",
        ),
    }
)
