"""What must hold for every policy: strategies for sessions, one check for each law, and `check` for all of them."""

try:
    import hypothesis as _hypothesis  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "refold.laws makes up its sessions with hypothesis, which is not installed: pip install 'refold[laws]'",
        name=missing.name,
    ) from None

from refold.laws.case import Case, LawBroken
from refold.laws.checking import LAWS, Report, check, holds
from refold.laws.live import Host, play
from refold.laws.run import Beat, Run, Sent
from refold.laws.script import Script
from refold.laws.sessions import acts, scripts, sessions

__all__ = [
    "LAWS",
    "Beat",
    "Case",
    "Host",
    "LawBroken",
    "Report",
    "Run",
    "Script",
    "Sent",
    "acts",
    "check",
    "holds",
    "play",
    "scripts",
    "sessions",
]
