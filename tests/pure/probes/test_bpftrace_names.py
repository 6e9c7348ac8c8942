"""The bpftrace export names values by the target's types, and keeps registers and offsets where there are none."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from probes.command import parse_armable
from probes.export.bpftrace.constants import names_of_numbers
from probes.export.dialect import CannotExport, PlanTypes
from probes.export.export import dialect_named, export
from probes.facts.facts import Feature
from probes.facts.lookups import Environment, StaticEventField
from probes.facts.program_support import ProgramSupport
from probes.lowering.lower import lower
from tests.probes_data import environment, kernel, whole_types

FIELDS = (
    StaticEventField("prev_comm", "char[16]", 16, True),
    StaticEventField("prev_pid", "pid_t", 4, True),
    StaticEventField("flags", "unsigned long", 8, False, "lx"),
    StaticEventField("name", "__data_loc char[]", 4, True),
    StaticEventField("skaddr", "const void *", 8),
)


def script(spec: str, around: Environment | None = None) -> str:
    """The export for 7.2 with all its types, without its comments at the top."""
    _, facts, _ = kernel("7.2")
    dialect, types = dialect_named("bpftrace"), whole_types()
    facts = replace(facts, functions=(*facts.functions, "do_send_sig_info", "do_sys_openat2"))
    known = replace(facts, features=dialect.lowered_for(facts))
    around = around or environment("7.2")
    plan = lower(parse_armable(spec), types, known, "pw_x", environment=around)
    text = export(dialect, [plan], facts, [PlanTypes(types, around)]).text
    return re.sub(r"\A(?:#!.*\n|// .*\n)+\n", "", text)


def values(text: str) -> list[str]:
    """What each printf prints, without task, CPU and time."""
    return re.findall(r"% 1000000,\n    (.*)\);", text)


def test_a_function_is_read_by_its_types_at_both_ends() -> None:
    assert script("f vfs_read%return file->f_pos count $retval") == (
        "fr:vfs_read\n{\n"
        '  printf("%s-%d [%03d] %llu.%06llu: vfs_read__exit: f_pos=%lld count=%llu ret=%lld\\n",\n'
        "    comm, tid, cpu, nsecs / 1000000000, nsecs / 1000 % 1000000,\n"
        "    args->file->f_pos, args->count, retval);\n"
        "}\n"
    )
    both = script("f vfs_read%both file->f_pos $retval")
    assert re.findall(r"^\w+:\w+$", both, re.MULTILINE) == ["f:vfs_read", "fr:vfs_read"]
    assert "frame" not in both and "reg(" not in both


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ("f vfs_read file:%pD", "str(args->file->f_path.dentry->d_name.name)"),
        ("f vfs_read file->f_path.dentry->d_name.name:string", "str(args->file->f_path.dentry->d_name.name)"),
        ("f do_sys_openat2 filename:ustring", "str(uptr(args->filename))"),
        ("f wake_up_new_task p->comm:string", "args->p->comm"),
        ("f wake_up_new_task p->in_execve", "args->p->in_execve"),
        ("f wake_up_new_task p->cpus_mask.bits[0]", "args->p->cpus_mask.bits[0]"),
        ("f wake_up_new_task p->real_cred->uid", "args->p->real_cred->uid.val"),
        ("f vfs_read count:u8", "(uint8)args->count"),
        ("f vfs_read $arg3:u64", "args->count"),
        ("f vfs_read +104($arg1):s64", "(int64)(*(uint64*)kptr((uint64)args->file + 104))"),
        ("f vfs_read $comm", "comm"),
    ],
)
def test_values_are_named_as_in_c(spec: str, shown: str) -> None:
    text = script(spec)
    assert values(text) == [shown]
    assert ("// " in text) is ("kptr" in shown)  # what an offset means stands beside it


def test_an_offset_says_what_it_is() -> None:
    assert "  // arg1: +104($arg1)\n  printf" in script("f vfs_read +104($arg1):s64")


@pytest.mark.parametrize(
    ("spec", "condition", "defined"),
    [
        ("f vfs_read%return $retval if ret == -EAGAIN", "retval == -EAGAIN", "#define EAGAIN 11\n\n"),
        ("f vfs_read%return $retval if ret == -11", "retval == -11", ""),
        ("f do_send_sig_info type if type == PIDTYPE_TGID", "args->type == PIDTYPE_TGID", ""),
        ('f vfs_read count if comm == "cat" && count & 64', 'comm == "cat" && args->count & 64', ""),
    ],
)
def test_a_filter_keeps_the_names_it_was_written_with(spec: str, condition: str, defined: str) -> None:
    assert script(spec).startswith(
        defined + script(spec).removeprefix(defined).partition("\n")[0] + f"\n/{condition}/"
    )


def test_numbers_of_several_predicates_keep_their_own_names() -> None:
    assert names_of_numbers("ret == -EIO || ret == -EAGAIN", "ret == -5 || ret == -11") == {
        ("ret", -5): "-EIO",
        ("ret", -11): "-EAGAIN",
    }
    assert names_of_numbers("ret == -EIO && ret == 5", "ret == 5") == {}
    assert names_of_numbers('comm == "a == B"', 'comm == "a == B"') == {}


def test_where_no_program_attaches_a_kprobe_reads_by_casts_and_says_why() -> None:
    support = ProgramSupport(refused={"vfs_read": "the kernel said no"})
    text = script("f vfs_read%return file->f_pos count if count > 5", replace(environment("7.2"), programs=support))
    assert "// no fentry: the kernel said no\nkretprobe:vfs_read\n" in text
    stored = '@vfs_read__exit_arg{}[tid, reg("sp") - 8]'
    assert values(text) == [f"((struct file *)({stored.format(0)}))->f_pos, {stored.format(2)}"]
    assert f'_held[tid, reg("sp") - 8] == 1 && {stored.format(2)} > 5/' in text
    assert text.count("delete(") == text.count("clear(") == 3


def test_registers_are_those_of_a_kprobe() -> None:
    text = script("p vfs_read file->f_pos %di")
    assert "\nkprobe:vfs_read\n" in f"\n{text}"
    assert values(text) == ['((struct file *)arg0)->f_pos, reg("di")']


def test_a_pattern_is_written_as_one_where_it_names_the_same_functions() -> None:
    many, few = script("f vfs_*"), script("f vfs_re*")
    assert many.count("kprobe:") == 1 and "kprobe:vfs_*\n" in many and values(many) == ["func"]
    assert few.startswith("kprobe:vfs_read,\nkprobe:vfs_re")


def test_an_event_as_it_is_prints_all_fields() -> None:
    around = Environment(event=lambda group, name: FIELDS if (group, name) == ("my", "event") else None)
    text = script("on my/event if prev_pid == 1", around)
    assert text.startswith("tracepoint:my:event\n/args->prev_pid == 1/\n{\n")
    assert 'prev_comm=\\"%s\\" prev_pid=%d flags=0x%llx name=\\"%s\\" skaddr=0x%llx' in text
    assert values(text) == ["args->prev_comm, args->prev_pid, args->flags, str(args->name), args->skaddr"]


def test_a_field_without_a_counterpart_is_left_out_and_named() -> None:
    fields = (StaticEventField("mask", "__data_loc unsigned long[]", 4), StaticEventField("bad name", "int", 4))
    around = Environment(event=lambda group, name: (*fields, FIELDS[1]))
    text = script("on my/event", around)
    assert text.startswith("// left out: __data_loc unsigned long[] mask, int bad name\ntracepoint:my:event\n")
    assert values(text) == ["args->prev_pid"]
    around = Environment(event=lambda group, name: fields)
    with pytest.raises(CannotExport, match="prints no field"):
        script("on my/event", around)


def test_a_system_call_prints_its_arguments() -> None:
    fields = (
        StaticEventField("__syscall_nr", "int", 4, True),
        StaticEventField("dfd", "int", 8, False, "lx"),
        StaticEventField("filename", "const char *", 8),
        StaticEventField("count", "size_t", 8, False),
        StaticEventField("__filename_val", "__data_loc char[]", 4),
    )
    text = script("on syscalls/sys_enter_x", Environment(event=lambda group, name: fields))
    assert 'sys_enter_x: dfd=%d filename=\\"%s\\" count=%llu\\n' in text
    assert values(text) == ["args->dfd, str(args->filename), args->count"]


def test_a_program_is_probed_by_its_symbol() -> None:
    facts = replace(kernel("7.2").facts, features=kernel("7.2").facts.features | {Feature.UPROBE_EVENTS})
    plan = lower(parse_armable("p /bin/true:0x1000 %di"), None, facts, "pw_x")
    named = replace(plan, probe=parse_armable("p /bin/true:main %di"))
    assert "\nuprobe:/bin/true:main\n" in export(dialect_named("bpftrace"), [named], facts).text
