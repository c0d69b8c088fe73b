"""Prompts that shrank without a record: harnesses prune on their own and do not always write it down."""

from refold.events._events import AssistantMessage, EndSeed, Event, SurfaceEvent, SurfaceRewind

LEAST_TOKENS = 2000  # smaller falls are reasoning that is not sent again, and other tokenizers
SHARE = 0.8


def falls(events: list[Event]) -> list[str]:
    """A note for each call whose reported prompt is much smaller than the one before, with no reset between them."""
    notes: list[str] = []
    before, told = 0, False
    for event in events:
        if isinstance(event, AssistantMessage):
            if event.usage is None:
                continue
            prompt = event.usage.total - event.usage.output_tokens
            if not told and prompt < before * SHARE and before - prompt > LEAST_TOKENS:
                notes.append(
                    f"turn {event.turn} step {event.step}: the reported prompt fell from {before} to {prompt} tokens, "
                    "and no record says why"
                )
            before, told = prompt, False
        elif isinstance(event, EndSeed | SurfaceRewind) or (isinstance(event, SurfaceEvent) and _replaces(event)):
            told = True
    return notes


def _replaces(event: SurfaceEvent) -> bool:
    return getattr(event, "replaces", None) is not None
