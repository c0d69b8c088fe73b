"""What a call does to files, by the argument names of real coding agents."""

import pytest

from refold.lab.touches import END, Touch, same_file, touches


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Read", '{"file_path":"/a/b.py"}', [Touch("/a/b.py", False)]),
        ("Read", '{"file_path":"/a/b.py","offset":90,"limit":30}', [Touch("/a/b.py", False, 90, 119)]),
        ("ReadFile", '{"path":"b.py","line_offset":200,"n_lines":200}', [Touch("b.py", False, 200, 399)]),
        (
            "str_replace_editor",
            '{"command":"view","path":"/a/b.c","view_range":[650,700]}',
            [Touch("/a/b.c", False, 650, 700)],
        ),
        (
            "str_replace_editor",
            '{"command":"str_replace","path":"/a/b.c","old_str":"x","new_str":"y"}',
            [Touch("/a/b.c", True)],
        ),
        ("Edit", '{"file_path":"/a/b.py","old_string":"x","new_string":"y"}', [Touch("/a/b.py", True)]),
        ("Grep", '{"pattern":"x","path":"/a"}', []),
        (
            "shell",
            '{"command":["bash","-lc","sed -n \'1,200p\' docs/x.md"]}',
            [Touch("docs/x.md", False, 1, 200)],
        ),
        ("bash", '{"command":"cat a/x.js | head -30"}', [Touch("a/x.js", False)]),
        ("bash", '{"command":"sed -i s/a/b/ a/x.js"}', [Touch("a/x.js", True, 1, END)]),
        ("bash", '{"command":"nl -ba a.md > b.md"}', [Touch("b.md", True), Touch("a.md", False)]),
        ("apply_patch", "*** Begin Patch\n*** Update File: a/b.md\n@@\n-x\n+y\n*** End Patch", [Touch("a/b.md", True)]),
        ("bash", "{broken", []),
    ],
)
def test_a_call_touches_the_files_its_arguments_name(tool: str, arguments: str, expected: list[Touch]) -> None:
    assert list(touches(tool, arguments)) == expected


def test_a_path_from_the_root_and_one_from_below_it_are_one_file() -> None:
    assert same_file("src/a.py", "/home/me/p/src/a.py")
    assert same_file("./a.py", "a.py")
    assert not same_file("a.py", "/home/me/a.py")
    assert not same_file("src/a.py", "/home/me/xsrc/a.py")


def test_a_read_of_other_lines_covers_nothing() -> None:
    assert Touch("a/x", False, 10, 20).covers(Touch("a/x", False, 20, 40))
    assert not Touch("a/x", False, 10, 19).covers(Touch("a/x", False, 20, 40))
