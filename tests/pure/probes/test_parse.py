"""Text of the specification language -> values -> the same text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probes.fetcharg import (
    AllArguments,
    Argument,
    Comm,
    Dereference,
    Expression,
    FetchArg,
    Hop,
    Immediate,
    Register,
    ReturnValue,
    Stack,
    SymbolAddress,
    Variable,
    variable,
)
from probes.probe import INSTRUCTION_ENDS, Probe, ProbeEnds, ProbeKind, ProbePlace, SymbolBase
from probes.syntax.parse import ParseError, parse_fetcharg, parse_probe
from tests.probes_data import KERNELS, Case, kernel

identifiers = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,12}", fullmatch=True).filter(lambda name: name != "if")
"""Names of C: `if` is a word of its own, behind which a filter stands."""
numbers = st.one_of(
    st.integers(0, 1 << 31).map(str), st.integers(0, 1 << 31).map(hex), st.integers(0, 511).map(lambda n: f"0{n:o}")
)
hops = st.one_of(
    st.builds(Hop, st.sampled_from(["->", "."]), identifiers),
    st.builds(Hop, st.just("[]"), st.integers(0, 99).map(str)),
)
paths = st.lists(hops, max_size=4).map(tuple)
plain_names = identifiers.filter(lambda name: name not in ("this_cpu_ptr", "this_cpu_read"))
leaves: st.SearchStrategy[Expression] = st.one_of(
    st.builds(Variable, plain_names, paths),
    st.builds(ReturnValue, paths),
    st.builds(Argument, st.integers(1, 99)),
    st.sampled_from([Comm(), Comm("$COMM"), Argument(1, "01"), AllArguments(), AllArguments(best=True)]),
    st.builds(Stack, st.sampled_from(["", "0", "17", "007"])),
    st.builds(Register, identifiers),
    st.builds(SymbolAddress, st.one_of(identifiers, numbers, st.builds("{}+{}".format, identifiers, numbers))),
    st.builds(Immediate, st.one_of(numbers, numbers.map("-{}".format), identifiers.map('"{}"'.format))),
)
memory = st.recursive(
    leaves.filter(lambda e: not isinstance(e, Comm)),
    lambda inner: st.builds(
        Dereference, st.builds("{}{}".format, st.sampled_from("+-"), numbers), inner, st.booleans()
    ),
    max_leaves=3,
)
types = st.sampled_from([None, "u8", "s64", "x32", "char", "string", "ustring[4]", "symbol", "b4@0/32", "%pd", "%pD"])
fetchargs = st.builds(FetchArg, st.one_of(leaves, memory), st.one_of(st.none(), identifiers), types).filter(
    lambda arg: arg.expression != AllArguments(best=True) or arg == FetchArg(AllArguments(best=True))
)


@given(fetchargs)
def test_fetcharg_reads_back(arg: FetchArg) -> None:
    assert parse_fetcharg(str(arg)) == arg
    assert str(parse_fetcharg(str(arg))) == str(arg)


@pytest.mark.parametrize(("word", "when"), [("$retval", ProbeEnds.EXIT), ("$retvals", ProbeEnds.ENTRY)])
def test_the_letters_make_an_exit_probe_even_in_a_text(word: str, when: ProbeEnds) -> None:
    """As parse_symbol_and_return of kernel/trace/trace_fprobe.c looks for them."""
    text = f'f vfs_read x=\\"{word}"'
    probe = parse_probe(text)
    assert (probe.when, str(probe)) == (when, text)


@st.composite
def probes(draw: st.DrawFn) -> Probe:
    kind = draw(st.sampled_from([ProbeKind.AUTO, ProbeKind.KPROBE, ProbeKind.KRETPROBE]))
    when = ProbeEnds.EXIT if kind is ProbeKind.KRETPROBE else draw(st.sampled_from(ProbeEnds))
    if when is ProbeEnds.TRACK and kind is not ProbeKind.AUTO:
        when = ProbeEnds.BOTH
    if when in INSTRUCTION_ENDS:
        kind = ProbeKind.KPROBE
    args = tuple(draw(st.lists(fetchargs, max_size=4)))
    if kind is ProbeKind.AUTO and when is ProbeEnds.ENTRY and "$retval" in " ".join(map(str, args)):
        when = ProbeEnds.EXIT
    offset = draw(st.integers(0, 64)) if kind is ProbeKind.KPROBE and when is ProbeEnds.ENTRY else 0
    place = ProbePlace(draw(identifiers), draw(st.one_of(st.none(), identifiers)), offset)
    event = draw(st.one_of(st.just(""), identifiers))
    return Probe(
        place,
        when,
        kind,
        args,
        draw(st.sampled_from(["", "count > 4096", 'comm ~ "a # b  c*" && ret < 0'])),
        group=draw(st.one_of(st.just(""), identifiers)),
        event=event,
        maxactive=draw(st.sampled_from(["", "10"])) if kind is ProbeKind.KRETPROBE else "",
    )


@given(probes())
def test_probe_reads_back(probe: Probe) -> None:
    assert parse_probe(str(probe)) == probe


@pytest.mark.parametrize(
    "text",
    [
        "f:grp/ev vfs_read%both file->f_pos $retval if count > 4096",
        "f vfs_read $$args",
        "p:a/ vfs_read+0x10 x=%di:u32",
        "p vfs_read+0 +0(+u8($arg2)):ustring",
        "r4:g/e vfs_read ret=$retval:s64",
        'f vfs_read x=\\"a" y=\\-1 z=@jiffies+8:u64',
        "p ext4:ext4_readdir $arg1 %ax",
        "f wake_up_new_task p->thread_pid->numbers[0].nr p->comm:char[16]",
    ],
)
def test_text_is_kept(text: str) -> None:
    assert str(parse_probe(text)) == text


def _is_function_probe(case: Case, words: list[str]) -> bool:
    if case.interface != "dynamic_events" or not words or words[0][0] not in "fpr":
        return False
    return words[0][0] == "f" or "/" not in words[1]


def test_every_command_that_kernels_take_is_read() -> None:
    """What a real kernel took is read, and printed with the same words."""
    unread = []
    for name in KERNELS:
        for case in kernel(name).cases:
            words = case.command.split("#")[0].split()
            if not case.ok or not _is_function_probe(case, words):
                continue
            try:
                text = str(parse_probe(case.command))
            except ParseError as error:
                unread.append((case.command, error.refusal.code))
                continue
            assert text.split() == words
    # A glob is no function, `fx` and numbers behind f are of one old kernel, `$arg*:u8` is read by none.
    odd = [command for command, _ in unread if not command.startswith(("f1", "f10", "fx")) and "$arg*" not in command]
    assert {c for c in odd if "vfs_*" not in c and "vfs_rea*" not in c} == set()


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("f vfs_read file->", "NO_BTF_FIELD", ""),
        ("f vfs_read file-x", "BAD_HYPHEN", "-x"),
        ("f vfs_read count $foo-1", "BAD_VAR", "$foo-1"),
        ("f vfs_read +8($arg1", "DEREF_OPEN_BRACE", ""),
        ("f vfs_read +x($arg1)", "BAD_DEREF_OFFS", "+x"),
        ("f vfs_read +0($comm)", "COMM_CANT_DEREF", "$comm"),
        ("f vfs_read x=", "NO_ARG_BODY", ""),
        ("f vfs_read =x", "NO_ARG_NAME", "=x"),
        ("f vfs_read 1x=$arg1", "BAD_ARG_NAME", "1x="),
        ("f vfs_read%foo $$args", "BAD_ADDR_SUFFIX", "%foo"),
        ("f:a/1b vfs_read $$args", "BAD_EVENT_NAME", "1b"),
        ("r vfs_read%both", "bad_both", "%both"),
        ("p vfs_read+4%both", "bad_both", "%both"),
        ("f vfs_read%retinsn", "bad_retinsn", "%retinsn"),
        ("r vfs_read%tailcall", "bad_retinsn", "%tailcall"),
        ("p vfs_read+4%retinsn", "bad_retinsn", "%retinsn"),
        ("f vfs_read \\x", "BAD_IMM", "x"),
        ('f vfs_read \\"x', "IMMSTR_NO_CLOSE", ""),
        ("f vfs_read x=$$args", "BAD_VAR_ARGS", "$$args"),
        ("f vfs_read p[x]", "bad_index", "[x]"),
        ("p10 vfs_read", "BAD_MAXACT_TYPE", "10"),
        ("r10x vfs_read", "BAD_MAXACT", "10x"),
        ("e:a/b sched/sched_switch", "unknown_kind", "e:a"),
        ("p /bin/true:0x10", "user_probe", "/bin"),
        ("f", "no_place", ""),
    ],
)
def test_mistakes_have_a_place(text: str, code: str, at: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_probe(text)
    refusal = caught.value.refusal
    assert refusal.code == code
    assert refusal.message
    assert text[refusal.column :].startswith(at)
    assert at or refusal.column == len(text)


def test_filter_needs_words() -> None:
    with pytest.raises(ParseError) as caught:
        parse_probe("f vfs_read count if ")
    assert caught.value.refusal.code == "no_filter"


def test_probe_of_ticks() -> None:
    probe = Probe(ProbePlace("vfs_read"))
    pos = FetchArg(variable("file", "->f_pos"))
    ticked = probe.toggle(pos)
    assert str(ticked) == "f vfs_read file->f_pos"
    assert ticked.toggle(pos) == probe


def test_a_function_by_its_distance() -> None:
    """It is a function's beginning: its exit, both ends and its arguments by number can be had."""
    for text in ("p _text+4096 x=$arg1", "p _text+0x1000%both", "r _text+4096 $retval"):
        probe = parse_probe(text)
        assert probe.place.base == SymbolBase("_text", 4096)
        assert (probe.place.offset, str(probe)) == (0, text)
    twin = Probe(ProbePlace("c_start", base=SymbolBase("_text", 4096), address=1), ProbeEnds.BOTH)
    assert str(twin) == "p _text+4096%both"
    assert twin.place.kernel_text == "_text+4096"
    assert replace(twin.place, offset=8).kernel_text == "_text+4104"
    assert ProbePlace("f", "virtio", base=SymbolBase("g", 16)).kernel_text == "virtio:g+16"
