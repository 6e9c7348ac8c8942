"""The module with which a program defines events: definitions, bytes of an event, its life without a kernel."""

from __future__ import annotations

import ctypes
import math
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import probewright_events
from events.decode import Layout
from events.format import parse_format
from probewright_events import MOST_BYTES, Event

SOURCE = Path(probewright_events.__file__)
NUMBERS = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "unsigned char": 1, "unsigned short": 2, "unsigned int": 4}
NUMBERS |= {"s8": 1, "s16": 2, "s32": 4, "s64": 8, "char": 1, "short": 2, "int": 4}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's file; there is none."""
    path = tmp_path / "user_events_data"
    monkeypatch.setattr(probewright_events, "FILES", (str(path),))
    return path


class Given(NamedTuple):
    """A field, a value for it, and what is read of it."""

    type: str
    value: Any
    seen: Any
    tail: str = ""
    """Behind the name."""


def numbers(kind: str) -> st.SearchStrategy[Given]:
    bits = NUMBERS[kind] * 8
    low, high = (0, (1 << bits) - 1) if kind[0] == "u" else (-(1 << bits - 1), (1 << bits - 1) - 1)

    def cut(value: int) -> int:
        value &= (1 << bits) - 1
        return value if value <= high else value - (1 << bits)

    return st.one_of(st.integers(low, high), st.integers()).map(lambda value: Given(kind, value, cut(value)))


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)


def cut(text: str, most: int) -> str:
    return text.encode()[:most].decode(errors="ignore")


FIXED = st.builds(lambda size, text: Given(f"char[{size}]", text, cut(text, size - 1)), st.integers(1, 64), TEXTS)
DYNAMIC = st.builds(
    lambda base, text: Given(f"{base} char[]", text, text), st.sampled_from(["__rel_loc", "__data_loc"]), TEXTS
)
BYTES = st.binary(max_size=30).map(lambda data: Given("__rel_loc u8[]", data, tuple(data)))
STRUCTURES = st.binary(min_size=1, max_size=30).map(lambda data: Given("struct s", data, data, f" {len(data)}"))
FIELDS = st.lists(
    st.one_of(st.sampled_from(sorted(NUMBERS)).flatmap(numbers), FIXED, DYNAMIC, BYTES, STRUCTURES), max_size=8
)


def format_of(fields: list[Given]) -> str:
    """The text that the kernel writes of these (f_show in kernel/trace/trace_events.c)."""
    lines, place = [], 8
    for number, field in enumerate(fields):
        kind, bracket, rest = field.type.partition("[")
        size = NUMBERS.get(field.type, 4)
        if field.tail:
            size = int(field.tail)
        elif field.type.startswith("char["):
            size = int(rest[:-1])
        declared = f"{kind} f{number}{'[]' * bool(bracket)}"
        if field.type.startswith("__data_loc"):
            declared = f"{field.type} f{number}"
        lines.append(f"\tfield:{declared};\toffset:{place};\tsize:{size};\tsigned:{int(field.type[0] != 'u')};\n")
        place += size
    return f'name: x\nID: 7\nformat:\n{"".join(lines)}\nprint fmt: ""\n'


@given(FIELDS)
def test_values_are_read_as_they_were_written(fields: list[Given]) -> None:
    event = Event("x", *(f"{field.type} f{number}{field.tail}" for number, field in enumerate(fields)))
    data = event.payload(*(field.value for field in fields))
    assert data[:4] == bytes(4)
    record = bytes(8) + data[4:]
    layout = Layout(parse_format(format_of(fields), "user_events"), "little" if sys.byteorder == "little" else "big")
    values = layout.values(record, 0, len(record)) if fields else ()
    for field, value in zip(fields, values, strict=True):
        assert value == field.seen, field


@given(st.lists(st.integers(0, 9000), min_size=1, max_size=4))
def test_an_event_never_outgrows_a_page(sizes: list[int]) -> None:
    event = Event("x", *(f"__rel_loc char[] f{number}" for number in range(len(sizes))))
    data = event.payload(*("é" * size for size in sizes))
    assert len(data) <= MOST_BYTES
    for number in range(len(sizes)):
        location = struct.unpack_from("=I", data, 4 + 4 * number)[0]
        begin = 4 + 4 * number + 4 + (location & 0xFFFF)
        text = data[begin : begin + (location >> 16)]
        assert text[-1:] == b"\0" or not text
        assert set(text[:-1].decode()) <= {"é"}


@pytest.mark.parametrize(
    "fields",
    [
        ("int",), ("long x",), ("unsigned long x",), ("int x 4",), ("char[] x",), ("char[0] x",), ("char[1025] x",),
        ("struct s x",), ("struct s x 0",), ("struct s x 5000",), ("__rel_loc char x",), ("int 1x",),
        ("int x; int y",),
        ("int x", "u8 x"), ("int[4] x",), ("struct s x 3000", "struct s y 3000"), ("string x",), ("",),
        tuple(f"u8 a_long_name_of_a_field_{number}" for number in range(40)),
    ],
)  # fmt: skip
def test_a_definition_that_is_none_raises_at_once(fields: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"field|characters|bytes|name"):
        Event("x", *fields)


