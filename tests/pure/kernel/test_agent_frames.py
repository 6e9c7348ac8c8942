"""The codec of the agent's line, and the agent's source as it is sent."""

from __future__ import annotations

import ast
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.agent import frames
from kernel.remote.bootstrap import agent_source
from kernel.remote.protocol.page_stream import expand


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_fields_come_back(fields: list[bytes]) -> None:
    assert frames.unpack(frames.pack(*fields)) == fields


@given(st.binary(max_size=300))
def test_any_payload_is_fields_or_an_error(payload: bytes) -> None:
    try:
        fields = frames.unpack(payload)
    except ValueError:
        return
    assert frames.pack(*fields) == payload


@given(st.integers(0, 2**32 - 1), st.integers(0, 255), st.lists(st.binary(max_size=50), max_size=5))
def test_a_frame_says_its_size(ident: int, op: int, fields: list[bytes]) -> None:
    data = frames.frame(ident, op, *fields)
    size, got_ident, got_op = frames.HEAD.unpack_from(data)
    assert (got_ident, got_op) == (ident, op)
    assert frames.unpack(data[frames.HEAD.size :]) == fields
    assert len(data) == frames.HEAD.size + size


@given(st.integers(0, 10**19))
def test_numbers_come_back(value: int) -> None:
    assert frames.number(b"%d" % value) == value


@pytest.mark.parametrize("text", [b"", b"-1", b"+1", b" 1", b"1_0", b"1e3", b"\xd9\xa1", b"9" * 21])
def test_what_is_no_number(text: bytes) -> None:
    with pytest.raises(ValueError, match="not a number"):
        frames.number(text)


@given(st.one_of(st.binary(max_size=4000), st.binary(max_size=20).map(lambda some: some * 300)))
def test_squeezed_data_come_back(data: bytes) -> None:
    flag, small = frames.squeeze(data)
    assert len(small) <= len(data)
    assert expand(flag, small, len(data)) == data


def test_a_bomb_does_not_go_off() -> None:
    bomb = zlib.compress(bytes(50 << 20), 9)
    with pytest.raises(ValueError, match="unpacks to more"):
        expand(b"z", bomb, 1 << 20)


def test_the_agent_is_python_3_6_of_the_standard_library() -> None:
    """And of that it takes what is quickly imported."""
    tree = ast.parse(agent_source(), feature_version=(3, 6))
    at_start, later = (
        {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        for nodes in (
            [node for top in tree.body if not isinstance(top, ast.ClassDef) for node in ast.walk(top)],
            ast.walk(tree),
        )
    )
    assert later - at_start == {"ctypes", "fcntl", "mmap"}, "with the first BPF program"
    assert at_start <= {
        "_signal",
        "_thread",
        "errno",
        "fnmatch",
        "os",
        "select",
        "stat",
        "struct",
        "sys",
        "time",
        "zlib",
    }
    froms = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert froms <= {"collections.abc"}, "only for the type checker"
    walrus = [node for node in ast.walk(tree) if isinstance(node, ast.NamedExpr)]
    assert not walrus
