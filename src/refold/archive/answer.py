"""An answer as text: for a model within its budget, for a person whole."""

from refold.archive.recall import LONGEST_NAME, TURNS_NAMED, Answer, Found
from refold.archive.texts import TEXTS, Texts
from refold.reducer._receipt import UNKNOWN_TOOL, Lang, size_of

BUDGET = 48_000
"""UTF-8 bytes of an answer to a model; harnesses cut tool results that are longer."""
_FRAME = 5_000  # what is said before and after the entries
_SKIPPED_NAMED = 10


def rendered(answer: Answer, lang: Lang = "zh", budget: int | None = BUDGET) -> str:
    """The answer as text: for a model of at most `budget` bytes, entries that do not fit being named instead; for a
    person, `budget` None, all of it."""
    words = TEXTS[lang]
    if answer.error is not None:
        return words.error.format(error=answer.error)
    parts = [words.query.format(query=answer.query), *_turns(answer, budget, words)]
    room = None if budget is None else budget - _FRAME - sum(map(size_of, parts))
    skipped = []
    for found in answer.found:
        entry = _entry(found, answer.alone, words)
        if room is not None and size_of(entry) + 2 > room:
            skipped.append(found)
            continue
        parts.append(entry)
        room = None if room is None else room - size_of(entry) - 2
    return "\n\n".join((*parts, *_ending(answer, skipped, budget, words)))


def _turns(answer: Answer, budget: int | None, words: Texts) -> list[str]:
    if not answer.turns:
        return []
    counted = [words.turn_count.format(turn=one.turn, results=one.results, steps=one.steps) for one in answer.turns]
    if budget is not None and len(counted) > TURNS_NAMED:
        counted = ["…", *counted[-TURNS_NAMED:]]
    return [words.archived.format(turns=words.comma.join(counted))]


def _entry(found: Found, alone: bool, words: Texts) -> str:
    kept, page = found.kept, found.page
    head = words.head.format(turn=kept.turn, step=kept.step, what=_what(found))
    path = words.path.format(file=kept.row.file) if kept.row else ""
    others = words.other_blocks.format(blocks=found.other_blocks) if found.other_blocks else ""
    if page is None:
        size = words.listed_size.format(size=found.bytes, total=found.lines)
        return f"{head}{size}{path}{words.head_end}\n{words.listed_note}"
    window = words.window.format(first=page.first, last=page.last, total=page.total, size=found.bytes)
    if page.last < page.first:
        return f"{head}{others}{path}{words.head_end}\n{words.beyond.format(offset=page.first, total=page.total)}"
    more = ""
    if page.last < page.total:
        limit = f", limit={found.limit}" if found.limit else ""
        offset = _offset(found, page.last + 1, alone)
        more = words.more.format(rest=page.total - page.last, offset=offset, limit=limit)
    return f"{head}{window}{others}{path}{words.head_end}\n{page.text}{more}"


def _ending(answer: Answer, skipped: list[Found], budget: int | None, words: Texts) -> list[str]:
    shown = len(answer.found) - len(skipped)
    lines = []
    if not answer.found and not answer.turns:
        lines += [words.no_match, words.empty]
    if shown and not answer.turns:
        lines.append(words.shown.format(results=len(answer.found), shown=shown))
    if skipped:
        named = [_fitting(found, words) for found in skipped[:_SKIPPED_NAMED] if found.page]
        lines.append("\n".join((words.skipped.format(skipped=len(skipped), budget=budget), *named)))
    if answer.gone:
        lines.append(words.gone.format(gone=answer.gone))
    if budget and any(found.page and not found.kept.row for found in answer.found):
        lines.append(words.note)
    return lines


def _offset(found: Found, line: int, alone: bool) -> str:
    """The offset to ask for: of this result alone, or of each that matches."""
    return f'"{found.place}:{line}"' if alone and found.place else str(line)


def _fitting(found: Found, words: Texts) -> str:
    """With which offset and limit a result that was skipped is given."""
    assert found.page is not None
    where = {"turn": found.kept.turn, "step": found.kept.step, "what": _what(found)}
    offset, limit = _offset(found, found.page.first, True), max(1, found.fits)
    return words.skipped_one.format(**where, size=found.bytes, total=found.lines, offset=offset, limit=limit)


def _what(found: Found) -> str:
    tool = found.kept.original.origin.tool[:LONGEST_NAME] or UNKNOWN_TOOL
    return " · ".join(part for part in (tool, found.kept.hint) if part)