@pytest.mark.parametrize("name", ["", "a b", "a/b", "1a", "é", "a:b", "a-b", "a.b", "a\n"])
def test_a_name_that_is_none_raises_at_once(name: str) -> None:
    with pytest.raises(ValueError, match="no name"):
        Event(name, "int x")


def test_the_definition_is_in_the_kernels_words() -> None:
    event = Event("request", "u64  length", " char[16]\tverb")
    assert event.definition == "request u64 length; char[16] verb"
    assert repr(event) == "Event('request', 'u64 length', 'char[16] verb')"
    assert Event("empty").definition == "empty"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("int x", "ab"), ("int x", None), ("int x", 1.5), ("char[4] x", 5), ("__rel_loc char[] x", None),
        ("__rel_loc u8[] x", 12), ("struct s x 4", b"abc"), ("struct s x 4", b"abcde"), ("u8 x", b"a"),
        ("__rel_loc char[] x", "\ud800"),
    ],
)  # fmt: skip
def test_a_value_of_another_kind_does_not_fit(field: str, value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        Event("x", field).payload(value)


def test_so_many_values_as_fields() -> None:
    with pytest.raises(ValueError, match="x has 1 fields, 2 values were given"):
        Event("x", "int a").payload(1, 2)


def test_without_user_events_nothing_happens(file: Path) -> None:
    event = Event("x", "int a")
    assert event.problem == ""
    assert event.write(1) is False
    assert event.enabled is False
    assert event.problem == "no user_events: the kernel has no CONFIG_USER_EVENTS, or tracefs is not mounted"
    assert event.write("of another kind", 2, 3) is False  # nobody listens: values are not looked at
    assert event.register() is False
    event.close()
    assert event.enabled is False


def test_a_listener_that_leaves_before_the_write_is_no_problem() -> None:
    """The kernel refuses the write with EBADF, as a file that is open for reading only does."""
    event = Event("x", "int a")
    event._fd = os.open(os.devnull, os.O_RDONLY)
    try:
        status = os.fstat(event._fd)
        event._file, event._word = (status.st_dev, status.st_ino), ctypes.c_ulong(1)
        assert event.enabled
        assert event.write(1) is False
        assert event.problem == ""
    finally:
        os.close(event._fd)


def test_a_file_that_is_none_of_the_kernel_is_left_alone(file: Path) -> None:
    file.write_bytes(b"")
    with Event("x", "int a") as event:
        files = len(os.listdir("/proc/self/fd"))
        assert event.register() is False
        assert event.problem == "the kernel says: Inappropriate ioctl for device"
        assert event.write(1) is False
        assert len(os.listdir("/proc/self/fd")) == files
    assert file.read_bytes() == b""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write any file")
def test_a_file_that_may_not_be_written(file: Path) -> None:
    file.write_bytes(b"")
    file.chmod(0o400)
    event = Event("x", "int a")
    assert event.enabled is False
    assert event.problem == f"no rights to write {file}"


def test_a_refusal_for_want_of_rights_is_told_before_a_missing_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: str, flags: int) -> int:
        raise PermissionError(13, "", path) if "debug" in path else FileNotFoundError(2, "", path)

    monkeypatch.setattr(probewright_events.os, "open", refuse)
    event = Event("x", "int a")
    assert event.register() is False
    assert event.problem == "no rights to write /sys/kernel/debug/tracing/user_events_data"


def test_slots_are_used_again(file: Path) -> None:
    before = probewright_events._process.take_slot()
    probewright_events._process.free.append(before)
    events = [Event(f"e{number}", "int a") for number in range(2000)]
    assert not any(event.enabled for event in events)
    after = probewright_events._process.take_slot()
    probewright_events._process.free.append(after)
    assert after is before


def test_addresses_of_the_bits_are_aligned_and_differ() -> None:
    process = probewright_events._Process()
    slots = [process.take_slot() for _ in range(1500)]
    addresses = {slot.address for slot in slots}
    assert len(addresses) == 1500
    assert math.gcd(*addresses) % struct.calcsize("L") == 0
    assert not any(slot.word for slot in slots)


def test_it_needs_the_standard_library_alone(tmp_path: Path) -> None:
    """A program may have a copy of the file, and an interpreter without any package."""
    (tmp_path / "copied.py").write_bytes(SOURCE.read_bytes())
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from copied import Event; print(Event('x').enabled)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout in ("False\n", "True\n")


def test_a_child_asks_for_itself(file: Path) -> None:
    event = Event("x", "int a")
    assert event.register() is False
    pid = os.fork()
    if not pid:
        file.write_bytes(b"")
        os._exit(0 if not event.register() and "ioctl" in event.problem else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert "CONFIG_USER_EVENTS" in event.problem
