"""Probes lowered for kernels that can more and less."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import pytest

from btf.btf import Btf
from btf.kinds import Kind as BtfKind
from btf.types import Struct
from btf.walk import stripped
from probes.check import check, check_plan
from probes.facts.facts import Feature
from probes.facts.lookups import Environment, SymbolCount
from probes.fetcharg import AllArguments, FetchArg, ReturnValue, variable
from probes.functions.capture_tree import CaptureTree
from probes.functions.signature import signature_of
from probes.kernel_verdict import kernel_verdict
from probes.lowering.lower import lower
from probes.names import unique_field
from probes.plans.plan import Plan
from probes.probe import Probe, ProbeEnds, ProbeKind, ProbePlace, SymbolBase
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.btf_writer import Writer
from tests.probes_data import KERNELS, kernel

ALL = [*KERNELS, "arm64"]


def plan(spec: str, name: str) -> Plan:
    btf, facts, _ = kernel(name)
    return lower(parse_probe(spec), btf, facts, "pw_1")


def lines(spec: str, name: str) -> list[str]:
    return [event.line for event in plan(spec, name).events]


def refusal(spec: str, name: str) -> tuple[str, str]:
    """Code, and the text from the caret on."""
    btf, facts, _ = kernel(name)
    verdict = check(spec, btf, facts)
    assert verdict.error is not None
    assert verdict.error.message
    return verdict.error.code, verdict.command[verdict.error.column :]


def test_names_where_the_kernel_takes_them() -> None:
    assert lines("f vfs_read%both file->f_pos count $retval", "7.2") == [
        "f:pw_1/vfs_read__entry vfs_read f_pos=file->f_pos count frame=$stack",
        "f:pw_1/vfs_read__exit vfs_read%return f_pos=file->f_pos count ret=$retval frame=$stack",
    ]


def test_kprobes_where_there_are_no_fprobes() -> None:
    assert lines("f vfs_read%both file->f_pos $retval", "arm64") == [
        "p:pw_1/vfs_read__entry vfs_read f_pos=file->f_pos frame=$stack",
        "r:pw_1/vfs_read__exit vfs_read f_pos=file->f_pos ret=$retval frame=$stack",
    ]
    with pytest.raises(CannotLower) as caught:
        btf, facts, _ = kernel("arm64")
        lower(Probe(ProbePlace("vfs_read"), kind=ProbeKind.FPROBE), btf, facts, "pw_1")
    assert caught.value.refusal.code == "missing_capability"


def test_numbers_and_offsets_where_there_are_no_names() -> None:
    assert lines("f wake_up_new_task p->in_execve p->comm:string p->thread_pid->level p", "6.1") == [
        "p:pw_1/wake_up_new_task__entry wake_up_new_task in_execve=+2344($arg1):b1@2/8 comm=+2976($arg1):string "
        "level=+4(+2520($arg1)):u32 p=$arg1:x64"
    ]
    assert lines("f vfs_read $$args", "6.1") == [
        "p:pw_1/vfs_read__entry vfs_read file=+0(+40(+24($arg1))):string buf=+0($arg2):string "
        "count=$arg3:u64 pos=$arg4:x64"
    ]


def test_arguments_at_exit_become_an_event_of_their_own() -> None:
    found = plan("f vfs_read%return count $retval if ret > 0", "6.1")
    assert [(e.line, e.at_exit, e.filter) for e in found.events] == [
        ("p:pw_1/vfs_read__entry vfs_read count=$arg3:u64 frame=$stack", False, ""),
        ("r:pw_1/vfs_read__exit vfs_read ret=$retval:s64 frame=$stack", True, "ret > 0"),
    ]
    assert any("count" in loss and "entry only" in loss for loss in found.losses)
    assert any("vfs_read__entry" in loss and "not filtered" in loss for loss in found.losses)
    assert plan("f vfs_read%return count $retval", "7.2").losses == ()


def test_exit_without_arguments_is_one_event_everywhere() -> None:
    for name in ALL:
        found = plan("f vfs_read%return $retval $comm", name)
        assert len(found.events) == 1
        assert found.losses == ()


def test_all_arguments_have_their_best_types() -> None:
    assert lines("f vfs_read $$args", "7.2") == ["f:pw_1/vfs_read__entry vfs_read file=file:%pD buf:string count pos"]
    assert lines("f vfs_rename%return $$args", "7.2") == ["f:pw_1/vfs_rename__exit vfs_rename%return rd"]
    assert lines("f from_kuid $$args", "6.12") == ["f:pw_1/from_kuid__entry from_kuid targ kuid:u32"]
    assert lines("f vfs_read $arg*", "7.2") == ["f:pw_1/vfs_read__entry vfs_read file buf count pos"]


def test_struct_by_value_is_found_where_the_convention_puts_it() -> None:
    assert lines("f ZSTD_checkCParams cParams.windowLog cParams.chainLog", "7.2") == [
        "f:pw_1/ZSTD_checkCParams__entry ZSTD_checkCParams windowLog=$arg7:u32 chainLog=$arg7:b32@32/64"
    ]
    assert lines("f ZSTD_checkCParams cParams.chainLog", "arm64") == [
        "p:pw_1/ZSTD_checkCParams__entry ZSTD_checkCParams chainLog=+4($arg1):u32"
    ]


def test_argument_on_the_stack_is_there_at_the_entry_only() -> None:
    assert "uf=$stack0:x64" in lines("f do_mmap $$args", "arm64")[0]
    found = plan("f do_mmap%return $$args", "arm64")
    assert "uf" not in [column.name for column in found.events[0].columns]
    assert [loss for loss in found.losses if loss.startswith("uf:")]
    assert refusal("f do_mmap%both uf", "arm64") == ("not_in_registers", "uf")
    assert lines("f do_mmap%return uf", "6.12") == ["f:pw_1/do_mmap__exit do_mmap%return uf"]


def test_an_instruction_inside_a_function_has_no_entry_in_its_name() -> None:
    assert lines("p vfs_read+0x9", "7.2") == ["p:pw_1/vfs_read_0x9 vfs_read+0x9"]
    assert lines("p vfs_read+9", "7.2") == ["p:pw_1/vfs_read_0x9 vfs_read+9"]


def test_element_behind_a_pointer_and_of_an_array() -> None:
    assert lines("f vfs_read pos[0]", "7.2") == ["f:pw_1/vfs_read__entry vfs_read pos_0=+0($arg4):s64"]
    assert lines("f wake_up_new_task p->thread_pid->numbers[0].nr", "6.12") == [
        "f:pw_1/wake_up_new_task__entry wake_up_new_task nr=+112(+2536($arg1)):s32"
    ]


def test_name_inside_a_dereference() -> None:
    assert lines("p vfs_read x=+8(file->f_inode):u32", "6.1") == [
        "p:pw_1/vfs_read__entry vfs_read x=+8(+32($arg1)):u32"
    ]
    assert lines("p vfs_read x=+8(file->f_inode):u32", "7.2") == [
        "p:pw_1/vfs_read__entry vfs_read x=+8(file->f_inode):u32"
    ]


def test_types_an_old_kernel_lacks() -> None:
    assert lines("p vfs_read c=+0($arg2):char file:%pD", "6.1") == [
        "p:pw_1/vfs_read__entry vfs_read c=+0($arg2):u8 file=+0(+40(+24($arg1))):string"
    ]


def test_too_long_by_name_goes_by_offset() -> None:
    path = "->f_mapping->host->i_sb->s_root->d_inode->i_sb->s_root->d_inode"
    assert lines(f"f vfs_read file{path}", "7.2")[0].count("(") == 8
    code, at = refusal(f"f vfs_read%both file->f_inode{'->i_sb->s_root->d_inode' * 6}", "7.2")
    assert code == "ARG_TOO_LONG"
    assert at.startswith("file->")


def test_many_dentries_stay_within_what_the_kernel_expands() -> None:
    spec = "f vfs_read " + " ".join(f"d{n}=file->f_path.dentry:%pd" for n in range(12))
    words = lines(spec, "7.2")[0].split()[2:]
    assert len(words) == 12
    named = [word for word in words if word.endswith(":%pd")]
    assert 0 < len(named) < 12
    assert all(word.endswith(":string") for word in words if word not in named)


def test_an_exit_keeps_fifteen_arguments() -> None:
    found = plan("f ZSTD_buildCTable%return $$args $retval", "7.2")
    assert len(found.events[0].columns) == 16
    assert [loss for loss in found.losses if "Too many entry arguments" in loss]
    assert refusal("f ZSTD_buildCTable%both " + " ".join(f"x{n}=$arg{n}" for n in range(1, 17)), "7.2") == (
        "TOO_MANY_EARGS",
        "x16=$arg16",
    )
    assert kernel("7.2").btf.function("ZSTD_buildCTable") is not None


def test_fields_have_names_of_their_own() -> None:
    spec = "f vfs_read file->f_inode->i_ino file->f_mapping->host->i_ino f_pos=count file->f_pos"
    names = [column.name for column in plan(spec, "7.2").events[0].columns]
    assert names == ["i_ino", "host_i_ino", "f_pos", "file_f_pos"]


def test_two_events_of_a_call_can_be_paired() -> None:
    entry, leave = plan("f vfs_read%both file->f_pos pos[0] count frame=file $retval", "7.2").events
    assert (entry.frame, entry.frame_shift, leave.frame, leave.frame_shift) == ("frame_2", 0, "frame_2", 8)
    assert [column.label for column in leave.columns if column.kept] == ["count", "file"]
    alone = plan("f vfs_read%return count", "7.2").events[0]
    assert (alone.frame, alone.frame_shift) == ("", 0)


def test_columns_say_what_they_hold() -> None:
    btf, _, _ = kernel("7.2")
    entry, leave = plan("f vfs_read%both file->f_pos file $$args $retval", "7.2").events
    by_label = {column.label: column for column in leave.columns}
    assert by_label["$retval"].is_retval
    assert by_label["$retval"].btf_type is not None
    assert btf.type(by_label["$retval"].btf_type).name == "ssize_t"
    assert by_label["file->f_pos"].btf_type is not None
    assert by_label["buf"].btf_type is None
    assert not any(column.is_retval for column in entry.columns)
    assert not isinstance(stripped(btf, by_label["count"].btf_type or 0), Struct)


@pytest.mark.parametrize(
    ("spec", "code", "at"),
    [
        ("f vfs_read%both file->f_poss count", "NO_BTF_FIELD", "f_poss count"),
        ("f vfs_read%both x=file->f_path.nosuch", "NO_BTF_FIELD", "nosuch"),
        ("f vfs_read%both count $$args fil", "NO_BTFARG", "fil"),
        ("f vfs_read%both count->x", "NO_PTR_STRCT", "x"),
        ("f vfs_read%both count file.f_pos", "NOSUP_DAT_ARG", "f_pos"),
        ("f vfs_read%both x=count:u9", "BAD_TYPE", "u9"),
        ("f vfs_read%both count x=count:string[99]", "ARRAY_TOO_BIG", "99]"),
        ("f vfs_read%both x=count x=pos", "USED_ARG_NAME", "x=pos"),
        ("f vfs_read%both common_pid=pos", "USED_ARG_NAME", "common_pid=pos"),
        ("f kfree%both object $retval", "NO_RETVAL", "$retval"),
        ("f vfs_read%both count if cnt > 1", "unknown_filter_field", "cnt > 1"),
        ("f no_such_function $$args", "not_traceable", "no_such_function $$args"),
        ("f vfs_read%both wrong-name", "BAD_HYPHEN", "-name"),
        ("f wake_up_new_task p->comm[16]", "no_such_element", "[16]"),
    ],
)
@pytest.mark.parametrize("name", ALL)
def test_refusals_stand_under_the_word(name: str, spec: str, code: str, at: str) -> None:
    assert refusal(spec, name) == (code, at)


def test_twins() -> None:
    btf, facts, _ = kernel("7.2")
    twins = replace(facts, functions=(*facts.functions, "vfs_read [twin]"))
    found = lower(parse_probe("f vfs_read count"), btf, twins, "g")
    assert any("2 functions" in loss for loss in found.losses)
    error = check("p vfs_read%both $$args", btf, twins).error
    assert error is not None
    assert error.code == "NON_UNIQ_SYMBOL"


def test_one_of_the_twins_is_told_by_its_distance() -> None:
    btf, facts, _ = kernel("7.2")
    twin = Probe(
        ProbePlace("vfs_write", base=SymbolBase("_text", 4096)),
        ProbeEnds.BOTH,
        fetchargs=parse_probe("f x $$args").fetchargs,
    )
    entry, leave = lower(twin, btf, facts, "g").events
    assert entry.line.startswith(
        "p:g/vfs_write__entry _text+4096 file=+0(+40(+72($arg1))):string buf=+0($arg2):string"
    )
    assert leave.line.startswith("r:g/vfs_write__exit _text+4096 file=")
    with pytest.raises(CannotLower, match="not one"):
        lower(replace(twin, kind=ProbeKind.FPROBE), btf, facts, "g")
    unnamed = lower(parse_probe("p 0xffffffff81000000 x=%di"), btf, facts, "g")
    assert "this boot" in unnamed.losses[0]


@pytest.mark.parametrize("name", KERNELS)
def test_no_bit_field_is_left_to_the_kernel(name: str) -> None:
    """By its name the kernel shifts eight bytes of the record for it, and spoils the text before it; of whole bytes
    it reads as many as its type has (seen on 7.2: `fc->phase` was 1280 where the byte is 0, and $comm empty).
    """
    btf, facts, _ = kernel(name)
    found = lower(parse_probe("f wake_up_new_task $comm p->in_execve p->sched_reset_on_fork:u8"), btf, facts, "g")
    words = found.events[0].line.split()[2:]
    assert re.fullmatch(r"in_execve=\+\d+\(\$arg1\):b1@\d/8", words[1]) and words[2].endswith("($arg1):u8")
    wide = _packed({"kind": 8})
    (word,) = (
        lower(parse_probe("f f a0->kind"), wide, replace(facts, functions=("f",)), "g").events[0].line.split()[2:]
    )
    assert word == "kind=+4($arg1):b8@0/8"


@pytest.mark.parametrize("name", KERNELS)
def test_a_small_enum_is_as_wide_as_it_is(name: str) -> None:
    """The kernel takes every enum for 32 bits (fetch_type_from_btf_type): `bio->bi_write_hint` has eight."""
    facts = replace(kernel(name).facts, functions=("f",))
    line = lower(parse_probe("f f a0->hint x=a0->hint:x8"), _packed({}), facts, "g").events[0].line
    assert re.fullmatch(r"hint=(a0->hint|\+4\(\$arg1\)):s8 x=(a0->hint|\+4\(\$arg1\)):x8", line.partition(" f ")[2])


@pytest.mark.parametrize("name", ALL)
def test_a_struct_around_a_number_is_as_wide_as_that(name: str) -> None:
    """The kernel takes it for a long: with the user would come the group behind it."""
    words = lines("f vfs_read file->f_inode->i_uid x=file->f_inode->i_uid:x32", name)[0].split()[2:]
    assert words[0].startswith("i_uid=") and words[0].endswith(":u32") and words[1].endswith(":x32")


def _packed(bits: dict[str, int]) -> Btf:
    """Types of `f(struct *a0)`, whose struct has an int and then bit-fields of the same type, else a small enum."""
    writer, at = Writer(), 32
    number = writer.integer("unsigned int", 4)
    rows: list[tuple[int | str, ...]] = [("first", number, 0)]
    for name, size in bits.items():
        rows.append((name, number, size << 24 | at))
        at += size
    if not bits:
        rows.append(("hint", writer.add(BtfKind.ENUM, "hint", 1, [("NONE", 0), ("SHORT", 2)]), at))
    struct = writer.add(BtfKind.STRUCT, "packed", 8, rows, flag=True)
    pointer = writer.add(BtfKind.PTR, last=struct)
    writer.add(BtfKind.FUNC, "f", writer.add(BtfKind.FUNC_PROTO, rows=[("a0", pointer)]))
    return Btf.load(writer.data())


@pytest.mark.parametrize(
    ("text", "code", "at"),
    [
        ("p 0xffffffff81000000 x=$arg1", "NOFENTRY_ARGS", "$arg1"),
        ("p 0xffffffff81000000 +8($arg2):u32", "NOFENTRY_ARGS", "+8($arg2):u32"),
        ("r 0xffffffff81000000 $retval", "RETVAL_ON_PROBE", "$retval"),
        ("p 0xffffffff81000000%both %di x=$retval:s32", "RETVAL_ON_PROBE", "$retval:s32"),
        ("p vfs_read+16 %di x=$arg1", "NOFENTRY_ARGS", "$arg1"),
        ("p vfs_read+16 count", "NOFENTRY_ARGS", "count"),
    ],
)
@pytest.mark.parametrize("name", KERNELS)
def test_a_place_that_begins_no_function_has_none_of_its_values(name: str, text: str, code: str, at: str) -> None:
    """The kernel refuses them too: of an address it looks up no function (trace_kprobe_create_internal)."""
    btf, facts, _ = kernel(name)
    with pytest.raises(CannotLower) as error:
        lower(parse_probe(text), btf, facts, "g")
    refusal = error.value.refusal
    assert (refusal.code, text[refusal.column :]) == (code, at)
    assert "put %return" not in refusal.hint and "still work" not in refusal.hint
    found = lower(parse_probe(f"{' '.join(text.split()[:2])} $$args"), btf, facts, "g")
    assert not any("BTF" in loss for loss in found.losses) and "$$args: " in found.losses[-1]


def test_symbols_that_are_no_functions_count_for_a_kprobe() -> None:
    btf, facts, _ = kernel("6.1")
    around = Environment(symbol=lambda name: SymbolCount(2 if name == "vfs_read" else 1))
    with pytest.raises(CannotLower, match="2 symbols"):
        lower(parse_probe("f vfs_read $$args"), btf, facts, "g", environment=around)
    assert lower(parse_probe("f vfs_write $$args"), btf, facts, "g", environment=around).events


@pytest.mark.parametrize(("release", "letter"), [("7.2", "f"), ("6.12", "p"), ("6.1", "p")])
def test_another_name_of_a_traceable_function_is_probed_by_the_name_that_was_typed(release: str, letter: str) -> None:
    btf, facts, _ = kernel(release)
    around = Environment(
        symbol=lambda name: SymbolCount(1, aliases=("vfs_read",) if name == "__x64_sys_other" else ())
    )
    plan = lower(parse_probe("f __x64_sys_other"), btf, facts, "g", environment=around)
    assert plan.events[0].line.startswith(f"{letter}:") and " __x64_sys_other" in plan.events[0].line
    with pytest.raises(CannotLower):
        lower(parse_probe("f __x64_sys_none"), btf, facts, "g", environment=around)
    if release == "6.12":
        with pytest.raises(CannotLower):
            only_fprobe = replace(parse_probe("f __x64_sys_other"), kind=ProbeKind.FPROBE)
            lower(only_fprobe, btf, facts, "g", environment=around)


def test_a_twin_in_a_module_has_its_modules_name() -> None:
    btf, facts, _ = kernel("7.2")
    twins = replace(facts, functions=(*facts.functions, "vfs_read [one]", "vfs_read [two]"))
    line = lower(parse_probe("p one:vfs_read x=$arg1"), btf, twins, "g").events[0].line
    assert line.split()[1] == "one:vfs_read"


def test_a_filter_never_parts_the_ends_of_two_calls() -> None:
    """What the call may change is asked at the entry only; what stays the same, at both ends."""
    both = plan("f vfs_read%both file->f_pos count if count > 1 && common_pid == 7", "7.2")
    assert [event.filter for event in both.events] == ["count > 1 && common_pid == 7"] * 2
    assert both.losses == ()
    for condition, moving in (("f_pos < 100", "f_pos"), ("count > 1 && common_cpu == 0", "common_cpu")):
        found = plan(f"f vfs_read%both file->f_pos count if {condition}", "7.2")
        assert [event.filter for event in found.events] == [condition, ""]
        assert found.losses == (f"vfs_read__exit: not filtered, a call may change {moving}; its entry is",)
    late = plan("f vfs_read%both count $retval if ret < 0", "7.2")
    assert [event.filter for event in late.events] == ["", "ret < 0"]


def test_filter_of_both_ends_at_once_is_refused() -> None:
    assert refusal("f vfs_read%return count $retval if count > 1 && ret < 0", "6.1")[0] == "filter_spans_events"
    found = plan("f vfs_read%both count $retval if count > 1 && ret < 0", "7.2")
    assert [event.filter for event in found.events] == ["", "count > 1 && ret < 0"]


def test_event_names_fit_and_are_taken_away_again() -> None:
    btf, facts, _ = kernel("7.2")
    long = "a" * 70 + ".isra.0"
    wide = replace(facts, functions=(*facts.functions, long))
    events = lower(Probe(ProbePlace(long), ProbeEnds.BOTH), btf, wide, "pw_1").events
    for event in events:
        assert len(event.event) <= 63
        assert event.event.replace("_", "a").isalnum()
        assert event.remove == f"-:pw_1/{event.event}"
        assert event.line.split()[0].endswith(event.path)
    assert [event.event[-7:] for event in events] == ["__entry", "a__exit"]
    one = lower(parse_probe("f:mine/one vfs_read"), btf, facts, "").events[0]
    assert one.path == "mine/one"
    assert lower(parse_probe("f:mine/one vfs_read"), btf, facts, "pw_2", "two").events[0].path == "pw_2/two"


def test_a_line_is_never_longer_than_the_kernel_reads() -> None:
    btf, facts, _ = kernel("7.2")
    path = "file->f_path.dentry->d_inode->i_ino"
    spec = f"f:{'e' * 63} vfs_read%both " + " ".join(f"{'n' * 28}{n:03d}={path}" for n in range(90)) + " last=count"
    found = lower(parse_probe(spec), btf, facts, "g" * 63)
    for event in found.events:
        assert 4000 < len(event.line) <= 4094
        assert kernel_verdict(event.line, btf, facts).ok
        assert len(event.columns) == len(event.line.split()) - 3  # the frame is no column
        assert event.columns[0].name == "n" * 28 + "000"
    left = {loss.partition(":")[0] for loss in found.losses}
    assert len(left) == 91 - len(found.events[0].columns)
    assert all("at most 4094 characters" in loss for loss in found.losses)


def test_more_fields_than_an_event_has() -> None:
    spec = "f vfs_read " + " ".join(f"a{n}=count" for n in range(130))
    found = plan(spec, "7.2")
    assert len(found.events[0].columns) == 128
    assert found.losses == tuple(f"a{n}: an event has at most 128 fields" for n in (128, 129))
    both = plan(spec.replace("vfs_read", "vfs_read%both"), "7.2")
    assert [len(event.line.split()) - 2 for event in both.events] == [128, 128]  # one of them is the frame


def test_names_as_long_as_the_kernel_takes() -> None:
    assert refusal(f"f vfs_read%both {'n' * 33}=count", "7.2") == ("ARG_NAME_TOO_LONG", f"{'n' * 33}=count")
    assert lines(f"f vfs_read {'n' * 32}=count", "7.2")[0].endswith(f" {'n' * 32}=count")
    for spec, code in (("f:g/" + "e" * 64, "EVENT_TOO_LONG"), ("f:" + "g" * 64 + "/e", "GROUP_TOO_LONG")):
        assert refusal(f"{spec} vfs_read%both", "7.2")[0] == code
    made = unique_field("m" * 40, {"m" * 32})
    assert (len(made), made[-2:]) == (32, "_2")


def test_stack_is_a_trigger() -> None:
    btf, facts, _ = kernel("7.2")
    probe = Probe(ProbePlace("vfs_read"), stack=True, triggers=("traceoff:1",))
    assert lower(probe, btf, facts, "g").events[0].triggers == ("stacktrace", "traceoff:1")


def test_without_types_what_needs_none_is_left() -> None:
    _, facts, _ = kernel("7.2")
    found = lower(parse_probe("f vfs_read%return $retval $arg1 $$args"), None, facts, "g")
    assert [e.line for e in found.events] == ["f:g/vfs_read__exit vfs_read%return ret=$retval arg1=$arg1"]
    assert found.losses == ("$$args: BTF does not know this function's arguments",)
    error = check("f vfs_read%both file->f_pos", None, facts).error
    assert error is not None
    assert error.code == "NO_BTF_ENTRY"


def test_nothing_to_probe_with() -> None:
    btf, facts, _ = kernel("7.2")
    bare = replace(facts, features=frozenset({Feature.DYNAMIC_EVENTS}))
    error = check(Probe(ProbePlace("vfs_read")), btf, bare).error
    assert error is not None
    assert error.code == "missing_capability"


def test_kernel_text_is_judged_as_it_stands() -> None:
    btf, facts, _ = kernel("6.1")
    checked = check_plan("p vfs_read count", btf, facts)
    assert checked.verdict.error is not None
    assert checked.verdict.error.code == "BAD_FETCH_ARG"
    assert checked.plan is None
    assert check("p vfs_read%both count", btf, facts).ok
    fine = check_plan("p:a/b vfs_read x=$arg1", btf, facts)
    assert fine.verdict.ok
    assert fine.plan is not None
    assert [event.line for event in fine.plan.events] == ["p:a/b vfs_read x=$arg1"]


ENDS = (ProbeEnds.ENTRY, ProbeEnds.EXIT, ProbeEnds.BOTH)


@pytest.mark.parametrize("name", ALL)
def test_whatever_is_ticked_this_kernel_takes(name: str) -> None:
    """Random picks in the trees of random functions: each line gets the kernel's own (computed) yes."""
    btf, facts, _ = kernel(name)
    rng = random.Random(name)
    functions = [f.partition(" ")[0] for f in facts.functions]
    known = [f for f in functions if btf.function(f) is not None and functions.count(f) == 1][:300]
    lowered = fields = 0
    for function in known:
        tree = CaptureTree(btf, function, facts.machine)
        picked = []
        for node in tree.roots():
            for _ in range(rng.randrange(4)):
                below = tree.children(node)
                if not below:
                    break
                node = rng.choice(below)
            if node.fetcharg is not None:
                picked.append(node.fetcharg)
        signature = signature_of(btf, function)
        returns = signature is not None and signature.returns
        extra = (FetchArg(AllArguments(best=True)), *((FetchArg(ReturnValue()),) if returns else ()))
        probe = Probe(ProbePlace(function), rng.choice(ENDS), fetchargs=tuple(dict.fromkeys((*picked, *extra))))
        if probe.when is ProbeEnds.ENTRY:
            kept = tuple(a for a in probe.fetchargs if not isinstance(a.expression, ReturnValue))
            probe = replace(probe, fetchargs=kept)
        try:
            found = lower(probe, btf, facts, "pw_1")
        except CannotLower as error:
            assert error.refusal.code in ("not_in_registers", "blacklisted", "TOO_MANY_EARGS"), (
                str(probe),
                error.refusal,
            )
            continue
        lowered += 1
        for event in found.events:
            fields += len(event.columns)
            assert kernel_verdict(event.line, btf, facts).ok, event.line
            assert len(event.columns) == len(event.line.split()) - 2 - bool(event.frame)
    assert lowered > 25
    assert fields > lowered


