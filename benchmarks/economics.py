"""The tables of docs/economics.md, from real sessions: python benchmarks/economics.py DATA

DATA is a folder of transcripts, one folder a format. Every table between two marks in the page is written anew; what
was written by hand stays.
"""

import json
import re
import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path

from refold.events import (
    AssistantMessage,
    Event,
    RefoldError,
    StepEnd,
    StepStart,
    Text,
    ToolCall,
    ToolResult,
    ToolUse,
    TurnStart,
)
from refold.events.formats import Source, read
from refold.lab.calls import calls
from refold.lab.compare import Compared, Contender, compare, debt_for
from refold.lab.hindsight import best_subset, chances, hindsight
from refold.lab.ledger import Ledger, Prices, Rules, charged
from refold.lab.peers import PEERS, swe_agent
from refold.lab.prediction import Predicted, predictions
from refold.lab.prices import rules_for
from refold.lab.providers import IDEAL, RULES
from refold.lab.regret import SIGNALS, Cut, Need, Record, said
from refold.lab.remembered import METER
from refold.lab.sizes import Sizes, fitted
from refold.lab.totals import Row, rows
from refold.reducer import Part, Policy, Reducer
from refold.reducer.how import HeadTail
from refold.reducer.presets import keep3, none

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "economics.md"
LABELS = ROOT / "tests" / "data" / "regret" / "labels.json"
LEAST_CALLS = 20
PRICES = (Prices(100, 1250), Prices(25, 1250))

Named = tuple[str, str, tuple[Event, ...]]


def fixed(policy: Policy) -> Callable[[Prices, Rules], Policy]:
    return lambda prices, rules: policy


def ends(head: int, tail: int) -> Callable[[Prices, Rules], Policy]:
    """`debt` with head and tail in place of the summary."""

    def make(prices: Prices, rules: Rules) -> Policy:
        part = debt_for(prices, rules).parts[0]
        return Policy("debt", (Part("debt", part.when, part.which, part.ripe, HeadTail(head, tail)),))

    return make


CONTENDERS = (
    Contender("none", fixed(none())),
    Contender("debt", debt_for),
    Contender("debt, head 1,000 and tail 250", ends(1000, 250)),
    Contender("debt, head 4,096 and tail 1,024", ends(4096, 1024)),
    Contender("keep3", fixed(keep3())),
    *(Contender(name, fixed(make())) for name, make in PEERS.items()),
    Contender("swe-agent:polling=25", fixed(swe_agent(polling=25))),
)


def sessions(data: Path) -> Iterator[Named]:
    """Format, name and events of every session that can be read."""
    for path in sorted(path for path in data.rglob("*") if path.is_file()):
        folder = path.relative_to(data).parts[0]
        try:
            found = read(Source(path.read_bytes(), path.name))
        except RefoldError:
            continue
        for session in found:
            name = path.stem if len(found) == 1 else f"{path.stem}#{session.id}"
            yield folder, name, session.events


def rules_of(folder: str, events: Sequence[Event]) -> Rules:
    model = next((event.model for event in events if isinstance(event, AssistantMessage) and event.model), "")
    return RULES["kimi"] if folder == "kimi_cli" else rules_for(model)


def predicted(found: Sequence[Named]) -> str:
    errors: dict[str, list[int]] = {}
    for folder, _, events in found:
        rules = rules_of(folder, events)
        provider = re.split("-", rules.name)[0]
        errors.setdefault(provider, []).extend(abs(each.error) for each in predictions(events, rules))
    lines = ["| provider | calls | median error | within 256 | worst |", "|---|---|---|---|---|"]
    for provider, each in sorted(errors.items(), key=lambda item: -len(item[1])):
        if each:
            close = sum(error <= 256 for error in each)
            lines.append(f"| {provider} | {len(each)} | {statistics.median(each):,.0f} | {close} | {max(each):,} |")
    return "\n".join(lines)


def outliers(found: Sequence[Named]) -> str:
    """Errors over 256 tokens, by what the log says of them, and the largest of each kind."""
    kinds: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for folder, name, events in found:
        rules = rules_of(folder, events)
        for each in predictions(events, rules):
            if abs(each.error) > 256:
                where = f"{name.partition('#')[0]}, turn {each.turn} step {each.step}"
                provider = rules.name.partition("-")[0]
                kinds.setdefault((provider, _kind(each, rules)), []).append((each.error, where))
    made = ["| provider | what the log says | calls | largest error | where |", "|---|---|---|---|---|"]
    for (provider, kind), errors in sorted(kinds.items(), key=lambda item: (item[0][0], -len(item[1]))):
        worst, where = max(errors, key=lambda error: abs(error[0]))
        made.append(f"| {provider} | {kind} | {len(errors)} | {worst:+,} | {where} |")
    return "\n".join(made)


