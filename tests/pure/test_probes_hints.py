"""What is said besides the kernel's own words: the way out is a real one, and no suggestion leaves all as it is."""

from __future__ import annotations

import pytest

from probes.check import check
from probes.hints import hint_for
from probes.kernel_verdict import kernel_verdict
from probes.verdict import Refusal
from tests.probes_data import environment, kernel


def by_kernel(command: str, name: str = "7.2") -> Refusal:
    btf, facts, _ = kernel(name)
    error = kernel_verdict(command, btf, facts, environment=environment(name)).error
    assert error is not None
    return error


def lowered(spec: str, name: str = "7.2") -> Refusal:
    btf, facts, _ = kernel(name)
    error = check(spec, btf, facts).error
    assert error is not None
    return error


def test_what_stands_there_is_no_suggestion() -> None:
    assert hint_for("NO_BTF_FIELD", "f_pos", ("f_pos",)) == ("The structure has no member of this name", ())
    hint, nearest = hint_for("NO_BTF_FIELD", "f_pos", ("f_pos", "f_pps"))
    assert nearest == ("f_pps",)
    assert hint.endswith("did you mean f_pps?")
    assert hint_for("", "x", (), "Do this") == ("Do this", ())


@pytest.mark.parametrize(
    ("path", "code", "hint"),
    [
        ("file->f_path.dentry.d_name", "BAD_BTF_TID", "`dentry` is a pointer: use `->`"),
        ("file->f_path.dentry.d_nam", "BAD_BTF_TID", "`dentry` is a pointer: use `->`"),
        ("file->f_path->dentry", "NO_PTR_STRCT", "`f_path` is a structure, no pointer: use `.`"),
        ("file->f_path->dentri", "NO_PTR_STRCT", "`f_path` is a structure, no pointer: use `.`"),
        ("file->f_pos.x", "BAD_BTF_TID", "This is no struct, so it has no members"),
        ("file->f_path.dentry->d_name.name.x", "BAD_BTF_TID", "This is no struct, so it has no members"),
    ],
)
def test_the_wrong_operator_is_named(path: str, code: str, hint: str) -> None:
    for error in (by_kernel(f"f vfs_read {path}"), lowered(f"f vfs_read%both {path}")):
        assert (error.code, error.hint, error.nearest) == (code, hint, ())
