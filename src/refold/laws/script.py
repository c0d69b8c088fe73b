"""A scripted session: what a user, a model, tools and other plugins do, without the seqs a log gives it.

The same script can be played by hosts that use refold differently (`refold.laws.live`). Places are named by position
on the surface, which every host agrees on, and counted round: the 7th of 5 results is the 2nd, and number -1 the last.
Texts are named by the unit they repeat, so that a script stays short to read however long its texts are.
"""

from functools import lru_cache

from msgspec import Struct

from refold.events import Block, Opaque, Text


class Words(Struct, frozen=True):
    """A text of `points` code points: the unit over and over."""

    unit: str
    points: int


Piece = Words | Opaque


@lru_cache(maxsize=512)
def repeated(unit: str, points: int) -> str:
    return (unit * (points // len(unit) + 1))[:points]


def blocks(pieces: tuple[Piece, ...]) -> tuple[Block, ...]:
    return tuple(Text(repeated(piece.unit, piece.points)) if isinstance(piece, Words) else piece for piece in pieces)


class Call(Struct, frozen=True):
    """A tool call and what comes of it. Without `started` the tool never ran: an error, with no tool/call event."""

    tool: str
    id: str = "call"
    result: tuple[Piece, ...] = ()
    is_error: bool = False
    started: bool = True


class Rewrite(Struct, frozen=True):
    """Someone else gives the result at this position other content."""

    at: int
    pieces: tuple[Piece, ...]


class Compact(Struct, frozen=True):
    """A summary takes the place of `count` groups (a message with the results that follow it), from group `at` on."""

    at: int
    count: int


class Retry(Struct, frozen=True):
    """A request that failed after the model had said something: nobody cites what it streamed."""

    said: Words


class Overrun(Struct, frozen=True):
    """A request that was refused as too long; then others act, then it is sent again, all in one step."""

    acts: tuple[Rewrite | Compact, ...] = ()


class Ask(Struct, frozen=True):
    """A user says something; a turn starts where none is open."""

    pieces: tuple[Piece, ...] = (Words("go ", 3),)


class Step(Struct, frozen=True):
    """One model call and its tools. A step without calls is a final answer and ends its turn.

    `aim` is what the provider shall report for this prompt, None for no report: see `refold.laws.provider.Provider`.
    `together`: every tool/call is logged before the first result. `dies`: the harness dies before the result of that
    number; on the next act it is started again and closes what stood open.
    """

    said: tuple[Piece, ...] = ()
    calls: tuple[Call, ...] = ()
    aim: int | None = None
    failures: tuple[Retry | Overrun, ...] = ()
    together: bool = True
    interrupted: bool = False
    dies: int | None = None


class EndTurn(Struct, frozen=True):
    reason: str = "aborted"


class Blocked(Struct, frozen=True):
    """A turn that a hook refuses in its first pre-step, after refold was asked."""


class Resume(Struct, frozen=True):
    """The harness is started again from its log, as the same session or as a fork of it."""

    fork: bool = False


class Rewind(Struct, frozen=True):
    """The user takes back everything behind group `at`; between turns only."""

    at: int


class Header(Struct, frozen=True):
    """The next request has another system text, or other tools."""

    system: str
    tools: str = ""


class Window(Struct, frozen=True):
    """The model's context window, in tokens."""

    tokens: int


class Note(Struct, frozen=True):
    """An event that concerns nobody here."""


class Pause(Struct, frozen=True):
    """Time passes, or is set back, and an event that concerns nobody here shows it."""

    ms: int


class Restart(Struct, frozen=True):
    """refold's own process starts again: from the log, or from a view put aside. The log tells nothing of it."""

    from_dump: bool = False


Act = Ask | Step | EndTurn | Blocked | Rewrite | Compact | Resume | Rewind | Header | Window | Note | Pause | Restart


class Script(Struct, frozen=True):
    """`version` is the log's format: before 3 the system text stands in the header, before 2 chunks are logged."""

    version: int = 4
    timed: bool = True
    system: str = "Be brief."
    acts: tuple[Act, ...] = ()
