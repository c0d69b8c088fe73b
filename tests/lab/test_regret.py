"""The signs that a cut result was needed again, each on the smallest session that shows it."""

import json

from tests.sessions import Script

from refold.events import Text, ToolUse
from refold.lab.regret import Cut, needs, rare_words

FILE = "def first_rule(): ...\ndef second_rule(): ...\nLIMIT_OF_ALL = 4711\n"


class Session:
    """A read at the start, cut for the call after `calls` others; then what a test adds."""

    def __init__(self, path: str = "/p/src/rules.py") -> None:
        self.script = Script()
        self.script.start_turn()
        self.arguments = json.dumps({"file_path": path})
        self.result = self.call("Read", self.arguments, FILE)
        for _ in range(3):
            self.script.plain_step()
        self.cut = self.script.start_step()
        self.script.answer(Text("and so on"))
        self.script.end_step()

    def call(self, tool: str, arguments: str, text: str = "done") -> int:
        self.script.start_step()
        use = ToolUse(f"c{len(self.script.events)}", tool, arguments)
        self.script.answer(use)
        seq = self.script.result(text, use.id, self.script.call(tool, use.id, arguments))
        self.script.end_step()
        return seq

    def say(self, text: str) -> None:
        self.script.start_step()
        self.script.answer(Text(text))
        self.script.end_step()

    def signals(self) -> list[str]:
        cut = Cut(self.result, self.cut, "Read", self.arguments, FILE, 30)
        return [need.signal for need in needs(self.script.events, [cut])]


def test_the_same_call_with_the_same_answer_is_a_rerun() -> None:
    session = Session()
    session.call("Read", session.arguments, FILE)
    assert session.signals() == ["rerun"]


def test_a_read_that_covers_the_lines_is_a_reread_unless_the_file_was_written_between() -> None:
    session = Session()
    session.call("Read", '{"file_path":"/p/src/rules.py","offset":2,"limit":1}', "def second_rule(): ...")
    assert session.signals() == ["reread"]
    session = Session()
    session.call("Write", '{"file_path":"/p/src/rules.py","content":"new"}')
    session.call("Read", '{"file_path":"/p/src/rules.py","offset":2,"limit":1}', "new")
    assert session.signals() == []


def test_an_edit_that_quotes_the_removed_text_needs_it_and_one_that_does_not_does_not() -> None:
    edit = {"file_path": "/p/src/rules.py", "old_string": "def second_rule(): ...", "new_string": "pass"}
    session = Session()
    session.call("Edit", json.dumps(edit))
    assert session.signals() == ["write"]
    session = Session()
    session.call("Edit", json.dumps({**edit, "old_string": "something else entirely"}))
    assert session.signals() == []


def test_two_rare_strings_that_come_back_show_a_need() -> None:
    session = Session()
    session.say("LIMIT_OF_ALL is read by second_rule")
    assert session.signals() == ["strings"]


def test_a_string_that_stood_elsewhere_since_is_no_sign() -> None:
    session = Session()
    session.call("Grep", '{"pattern":"rule"}', "LIMIT_OF_ALL second_rule first_rule")
    session.say("LIMIT_OF_ALL is read by second_rule")
    assert session.signals() == []


def test_what_happened_before_the_cut_counts_for_nothing() -> None:
    session = Session()
    cut = Cut(session.result, 1_000, "Read", session.arguments, FILE, 30)
    session.call("Read", session.arguments, FILE)
    assert needs(session.script.events, [cut]) == ()


def test_plain_words_are_not_rare() -> None:
    assert rare_words("everything stands somewhere, implementation v1.2.3 in src/a.py by FirstRule") == {
        "src/a.py",
        "FirstRule",
        "v1.2.3",
    }
