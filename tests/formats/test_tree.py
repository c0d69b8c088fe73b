"""A directory of small JSON files as one document."""

import json

from refold.events.formats._tree import natural, pack_tree


def test_each_file_stands_under_its_path_as_it_was_written() -> None:
    source = pack_tree({"b.json": b'{ "x" : 1.50 }\n', "a/c.json": b"[]"}, "folder")

    assert source.data == b'{"a/c.json":[],"b.json":{ "x" : 1.50 }}'
    assert source.name == "folder"


def test_what_is_no_json_stands_there_as_a_text() -> None:
    source = pack_tree({"torn.json": b'{"x"', "bytes": b"\xff"}, "folder")

    assert json.loads(source.data) == {"torn.json": '{"x"', "bytes": "\ufffd"}


def test_paths_are_ordered_as_people_count() -> None:
    paths = ["event-10", "event-9", "event-00010", "a", "event-2/x"]

    assert sorted(paths, key=natural) == ["a", "event-2/x", "event-9", "event-00010", "event-10"]
    assert natural("9" * 10_000) > natural("8" * 10_000)  # longer than int() takes
