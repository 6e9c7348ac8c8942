"""Which parameters, members and arguments of system calls have names for their numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from btf.btf import Btf
from btf.kinds import Kind
from btf.layout import fields
from events.names.constants import _file
from probes.command import parse_armable
from probes.facts.lookups import UNKNOWN, StaticEventField
from probes.functions import known_numbers
from probes.functions.signature import signature_of
from probes.lowering.lower import lower
from probes.plans.plan import Plan
from probes.probe import Probe
from probes.refusal import CannotLower
from tests.probes_data import environment, kernel, whole_types

KERNELS = ("6.1", "6.12", "7.2", "arm64")


def naming(spec: str, name: str = "7.2") -> dict[str, str]:
    """Names of the numbers of each recorded field, on a kernel that takes probes as one of `KERNELS` does."""
    probe = parse_armable(spec)
    assert isinstance(probe, Probe)
    facts = replace(kernel(name).facts, functions=(probe.place.symbol,))
    plan = lower(probe, whole_types(), facts, "g", environment=environment("7.2"))
    return {column.name: column.naming for event in plan.events for column in event.columns}


def test_every_set_is_one_of_constants_and_each_is_used() -> None:
    rules = known_numbers._PARAMETERS.values()
    used = {*known_numbers._CALLS.values(), *known_numbers._MEMBERS.values(), *known_numbers._TYPEDEFS.values()}
    assert used | {one.name for several in rules for one in several} == set(_file().sets)


@pytest.mark.parametrize("place", known_numbers._MEMBERS)
def test_every_member_is_one_of_a_kernel(place: str) -> None:
    struct, _, name = place.partition(".")
    btf = whole_types()
    found = btf.find(struct, Kind.STRUCT)
    assert found is not None, struct
    assert name in [field.name for field in fields(btf, found)]


@pytest.mark.parametrize("name", KERNELS)
def test_a_probe_names_flags_modes_and_directories(name: str) -> None:
    found = naming("f do_sys_openat2 dfd how->flags how->mode filename:ustring", name)
    assert found == {"dfd": "directory", "flags": "open", "mode": "mode", "filename": ""}
    assert naming("f vfs_open file->f_flags file->f_inode->i_mode", name) == {"f_flags": "open", "i_mode": "mode"}
    assert naming("f do_send_sig_info sig info->si_signo", name) == {"sig": "signal", "si_signo": "signal"}
    assert naming("p ksys_mmap_pgoff prot flags len", name) == {"prot": "protection", "flags": "map", "len": ""}


def test_arguments_by_number_and_all_of_them() -> None:
    assert naming("f do_sys_openat2 $arg1") == {"arg1": "directory"}
    assert naming("f vfs_fallocate $$args")["mode"] == "fallocate"
    assert naming("f vfs_read count")["count"] == ""


def test_generic_names_have_no_meaning_of_their_own() -> None:
    btf = whole_types()
    assert _parameter(btf, "path_openat", "flags") == ""
    assert _parameter(btf, "tcp_recvmsg", "flags") == "message"
    assert _parameter(btf, "do_mount", "flags") == "mount"


def _parameter(btf: Btf, function: str, name: str) -> str:
    signature = signature_of(btf, function)
    assert signature is not None
    number = signature.number_of(name)
    assert number is not None
    return known_numbers.function_parameter(btf, function, name, signature.params[number].type_id)


def test_arguments_of_system_calls() -> None:
    call = known_numbers.call_argument
    assert call("openat", "flags", "int") == "open" and call("openat", "dfd", "int") == "directory"
    assert call("openat", "mode", "umode_t") == "mode" and call("openat", "filename", "const char *") == ""
    assert (
        call("kill", "sig", "int") == "signal" and call("clock_gettime", "which_clock", "const clockid_t") == "clock"
    )
    assert call("read", "count", "size_t") == "" and call("nosuch", "flags", "int") == ""


def test_fields_of_events() -> None:
    """Types as format files have them: signal/signal_generate, task/task_newtask, timer/hrtimer_setup."""
    field = known_numbers.event_field
    assert field("sig", "int") == "signal" and field("clockid", "clockid_t") == "clock"
    assert field("clone_flags", "unsigned long") == field("clone_flags", "u64") == "clone"
    assert field("flags", "unsigned int") == field("type", "int") == field("sig", "u32") == ""


FIELDS = (StaticEventField("dfd", "int", 8, naming="directory"), StaticEventField("flags", "int", 8, naming="open"))


def lowered(spec: str, name: str) -> Plan:
    facts = replace(kernel(name).facts, functions=("do_sys_openat2",))
    around = replace(UNKNOWN, event=lambda *_: FIELDS)
    return lower(parse_armable(spec), whole_types(), facts, "g", environment=around)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize(
    ("spec", "numbers"),
    [
        ("p do_sys_openat2 dfd how->flags if flags & O_DIRECTORY && dfd == AT_FDCWD", "flags & {} && dfd == -100"),
        ("on syscalls/sys_enter_openat if flags & O_DIRECTORY", "flags & {}"),
    ],
)
def test_filters_take_the_names(spec: str, numbers: str, name: str) -> None:
    number = 0x4000 if name == "arm64" else 0x10000
    assert lowered(spec, name).events[0].filter == numbers.format(number)


@pytest.mark.parametrize("start", ["p do_sys_openat2 dfd how->flags if ", "on syscalls/sys_enter_openat if "])
def test_a_slip_in_a_name_is_told_with_the_right_one(start: str) -> None:
    with pytest.raises(CannotLower) as refused:
        lowered(f"{start}flags & O_CRAT && dfd > 3", "7.2")
    refusal = refused.value.refusal
    assert (refusal.column, refusal.nearest) == (len(start) + len("flags & "), ("O_CREAT",))
    assert "did you mean O_CREAT?" in refusal.hint


def test_no_one_number_is_a_negative_argument_of_a_system_call() -> None:
    with pytest.raises(CannotLower) as refused:
        lowered("on syscalls/sys_enter_openat if dfd == AT_FDCWD", "7.2")
    assert refused.value.refusal.token == "AT_FDCWD"
