"""Run the real harness for a few turns against a scripted model on the loopback interface.

    python drive.py record --home HOME --cwd DIR --session ID [--script SCRIPT.json] [--requests OUT.jsonl] PROMPT...
    python drive.py resume --home HOME --cwd DIR --session ID [--script SCRIPT.json] [--requests OUT.jsonl] PROMPT...

It needs `pip install deepseek-harness-sdk` (340 MB) in the Python that runs it, and nothing of refold. `record`
begins the session ID, `resume` opens the one in HOME. Its log is HOME/sessions/--<DIR>--/ID/session.v4.jsonl.zstd.
SCRIPT.json is described in provider.py. OUT.jsonl gets the body of every model request, one a line. On stdout:
`{"finished": [kind of each turn's end], "refused": why the harness would not go on, or null}`.
"""

import argparse
import json
from pathlib import Path

from deepseek_harness import DeepSeekHarness  # type: ignore[import-not-found]
from deepseek_harness.errors import HarnessError  # type: ignore[import-not-found]
from provider import Provider


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("how", choices=["record", "resume"])
    parser.add_argument("--home", required=True)
    parser.add_argument("--cwd", required=True)
    parser.add_argument("--session", required=True)
    parser.add_argument("--script", type=Path)
    parser.add_argument("--requests", type=Path)
    parser.add_argument("prompts", nargs="+")
    options = parser.parse_args()

    script = json.loads(options.script.read_text("utf-8")) if options.script else []
    finished: list[str | None] = []
    refused = None
    with Provider(script) as provider:
        try:
            with DeepSeekHarness(
                base_url=provider.url,
                api_key="unused",
                cwd=options.cwd,
                dsh_home=options.home,
                initialize_timeout_seconds=60,
                shutdown_timeout_seconds=10,
                env={"DSH_PERMISSION_MODE": "danger-full-access"},
            ) as harness:
                begin = harness.start_session if options.how == "record" else harness.resume_session
                session = begin(options.session)
                if options.how == "resume":
                    session.set_working_directory(options.cwd)
                finished = [session.run(prompt).finish_reason for prompt in options.prompts]
        except HarnessError as error:
            refused = str(error)
    if options.requests:
        lines = (json.dumps(request, ensure_ascii=False) + "\n" for request in provider.requests)
        options.requests.write_text("".join(lines), "utf-8")
    print(json.dumps({"finished": finished, "refused": refused}))


if __name__ == "__main__":
    main()
