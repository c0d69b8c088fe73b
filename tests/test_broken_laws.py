"""A law that is broken on purpose is caught: for each law a wrong member, or a reducer with one thing wrong in it."""

from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

import msgspec
import pytest

from refold.events import Block, Text
from refold.law_names import LAW_NAMES
from refold.laws import LawBroken, checking, holds
from refold.reducer import Operation, Part, Policy, _dump, _plan, _queue, _rules
from refold.reducer._view import Node
from refold.reducer.how import HeadTail, Placeholder
from refold.reducer.presets import keep3
from refold.reducer.ripe import KeepLast, Now, Views
from refold.reducer.when import ALL, Always, Facts, Latch
from refold.reducer.which import Which

Break = Callable[[pytest.MonkeyPatch], Policy]

GATED = keep3(gate=2000, keep=2, threshold=120, head=40, tail=20)
BREAKS: list[tuple[str, Break]] = []


def breaks(law: str) -> Callable[[Break], Break]:
    def add(way: Break) -> Break:
        BREAKS.append((law, way))
        return way

    return add


RIGHT = Part("broken", Always(), Which(("*",), over_chars=80), Views(1), HeadTail(20, 10))


def policy(**wrong: Any) -> Policy:
    """A sound policy but for what is given."""
    return Policy("broken", (msgspec.structs.replace(RIGHT, **wrong),))


class _Member(msgspec.Struct, frozen=True):
    pass


