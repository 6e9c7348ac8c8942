"""The computed verdict against what real kernels answered: accepted or not, which error, which column."""

from __future__ import annotations

import pytest

from probes.facts.errors_table import code_of
from probes.kernel_verdict import kernel_verdict
from tests.probes_data import KERNELS, Case, environment, kernel

EXCEPTIONS: dict[str, dict[int, str]] = {"6.1": {}, "6.12": {}, "7.2": {}}
"""Commands that are answered otherwise, each with the reason."""


def _answer(name: str, case: Case) -> str:
    btf, facts, _ = kernel(name)
    verdict = kernel_verdict(case.command, btf, facts, case.setup, case.interface, environment(name))
    error = verdict.error
    if error is None:
        return "ok"
    return "refused" if error.code.islower() else f"{error.code} {error.column}"


def _said(case: Case) -> str:
    if case.ok:
        return "ok"
    if not case.log:
        return "refused"
    message, position = case.log[-1]
    return f"{code_of(message)} {position}"


@pytest.mark.parametrize("name", KERNELS)
def test_answers_are_the_kernels(name: str) -> None:
    cases = kernel(name).cases
    assert len(cases) == 1582
    different = {case.id: (case.command, _said(case), _answer(name, case)) for case in cases}
    different = {number: row for number, row in different.items() if row[1] != row[2]}
    assert {n: row for n, row in different.items() if n not in EXCEPTIONS[name]} == {}
    assert set(different) == set(EXCEPTIONS[name])


def test_command_is_shown_as_error_log_shows_it() -> None:
    btf, facts, _ = kernel("7.2")
    verdict = kernel_verdict("  f:a/b \t vfs_read   file->f_poss count # why", btf, facts)
    assert verdict.command == "f:a/b vfs_read file->f_poss count"
    assert verdict.error is not None
    assert verdict.command[verdict.error.column :].startswith("f_poss")
    assert verdict.error.token == "f_poss"
    assert "f_pos" in verdict.error.nearest
    assert verdict.error.message == "This field is not found."


def test_other_kinds_need_no_environment() -> None:
    btf, facts, _ = kernel("7.2")
    for command in (
        "e:a/b sched/sched_switch x=$anything if y == 1",
        "p /bin/true:0x1000 @+8",
        "s:x int y",
        "t kfree",
    ):
        assert kernel_verdict(command, btf, facts).ok
    for command, code, column in (
        ("e:a/b sched", "NO_EVENT_INFO", 6),
        ("p /bin/true:0x1000(", "REFCNT_OPEN_BRACE", 19),
        ("s:x/y int z", "INVALID_DYN_CMD", 0),
        ("t kfree%return", "BAD_ADDR_SUFFIX", 7),
    ):
        error = kernel_verdict(command, btf, facts).error
        assert error is not None
        assert (error.code, error.column) == (code, column)


def test_unknown_types_still_give_a_verdict() -> None:
    _, facts, _ = kernel("7.2")
    assert kernel_verdict("p vfs_read x=$arg1", None, facts).ok
    error = kernel_verdict("f vfs_read file", None, facts).error
    assert error is not None
    assert error.code == "NO_BTF_ENTRY"
