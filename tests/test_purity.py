"""The two inner rooms, read as source: what they import, what they hold between two calls."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = [path.relative_to(ROOT).as_posix() for room in ("events", "reducer") for path in (ROOT / room).rglob("*.py")]

# Modules that read no file, network, clock or environment, run no thread and draw no random number.
PURE = {
    *("abc", "base64", "bisect", "collections", "collections.abc", "copy", "dataclasses", "enum", "fnmatch"),
    *("functools", "hashlib", "heapq", "itertools", "json", "lzma", "math", "operator", "re", "string", "types"),
    *(
        "ntpath",
        "posixpath",
        "typing",
        "msgspec",
        "msgspec.structs",
        "pyrsistent",
        "pyrsistent.typing",
        "tiktoken",
        "zstandard",
    ),
}
EXCEPTIONS = {
    # The vocabulary is part of the package: always the same bytes.
    ("reducer/_tiktoken.py", "importlib.resources"),
    # Parses the text of a timestamp; that nobody asks it for the present is tested below.
    ("events/formats/_fields.py", "datetime"),
    # A transcript that is a zip archive, unpacked from the bytes handed in.
    ("events/formats/_inspect_archive.py", "io"),
    ("events/formats/_inspect_archive.py", "zipfile"),
}
CLOCKS = {"now", "today", "utcnow", "fromtimestamp", "utcfromtimestamp", "time", "time_ns", "monotonic"}
IMPURE_NAMES = {"open", "input", "print", "eval", "exec", "compile", "__import__", "globals", "id", "hash"}
MUTABLE_DISPLAYS = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
MUTABLE_CALLS = {"list", "dict", "set", "bytearray", "defaultdict", "deque", "Counter", "OrderedDict", "ChainMap"}
MEMO = {"cache", "lru_cache"}


def tree(source: str) -> ast.Module:
    return ast.parse((ROOT / source).read_text("utf-8"), source)


def imported(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import, those inside functions included."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, "." * node.level + (node.module or "")


def assigned(body: list[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Name and value of what is assigned when a module or class is loaded, in branches too."""
    for statement in body:
        if isinstance(statement, ast.Assign):
            yield from ((ast.unparse(target), statement.value) for target in statement.targets)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            yield ast.unparse(statement.target), statement.value
        elif isinstance(statement, ast.ClassDef) and "msgspec.Struct" in map(ast.unparse, statement.bases):
            # An annotated value is a field's default there, of which msgspec gives each instance its own copy.
            yield from assigned([inner for inner in statement.body if not isinstance(inner, ast.AnnAssign)])
        elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.ClassDef):
            yield from assigned(statement.body)
            yield from assigned(getattr(statement, "orelse", []))


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def mutable(value: ast.expr) -> bool:
    """Whether this expression makes something that can be changed and wraps it in nothing that forbids it."""
    return isinstance(value, MUTABLE_DISPLAYS) or (isinstance(value, ast.Call) and called(value) in MUTABLE_CALLS)


def memo_of_mutable(function: ast.FunctionDef) -> bool:
    """Whether a function remembers its results, and what it remembers can be changed. A memo of a constant is none."""
    decorators = {ast.unparse(decorator).split("(")[0].split(".")[-1] for decorator in function.decorator_list}
    returns = ast.unparse(function.returns).split("[")[0] if function.returns else ""
    return bool(decorators & MEMO) and returns in {"", "Any", *MUTABLE_CALLS}


@pytest.mark.parametrize("source", SOURCES)
def test_a_room_imports_nothing_but_rooms_below_it_and_pure_modules(source: str) -> None:
    own = ("refold.events",) if source.startswith("events/") else ("refold.events", "refold.reducer")
    unknown = {
        f"{source}:{line} imports {name}"
        for line, name in imported(tree(source))
        if not (f"{name}.").startswith(tuple(f"{room}." for room in own))
        and name not in PURE
        and (source, name) not in EXCEPTIONS
    }
    assert not unknown, "not known to be pure; if one is, name it in PURE"


@pytest.mark.parametrize("source", SOURCES)
def test_a_room_opens_no_file_reads_no_clock_and_asks_for_no_address(source: str) -> None:
    found = set()
    for node in ast.walk(tree(source)):
        if isinstance(node, ast.Call):
            function = node.func
            named = isinstance(function, ast.Name) and function.id in IMPURE_NAMES
            if named or (isinstance(function, ast.Attribute) and function.attr in CLOCKS):
                found.add(f"{source}:{node.lineno} {ast.unparse(function)}")
    assert not found


@pytest.mark.parametrize("source", SOURCES)
def test_a_room_keeps_nothing_between_two_calls(source: str) -> None:
    module = tree(source)
    found = {f"{source}: {name} = {ast.unparse(value)[:60]}" for name, value in assigned(module.body) if mutable(value)}
    found = {line for line in found if f"{source}: __all__ = " not in line}
    for node in ast.walk(module):
        if isinstance(node, ast.Global):
            found.add(f"{source}:{node.lineno} {ast.unparse(node)}")
        elif isinstance(node, ast.FunctionDef):
            defaults = [*node.args.defaults, *(value for value in node.args.kw_defaults if value)]
            found |= {f"{source}:{node.lineno} default {ast.unparse(value)}" for value in defaults if mutable(value)}
            if memo_of_mutable(node):
                found.add(f"{source}:{node.lineno} @cache {node.name}")
    assert not found, "wrap it in MappingProxyType, frozenset or tuple, or pass it in"


@pytest.mark.parametrize(
    ("text", "is_mutable"),
    [
        ("X = [1]", True),
        ("X: dict[str, int] = {'a': 1}", True),
        ("X = {name for name in ()}", True),
        ("X = dict(a=1)", True),
        ("if True:\n    X = collections.defaultdict(list)", True),
        ("class C:\n    x = []", True),
        ("class C(msgspec.Struct):\n    x: list[int] = []", False),
        ("X = MappingProxyType({'a': 1})", False),
        ("X = frozenset({1})", False),
        ("X = (1, 2)", False),
        ("def f():\n    x = []", False),
    ],
)
def test_the_check_tells_mutable_state_from_frozen(text: str, is_mutable: bool) -> None:
    assert any(mutable(value) for _, value in assigned(ast.parse(text).body)) == is_mutable


@pytest.mark.parametrize(
    ("text", "is_mutable"),
    [
        ("@cache\ndef f() -> dict[str, int]: ...", True),
        ("@functools.lru_cache(maxsize=1)\ndef f(): ...", True),
        ("@cache\ndef f() -> MappingProxyType[str, int]: ...", False),
        ("def f() -> dict[str, int]: ...", False),
    ],
)
def test_the_check_tells_a_memo_that_can_be_changed(text: str, is_mutable: bool) -> None:
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    assert memo_of_mutable(function) == is_mutable