class Halve(_Member, frozen=True):
    """Half of it, however often it is asked."""

    def content(self, node: Node) -> tuple[Block, ...] | None:
        text = "".join(block.text for block in node.content if isinstance(block, Text))
        return (Text(text[: len(text) // 2]),)


class Numbers(_Member, frozen=True):
    """Quotes how often it was asked."""

    asked: ClassVar[Any] = count()

    def content(self, node: Node) -> tuple[Block, ...] | None:
        return (Text(f"[{next(self.asked)}]"),)


@breaks("pure")
def content_that_quotes_how_often_it_was_asked_for(patch: pytest.MonkeyPatch) -> Policy:
    return policy(how=Numbers())


@breaks("replay")
def dump_that_forgets_the_calls_that_wait(patch: pytest.MonkeyPatch) -> Policy:
    plain = _dump._plain
    patch.setattr(_dump, "_plain", lambda struct: plain(struct) | ({"calls": ()} if hasattr(struct, "calls") else {}))
    return GATED


class OpensInProcess(Always, frozen=True):
    """A latch that lives in the process, as the plugin behind keep3 had it."""

    asked: ClassVar[Any] = count()

    def quota(self, facts: Facts) -> int:
        return ALL if next(self.asked) > 20 else 0


@breaks("resume")
def latch_that_lives_in_the_process(patch: pytest.MonkeyPatch) -> Policy:
    OpensInProcess.asked = count()
    return policy(when=OpensInProcess())


@breaks("idempotent")
def own_cuts_taken_for_rewrites_by_others(patch: pytest.MonkeyPatch) -> Policy:
    patch.setattr(_rules, "_own_hand", lambda *_: -1)
    return policy(ripe=Now(), how=Halve())


class QuotesSeq(_Member, frozen=True):
    def content(self, node: Node) -> tuple[Block, ...] | None:
        return (Text(f"[cut {node.seq}]"),)


@breaks("commit = derive")
def content_that_quotes_its_seq(patch: pytest.MonkeyPatch) -> Policy:
    return policy(how=QuotesSeq())


class LeakyLatch(Latch, frozen=True):
    def quota(self, facts: Facts) -> int:
        return ALL

    def admits(self, part: object) -> bool:
        return True


@breaks("append-only")
def latch_that_lets_everything_through(patch: pytest.MonkeyPatch) -> Policy:
    return policy(when=LeakyLatch(2000))


@breaks("local")
def operation_that_claims_to_keep_more_than_it_does(patch: pytest.MonkeyPatch) -> Policy:
    patch.setattr(_plan, "_cut_at", lambda before, after: 60)
    return policy()


class Upper(HeadTail, frozen=True):
    """Touches the head, which a cache would have kept."""

    def content(self, node: Node) -> tuple[Block, ...] | None:
        cut = super().content(node)
        return cut and (Text(" "), *cut)


@breaks("local")
def head_that_is_moved_by_a_blank(patch: pytest.MonkeyPatch) -> Policy:
    patch.setattr(_plan, "_cut_at", lambda before, after: 20)
    return policy(how=Upper(20, 10))


@breaks("frozen")
def freezing_by_seq_so_that_a_rewrite_thaws(patch: pytest.MonkeyPatch) -> Policy:
    patch.setattr(_queue, "is_frozen", lambda part, node: part.latch is not None and node.seq <= part.latch.seq)
    return GATED


@breaks("once")
def own_cuts_cut_again(patch: pytest.MonkeyPatch) -> Policy:
    patch.setattr(_rules, "_own_hand", lambda *_: -1)
    return policy(how=Halve())


@breaks("shrink")
def line_that_is_longer_than_what_it_replaces(patch: pytest.MonkeyPatch) -> Policy:
    return policy(which=Which(("*",)), how=Placeholder("cleared " * 20), grow=True)


class OneLater(Views, frozen=True):
    def reached(self, advances: tuple[int, ...]) -> bool:
        return advances[0] > self.n


@breaks("exact views")
def views_that_count_one_more(patch: pytest.MonkeyPatch) -> Policy:
    return policy(ripe=OneLater(1))


class TextAlone(HeadTail, frozen=True):
    def content(self, node: Node) -> tuple[Block, ...] | None:
        cut = super().content(node)
        return cut and tuple(block for block in cut if isinstance(block, Text))


@breaks("paired")
def head_and_tail_that_lose_images(patch: pytest.MonkeyPatch) -> Policy:
    return policy(how=TextAlone(20, 10))


@breaks("paired")
def derived_cuts_that_lose_the_error_flag(patch: pytest.MonkeyPatch) -> Policy:
    shown = _rules._with_content
    patch.setattr(_rules, "_with_content", lambda *seen: msgspec.structs.replace(shown(*seen), is_error=False))
    return policy(which=Which(("*",), over_chars=80, errors=True))


@breaks("kept")
def operation_that_does_not_tell_what_it_replaces(patch: pytest.MonkeyPatch) -> Policy:
    made = _plan._operation

    def emptied(*facts: Any) -> Operation:
        operation = made(*facts)
        return msgspec.structs.replace(operation, before=msgspec.structs.replace(operation.before, content=()))

    patch.setattr(_plan, "_operation", emptied)
    return policy()


class Flickers(Views, frozen=True):
    """Ripe at one moment and not at the next: the newest token budget, counted from what is present, does so."""

    def reached(self, advances: tuple[int, ...]) -> bool:
        return advances[0] == self.n


@breaks("prefix")
def ripeness_that_passes(patch: pytest.MonkeyPatch) -> Policy:
    return policy(when=Latch(2000), ripe=Flickers(1))


@breaks("sums")
def nodes_that_leave_without_being_subtracted(patch: pytest.MonkeyPatch) -> Policy:
    patch.setattr(_queue, "leave", lambda state, node: None)
    return GATED


@breaks("order")
def counting_results_without_declaring_it(patch: pytest.MonkeyPatch) -> Policy:
    return policy(ripe=KeepLast(1))


class SplitsPairs(HeadTail, frozen=True):
    """Cuts between UTF-16 units, as JavaScript's slice does."""

    def content(self, node: Node) -> tuple[Block, ...] | None:
        text = "".join(block.text for block in node.content if isinstance(block, Text))
        units = text.encode("utf-16-le", "surrogatepass")
        return (Text(units[:42].decode("utf-16-le", "surrogatepass")),) if len(units) > 42 else None


@breaks("text")
def cut_between_the_halves_of_an_emoji(patch: pytest.MonkeyPatch) -> Policy:
    return policy(how=SplitsPairs(21, 0))


@pytest.mark.parametrize(("law", "way"), BREAKS, ids=lambda named: getattr(named, "__name__", named))
def test_the_law_is_broken_and_the_check_says_so(law: str, way: Break, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checking, "SHRINKS", 10)
    broken = way(monkeypatch)

    with pytest.raises(LawBroken) as caught:
        holds(law, broken, sessions=100, seed=1)

    assert caught.value.law == law
    assert str(caught.value).startswith(f"{law}: ")
    assert caught.value.script is not None


def test_every_law_is_broken_here_by_something() -> None:
    assert {law for law, _ in BREAKS} == set(LAW_NAMES)
