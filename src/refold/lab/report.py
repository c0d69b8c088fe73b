"""`--html`: a comparison as one page that needs no network, for dark and for light screens."""

import html
import json
from collections.abc import Sequence
from typing import Any

from refold.lab._page import PAGE
from refold.lab.compare import Compared, Outcome
from refold.lab.totals import Row


def report(sessions: Sequence[Compared], lines: Sequence[Row]) -> str:
    """The page: the table, cost against regret, and for each session and policy its calls and cuts over time."""
    data = json.dumps([_session(each) for each in sessions], ensure_ascii=True, separators=(",", ":"))
    return (
        PAGE.replace("@TITLE@", _title(sessions))
        .replace("@ROWS@", "\n".join(_row(line) for line in lines))
        .replace("@PLOT@", _plot(lines))
        .replace("@DATA@", data.replace("<", "\\u003c"))
    )


def _title(sessions: Sequence[Compared]) -> str:
    calls = sum(each.calls for each in sessions)
    return f"{len(sessions)} session{'s' * (len(sessions) != 1)}, {calls:,} calls"


def _row(line: Row) -> str:
    hindsight = "-" if line.hindsight_ratio is None else f"{line.hindsight_ratio:.3f}"
    cells = (
        f"{line.cost_ratio:.3f}",
        hindsight,
        f"{line.worst_ratio:.3f}",
        f"{line.best_ratio:.3f}",
        f"{line.cuts:,}",
        f"{line.sent_tokens:,}",
        f"{line.read_tokens:,}",
        f"{line.rewritten_tokens:,}",
        f"{line.regret:,}",
        f"{line.regret_tokens:,}",
    )
    return f"<tr><th scope=row>{html.escape(line.policy)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


WIDE, HIGH, LEFT, LOW = 900, 340, 52, 40


def _plot(lines: Sequence[Row]) -> str:
    """Cost against the number of cuts needed again: best is at the left and low."""
    most = max((line.regret for line in lines), default=0) or 1
    top = max((line.cost_ratio for line in lines), default=1.0)
    top, bottom = max(1.1, top) * 1.05, min((line.cost_ratio for line in lines), default=0.0) * 0.9

    def down(cost: float) -> float:
        return round((HIGH - LOW) * (top - cost) / (top - bottom), 1)

    def across(regret: float) -> float:
        return round(LEFT + (WIDE - LEFT - 120) * regret / most, 1)

    parts = [f'<line class=grid x1={LEFT} x2={WIDE} y1="{down(1)}" y2="{down(1)}"/>']
    parts.append(f'<text class=axis x={LEFT - 6} y="{down(1) + 4}" text-anchor=end>1.00</text>')
    for cost in (top / 1.05, bottom / 0.9):
        parts.append(f'<text class=axis x={LEFT - 6} y="{down(cost) + 4}" text-anchor=end>{cost:.2f}</text>')
    for regret in (0, most):
        parts.append(f'<text class=axis x="{across(regret)}" y="{HIGH - 22}" text-anchor=middle>{regret}</text>')
    parts.append(f'<text class=axis x="{WIDE // 2}" y="{HIGH - 5}" text-anchor=middle>cuts needed again</text>')
    points: dict[tuple[float, float], list[str]] = {}
    for line in lines:
        points.setdefault((across(line.regret), down(line.cost_ratio)), []).append(html.escape(line.policy))
    taken: list[tuple[float, float, int]] = [(x - 6, y, 12) for x, y in points]
    for (x, y), names in sorted(points.items(), key=lambda point: point[0][1]):
        wide = 7 * len(", ".join(names))
        steps = (0, 14, -14, 28, -28, *range(42, 500, 14))
        label = next(y + step for step in steps if _is_free(x + 9, y + step, wide, taken))
        taken.append((x + 9, label, wide))
        parts.append(f'<circle class=dot cx="{x}" cy="{y}" r=5><title>{", ".join(names)}</title></circle>')
        parts.append(f'<text class=name x="{x + 9}" y="{round(label + 4, 1)}">{", ".join(names)}</text>')
    return f'<svg viewBox="0 0 {WIDE} {HIGH}" role=img aria-label="Cost against regret">{"".join(parts)}</svg>'


def _is_free(x: float, y: float, wide: int, taken: Sequence[tuple[float, float, int]]) -> bool:
    return not any(abs(y - other) < 13 and x < at + far and at < x + wide for at, other, far in taken)


def _session(each: Compared) -> dict[str, Any]:
    ratios = (outcome.cost / each.none if each.none else 1.0 for outcome in each.outcomes)
    return {
        "name": each.session,
        "model": each.model,
        "rules": each.rules,
        "policies": [_outcome(outcome, ratio) for outcome, ratio in zip(each.outcomes, ratios, strict=True)],
    }


def _outcome(outcome: Outcome, ratio: float) -> dict[str, Any]:
    return {
        "name": outcome.policy,
        "ratio": round(ratio, 4),
        "beats": [[beat.turn, beat.step, beat.prompt, beat.read, beat.rewritten, beat.cuts] for beat in outcome.beats],
        "needs": [
            [need.cut.result, need.cut.tool, need.answer, need.signal, need.shown, need.cut.freed]
            for need in outcome.needs
        ],
    }
