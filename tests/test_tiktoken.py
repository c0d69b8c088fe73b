"""o200k_base without a network: the right vocabulary, the right counts, no text that hangs or crashes it."""

import base64
import hashlib
import re
import subprocess
import sys

import pytest

from refold.events import (
    AssistantMessage,
    Block,
    Opaque,
    PolicyError,
    Reasoning,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
)
from refold.reducer import _tiktoken
from refold.reducer._tiktoken import Tiktoken, count, encoding, vocabulary


def user(*content: Block) -> UserMessage:
    return UserMessage(seq=1, time=0, content=content)


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_vocabulary_is_the_one_that_openai_publishes() -> None:
    published = hashlib.sha256()
    for rank, token in enumerate(vocabulary()):
        published.update(base64.b64encode(token) + b" %d\n" % rank)
    # The hash that tiktoken demands of its own download: tiktoken_ext/openai_public.py.
    assert published.hexdigest() == "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def test_pattern_and_special_tokens_are_those_of_tiktoken(monkeypatch: pytest.MonkeyPatch) -> None:
    from tiktoken_ext import openai_public  # type: ignore[import-untyped]

    monkeypatch.setattr(openai_public, "load_tiktoken_bpe", lambda *_, **__: {})
    official = openai_public.o200k_base()
    assert encoding()._pat_str == official["pat_str"]
    assert encoding()._special_tokens == official["special_tokens"]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        # As OpenAI's cookbook prints them in "How to count tokens with tiktoken".
        ("tiktoken is great!", [83, 8251, 2488, 382, 2212, 0]),
        ("antidisestablishmentarianism", [493, 129901, 376, 160388, 21203, 2367]),
        ("2 + 2 = 4", [17, 659, 220, 17, 314, 220, 19]),
        ("お誕生日おめでとう", [8930, 9697, 243, 128225, 8930, 17693, 4344, 48669]),
    ],
)
def test_ids_are_those_that_openai_documents(text: str, ids: list[int]) -> None:
    assert encoding().encode_ordinary(text) == ids
    assert count(text) == len(ids)


def test_a_special_token_in_a_text_is_ordinary_characters() -> None:
    assert count("<|endoftext|>") == 7
    assert count("") == 0


def test_a_lone_surrogate_counts_as_the_replacement_character() -> None:
    assert count("a\ud83d b\ude00") == count("a\ufffd b\ufffd")
    assert count("\ud83d\ude00") == count("😀")


def test_blocks_are_counted_one_by_one_and_added() -> None:
    meter = Tiktoken()
    assert meter.blocks((Text("2 + 2 = 4"), Reasoning("tiktoken is great!", "signature"))) == 7 + 6
    assert meter.blocks((ToolUse("an id", "2 + 2 = 4", "tiktoken is great!"),)) == 7 + 6
    assert meter.blocks(()) == 0


def test_a_message_has_no_price_beside_its_blocks() -> None:
    meter = Tiktoken()
    assert meter.message(user(Text("2 + 2 = 4"))) == 7
    result = ToolResult(seq=2, time=0, content=(Text("2 + 2 = 4"),), turn=1, step=1, call_id="c")
    assert meter.message(result) == 7
    assert meter.message(AssistantMessage(seq=3, time=0, content=(), turn=1, step=1)) == 0


def test_a_header_is_counted_as_two_texts() -> None:
    assert Tiktoken().header("2 + 2 = 4", "tiktoken is great!") == 7 + 6
    assert Tiktoken().header(None, "") == 0


def test_an_image_has_a_fixed_price_however_long_its_json() -> None:
    image = Opaque('{"type":"image","source":{"data":"' + "A" * 9999 + '"}}')
    assert Tiktoken().message(user(image, image)) == 3200
    assert Tiktoken(opaque_tokens=85).message(user(image)) == 85


def test_a_negative_price_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"opaque_tokens.*-1"):
        Tiktoken(opaque_tokens=-1)


def test_importing_refold_loads_neither_tiktoken_nor_the_vocabulary() -> None:
    loaded = "import sys; print([name for name in ('tiktoken', 'lzma', 'requests') if name in sys.modules])"
    assert run(f"import refold, refold.reducer, refold.reducer._tiktoken; {loaded}") == "[]\n"


def test_counting_asks_no_network_and_no_registry() -> None:
    """A socket or a look-up of the registered encodings would end this process."""
    guard = (
        "import socket, tiktoken.registry as registry\n"
        "def refuse(*_, **__): raise SystemExit('asked')\n"
        "socket.socket = socket.getaddrinfo = registry._find_constructors = refuse\n"
    )
    assert run(f"{guard}from refold.reducer._tiktoken import count\nprint(count('2 + 2 = 4'))") == "7\n"


def test_a_megabyte_of_one_character_is_counted_in_time() -> None:
    """tiktoken 0.12 needs minutes for the second of these, and every version so far crashes on the blanks."""
    longest = {"a": 8, "=": 64, "中": 1, "😀": 1, "\n": 16, " ": 128, "\t": 16, "\xa0": 8}
    tokens = set(vocabulary())
    # Merging doubles the pieces of a run for as long as the vocabulary has the double.
    assert longest == {c: max(n for n in map((2).__pow__, range(9)) if (c * n).encode() in tokens) for c in longest}

    code = f"from refold.reducer._tiktoken import count\nfor c in {list(longest)!r}: print(count(c * 1_000_000))"
    counts = dict(zip(longest, map(int, run(code).splitlines()), strict=True))

    # A run counted in four slices may leave a rest in each.
    assert {c: counts[c] for c in "a=中😀"} == {"a": 125_000, "=": 15_625, "中": 1_000_000, "😀": 1_000_000}
    assert all(0 <= counts[c] - -(-1_000_000 // longest[c]) <= 3 for c in "\n \t\xa0")


def test_text_around_a_run_of_blanks_is_counted_too() -> None:
    around = "2 + 2 = 4\n" * 1000
    assert 0 <= count(around + " " * 600_000 + around) - (2 * count(around) + 600_000 // 128) <= 4


def test_a_run_just_too_short_for_slices_is_not_tried_again_at_each_of_its_blanks() -> None:
    code = "from refold.reducer._tiktoken import count\nprint(count((' ' * 499_999 + 'x') * 2))"
    # Each run gives its last blank to the x: 499,998 = 3906 * 128 + 30, then " x".
    assert int(run(code)) == 2 * (3906 + 1 + 1)


def test_a_text_that_tiktoken_panics_on_is_counted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_tiktoken, "_BLANKS", re.compile("(?!)"))
    # 1,199,999 = 9374 * 128 + 127 blanks, then " b"; one rest more for each slice.
    assert 0 <= count("a" + " " * 1_200_000 + "b") - (1 + 9374 + 2 + 1) <= 8


def test_an_interrupt_while_counting_is_no_panic(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted:
        def encode_ordinary(self, text: str) -> list[int]:
            raise KeyboardInterrupt

    monkeypatch.setattr(_tiktoken, "encoding", Interrupted)
    with pytest.raises(KeyboardInterrupt):
        count("a")
