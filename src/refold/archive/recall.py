"""Recall: what `read_tool_result_log` finds for what a model asks.

Turn and step narrow it down; offset and limit count the lines of each result by itself (see `pages`). An offset "6:1"
means line 1 of the sixth result that matches, and of no other: what does not fit beside others can be read alone.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from refold.archive.pages import Page, lines_of, page
from refold.archive.shelf import Kept, Shelf
from refold.archive.texts import TEXTS, Texts
from refold.events import Text
from refold.reducer._receipt import Lang, size_of

NEWEST_LISTED = 40
TURNS_NAMED = 20
STEPS_NAMED = 50
FITTING = 36_000
"""UTF-8 bytes of text that an answer of 48,000 holds whatever stands around them."""


class Turn(msgspec.Struct, frozen=True):
    """What is kept of a turn: how many results, of how many steps."""

    turn: int
    results: int
    steps: int


class Found(msgspec.Struct, frozen=True):
    """A result that is recalled, or listed. `bytes` and `lines` are those of its whole text, `page` the part that was
    asked for, None in a listing; `limit` is what was asked for, `fits` how many lines from there an answer holds.
    `place` counts what matches, from 1; it is 0 where nothing else does."""

    kept: Kept
    bytes: int
    lines: int
    page: Page | None = None
    limit: int | None = None
    fits: int = 0
    place: int = 0

    @property
    def other_blocks(self) -> int:
        """How many blocks the result has that are no text."""
        return sum(not isinstance(block, Text) for block in self.kept.original.result.content)


class Answer(msgspec.Struct, frozen=True):
    """What was found. With an `error` nothing was. `gone` counts originals whose file is lost or cannot be
    read; `alone` says that one result was picked out of several."""

    query: str = ""
    error: str | None = None
    turns: tuple[Turn, ...] = ()
    found: tuple[Found, ...] = ()
    gone: int = 0
    alone: bool = False


LONGEST_NAME = 200
"""Code points of a name that a log or a model has given and an answer repeats."""
NAMED = 5


class _Wrong(Exception):
    """The arguments cannot be answered; the message says why, in the words of the answer."""


def recall(shelf: Shelf | None, asked: dict[str, Any], lang: Lang = "zh", listed: int | None = NEWEST_LISTED) -> Answer:
    """What `read_tool_result_log` finds for these arguments, whatever a model made of them. Raises nothing for them.

    A list of what there is names the newest `listed` results, None for all.
    """
    words = TEXTS[lang]
    try:
        unknown = sorted(set(asked) - {"turn", "step", "time", "offset", "limit"})
        if unknown:
            raise _Wrong(
                words.unknown_argument.format(names=words.comma.join(name[:LONGEST_NAME] for name in unknown[:NAMED]))
            )
        turn = _positive(asked.get("turn"), words.turn_not_positive)
        step = _positive(asked.get("step"), words.step_not_positive)
        only, offset = _offset(asked.get("offset"), words)
        limit = _positive(asked.get("limit"), words.limit_not_positive)
        if shelf is None:
            raise _Wrong(words.no_session)
        if turn is None and step is not None:
            raise _Wrong(words.step_without_turn.format())
        if turn is not None and asked.get("time") is not None:
            raise _Wrong(words.time_with_turn)
        if asked.get("time") is not None:
            turn = _turn_at(shelf, asked["time"], words)
        if turn is None:
            return _listing(shelf, listed, words)
        kept = _matching(shelf, turn, step, words)
        if only is not None and only > len(kept):
            raise _Wrong(words.no_place.format(place=only, results=len(kept)))
    except _Wrong as wrong:
        return Answer(error=str(wrong))
    query = (words.of_turn if step is None else words.of_step).format(turn=turn, step=step)
    wanted = [(place, one) for place, one in enumerate(kept, 1) if only in (None, place)]
    texts = [(place if len(kept) > 1 else 0, one, shelf.text(one)) for place, one in wanted]
    found = tuple(_found(one, text, offset, limit, place) for place, one, text in texts if text is not None)
    if not found:
        return Answer(error=words.no_turn.format(turn=turn, known=_known_turns(shelf, words)))
    return Answer(query, None, (), found, len(wanted) - len(found), alone=only is not None)


def _matching(shelf: Shelf, turn: int, step: int | None, words: Texts) -> list[Kept]:
    of_turn = [one for one in shelf.kept if one.turn == turn]
    if not of_turn:
        raise _Wrong(words.no_turn.format(turn=turn, known=_known_turns(shelf, words)))
    of_step = [one for one in of_turn if step in (None, one.step)]
    if not of_step:
        steps = sorted({one.step for one in of_turn})[-STEPS_NAMED:]
        raise _Wrong(words.no_step.format(turn=turn, step=step, known=words.comma.join(map(str, steps))))
    return of_step


def _listing(shelf: Shelf, listed: int | None, words: Texts) -> Answer:
    turns: dict[int, list[Kept]] = {}
    for one in shelf.kept:
        turns.setdefault(one.turn, []).append(one)
    counted = (Turn(turn, len(kept), len({one.step for one in kept})) for turn, kept in sorted(turns.items()))
    newest = tuple(_listed(one) for one in shelf.kept[-(listed or len(shelf.kept)) :])
    return Answer(words.listing, None, tuple(counted), newest)


def _listed(kept: Kept) -> Found:
    if kept.row:
        return Found(kept, kept.row.bytes, kept.row.lines)
    text = kept.original.text
    return Found(kept, size_of(text), len(lines_of(text)))


def _found(kept: Kept, text: str, offset: int, limit: int | None, place: int) -> Found:
    lines = lines_of(text)
    shown = page(lines, offset, limit)
    return Found(kept, size_of(text), len(lines), shown, limit, _fits(lines, offset), place)


def _fits(lines: list[str], offset: int) -> int:
    """How many lines from `offset` on a model can be given at once."""
    room, count = FITTING, 0
    for line in lines[offset - 1 :]:
        room -= size_of(line)
        if room < 0:
            break
        count += 1
    return count


def _turn_at(shelf: Shelf, time: Any, words: Texts) -> int:
    at = _milliseconds(time, words)
    spans: dict[int, list[int]] = {}
    for one in shelf.kept:
        spans.setdefault(one.turn, []).append(one.time)
    for turn, times in sorted(spans.items()):
        if min(times) <= at <= max(times):
            return turn
    raise _Wrong(words.no_time.format(time=_iso(at), known=_known_turns(shelf, words)))


def _known_turns(shelf: Shelf, words: Texts) -> str:
    turns = sorted({one.turn for one in shelf.kept})[-TURNS_NAMED:]
    return words.comma.join(f"turn {turn}" for turn in turns) or words.none


def _offset(value: Any, words: Texts) -> tuple[int | None, int]:
    """The one result that is meant, None for all, and the line. Raises _Wrong."""
    found = re.fullmatch(r"\s*([0-9]{1,18})\s*:\s*([0-9]{1,18})\s*", value) if isinstance(value, str) else None
    only, line = found.groups() if found else (None, value)
    wrong = words.offset_not_positive
    return _positive(only, wrong), _positive(line, wrong) or 1


def _positive(value: Any, wrong: str) -> int | None:
    """A whole number of at least 1, also where a model wrote it as text. Raises _Wrong."""
    if value is None:
        return None
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,18}", value.strip()):
        value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise _Wrong(wrong)
    return value


def _milliseconds(time: Any, words: Texts) -> int:
    text = str(time).strip() if isinstance(time, str | int) and not isinstance(time, bool) else ""
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise _Wrong(words.bad_time.format(time=str(time)[:60])) from None
    zoned = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (zoned - _EPOCH) // timedelta(milliseconds=1)


def _iso(milliseconds: int) -> str:
    try:
        moment = _EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return str(milliseconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
