"""The presets: known systems as a few lines of the algebra each."""

from collections.abc import Callable
from types import MappingProxyType

from refold.events import PolicyError
from refold.reducer._checks import texts, whole_number
from refold.reducer._policy import Part, Policy
from refold.reducer._receipt import Lang
from refold.reducer.how import MARKER, HeadTail, Placeholder, Receipt, Summary
from refold.reducer.ripe import AnyRipe, KeepSpans, Now, Turns, Unseen, Views
from refold.reducer.when import Always, Debt, Latch, Most, OnOverflow, Pressure
from refold.reducer.which import Admissible, Which

KEEP3_TOOLS = (
    "read",
    "glob",
    "grep",
    "bash",
    "web_search",
    "web_fetch",
    "mcp__browser-mcp__web_search",
    "mcp__browser-mcp__fetch_page",
)


READ_ONLY_TOOLS = (
    "[Rr]ead*",
    "[Gg]lob",
    "[Gg]rep",
    "[Ss]earch*",
    "LS",
    "ls",
    "list_*",
    "view",
    "bash",
    "Bash",
    "shell*",
    "exec_command",
    "[Ww]eb*",
    "*_search",
    "*_fetch",
    "mcp__browser-mcp__fetch_page",
)


def none() -> Policy:
    """Never cut anything."""
    return Policy("none")


def keep3(
    gate: int = 100_000,
    keep: int = 3,
    threshold: int = 8192,
    head: int = 4096,
    tail: int = 1024,
    tools: tuple[str, ...] = KEEP3_TOOLS,
) -> Policy:
    """The 8K gate: once `gate` tokens are measured, a large result is cut when the model has seen it `keep` times.

    A result is cut before its (keep+1)th sending to its first `head` and last `tail` code points if it arrived after
    the gate opened, its tool matches one of `tools`, it is no error, and it has more than `threshold` code points.
    Numbers: the dsh-feishu plugin, August 2026; transform: DSH's official pruner. Raises PolicyError.
    """
    whole_number("gate", gate, 0)
    whole_number("keep", keep, 1)
    how = _head_tail(threshold, head, tail)
    return Policy("keep3", (Part("keep3", Latch(gate), Which(tools, over_chars=threshold), Views(keep), how),))


def pruner(threshold: int = 8192, head: int = 4096, tail: int = 1024, ratio: int = 800) -> Policy:
    """DSH's official tool-result pruner, as its compaction-basic calls it: the whole surface, errors too.

    Every result over `threshold` code points is cut, seen or not, when the prompt measures floor(window x `ratio` /
    1000) tokens or more, or when the provider refused the open step's request as too long. Raises PolicyError.
    """
    which = Which(("*",), over_chars=threshold, errors=True)
    when = Most((Pressure(ratio), OnOverflow()))
    return Policy("pruner", (Part("pruner", when, which, Now(), _head_tail(threshold, head, tail)),))


def round_(lang: Lang = "zh", exact: bool = False) -> Policy:
    """Clear what earlier turns left: each original result becomes one line that names its turn and step.

    The line tells the model how to fetch the original back. A result that the line would not shrink stays; `exact`
    clears it as dsh-clear-tool-results 0.6 did.
    """
    which = Which(("*",), errors=True, originals=True)
    part = Part("round", Always(), which, Turns(1), Placeholder(_CLEARED[lang]), exact, _GROWS if exact else ())
    return Policy("round", (part,))


def overclock(lang: Lang = "zh", exact: bool = False) -> Policy:
    """Clear what earlier steps left: a result is seen by the one step after its own, and then becomes one line.

    The first result of a turn leaves a longer line, which explains the rule. Where a log has no step events this is
    `round`. `exact` as there.
    """
    which = Which(("*",), errors=True, originals=True)
    how = Placeholder(_CLEARED[lang], first=_CLEARED_FIRST[lang])
    ripe = AnyRipe((Views(1), Turns(1)))
    return Policy("overclock", (Part("overclock", Always(), which, ripe, how, exact, _GROWS if exact else ()),))


def admission(
    over_bytes: int = 1024, preview_bytes: int = 300, lang: Lang = "zh", root: str = "", cwd: str = "/"
) -> Policy:
    """Receipts: what `refold.archive.admit` would have logged, played on results that the model has not seen yet.

    A text of more than `over_bytes` UTF-8 bytes becomes a receipt that shows `preview_bytes` of it and names the file
    under `root` that holds it; what the model has been sent whole stays whole, so no prompt is ever rewritten. A
    receipt that is shorter, but would cost as many tokens, is not made. Numbers and rules: dsh-clear-tool-results 0.8.
    Raises PolicyError.
    """
    which, how = Admissible(over_bytes, cwd=cwd), Receipt(preview_bytes, lang, root)
    broken = (("order", "a receipt's file is numbered, and a file's first read is cut, as results arrive"),)
    return Policy("admission", (Part("admission", Always(), which, Unseen(), how, broken=broken),))


PRESERVED = ("spawn_subagent", "diagnose", "memo_*", "ask_user")


