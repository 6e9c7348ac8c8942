"""Bytes from outside are read by `foreign` alone; who else reads has its reason here."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from foreign.files import home_path

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("btf", "events", "probes", "kernel", "widgets", "tui")
MODULES = frozenset({"tarfile", "zipfile", "zlib", "gzip", "lzma", "bz2", "pickle", "marshal", "shelve"})
"""What unpacks; none but `foreign` uses it to read."""
METHODS = frozenset({"read_text", "read_bytes"})
_OURS = "written by us, in a folder that is ours alone"
_SHIPPED = "comes with the program"
ALLOWED = {
    "kernel/remote/control_master.py": "what ssh of this machine wrote into a log of ours, so many bytes of it",
    "btf/elf.py": "pyelftools seeks in a file that was named; each section is bounded before it is read",
    "events/names/constants.py": _SHIPPED,
    "events/names/syscalls.py": _SHIPPED,
    "kernel/agent/ring_reader.py": "runs on the remote host, with the standard library alone: a kernel's number",
    "kernel/remote/bootstrap.py": _SHIPPED,
    "kernel/agent/journal.py": "runs on the remote host, from the standard library alone: of a bounded size",
    "kernel/lab/build.py": _OURS,
    "kernel/lab/cache.py": "/proc/PID/stat of this machine",
    "kernel/lab/guest.py": "ssh-keygen of this machine",
    "kernel/lab/initramfs.py": _OURS,
    "kernel/lab/kernels.py": _OURS,
    "kernel/lab/keys.py": _OURS,
    "kernel/lab/needs.py": "gcc of this machine says whether a header is there",
    "kernel/lab/packages.py": "a package of Debian's, whose signature apt has checked",
    "kernel/lab/qemu.py": _OURS,
    "kernel/remote/connect_failure.py": "ssh of this machine, which tells its own configuration",
    "kernel/remote/protocol/text_stream.py": "a process that was ended, thrown away",
    "probes/presets/read.py": "TOML of a text that read_file and require_small_toml have bounded",
    "probes/presets/write.py": "TOML of a text that read_file and require_small_toml have bounded",
    "tui/__main__.py": "standard streams",
    "tui/compose/kernel_matrix.py": _SHIPPED,
    "tui/preview.py": "a child of ours, over a pipe",
    "tui/output/rotating_files.py": "the beginning of a file of the row, regular, at most so many bytes",
}
"""Module -> why its reads need no bound of `foreign`."""


def reads(source: str) -> set[str]:
    """Names of calls by which a module reads bytes that nobody bounds."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2] if isinstance(node.func, ast.Attribute) else ""
        head = name.partition(".")[0]
        given = [*node.args, *(word.value for word in node.keywords if word.arg == "mode")]
        modes = [one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        writes = any(mode in ("w", "wb", "x", "xb", "a", "ab", "w+b", "wt") for mode in modes)
        opens = last == "open" and any(mode in ("r", "rb") for mode in modes)
        if (name in ("open", "io.open") and not writes) or opens or (last in METHODS and name != "self.read_text"):
            found.add(last or name)
        elif name in (
            "json.load",
            "json.loads",
            "tomllib.load",
            "tomllib.loads",
            "tomlkit.load",
            "tomlkit.parse",
        ) or (head in MODULES and not last.startswith(("compress", "crc32", "adler32"))):
            found.add(name)
        elif name in ("subprocess.check_output", "subprocess.getoutput") or last == "communicate":
            found.add(last)
        elif name == "subprocess.run" and any(word.arg in ("capture_output", "stdout") for word in node.keywords):
            found.add("subprocess.run")
    return found


def test_nobody_else_reads_what_comes_from_outside() -> None:
    modules = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    found = {str(path.relative_to(ROOT)): reads(path.read_text()) for path in modules}
    readers = {path: calls for path, calls in found.items() if calls}
    assert not {path: calls for path, calls in readers.items() if path not in ALLOWED}
    assert not ALLOWED.keys() - readers.keys(), "these read nothing any more"


@pytest.mark.parametrize(
    "source",
    [
        "open(path)",
        "open(path, 'rb')",
        "path.open('rb')",
        "Path(x).read_text()",
        "json.loads(text)",
        "tarfile.open(x)",
        "zlib.decompress(x)",
        "subprocess.run(words, capture_output=True)",
    ],
)
def test_a_read_is_seen(source: str) -> None:
    assert reads(source)


@pytest.mark.parametrize("source", ["open(path, 'wb')", "path.open('w')", "read_file(path, 5)", "zlib.compress(x)"])
def test_what_reads_nothing_is_not(source: str) -> None:
    assert not reads(source)


def test_a_home_of_nobody_is_a_path_as_another() -> None:
    assert home_path("~no-such-user/x.pwr") == Path("~no-such-user/x.pwr")
    assert home_path("~/x.pwr") == Path.home() / "x.pwr"


def test_no_other_path_is_expanded() -> None:
    """`Path.expanduser` raises RuntimeError where nobody expects it."""
    files = [
        path for path in ROOT.rglob("*.py") if not {".venv", "tests", "build"} & set(path.relative_to(ROOT).parts)
    ]
    users = [str(path.relative_to(ROOT)) for path in files if ").expanduser()" in path.read_text()]
    assert users == ["kernel/remote/connect.py"], "its name is a constant"
