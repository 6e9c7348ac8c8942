"""Definitions of user events: text to value and back, the kernel's answer, and lowering."""

from __future__ import annotations

import errno
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.check import check_plan
from probes.command import has_own_syntax, parse_armable, parse_command
from probes.export.dialect import CannotExport
from probes.export.export import DIALECTS, export
from probes.facts.facts import Feature
from probes.syntax.parse_error import ParseError
from probes.user_events.event import UserEvent, parse_user_event
from probes.user_events.kernel_reading import (
    DefinitionRefused,
    existing_definitions,
    is_same,
    read_definition,
    registration_errno,
)
from tests.fake_target import FACTS
from tests.user_event_definitions import fields_text

HAVING = replace(FACTS, features=FACTS.features | {Feature.USER_EVENTS})


@given(st.integers(0, 1 << 32))
def test_what_the_kernel_takes_is_shown_and_taken_again(seed: int) -> None:
    text = f"e{fields_text(random.Random(seed))}"
    try:
        definition = read_definition(text)
    except DefinitionRefused as error:
        assert error.number
        assert text[error.column :].startswith(error.token)
        return
    if " ".join(definition.text.split()) == definition.text:  # else the kernel does not know its own event again
        again = existing_definitions([f"u:{definition.text}"])[definition.name]
        assert again == [definition]
        assert is_same(definition, definition.text)
        assert registration_errno(definition.text, again) == (errno.EINVAL if len(definition.text) > 511 else 0)


@given(st.integers(0, 1 << 32), st.sampled_from(["", " if f0 > 5", " if  f1 == 3"]))
def test_text_to_value_and_back(seed: int, condition: str) -> None:
    text = f"u:e{fields_text(random.Random(seed))}{condition}"
    try:
        event = parse_user_event(text)
    except ParseError as error:
        command = " ".join(text.split())
        assert error.refusal.column is not None
        assert 0 <= error.refusal.column <= len(command)
        return
    assert parse_armable(str(event)) == event
    assert str(parse_user_event(str(event))) == str(event)
    assert registration_errno(event.definition) == 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("u:request u64 length; char[16] verb", "u:request u64 length; char[16] verb"),
        ("  u:  request\tu64   length ;char[16] verb;", "u:request u64 length; char[16] verb"),
        ("u:mark", "u:mark"),
        ("u:e struct timespec64 at 16", "u:e struct timespec64 at 16"),
        ("u:e __rel_loc unsigned char[] data", "u:e __rel_loc unsigned char[] data"),
    ],
)
def test_lines(text: str, line: str) -> None:
    plan = check_plan(text, None, HAVING).plan
    assert plan is not None
    assert plan.lines == (line,)
    assert plan.events[0].path == f"user_events/{line[2:].partition(' ')[0]}"
    assert check_plan(plan.events[0].remove, None, HAVING, existing=[line]).verdict.ok
    assert not check_plan("-:user_events/other", None, HAVING, existing=[line]).verdict.ok


@pytest.mark.parametrize(
    ("text", "column", "token", "reason"),
    [
        ("u:", 0, "u:", "needs a name"),
        ("u:a:FLAG u32 x", 2, "a:FLAG", "no flags"),
        ("u:user_events/a u32 x", 2, "user_events/a", "say the name alone"),
        ("u:9a u32 x", 2, "9a", "no digit first"),
        ("u:enable u32 x", 2, "enable", "up to 255"),
        ("u:a unsigned long x", 4, "unsigned long", "u64 or s64"),
        ("u:a u32 x; void * p", 11, "void", "no type"),
        ("u:a struct foo x", 4, "struct foo", "size of a structure"),
        ("u:a struct foo x 8; struct foo y 0", 20, "struct foo y 0", "no bytes"),
        ("u:a char[1025] x", 4, "char[1025]", "1 to 1024"),
        ("u:a u32 x; u8 x", 14, "x", "two fields"),
        ("u:a u32 x-y", 8, "x-y", "letters, digits"),
        ("u:a int if; u8 b", 8, "if", "stands before a filter"),
        ("u:a int common_pid", 8, "common_pid", "every event"),
        ("u:a " + "; ".join(f"char[1024] f{n}" for n in range(4)), 2, "a", "3900 bytes"),
        ("u:a " + "; ".join(f"u8 field_{n:04}" for n in range(60)), 2, "a", "511 characters"),
    ],
)
def test_refusals(text: str, column: int, token: str, reason: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_command(text)
    refusal = caught.value.refusal
    assert (refusal.column, refusal.token, refusal.code) == (column, token, "bad_user_event")
    assert reason.lower() in refusal.hint.lower()
    assert not check_plan(text, None, HAVING).verdict.ok


def test_a_name_that_is_taken() -> None:
    existing = ["u:a u32 x; char[4] y", "u:a u64 z"]
    for text in ("u:a u32 x; char[4] y", "u:a u64 z", "u:b u8 x"):
        assert check_plan(text, None, HAVING, existing=existing).verdict.ok
    refusal = check_plan("u:a u8 x", None, HAVING, existing=existing).verdict.error
    assert refusal is not None
    assert refusal.hint == "The kernel has it with other fields: u:a u32 x; char[4] y"


def test_filters_know_the_fields() -> None:
    plan = check_plan('u:a u32 x; char[8] t if x > 5 && t ~ "G*"', None, HAVING).plan
    assert plan is not None
    assert plan.events[0].filter == 'x > 5 && t ~ "G*"'
    refusal = check_plan("u:a u32 x if y > 5", None, HAVING).verdict.error
    assert refusal is not None
    assert refusal.code == "FIELD_NOT_FOUND"


def test_a_kernel_without_them() -> None:
    refusal = check_plan("u:a u32 x", None, FACTS).verdict.error
    assert refusal is not None
    assert refusal.code == "missing_capability"
    assert "CONFIG_USER_EVENTS" in refusal.hint


def test_the_text_is_ours() -> None:
    assert has_own_syntax("u:a u32 x")
    assert parse_armable("u:a u32 x if x") == UserEvent("a", read_definition("a u32 x").fields, "x")


def test_scripts_can_not_hold_one() -> None:
    plan = check_plan("u:a u32 x if x > 5", None, HAVING).plan
    assert plan is not None
    for dialect in DIALECTS:
        if dialect.name == "comment":
            assert "u:a u32 x" in export(dialect, [plan], HAVING).text
        else:
            with pytest.raises(CannotExport, match="on user_events/a"):
                export(dialect, [plan], HAVING)
