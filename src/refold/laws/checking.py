"""Checking a policy: every law on generated sessions, and for a law that breaks the smallest session that breaks it."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from types import MappingProxyType

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.errors import Flaky
from msgspec import Struct

from refold.law_names import LAW_NAMES
from refold.laws import books, fold, operations, prompts, tally
from refold.laws.case import Case, LawBroken
from refold.laws.script import Script
from refold.laws.sessions import drawn, scripts
from refold.reducer import Meter, Policy

Law = Callable[[Case], None]

LAWS: MappingProxyType[str, Law] = MappingProxyType(
    {
        "pure": fold.pure,
        "replay": fold.replay,
        "resume": fold.resume,
        "idempotent": operations.idempotent,
        "commit = derive": prompts.commit_is_derive,
        "append-only": prompts.append_only,
        "local": prompts.local,
        "frozen": operations.frozen,
        "once": operations.once,
        "shrink": operations.shrink,
        "exact views": operations.exact_views,
        "paired": prompts.paired,
        "kept": operations.kept,
        "prefix": books.prefix,
        "sums": books.sums,
        "order": fold.order,
        "text": prompts.text,
    }
)
"""Each law by its name: it takes a case, and raises LawBroken where the case breaks it."""

assert tuple(LAWS) == LAW_NAMES

SESSIONS = 40
SEARCHED = 10
"""How many times as many sessions are searched for one that breaks a law as declared."""
SHRINKS = 200
"""How many smaller sessions are tried once one has broken a law."""


class Report(Struct, frozen=True):
    """What `check` found. `laws` gives each law "ok", "broken as declared: why" or "failed: message".

    It has a further entry "vacuous" where the sessions did not put the laws to the test. `counts` is in how many of
    the `sessions` each case came up; `seed` repeats the run with the same versions of refold and Hypothesis.
    """

    policy: str
    seed: int
    sessions: int
    laws: dict[str, str]
    counts: dict[str, int]

    @property
    def ok(self) -> bool:
        return not any(answer.startswith("failed") for answer in self.laws.values())

    def __str__(self) -> str:
        lines = [f"{self.policy}: {self.sessions} sessions, seed {self.seed}"]
        lines += [f"  {law}: {answer}" for law, answer in self.laws.items()]
        lines += [f"  {count} sessions with {name}" for name, count in self.counts.items()]
        return "\n".join(lines)


def check(policy: Policy, *, meter: Meter | None = None, sessions: int = SESSIONS, seed: int | None = None) -> Report:
    """Check a policy against every law on generated sessions.

    `meter` None takes DSH's own, for the log format of each session. `seed` None takes a new one each time. A law that
    the policy declares broken has to be. Nothing is raised for a broken law: ask the report.
    """
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    broken: dict[str, str] = {}
    counts: Counter[str] = Counter(dict.fromkeys(tally.names(policy), 0))
    for script in drawn(policy, sessions, seed):
        case = Case(policy, script, meter)
        try:
            _ = case.logs
        except Exception as error:
            broken.update({law: str(_raised(law, case, error)) for law in LAW_NAMES if law not in broken})
            continue
        for law in LAW_NAMES:
            if law not in broken:
                try:
                    _obey(law, case)
                except LawBroken as found:
                    broken[law] = str(found)
        counts.update(tally.came_up(case))
    laws = {law: _answer(law, policy, meter, sessions, seed, broken) for law in LAW_NAMES}
    vacuous = _vacuous(policy, counts, sessions)
    if vacuous:
        laws["vacuous"] = f"failed: of {sessions} sessions {vacuous}"
    return Report(policy.name, seed, sessions, laws, dict(counts))


class _Enough(BaseException):
    """Ends a run of Hypothesis, which would go on shrinking for minutes; nothing below BaseException does."""


def holds(law: str, policy: Policy, *, meter: Meter | None = None, sessions: int = SESSIONS, seed: int = 0) -> None:
    """Check one law. Raises LawBroken with the smallest session found that breaks it."""
    found: list[LawBroken] = []
    tries = 0

    def look(script: Script) -> None:
        nonlocal tries
        tries += bool(found)
        if tries > SHRINKS:
            raise _Enough
        try:
            _obey(law, Case(policy, script, meter))
        except LawBroken as broken:
            found.append(broken)
            raise

    settings = hypothesis.settings(
        max_examples=sessions,
        phases=(Phase.generate, Phase.shrink),
        database=None,
        deadline=None,
        derandomize=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    try:
        hypothesis.seed(seed)(settings(hypothesis.given(scripts(policy))(look)))()
    except _Enough:
        raise found[-1] from None  # Hypothesis tries only what is smaller than the last that failed.
    except Flaky:
        reason = f"{found[0].reason}, but not when repeated: a member keeps state"
        raise LawBroken(law, reason, found[0].script) from None


def _obey(law: str, case: Case) -> None:
    try:
        LAWS[law](case)
    except LawBroken as broken:
        raise LawBroken(law, broken.reason, case.script) from None
    except Exception as error:
        raise _raised(law, case, error) from error


def _raised(law: str, case: Case, error: Exception) -> LawBroken:
    """A law in which anything else is raised is broken too."""
    return LawBroken(law, f"{type(error).__name__}: {error}", case.script)


def _answer(law: str, policy: Policy, meter: Meter | None, sessions: int, seed: int, broken: dict[str, str]) -> str:
    declared = policy.broken.get(law)
    if declared is not None:
        if law in broken or _breaks(law, policy, meter, drawn(policy, SEARCHED * sessions, seed + 1)):
            return f"broken as declared: {declared}"
        return f"failed: declared broken ({declared}), but held in every session"
    if law not in broken:
        return "ok"
    try:
        holds(law, policy, meter=meter, sessions=sessions, seed=seed)
    except LawBroken as smallest:
        return f"failed: {smallest}"
    return f"failed: {broken[law]}"


def _breaks(law: str, policy: Policy, meter: Meter | None, scripts: Iterator[Script]) -> bool:
    for script in scripts:
        try:
            _obey(law, Case(policy, script, meter))
        except LawBroken:
            return True
    return False


def _vacuous(policy: Policy, counts: Counter[str], sessions: int) -> str:
    missing = [f"none had {name}" for name in tally.names(policy) if not counts[name]]
    if policy.parts and 0 < 3 * counts["operations"] < sessions:
        missing.append(f"only {counts['operations']} had operations")
    return ", ".join(missing)
