"""From counted tokens to the provider's: no transcript holds all that was sent, and no vocabulary is right for all."""

from collections.abc import Sequence
from itertools import pairwise

import msgspec
from msgspec.structs import replace

from refold.lab.calls import Call


class Sizes(msgspec.Struct, frozen=True):
    """A prompt of t counted tokens has `head` + t x `per_mille` / 1000 of the provider's.

    `head` is what stands in no transcript, mostly the system prompt and the tools; `shared` of it are held by the
    provider's cache anyway, because other sessions send the same.
    """

    head: int = 0
    per_mille: int = 1000
    shared: int = 0

    def of(self, counted: int) -> int:
        return self.head + counted * self.per_mille // 1000

    def scaled(self, calls: Sequence[Call]) -> tuple[Call, ...]:
        """The calls in the provider's tokens."""
        return tuple(
            replace(
                call,
                prompt=self.of(call.prompt),
                answer=call.answer * self.per_mille // 1000,
                prefix=self.of(call.prefix),
                whole=self.of(call.whole),
                frame=self.of(call.frame),
                waiting=None if call.waiting is None else self.of(call.waiting),
            )
            for call in calls
        )


def reported(call: Call) -> int | None:
    """The prompt as its provider counted it, None where it reported nothing."""
    usage = call.usage
    return None if usage is None else usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens


def fitted(calls: Sequence[Call]) -> Sizes:
    """Sizes by what the provider reported of the calls as they really were; counted tokens as they are without.

    The scale is that of all the growth between one call and the next that both measures agree to call growth; the head
    is what the first reported prompt has beyond it, and `shared` what that one read from the cache.
    """
    known = [(call, tokens) for call in calls if (tokens := reported(call))]
    if not known:
        return Sizes()
    counted = real = 0
    for (one, before), (other, after) in pairwise(known):
        if other.prompt > one.prompt and after > before and other.model == one.model:
            counted += other.prompt - one.prompt
            real += after - before
    scale = real * 1000 // counted if counted else 1000
    first, tokens = known[0]
    usage = first.usage
    shared = usage.cache_read_tokens if usage is not None and first is calls[0] else 0
    return Sizes(max(0, tokens - first.prompt * scale // 1000), scale, shared)


def anchored(calls: Sequence[Call], sizes: Sizes) -> tuple[Call, ...]:
    """The calls in the provider's tokens: prompts and answers as it reported them, prefixes by what of them went."""
    found: list[Call] = []
    held = counted = 0
    for call, scaled in zip(calls, sizes.scaled(calls), strict=True):
        prompt = reported(call) or scaled.prompt
        answer = call.usage.output_tokens if call.usage is not None else scaled.answer
        gone = ((counted - head) * sizes.per_mille // 1000 for head in (call.prefix, call.whole))
        prefix, whole = (max(0, min(held - each, prompt)) for each in gone)
        found.append(replace(scaled, prompt=prompt, answer=answer, prefix=prefix, whole=whole))
        held, counted = prompt + answer, call.prompt + call.answer
    return tuple(found)
