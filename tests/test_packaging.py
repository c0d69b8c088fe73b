"""What is shipped, and what a user's `import refold` costs."""

import json
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import refold.events
import refold.reducer

ROOT = Path(__file__).parents[1]
ROOMS = {"refold.events": "events", "refold.reducer": "reducer", "refold": "src/refold"}


def package_files() -> set[str]:
    """The tree's package files under the names they have once installed."""
    files = set()
    for package, folder in ROOMS.items():
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT / folder)
            if path.is_file() and "__pycache__" not in inside.parts and not is_linked(ROOT / folder, inside):
                files.add(f"{package.replace('.', '/')}/{inside.as_posix()}")
    return files


def is_linked(folder: Path, inside: Path) -> bool:
    return any((folder / parent).is_symlink() for parent in [inside, *inside.parents][:-1])


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist, and a wheel built from it. From a copy: a build leaves files beside what it builds."""
    copy = tmp_path_factory.mktemp("packaging") / "refold"
    ignored = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "__pycache__", "node_modules")
    shutil.copytree(ROOT, copy, symlinks=True, ignore=ignored)
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", copy / "dist", copy]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return copy / "dist"


def test_the_wheel_holds_the_package_files_and_no_other_top_level_name(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.startswith("refold-0.1.0.dist-info/")}
    assert names == package_files()


def test_the_wheel_carries_licence_and_notice(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    for name in ("LICENSE", "NOTICE"):
        assert archive.read(f"refold-0.1.0.dist-info/licenses/{name}") == (ROOT / name).read_bytes()


def test_the_sdist_can_run_its_tests_and_holds_no_link(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        members = archive.getmembers()
    folders = {member.name.split("/")[1] for member in members if "/" in member.name}
    assert {"events", "reducer", "src", "tests", "property_tests", "examples", "Makefile"} <= folders
    assert not [member.name for member in members if member.issym() or member.islnk()]
    assert not [member.name for member in members if "node_modules" in member.name or member.name.endswith(".pyc")]


def test_the_list_of_packages_equals_the_tree() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    found = {str(Path(name).parent).replace("/", ".") for name in package_files() if name.endswith(".py")}
    assert sorted(listed) == sorted(found)


@pytest.mark.parametrize("room", ["events", "reducer"])
def test_the_links_for_editors_and_type_checkers_exist(room: str) -> None:
    link = ROOT / "src" / "refold" / room
    assert link.is_symlink()
    assert link.readlink() == Path("..", "..", room)


@pytest.mark.parametrize("folder", ROOMS.values())
def test_each_package_says_that_it_is_typed(folder: str) -> None:
    assert (ROOT / folder / "py.typed").is_file()


def test_classes_know_their_installed_name() -> None:
    assert refold.events.TurnStart.__module__ == "refold.events._events"
    assert refold.reducer.Reducer.__module__ == "refold.reducer._reducer"


def modules_after(statement: str) -> set[str]:
    """Top-level names of the modules outside the standard library that a statement loads in a new process."""
    code = (
        "import json, sys\n"
        "before = set(sys.modules)\n"
        f"{statement}\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in set(sys.modules) - before})))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout)) - sys.stdlib_module_names


def test_import_refold_loads_msgspec_and_pyrsistent_only() -> None:
    assert modules_after("import refold") == {"refold"} | modules_after("import msgspec, pyrsistent")