def test_ticked_field_is_captured() -> None:
    assert (
        Probe(ProbePlace("vfs_read"))
        .toggle(FetchArg(variable("file"), None, "%pD"))
        .captures(FetchArg(variable("file")))
    )


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("pfoo:a/b vfs_read", "p:pw_1/b vfs_read"),
        ("rx:a/b vfs_read $retval", "r:pw_1/b vfs_read ret=$retval"),
        ("r10:a/b vfs_read $retval", "r10:pw_1/b vfs_read ret=$retval"),
        ("f10:a/b vfs_read%return $retval", "f10:pw_1/b vfs_read%return ret=$retval"),
        ("fx:a/b vfs_read", "f:pw_1/b vfs_read"),
    ],
)
def test_what_stands_behind_the_letter(spec: str, line: str) -> None:
    """6.12 takes all of it; what is no number it doesn't look at."""
    assert str(parse_probe(spec)) == spec
    assert lines(spec, "6.12") == [line]
    if spec.startswith("f"):
        assert refusal(spec, "7.2")[0] == "BAD_MAXACT"


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("value", "steps"),
    [
        ("file->f_path", (".dentry:%pd",)),
        ("file->f_path.dentry", (":%pd",)),
        ("file->f_path.dentry->d_name", (".name:string",)),
        ("file", (":%pD",)),
        ("file->f_op", ()),
        ("file->f_flags", ()),
    ],
)
def test_bytes_of_what_is_no_text_are_shown_as_none(name: str, value: str, steps: tuple[str, ...]) -> None:
    btf, facts, _ = kernel(name)
    for kind in ("string", "ustring"):
        with pytest.raises(CannotLower) as caught:
            lower(parse_probe(f"f vfs_read count {value}:{kind}"), btf, facts, "pw_1")
        refusal = caught.value.refusal
        assert (refusal.code, refusal.nearest[:1]) == ("BAD_TYPE4STR", steps)
        for step in steps:
            assert check(f"f vfs_read%both {value}{step}", btf, facts).ok


@pytest.mark.parametrize("name", ALL)
def test_what_is_text_stays_so(name: str) -> None:
    for value in ("file->f_path.dentry->d_name.name", "file->f_inode->i_sb->s_id", "buf"):
        assert lines(f"f vfs_read {value}:string", name)[0].endswith(":string")


def test_what_has_no_name_is_said_to_have_none() -> None:
    assert plan("f vfs_read file:%pD file->f_path.dentry:%pd", "7.2").losses == ()
    for wrong in ("file:%pd", "file->f_path:%pd", "file->f_path.dentry:%pD"):
        (told,) = plan(f"f vfs_read {wrong}", "7.2").losses
        assert told.endswith("this is none: what is shown is no name")


def test_a_link_in_a_union_is_not_offered_as_the_name() -> None:
    """`i_link` of an inode lies where other inodes have something else."""
    btf, facts, _ = kernel("7.2")
    error = check("f vfs_read file->f_inode:string", btf, facts).error
    assert error is not None and (error.code, error.nearest) == ("BAD_TYPE4STR", ())
