"""Rooms and words: sizes of folders, circles of imports, first words of docstrings, and files that pages name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

ROOT = Path(__file__).parents[2]
ROOTS = ("foreign", "btf", "events", "probes", "kernel", "widgets", "tui")
MOST = 16
FORBIDDEN = re.compile(
    r"^(What|Which|Where|How|Who|Whose|When|Whether|Of|It|Its|They|Those|That|This|These|Nothing|Nobody|The same"
    r"|As that|There|Something|Everything|Everybody|All of them|Until|Same)\b"
)
"""Words behind which nobody knows yet what a docstring is about."""


def modules() -> list[Path]:
    return sorted(path for root in ROOTS for path in (ROOT / root).rglob("*.py"))


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Line and text of each docstring; of attributes and constants as well."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if text := ast.get_docstring(node):
                yield getattr(node, "lineno", 1), text
            for before, after in zip(node.body, node.body[1:], strict=False):
                value = after.value if isinstance(after, ast.Expr) else None
                if isinstance(before, ast.Assign | ast.AnnAssign) and isinstance(value, ast.Constant):
                    yield after.lineno, str(value.value)


def test_no_folder_has_more_modules_than_a_reader_takes_in() -> None:
    folders = {path.parent for path in modules()}
    sizes = {
        str(folder.relative_to(ROOT)): len([p for p in folder.glob("*.py") if p.stem not in ("__init__", "__main__")])
        for folder in folders
    }
    assert len(sizes) > 50
    assert {name: size for name, size in sizes.items() if size > MOST} == {}


def test_no_docstring_begins_with_a_riddle() -> None:
    found, breaches = 0, []
    for path in [*modules(), *(ROOT / "screenshots").rglob("*.py")]:
        name = str(path.relative_to(ROOT))
        for line, text in docstrings(ast.parse(path.read_text())):
            found += 1
            if FORBIDDEN.match(text.strip()):
                breaches.append(f"{name}:{line}: {text.strip().splitlines()[0]}")
    assert found > 8000
    assert breaches == []


def test_no_module_imports_in_a_circle() -> None:
    """Imports for types alone count as well. Raises CycleError with the circle."""
    graph = grimp.build_graph(*ROOTS)
    after = {name: graph.find_modules_directly_imported_by(name) for name in graph.modules}
    assert len(list(TopologicalSorter(after).static_order())) > 700


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_files_that_a_page_names_are_there(page: str) -> None:
    names = re.findall(rf"`((?:{'|'.join(ROOTS)}|tests|docs)/[\w/]+(?:\.\w+|/))`", (ROOT / page).read_text())
    assert len(names) > 5
    assert [
        name
        for name in names
        if not (name.upper() == name or re.search("/[A-Z]+[.]", name) or (ROOT / name).exists())
    ] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md"])
def test_modules_that_a_page_names_are_there(page: str) -> None:
    """A name may go on with something inside the module."""
    names = re.findall(rf"`((?:{'|'.join(ROOTS)})(?:\.\w+)+)`", (ROOT / page).read_text())
    assert names
    for name in names:
        parts = name.split(".")
        paths = [ROOT.joinpath(*parts[:count]) for count in range(2, len(parts) + 1)]
        assert any(path.is_dir() or path.with_suffix(".py").exists() for path in paths), name


def test_nobody_asks_for_the_class_of_a_target() -> None:
    """Callers read values of `kernel.target.Target`, so that a new kind of target needs no change elsewhere."""
    classes = {"LocalTarget", "RemoteTarget", "RecordingTarget", "OfflineTarget", "SavedFacts", "BorrowedTarget"}
    asked = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance"
        and classes & {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
    ]  # fmt: skip
    assert asked == []