def _kind(each: Predicted, rules: Rules) -> str:
    if each.changed:
        return (
            "the prompt had changed; less was kept than it seems"
            if each.error > 0
            else "the prompt had changed; more was kept"
        )
    if each.error > 0:
        return "nothing changed, and the provider read less all the same"
    if rules.seconds is not None and each.idle > rules.seconds:
        return "idle beyond the documented life, and still held"
    return "more was held than this session had sent"


def compared(found: Sequence[Named], prices: Prices) -> list[tuple[str, Compared]]:
    results = []
    for folder, name, events in found:
        print(f"  {prices.read / 1000} {name}", file=sys.stderr, flush=True)
        results.append((folder, compare(name, events, CONTENDERS, prices, rules_of(folder, events))))
    return results


def table(lines: Sequence[Row]) -> str:
    head = "| policy | of none | worst | best | of hindsight | cuts | rewritten | needed again | its tokens |"
    made = [head, "|---" * 9 + "|"]
    for line in lines:
        best = "-" if line.hindsight_ratio is None else f"{line.hindsight_ratio:.3f}"
        made.append(
            f"| {line.policy} | {line.cost_ratio:.3f} | {line.worst_ratio:.3f} | {line.best_ratio:.3f} | {best} "
            f"| {line.cuts:,} | {line.rewritten_tokens:,} | {line.regret:,} | {line.regret_tokens:,} |"
        )
    return "\n".join(made)


def by_session(results: Sequence[tuple[str, Compared]]) -> str:
    made = ["| session | calls | rules | debt of none | hindsight of none | debt of hindsight |", "|---" * 6 + "|"]
    for _, each in results:
        debt = next(outcome for outcome in each.outcomes if outcome.policy == "debt")
        best = f"{each.hindsight / each.none:.3f}" if each.hindsight else "-"
        off = f"{debt.cost / each.hindsight:.3f}" if each.hindsight else "-"
        made.append(f"| {each.session} | {each.calls} | {each.rules} | {debt.cost / each.none:.3f} | {best} | {off} |")
    return "\n".join(made)


def subsets(found: Sequence[Named]) -> str:
    """What leaving a head of the queue whole would add, for the Claude Code sessions."""
    made = ["| read price | hindsight of none | best-subset of none |", "|---|---|---|"]
    for prices in PRICES:
        never = first = second = 0
        for folder, _, events in found:
            rules = rules_of(folder, events)
            base = calls(Reducer(none(), METER), events)
            sizes = fitted(base)
            ledger = Ledger(rules, sizes.shared)
            options = chances(Reducer(debt_for(prices, rules), METER, "what-if"), events)
            never += sum(map(prices.cost, charged(ledger, sizes.scaled(base))))
            first += hindsight(options, ledger, prices, sizes).cost
            second += best_subset(options, ledger, prices, sizes).cost
        made.append(f"| {prices.read / 1000} | {first / never:.4f} | {second / never:.4f} |")
    return "\n".join(made)


def heads() -> str:
    """One small old result before a long live stretch: what cutting it with the rest costs, and leaving it whole."""
    events = head_case()
    made = ["| schedule | cost in input tokens | of none |", "|---|---|---|"]
    prices = PRICES[0]
    ledger, sizes = Ledger(IDEAL), Sizes()
    reducer = Reducer(debt_for(prices, IDEAL), METER, "what-if")
    never = sum(map(prices.cost, charged(ledger, calls(Reducer(none(), METER), events))))
    options = chances(reducer, events)
    costs = {
        "never cutting": never,
        "debt": sum(map(prices.cost, charged(ledger, calls(reducer, events)))),
        "hindsight": hindsight(options, ledger, prices, sizes).cost,
        "best-subset": best_subset(options, ledger, prices, sizes).cost,
    }
    made += [f"| {name} | {cost // 1000:,} | {cost / never:.3f} |" for name, cost in costs.items()]
    return "\n".join(made)


