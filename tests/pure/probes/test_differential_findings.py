"""What the comparison with live kernels found (tests/real/test_differential.py): each answer is a kernel's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, SymbolCount
from probes.kernel_verdict import kernel_verdict
from tests.probes_data import environment, kernel

_ALL, _OLD, _NEW = ("6.1", "6.12", "7.2"), ("6.1",), ("6.12", "7.2")
_LISTED = ("strncpy_part", "virtnet_poll [virtio_net]", "__probestub_kfree", "__probestub_sched_switch")
"""Functions that are traceable besides."""
_SYMBOLS = {"strncpy_part.cold": 1, "kept_off.part.0": 1, "not_traced": 1, "vfs_read": 1}
_TWINS = {"also_vfs_read": ("vfs_read",), "also_kept_off": ("kept_off", "vfs_read")}
FILTER = "events/sched/sched_switch/filter"


def _known(name: str) -> tuple[TargetFacts, Environment]:
    facts, around = kernel(name).facts, environment(name)
    traceable = tuple(function for function in facts.functions if function != "__probestub_mm_page_alloc")
    facts = replace(facts, functions=(*traceable, *_LISTED), blacklist=facts.blacklist | {"kept_off"}, cpus=2)
    seen = around.symbol
    assert seen is not None

    def count(symbol: str) -> SymbolCount:
        if symbol in _TWINS:
            return SymbolCount(1, 0, _TWINS[symbol])
        return SymbolCount(_SYMBOLS[symbol]) if symbol in _SYMBOLS else seen(symbol)

    return facts, replace(
        around, symbol=count, real_path=lambda path: path.replace("//", "/").replace("sh", "busybox")
    )


_facts_of = {name: _known(name) for name in _ALL}


def _answer(name: str, interface: str, commands: tuple[str, ...]) -> str:
    facts, around = _facts_of[name]
    *before, last = commands
    error = kernel_verdict(last, kernel(name).btf, facts, before, interface, around).error
    if error is None:
        return "ok"
    return "refused" if error.code.islower() else f"{error.code} {error.column}"


_LONG = f"{'a' * 32}={'+0(' * 6}%di{')' * 6}:u64"
CASES: list[tuple[tuple[str, ...], tuple[str, ...], str | dict[str, str]]] = [
    # %pd and %pD are replaced in the command that is logged, unless names were put for `$arg*` before.
    (_NEW, ("p vfs_read x=file:%pD 9=\\1",), "BAD_ARG_NAME 45"),
    (_NEW, ("f vfs_read%return x=file:%pD $arg* z=$nosuch",), "BAD_VAR 45"),
    (_NEW, ("t kfree x=ptr:%pd x=ptr",), "USED_ARG_NAME 34"),
    (_OLD, ("p vfs_read x=file:%pD 9=\\1",), "BAD_TYPE 18"),
    # A part that the compiler split off is judged by its function too.
    (_ALL, ("p strncpy_part.cold",), "ok"),
    (_ALL, ("p kept_off.part.0",), "FAIL_REG_PROBE 2"),
    # All names of an address are judged alike; ftrace knew one only.
    (_ALL, ("p also_vfs_read",), "ok"),
    (_ALL, ("p also_kept_off",), "FAIL_REG_PROBE 2"),
    (("6.12",), ("f also_vfs_read",), "FAIL_REG_PROBE 2"),
    (("7.2",), ("f also_vfs_read",), "ok"),
    # A file is known by what its path leads to.
    (_ALL, ("p:g/e /bin/busybox:16", "p:g/e /bin//busybox:16"), "SAME_PROBE 0"),
    (_ALL, ("p:g/e /bin/busybox:16", "p:g/x /bin/sh:16(8)"), "refused"),
    # Without a tracepoint the kernel takes the function of its name, less the first parameter.
    (_NEW, ("t vfs_read file",), "NO_BTFARG 11"),
    (_NEW, ("t vfs_read buf",), "ok"),
    (_NEW, ("p /bin/busybox:16%return x=count",), "NOSUP_BTFARG 27"),
    # Numbers too big for a long, numbers with two signs.
    (_ALL, ("p vfs_read x=%di:b64@18446744073709551616/64",), "ok"),
    (("6.12",), ("p vfs_read $arg18446744073709551617",), "ok"),
    (("7.2",), ("p vfs_read $arg18446744073709551617",), "NO_BTFARG 11"),
    (_NEW, ("p vfs_read $arg4294967296",), "BAD_ARG_NUM 11"),
    (_ALL, ("p vfs_read x=\\-+1",), "BAD_IMM 14"),
    (_ALL, ("p vfs_read x=+0(\\+-1)",), "ok"),
    # 6.1 looks for the field of an event when it has read the argument.
    (_OLD, ("e sched.sched_switch x=+0($COMM)",), "ok"),
    (_NEW, ("e sched.sched_switch x=+0($COMM)",), "COMM_CANT_DEREF 26"),
    (_OLD, ("e sched.sched_switch x=$nosuch:u8[4]",), "BAD_STRING 31"),
    (_NEW, ("e sched.sched_switch x=$nosuch:u8[4]",), "BAD_VAR 23"),
    (_OLD, ("e sched.sched_switch x=$comm:symstr",), "ok"),
    # Up to 6.12 a tracepoint takes one probe; fprobes are registered later where it takes more.
    (("6.12",), ("t:g/a kfree", "t:g/b kfree"), "refused"),
    (("7.2",), ("t:g/a kfree", "t:g/b kfree"), "ok"),
    (_NEW, ("t:g/a kfree", "t:g/a kfree x=\\1"), "DIFF_ARG_TYPE 12"),
    (_NEW, ("t:g/a kfree", "t:g/a sched_switch"), "ok"),
    (("6.12",), ("t mm_page_alloc",), "FAIL_REG_PROBE 2"),
    (("7.2",), ("t mm_page_alloc",), "ok"),
    # What an fprobe takes for a pattern, and ftrace for a number.
    (_NEW, ("f vfs_\\read",), "ok"),
    (_NEW, ("f vfs_[!x]ead",), "ok"),
    (_NEW, ("f vfs_[a-q]ead",), {"6.12": "FAIL_REG_PROBE 2", "7.2": "BAD_PROBE_ADDR 2"}),
    (("6.12",), ("f:g/e 5",), "ok"),
    (("7.2",), ("f:g/e 5",), "BAD_PROBE_ADDR 6"),
    (("6.12",), ("f:g/e 99999999",), "FAIL_REG_PROBE 6"),
    (("6.12",), ("f !vfs_read%return",), "FAIL_REG_PROBE 2"),
    (_NEW, ("f:g/n []]",), {"6.12": "FAIL_REG_PROBE 6", "7.2": "BAD_PROBE_ADDR 6"}),
    # `$arg*` without types: older kernels read on.
    (("6.12",), ("f nosuch $arg*:%pd",), "BAD_VAR 20"),
    (("6.12",), ("f nosuch $stack2049 $arg*",), "BAD_STACK_NUM 9"),
    (("7.2",), ("f nosuch $stack2049 $arg*",), "NOSUP_BTFARG 20"),
    # The order in which registering refuses.
    (_NEW, ("f nosuch x=@nosuch",), "BAD_PROBE_ADDR 2"),
    (_ALL, ("p not_traced x=@nosuch",), "FAIL_REG_PROBE 2"),
    (_ALL, ("p nosuch:vfs_read x=@nosuch",), "ok"),
    (_ALL, ("p nosuch:vfs_read x=@nosuch+x",), "FAIL_REG_PROBE 2"),
    (_ALL, ("p:g/e 0 x=@nosuch",), "ok"),
    (_ALL, ("p:g/e 0 x=\\1",), "FAIL_REG_PROBE 6"),
    (("7.2",), ("p /bin/busybox:16 x=%di:b18446744073709551616@0x4/16",), "ok"),
    (_OLD, ("p:e virtio_net:nosuch $stack2049",), "BAD_STACK_NUM 22"),
    (_OLD, ("p:e virtio_net:nosuch $stack",), "BAD_PROBE_ADDR 4"),
    (_NEW, ("p:e virtio_net:nosuch $stack2049",), "BAD_PROBE_ADDR 4"),
    # Deletions.
    (_ALL, ("p:g/e 4096", "-:g/e 4096"), "refused"),
    (_ALL, ("p:g/e 4096", "p:g/e 8192"), "SAME_PROBE 0"),
    (_NEW, ("f:g/e vfs_read", "e:g/x g.e", "-:g/"), "refused"),
    (_OLD, ("e:g/e sched.sched_switch", "-:g/e sch.sched_switch"), "ok"),
    (_NEW, ("e:g/e sched.sched_switch", "-:g/e sch.sched_switch"), "refused"),
    # More letters behind the first one are overread.
    (_ALL, ("ee sched/sched_switch", "e sched/sched_switch x=\\1"), "EVENT_EXIST 0"),
    # A function without parameters, before and after it was looked up.
    (_NEW, ("f schedule%return $retval nosuch",), "NO_RETVAL 18"),
    (_NEW, ("f schedule nosuch",), "NO_BTF_ENTRY 11"),
    (_NEW, ("f schedule $arg1 nosuch",), "NO_BTFARG 17"),
    # Bytes of other alphabets, each for itself.
    (_ALL, ("p vfs_read é=\\1",), "BAD_ARG_NAME 11"),
    (_OLD, ("p vfs_read é",), "BAD_FETCH_ARG 11"),
    (_NEW, ("p vfs_read é",), "NO_BTFARG 11"),
    (_NEW, ("t kfreé",), "BAD_TP_NAME 7"),
    (_ALL, ('p vfs_read x=\\"à"',), "IMMSTR_NO_CLOSE 16"),
    # Filters: the field comes first.
    (_ALL, (FILTER, "nosuch.function == 1"), "FIELD_NOT_FOUND 7"),
    (_ALL, (FILTER, " nosuch == 1"), "FIELD_NOT_FOUND 8"),
    (_OLD, (FILTER, "prev_pid.function == 1"), "INVALID_OP 9"),
    (_NEW, (FILTER, "prev_pid.function == 1"), "ILLEGAL_FIELD_OP 22"),
    (_ALL, (FILTER, "nosuché == 1"), "FIELD_NOT_FOUND 8"),
    # Lists of CPUs: blanks part them too, a part of a range needs one.
    (_NEW, (FILTER, "CPU & CPUS{0 1}"), "ok"),
    (_NEW, (FILTER, "CPU & CPUS{0-1:1/1}"), "ok"),
    (_NEW, (FILTER, "CPU & CPUS{0:1/2}"), "INVALID_CPULIST 17"),
    (_NEW, (FILTER, "CPU & CPUS{0-1:2/1}"), "INVALID_CPULIST 19"),
    # Of an argument with its name 6.1 compares 63 characters with the whole of what a deletion says.
    (_ALL, (f"p:g/e vfs_read {_LONG}", f"-:g/e vfs_read {_LONG}"), {"6.1": "refused", "6.12": "ok", "7.2": "ok"}),
    (
        _ALL,
        (f"p:g/e vfs_read {_LONG}", f"-:g/e vfs_read {_LONG[:63]}"),
        {"6.1": "ok", "6.12": "refused", "7.2": "refused"},
    ),
]


@pytest.mark.parametrize(("names", "commands", "answer"), CASES, ids=[" | ".join(case[1]) for case in CASES])
def test_found(names: tuple[str, ...], commands: tuple[str, ...], answer: str | dict[str, str]) -> None:
    interface, commands = (FILTER, commands[1:]) if commands[0] == FILTER else ("dynamic_events", commands)
    for name in names:
        wanted = answer[name] if isinstance(answer, dict) else answer
        assert (name, _answer(name, interface, commands)) == (name, wanted)


def test_instructions_of_arm64_are_four_bytes_long() -> None:
    btf, facts, _ = kernel("arm64")
    errors = [kernel_verdict(f"p vfs_read+{offset}", btf, facts).error for offset in (0, 2, 4)]
    assert [error and error.code for error in errors] == [None, "FAIL_REG_PROBE", None]


def test_names_the_kernel_made_may_hold_anything() -> None:
    """A listed event of `p nosuch:a=b` has its place in its name."""
    listed = "p:kprobes/p_nosuch_a=b_0 nosuch:a=b"
    assert _answer("7.2", "dynamic_events", (listed, "-:kprobes/p_nosuch_a=b_0")) == "ok"


def test_listed_events_on_functions_of_modules_are_kept() -> None:
    """Their types aren't at hand when a command on another function is judged."""
    before = ("r10:g/e virtnet_poll napi=napi:u32 x=x->y",)
    assert _answer("7.2", "dynamic_events", (*before, "r:g/e vfs_read $stack:s16")) == "DIFF_ARG_TYPE 26"
    assert _answer("7.2", "dynamic_events", (*before, "r10:g/e vfs_write napi=\\1:u32 x=\\2")) == "ok"


def test_bytes_are_put_together_again() -> None:
    facts, around = _facts_of["7.2"]
    verdict = kernel_verdict("p vfs_read x=é", kernel("7.2").btf, facts, environment=around)
    assert verdict.command == "p vfs_read x=é"
    assert verdict.error is not None
    assert verdict.error.token == "é"
