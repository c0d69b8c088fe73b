"""What a provider asks of reasoning that comes back to it: rules as data, one profile each.

Whatever the profile, a signed block is kept or dropped whole, and arguments stay JSON.
"""

from fnmatch import fnmatchcase
from typing import Literal

import msgspec


class Profile(msgspec.Struct, frozen=True, tag=True, forbid_unknown_fields=True):
    """`models` are globs of the models' names. `stub`: reasoning may not be missing, so what is emptied leaves `.`.

    `loop`: nothing inside the running tool loop is touched, and what changes before it changes where a loop starts.
    `bound`: a signed block is valid only behind the very prefix that it was written behind. Behind an edit it is
    dropped (`drop`), or the edit waits until no such block is behind it (`move`), or shaping is refused (`refuse`).
    """

    name: str
    models: tuple[str, ...] = ()
    stub: bool = False
    loop: bool = False
    bound: Literal["no", "drop", "move", "refuse"] = "no"


NONE = Profile("none")
ANTHROPIC_BOUND = Profile(
    "anthropic-bound",
    # Bound since Claude Fable 5.1 of September 2026: HTTP 400 on newer accounts, on every account since 5.2.
    ("claude-fable-5[.-][1-9]*", "claude-fable-[6-9]*", "claude-mythos-5[.-][2-9]*", "claude-mythos-[6-9]*"),
    loop=True,
    bound="drop",
)
ANTHROPIC = Profile("anthropic", ("claude-*",), loop=True)
DEEPSEEK = Profile("deepseek", ("deepseek-*",), stub=True, loop=True)  # 400 without reasoning_content in a tool loop
OPENAI = Profile("openai", ("gpt-*", "o[1-9]*", "codex-*"), loop=True)

PROFILES = (NONE, ANTHROPIC_BOUND, ANTHROPIC, DEEPSEEK, OPENAI)


def profile_for(model: str) -> Profile:
    """The first profile with a glob that fits the model's name, what stands before a slash aside; NONE for none."""
    name = model.rpartition("/")[2]
    return next((known for known in PROFILES if any(fnmatchcase(name, glob) for glob in known.models)), NONE)