def microcompact(retain: int = 6, extra_pins: tuple[str, ...] = (), preserve: tuple[str, ...] = PRESERVED) -> Policy:
    """One-line summaries of what the newest `retain` spans and the running turn leave behind.

    A span is an assistant message with its results. Errors, results of the tools in `preserve`, results that answer no
    call, and what was done to pinned files (README*, go.mod, ... and `extra_pins`) stay, and so does what its summary
    would not shrink. This is what the plan behind NeoCode's micro-compact asked for. Raises PolicyError.
    """
    whole_number("retain", retain, 1)
    texts("extra_pins", extra_pins)
    pin_tools = (*_PIN_TOOLS, "copy_file", "move_file")
    which = Which(("?*",), preserve, pins=(*_PINS, *extra_pins), pin_tools=pin_tools, any_case=True)
    return Policy("microcompact", (_spans("microcompact", retain, which, Summary(_BY_TOOL), False),))


def microcompact_neocode(retain: int = 6, established: bool = True) -> Policy:
    """NeoCode's micro-compact as its code stands (a5b9f731), summaries that grow included.

    `retain` below 1 means 6, as there. Where the task is not `established` nothing is summarised. Its trim to the
    newest 24 spans takes whole messages away, which no log allows: see `refold.reducer.wire.NEOCODE_TRIM`. The
    protected tail is the running turn, where NeoCode's begins with the last user message, within a turn or without one.
    """
    deny = (*PRESERVED, "codebase_read")
    which = Which(("?*",), deny, pins=_PINS, pin_tools=_PIN_TOOLS, any_case=True, needs_id=True)
    part = _spans("microcompact-neocode", retain if retain >= 1 else 6, which, Summary(_BY_TOOL_NEOCODE), True)
    return Policy("microcompact-neocode", (part,) if established else ())


def _spans(name: str, retain: int, which: Which, how: Summary, grow: bool) -> Part:
    broken = (("shrink", "a summary may be longer than what it stands for, as in the original"),) if grow else ()
    return Part(name, Always(), which, KeepSpans(retain, settled=1), how, grow, broken)


def debt(
    read: int = 100, write: int = 1250, idle_seconds: int = 300, keep: int = 3, tools: tuple[str, ...] = READ_ONLY_TOOLS
) -> Policy:
    """Cut when it pays: results seen `keep` times wait until the rent of re-reading them reaches the price of a cut.

    Prices are per thousand of the input price. By default only results of tools that read and search are cut, to a
    line that says what ran and how much came back.
    """
    whole_number("keep", keep, 1)
    broken = (("order", "what stands behind the first candidate depends on which of a step's results came first"),)
    part = Part("debt", Debt(read, write, idle_seconds), Which(tools), Views(keep), Summary(_BY_TOOL), broken=broken)
    return Policy("debt", (part,))


_PINS = (
    "README*",
    "*.spec.*",
    "*.schema.*",
    "docker-compose*",
    "*migration*",
    "Makefile",
    "go.mod",
    "package.json",
)


_PIN_TOOLS = ("filesystem_write_file", "filesystem_edit", "filesystem_copy_file", "filesystem_move_file")


_BY_TOOL_NEOCODE = (
    ("bash", "bash-neocode"),
    ("filesystem_read_file", "read"),
    ("codebase_read", "read"),
    ("filesystem_write_file", "write"),
    ("filesystem_edit", "edit"),
    ("filesystem_grep", "grep"),
    ("filesystem_glob", "glob"),
    ("webfetch", "webfetch"),
)


_BY_TOOL = (
    ("bash", "bash"),
    *_BY_TOOL_NEOCODE[1:],
    ("read", "read-file"),
    ("spawn_subagent", "subagent"),
    ("diagnose", "diagnose"),
    ("memo_*", "memo"),
    ("todo_write", "fallback"),
)


_GROWS = (("shrink", "clears results that the line makes longer, as the original did"),)


_CLEARED = MappingProxyType(
    {
        "zh": "[第 {turn} 轮 第 {step} 步工具结果已清除归档，"
        "可用 read_tool_result_log(turn: {turn}, step: {step}) 读取]",
        "en": "[Tool result of turn {turn}, step {step} cleared and archived; "
        "read_tool_result_log(turn: {turn}, step: {step}) gives it back]",
    }
)


_CLEARED_FIRST = MappingProxyType(
    {
        "zh": "[第 {turn} 轮工具结果已清除归档。可见性规则（overclock）："
        "某一步的工具结果仅在紧随其后的下一步决策中可见，取回内容同样如此；"
        "确实需要精确原文时，请恰好在使用它的那一步之前用 read_tool_result_log(turn: {turn}, step: {step}) 取回；"
        "若总结需引用多步内容，可在总结前用 read_tool_result_log(turn: {turn}) 整轮取回一次。]",
        "en": "[Tool results of turn {turn} are cleared and archived. A step's results are visible to the one step "
        "that follows, and so is what you fetch back: when you need an exact text, call "
        "read_tool_result_log(turn: {turn}, step: {step}) just before the step that uses it; "
        "to sum up several steps, fetch the turn once with read_tool_result_log(turn: {turn}).]",
    }
)


def _head_tail(threshold: int, head: int, tail: int) -> HeadTail:
    how = HeadTail(head, tail)
    whole_number("threshold", threshold, 1)
    if threshold < how.kept:
        raise PolicyError(
            f"must be at least head + marker + tail = {head} + {len(MARKER)} + {tail} = {how.kept} code points, "
            f"got {threshold}",
            field="threshold",
        )
    return how


PRESETS: MappingProxyType[str, Callable[..., Policy]] = MappingProxyType(
    {
        "none": none,
        "keep3": keep3,
        "pruner": pruner,
        "round": round_,
        "overclock": overclock,
        "admission": admission,
        "microcompact": microcompact,
        "microcompact-neocode": microcompact_neocode,
        "debt": debt,
    }
)
