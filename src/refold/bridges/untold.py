"""Policies and meters that need to know what a host's messages do not tell."""

from refold.events import PolicyError
from refold.reducer import Meter, Policy, Reported, when


def check(policy: Policy, meter: Meter, tells: frozenset[str] = frozenset()) -> None:
    """Raises PolicyError where they need more than the messages tell: of `usage` and `times`, what `tells` names."""
    if isinstance(meter, Reported) and "usage" not in tells:
        raise PolicyError("Reported needs the usage of each answer, which no message list tells", field="meter")
    for part in policy.parts:
        members = [part.when]
        for member in members:
            members += getattr(member, "parts", ())
            wanted = _missing(member, tells)
            if wanted:
                raise PolicyError(
                    f"{type(member).__name__} needs {wanted}, which no message list tells; fold the session's events "
                    "instead",
                    field=f"{part.name}.when",
                )


def _missing(member: object, tells: frozenset[str]) -> str:
    """What a member cannot do without and a list does not hold, "" for nothing."""
    match member:
        case when.Idle() if "times" not in tells:
            return "event times"
        case when.Debt(idle_seconds=seconds) if seconds and "times" not in tells:
            return "event times (it does without them with idle_seconds=0)"
        case when.Pressure():
            return "the model's context window"
        case when.OnOverflow():
            return "the provider's refusals"
    return ""
