"""Verdicts on filters of events (trace_events_filter.c), at the columns of error_log."""

from __future__ import annotations

import pytest

from probes.facts.dialect import Dialect, dialect_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment, StaticEventField, SymbolCount
from probes.rules.events.filter import check_filter
from probes.syntax.refused import RefusedWord

_FIELDS = {
    field.name: field
    for field in (
        StaticEventField("pid", "pid_t", 4, signed=True),
        StaticEventField("count", "size_t", 8),
        StaticEventField("comm", "char[16]", 16),
        StaticEventField("name", "__data_loc char[]", 4),
        StaticEventField("path", "const char *", 8),
    )
}
_KNOWS = Environment(symbol=lambda name: SymbolCount(int(name == "vfs_read")))


def _dialect(newer: bool) -> Dialect:
    return dialect_of(TargetFacts("x86_64", "", features=frozenset({Feature.BTF_ARGS} if newer else ())))


def _answer(text: str, newer: bool = True, cpus: int = 4) -> str:
    try:
        check_filter(text, _FIELDS, _KNOWS, _dialect(newer), cpus)
    except RefusedWord as error:
        assert error.command == text
        return f"{error.refused.code} {error.refused.offset}"
    return "ok"


@pytest.mark.parametrize(
    "text",
    [
        "pid == 1",
        "pid==1&&!(count>0x10||comm=='x')",
        '((name ~ "a*" && pid != -1))',
        "CPU & CPUS{0-3}",
        "pid != CPUS{1,3}",
        "count.function == vfs_read",
        'name.ustring == "x"',
        'common_pid > 0 && COMM ~ "sh"',
        "count & 7",
    ],
)
def test_taken(text: str) -> None:
    assert _answer(text) == "ok"


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("pid", "INVALID_OP 4"),
        ("pid =1", "INVALID_OP 5"),
        ("pid == x", "INVALID_VALUE 8"),
        ("nosuch == 1", "FIELD_NOT_FOUND 7"),
        ("pid == 'x'", "EXPECT_DIGIT 8"),
        ("comm == 1", "EXPECT_STRING 9"),
        ("comm > 'x'", "ILLEGAL_FIELD_OP 8"),
        ("pid ~ 1", "ILLEGAL_FIELD_OP 7"),
        ("pid == 0x1g", "ILLEGAL_INTVAL 8"),
        ("count == -1", "ILLEGAL_INTVAL 10"),
        ("pid == 99999999999999999999999999", "OPERAND_TOO_LONG 34"),
        ("pid == 1)", "TOO_MANY_CLOSE 8"),
        ("((pid == 1)", "TOO_MANY_OPEN 0"),
        ("pid == 1 && (", "TOO_MANY_OPEN 12"),
        ("comm == 'x", "MISSING_QUOTE 8"),
        ("pid == 1 & count == 2", "TOO_MANY_PREDS 9"),
        ("pid == 1 count == 2", "TOO_MANY_PREDS 9"),
        ("CPU & CPUS{0-4}", "INVALID_CPULIST 15"),
        ("CPU & CPUS{", "MISSING_BRACE_CLOSE 12"),
        ("CPU & CPUS0", "MISSING_BRACE_OPEN 12"),
        ("comm == CPUS{0}", "ILLEGAL_FIELD_OP 9"),
        ("pid.function == vfs_read", "ILLEGAL_FIELD_OP 17"),
        ("count.function > vfs_read", "INVALID_OP 18"),
        ("count.function == nosuch", "NO_FUNCTION 25"),
        ("&& pid == 1", "ERRNO 0"),
        ("()", "ERRNO 0"),
    ],
)
def test_refused(text: str, answer: str) -> None:
    assert _answer(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("pid == 1 &&", "INVALID_FILTER 11"),
        ("CPU & CPUS{0}", "INVALID_VALUE 7"),
        ("count.function == vfs_read", "INVALID_OP 6"),
    ],
)
def test_older_kernels(text: str, answer: str) -> None:
    assert _answer(text, newer=False) == answer
    assert _answer(text) == "ok"
