"""Commands of every kind: text -> tree -> the same text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.command import (
    Command,
    Deletion,
    SyntheticEvent,
    SyntheticField,
    UserProbe,
    has_own_syntax,
    parse_command,
    parse_synthetic,
)
from probes.fetcharg import Cast, Comm, CurrentTask, FetchArg, PerCpu, Register, SymbolAddress, Variable, hop
from probes.probe import Probe, ProbeKind, ProbePlace
from probes.syntax.parse_error import ParseError
from tests.probes_data import KERNELS, Case, kernel

_INTERFACES = ("dynamic_events", "kprobe_events", "uprobe_events", "synthetic_events")


def _read(case: Case) -> Command:
    return parse_synthetic(case.command) if case.interface == "synthetic_events" else parse_command(case.command)


@pytest.mark.parametrize("name", KERNELS)
def test_every_command_that_a_kernel_takes_is_kept(name: str) -> None:
    read = 0
    for case in kernel(name).cases:
        text = " ".join(case.command.split("#")[0].split())
        if case.ok and case.interface in _INTERFACES:
            assert str(_read(case)) == text
            read += 1
    assert read > 240


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        (
            "t:a/b sched_switch $comm",
            Probe(
                ProbePlace("sched_switch"),
                kind=ProbeKind.TRACEPOINT,
                fetchargs=(FetchArg(Comm()),),
                group="a",
                event="b",
            ),
        ),
        (
            "e sched.sched_switch if prev_pid == 1",
            Probe(ProbePlace("sched.sched_switch"), kind=ProbeKind.EVENT, filter="prev_pid == 1"),
        ),
        (
            "r10:a/b /bin/x:0x10%return(0x8) %ax",
            UserProbe("/bin/x", "0x10", True, (FetchArg(Register("ax")),), "0x8", "r10", "a/b"),
        ),
        (
            "p /usr/lib/a.so.6:read_it+0x10 %di if di > 4",
            UserProbe(
                "/usr/lib/a.so.6", "+0x10", fetchargs=(FetchArg(Register("di")),), symbol="read_it", filter="di > 4"
            ),
        ),
        ("r /bin/x:main%return", UserProbe("/bin/x", "", True, head="r", symbol="main")),
        ("p /lib/c:so:sdt_libc:setjmp", UserProbe("/lib/c:so", "", symbol="sdt_libc:setjmp")),
        (
            "t sched_switch $comm if comm == 1",
            Probe(
                ProbePlace("sched_switch"),
                kind=ProbeKind.TRACEPOINT,
                fetchargs=(FetchArg(Comm()),),
                filter="comm == 1",
            ),
        ),
        (
            "s:synthetic/x u64 a; unsigned int b",
            SyntheticEvent(
                "synthetic/x", ((SyntheticField("u64", "a"),), (SyntheticField("unsigned int", "b"),)), ("; ",)
            ),
        ),
        ("x u64 a", SyntheticEvent("x", ((SyntheticField("u64", "a"),),), (), "")),
        ("-:a/b vfs_read x=%di", Deletion("a/b", ("vfs_read", "x=%di"))),
        ("!p:b", Deletion("b", (), "!p")),
    ],
)
def test_trees(text: str, tree: Command) -> None:
    assert (parse_command(text) if text[1] != " " or text[0] != "x" else parse_synthetic(text)) == tree
    assert str(tree) == text


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("p:a/ /bin/x:1-2", "BAD_UPROBE_OFFS", 12),
        ("r /bin/x:y if", "no_filter", 13),
        ("e:/b sched.sched_switch", "NO_GROUP_NAME", 2),
        ("t", "no_place", 1),
        ("-:", "no_event_named", 0),
        ("s:x", "INVALID_CMD", 0),
        ("s:x unsigned int", "INCOMPLETE_TYPE", 0),
        ("t a x=(file", "DEREF_OPEN_BRACE", 11),
    ],
)
def test_mistakes_have_a_place(text: str, code: str, column: int) -> None:
    with pytest.raises(ParseError) as error:
        parse_command(text)
    assert (error.value.refusal.code, error.value.refusal.column) == (code, column)


_names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(lambda n: n not in ("if", "unsigned"))
_paths = st.lists(st.builds(lambda op, n: hop(op + n), st.sampled_from(["->", "."]), _names), max_size=3).map(tuple)
_members = st.none() | st.lists(_names, min_size=1, max_size=3).map(".".join)
_leaves = st.one_of(
    st.builds(Variable, _names),
    st.builds(Register, _names),
    st.builds(SymbolAddress, _names),
    st.builds(CurrentTask, _paths),
)
_expressions = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(Cast, _names, inner, _paths.map(lambda p: (hop("->x"), *p)), _members, st.just(True)),
        st.builds(
            Cast, _names, _leaves.filter(lambda e: not isinstance(e, CurrentTask)), st.just((hop("->x"),)), _members
        ),
        st.builds(PerCpu, st.booleans(), inner),
    ),
    max_leaves=4,
)
_fetchargs = st.lists(st.builds(FetchArg, _expressions, st.none() | _names), max_size=3).map(tuple)
_symbols = st.sampled_from(["", "main", "foo.part.0", "_ZN3fooE", "sdt_libc:setjmp"])
_numbers = st.integers(0, 1 << 40).map(hex)
_synthetic_fields = st.builds(SyntheticField, st.sampled_from(["u64", "unsigned int", "char"]), _names)
_commands = st.one_of(
    st.builds(
        lambda place, kind, args, group, event: Probe(
            ProbePlace(place), kind=kind, fetchargs=args, group=group if event else "", event=event
        ),
        _names,
        st.sampled_from([ProbeKind.TRACEPOINT, ProbeKind.EVENT]),
        _fetchargs,
        st.just("") | _names,
        st.just("") | _names,
    ),
    st.builds(
        UserProbe,
        _names.map(lambda n: f"/bin/{n}"),
        _numbers,
        st.booleans(),
        _fetchargs,
        st.none() | _numbers,
        st.sampled_from(["p", "r"]),
        st.none() | _names,
    ),
    st.builds(
        lambda symbol, args, condition: UserProbe("/bin/x", "", False, args, symbol=symbol, filter=condition),
        _symbols.filter(bool),
        _fetchargs,
        st.sampled_from(["", "a == 1"]),
    ),
    st.builds(SyntheticEvent, _names, st.lists(st.tuples(_synthetic_fields), min_size=1, max_size=4).map(tuple)).map(
        lambda e: SyntheticEvent(e.name, e.fields, ("; ",) * (len(e.fields) - 1))
    ),
    st.builds(Deletion, _names, st.lists(_names, max_size=3).map(tuple), st.sampled_from(["-", "!p", "!e"])),
)


@given(_commands)
def test_text_of_any_tree_is_read_back(command: Command) -> None:
    assert parse_command(str(command)) == command


@pytest.mark.parametrize("blank", ["\u3000", "\u2003", "\x1f", "\x85"])
@pytest.mark.parametrize("text", ["t sched_switch", "e sched.sched_switch", "-:a/b", "s:a int b", "p /bin/true:0x10"])
def test_what_only_python_takes_for_a_blank_is_a_letter(blank: str, text: str) -> None:
    with pytest.raises(ParseError) as error:
        parse_command(blank + text)
    assert error.value.refusal.code == "unknown_kind"


def test_what_is_ours() -> None:
    for text in (
        "f vfs_read $$args",
        "f vfs_read%both",
        "p vfs_read count if count > 1",
        "f vfs_read pos[0]",
        "t sched_switch $$args",
        "t sched_switch if x == 1",
        "e sched.sched_switch $$args if prev_pid > 1",
        "p /bin/x:main",
        "r /bin/x:sdt_a:b",
        "p /bin/x:0x10 %di if di > 1",
    ):
        assert has_own_syntax(text), text
    for text in (
        "f vfs_read%return file count:u8[4]",
        "e sched/sched_switch x=$prev_pid if prev_pid > 1",
        "e sched/sched_switch x=$prev_pid if prev_pid > $$args",
        "f vfs_read # if $$args",
        "p /bin/x:0x10%return(0x8) +0(%di):u8[4]",
        "s:x u64 a[3]",
        "-:a/b",
        "",
    ):
        assert not has_own_syntax(text), text
