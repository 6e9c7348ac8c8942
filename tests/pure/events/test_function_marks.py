"""Marked functions, and the place that stands for them: it means what is marked, and nothing else."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.names.function_choice import ChoiceError, FunctionChoice, is_choice, is_typed_place
from events.names.function_marks import FunctionMarks, marks_summary, words_place
from foreign.refusal import InputRefusal
from probes.facts.lookups import Environment
from probes.functions.chosen_functions import names_meant
from probes.functions.function_index import index_of
from tests.probes_data import kernel

NAMES = ("vfs_fsync", "vfs_open", "vfs_read", "vfs_readv", "vfs_write", "tcp_ack", "tcp_sendmsg", "tcp_Send")
TEXTS = (
    "vfs_*",
    "*read*",
    "vfs_*,!vfs_open",
    "/^vfs_(read|write)/",
    "[struct file *]",
    "@list",
    "vfs_read,tcp_*",
    "!tcp_*",
)


def meant_by(text: str, names: tuple[str, ...] = NAMES) -> set[str]:
    choice = FunctionChoice.parse(text)
    if choice.type:
        return {name for name in names if name.startswith("vfs_r") and choice.matches(name)}
    if choice.file:
        return {name for name in names if name in ("vfs_open", "tcp_ack") and choice.matches(name)}
    if choice.is_list and not is_choice(text):
        return {text}
    return {name for name in names if choice.matches(name)}


@given(
    st.sampled_from(TEXTS),
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from(NAMES)),
    st.sets(st.sampled_from(NAMES)),
)
def test_the_place_of_marks_means_them_and_nothing_else(
    text: str, before: set[str], toggled: set[str], untraceable: set[str]
) -> None:
    marks = FunctionMarks(frozenset(before)).with_all(text, meant_by(text))
    for name in sorted(toggled):
        marks = marks.toggled(name)
    wanted = marks.names - untraceable
    place = marks.place(lambda name: name not in untraceable)
    assert (meant_by(place) - untraceable if place else set()) == wanted


def test_what_was_marked_together_keeps_its_text() -> None:
    marks = FunctionMarks().with_all("vfs_*", meant_by("vfs_*"))
    assert marks.place(lambda _: True) == "vfs_*"
    assert marks.toggled("vfs_open").toggled("tcp_ack").place(lambda _: True) == "vfs_*,tcp_ack,!vfs_open"
    assert marks.with_all("vfs_*", meant_by("vfs_*")).names == frozenset()
    typed = FunctionMarks().with_all("[struct file *]", {f"vfs_{n}" for n in range(9)})
    assert typed.toggled("vfs_3").place(lambda _: True) == "[struct file *],!vfs_3"
    assert typed.toggled("fput").place(lambda _: True) == ",".join(sorted(typed.toggled("fput").names))


def test_a_searched_word_is_a_pattern_where_that_means_the_same() -> None:
    def place(query: str) -> str:
        found = [name for name in NAMES if query in name.lower()]
        return words_place(query, found, lambda choice: meant_by(choice.text))

    assert place("read") == "*read*"
    assert place("send") == ""  # a pattern minds the case, a search does not
    assert place("vfs read") == place("fsync") == ""


def test_a_summary_has_the_reasons() -> None:
    reasons = {"tcp_ack": "inlined", "vfs_open": "inlined", "vfs_read": ""}
    told = marks_summary(NAMES, lambda name: name not in reasons, lambda name: reasons[name])
    assert told == "8 marked; 3 can't be armed: 2 inlined, 1 not traceable"
    assert marks_summary(NAMES, lambda _: True, str) == "8 marked"


@pytest.mark.parametrize(
    "text", ["vfs_*", "vfs_read,vfs_write", "/^tcp_/", "[struct file *]", "@list", "ext4:*", "[sv]*_read"]
)
def test_places_are_known_while_a_name_is_searched(text: str) -> None:
    assert is_typed_place(text)


@pytest.mark.parametrize(
    "text",
    ["vfs_read", "vfs read", "/^tcp_", "[struct fi", "fs/open.c", "int vfs_open(const struct path *, int)", "@", "/"],
)
def test_other_text_is_searched_by_words(text: str) -> None:
    assert not is_typed_place(text)


def test_names_that_are_not_traceable_are_found_as_well() -> None:
    known = kernel("7.2")
    traceable = set(index_of(known.facts).modules)
    names = sorted({*traceable, *known.btf.functions})

    def meant(text: str, *lines: str) -> set[str]:
        return set(names_meant(text, names, known.btf, known.facts, Environment(function_list=lambda _: lines)))

    found = meant("vfs_*")
    assert found == {name for name in names if name.startswith("vfs_")} and found & traceable
    assert meant("/^vfs_(read|write)$/") == {"vfs_read", "vfs_write"} == meant("@list", "vfs_read", "vfs_write")
    typed = meant("[struct file *],!vfs_*")
    assert "fput" in typed | meant("[struct file *]") and not [name for name in typed if name.startswith("vfs_")]
    assert typed - traceable
    assert meant("@list") == set()
    some = random.sample(sorted(traceable), 5)
    assert meant(",".join(some)) == set(some)
    with pytest.raises(ChoiceError):
        meant("@list", "[struct file *]")


def test_a_file_that_cannot_be_read_says_so() -> None:
    def refuse(path: str) -> tuple[str, ...]:
        raise InputRefusal(path, "no such file or directory")

    with pytest.raises(InputRefusal):
        names_meant("@nothing", NAMES, None, kernel("7.2").facts, Environment(function_list=refuse))
