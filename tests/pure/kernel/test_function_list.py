"""Files with names of functions."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from foreign.refusal import InputRefusal
from kernel.connection import function_list
from kernel.connection.function_list import read_function_list


def test_names_patterns_comments_and_modules(tmp_path: Path) -> None:
    file = tmp_path / "list"
    file.write_text("vfs_read\n\n# a comment\n  tcp_* # more\next4_readdir [ext4]\n[struct file *]\n")
    assert read_function_list(str(file)) == ["vfs_read", "tcp_*", "ext4:ext4_readdir", "[struct file *]"]


def test_what_is_no_file_is_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), str(tmp_path / "missing"), str(tmp_path), "/dev/zero"):
        with pytest.raises(InputRefusal) as caught:
            read_function_list(path)
        assert path in str(caught.value) and "\n" not in str(caught.value)
    monkeypatch.setattr(function_list, "MOST_FUNCTIONS", 3)
    (tmp_path / "long").write_text("a\n" * 5)
    with pytest.raises(InputRefusal, match="5 lines"):
        read_function_list(str(tmp_path / "long"))
    monkeypatch.setattr(function_list, "LARGEST_LIST", 4)
    with pytest.raises(InputRefusal, match="bytes"):
        read_function_list(str(tmp_path / "long"))


def test_a_file_is_read_again_when_it_changed_and_a_pipe_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "list"
    file.write_text("vfs_read\n")
    assert read_function_list(str(file)) == ["vfs_read"]
    with monkeypatch.context() as patch:
        patch.setattr(function_list, "read_file", None)
        assert read_function_list(str(file)) == ["vfs_read"]
    file.write_text("vfs_read\nvfs_write\n")
    assert read_function_list(str(file)) == ["vfs_read", "vfs_write"]
    reader, writer = os.pipe()
    os.write(writer, b"vfs_open\n")
    os.close(writer)
    assert [read_function_list(f"/dev/fd/{reader}") for _ in range(2)] == [["vfs_open"], ["vfs_open"]]
    os.close(reader)