def head_case(steps: int = 40, live: int = 100_000, dead: int = 2_400) -> tuple[Event, ...]:
    """A read of 200 tokens, then `live` tokens of a tool that is never cut, then reads of `dead` tokens a call."""
    events: list[Event] = [TurnStart(0, 0, 1)]
    for step in range(1, steps + 1):
        tool, tokens = ("read", 200) if step == 1 else ("write", live) if step == 2 else ("read", dead)
        seq = len(events)
        use = ToolUse(f"c{step}", tool, "{}")
        events += [
            StepStart(seq, 0, 1, step),
            AssistantMessage(seq + 1, 0, (use,), 1, step),
            ToolCall(seq + 2, 0, 1, step, use.id, tool, "{}"),
            ToolResult(seq + 3, 0, (Text(" word" * tokens),), 1, step, use.id, sources=(seq + 2,)),
            StepEnd(seq + 4, 0, 1, step),
        ]
    return tuple(events)


def signals(found: Sequence[Named]) -> str:
    """Precision and recall of each sign of regret on the cuts that were labelled by hand."""
    labels = json.loads(LABELS.read_text("utf-8"))
    events_of = {name: events for _, name, events in found}
    judged: list[tuple[bool, dict[str, Need | None]]] = []
    for name in sorted({label["session"] for label in labels}):
        stem = Path(name).stem
        events = next(events for session, events in events_of.items() if session.partition("#")[0] == stem)
        record = Record(events)
        for label in labels:
            if label["session"] == name:
                cut = labelled(events, label["result"], label["cut"])
                found_by = {sign: record.need(cut, (sign,)) for sign in SIGNALS}
                judged.append((label["needed"], {**found_by, "any": record.need(cut)}))
    made = ["| signal | found | right | missed | precision | recall |", "|---|---|---|---|---|---|"]
    for sign in (*SIGNALS, "any"):
        found_all = sum(bool(by[sign]) for _, by in judged)
        right = sum(needed and bool(by[sign]) for needed, by in judged)
        wanted = sum(needed for needed, _ in judged)
        precision = f"{right / found_all:.2f}" if found_all else "-"
        made.append(f"| {sign} | {found_all} | {right} | {wanted - right} | {precision} | {right / wanted:.2f} |")
    return "\n".join(made)


def labelled(events: Sequence[Event], result: int, call: int) -> Cut:
    """The cut that a label speaks of: the whole text of a result goes."""
    answer: AssistantMessage | None = None
    for event in events:
        if isinstance(event, AssistantMessage):
            answer = event
        if isinstance(event, ToolResult) and event.seq == result and answer is not None:
            uses = (block for block in answer.content if isinstance(block, ToolUse))
            use = next(block for block in uses if block.id == event.call_id)
            return Cut(result, call, use.name, use.arguments, said(event), 0)
    raise SystemExit(f"no result at seq {result}: the labels are of other sessions")


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    every = list(sessions(Path(sys.argv[1])))
    long = [each for each in every if sum(isinstance(event, StepStart) for event in each[2]) >= LEAST_CALLS]
    claude = [each for each in long if each[0] == "claude_code"]
    tables: dict[str, Callable[[], str]] = {
        "prediction": lambda: predicted(every),
        "outliers": lambda: outliers(every),
        "signals": lambda: signals(every),
        "head": heads,
        "best-subset": lambda: subsets(claude),
    }
    for prices in PRICES:
        results = cache(partial(compared, long, prices))
        name = f"{prices.read / 1000:g}"
        tables[f"claude {name}"] = partial(_claude, results)
        tables[f"all {name}"] = partial(_all, results)
        tables[f"sessions {name}"] = partial(_each, results)
    page = PAGE.read_text("utf-8")
    marks = {name: re.compile(rf"(<!-- table: {re.escape(name)} -->\n).*?(<!-- end -->)", re.DOTALL) for name in tables}
    missing = [name for name, mark in marks.items() if not mark.search(page)]
    if missing:
        raise SystemExit(f"{PAGE} has no place for the tables {', '.join(missing)}")
    made = {name: make() for name, make in tables.items()}
    page = PAGE.read_text("utf-8")  # again: it takes minutes, and the page may have changed
    for name, filled in made.items():
        page = marks[name].sub(partial(_filled, filled), page)
    PAGE.write_text(page, "utf-8")


Results = Callable[[], list[tuple[str, Compared]]]


def _claude(results: Results) -> str:
    return table(rows([each for folder, each in results() if folder == "claude_code"]))


def _all(results: Results) -> str:
    return table(rows([each for _, each in results()]))


def _each(results: Results) -> str:
    return by_session(results())


def _filled(made: str, place: re.Match[str]) -> str:
    return f"{place[1]}{made}\n{place[2]}"


if __name__ == "__main__":
    main()
