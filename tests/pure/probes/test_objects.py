"""Compiled BPF objects: their text, their file, their records and their maps."""

from __future__ import annotations

import struct
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btf.errors import BtfError
from probes.command import CommandText, has_own_syntax, parse_command
from probes.objects.attach_kinds import ObjectAttach, attach_place
from probes.objects.elf_object import ObjectError, without_programs
from probes.objects.kernel_settings import KernelSettings, kernel_settings
from probes.objects.map_values import decode, histogram_of, summed
from probes.objects.object_file import BpfObject, read_object
from probes.objects.plan_object import plan_object
from probes.objects.record_fields import choose_record, likely_structs
from probes.objects.request import ObjectProbe, is_object, object_text, parse_object
from probes.objects.shown_maps import shown_map
from probes.objects.stored_types import MAX_BYTES
from probes.syntax.parse_error import ParseError
from tests.fuzz.mutation import damaged
from tests.object_builder import built, stripped

NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True)
PATHS = st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=20)


def read(name: str) -> BpfObject:
    return read_object(built(name).read_bytes())


# -- text --------------------------------------------------------------------------------------------------------


@given(PATHS, st.lists(NAMES, unique=True), st.dictionaries(NAMES.filter(lambda one: one != "programs"), PATHS))
def test_the_text_of_an_object_is_read_back(path: str, programs: list[str], records: dict[str, str]) -> None:
    for name in (f"{path}.bpf.o", path):
        probe = ObjectProbe(name, tuple(programs), tuple(records.items()))
        assert is_object(str(probe))
        assert parse_command(str(probe)) == probe
        assert parse_command(str(parse_command(str(probe)))) == probe


@pytest.mark.parametrize(
    "text",
    ["f vfs_read", "p:x y", "on sched/sched_switch", "", "vfs_read", "/tmp/x.o", "a" * 10**6, '"' + "a" * 10**6],
)
def test_other_texts_are_no_objects(text: str) -> None:
    assert not is_object(text)


def test_a_word_that_says_nothing_of_an_object_is_refused() -> None:
    for text in ("/tmp/x.bpf.o count", "/tmp/x.bpf.o events=", "object:"):
        parsed = CommandText.parse(f"{text} more")
        assert parsed.error is not None
        with pytest.raises(ParseError):
            parse_object(f"{text} more")
    assert has_own_syntax("/tmp/x.bpf.o")


def test_options_go_into_the_text() -> None:
    text = object_text("/tmp/x.bpf.o", ("a", "b"), ("events=u32 pid, char comm[16]",))
    assert parse_command(text) == ObjectProbe("/tmp/x.bpf.o", ("a", "b"), (("events", "u32 pid, char comm[16]"),))


def test_events_of_an_object_have_names_that_the_kernel_would_take() -> None:
    assert ObjectProbe("/tmp/open-snoop.bpf.o").stem == "open_snoop"
    assert ObjectProbe("/tmp/9ö.bpf.o").stem == "object_9_"


# -- file --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "kind", "target"),
    [
        ("kprobe/vfs_read+0x10", ObjectAttach.KPROBE, "vfs_read+0x10"),
        ("kretprobe/vfs_read", ObjectAttach.KRETPROBE, "vfs_read"),
        ("kprobe.multi/tcp_*", ObjectAttach.KPROBE_MULTI, "tcp_*"),
        ("fentry.s/vfs_read", ObjectAttach.FENTRY, "vfs_read"),
        ("tp/sched/sched_switch", ObjectAttach.TRACEPOINT, "sched/sched_switch"),
        ("raw_tp.w/sched_switch", ObjectAttach.RAW_TRACEPOINT, "sched_switch"),
        ("tp_btf/sched_switch", ObjectAttach.TP_BTF, "sched_switch"),
        ("ksyscall/openat", ObjectAttach.KSYSCALL, "openat"),
    ],
)
def test_a_section_names_a_kind_and_a_target(section: str, kind: ObjectAttach, target: str) -> None:
    place = attach_place(section)
    assert (place.kind, place.target, place.reason) == (kind, target, "")
    assert attach_place(f"?{section}").is_optional


@pytest.mark.parametrize(
    "section",
    ["xdp", "perf_event", "cgroup_skb/egress", "uprobe//bin/sh:main", "tp/sched", "kprobe/", "what", "kprobe/a b"],
)
def test_a_kind_that_is_not_attached_has_its_reason(section: str) -> None:
    place = attach_place(section)
    assert place.kind is None
    assert section.partition("/")[0] in place.reason


def test_programs_and_maps_of_an_object() -> None:
    found = read("unlink")
    assert [(one.name, one.section) for one in found.programs] == [
        ("unlink_begins", "fentry/vfs_unlink"),
        ("unlink_ends", "fexit/vfs_unlink"),
        ("rmdir_begins", "?fentry/vfs_rmdir"),
        ("drops_nothing", "xdp"),
    ]
    removals, counts = found.maps
    assert (removals.name, removals.type_name, removals.max_entries) == ("removals", "ringbuf", 1 << 18)
    assert removals.record_sizes == {104}
    assert (counts.type_name, counts.key_size, counts.value_size, counts.max_entries) == ("hash", 16, 8, 1024)
    assert found.license == "GPL"
    assert not found.kconfig


def test_no_object_and_a_damaged_one_are_refused_in_a_line() -> None:
    good = built("unlink").read_bytes()
    for data in (b"", b"text", good[:40], good[:200], good[:-100], good.replace(b".BTF\0", b".XTF\0")):
        with pytest.raises(ObjectError) as caught:
            read_object(data)
        assert "\n" not in str(caught.value)


@given(st.integers(0, 1 << 32))
def test_damage_anywhere_is_refused_or_read(seed: int) -> None:
    data = damaged(built("unlink").read_bytes(), Random(seed))
    try:
        found = read_object(data)
        for one in found.maps:
            if one.has_records:
                choice = choose_record(found, one)
                assert choice.layout.size <= MAX_BYTES + 48
                choice.layout.format_text("event", 1, choice.layout.size)
    except (ObjectError, BtfError):
        pass


# -- records -----------------------------------------------------------------------------------------------------


def test_the_struct_of_records_is_found_in_btf_or_in_debug_information() -> None:
    found = read("unlink")
    choice = choose_record(found, found.maps[0])
    assert choice.struct == "removal"
    assert [(one.name, one.type.declared, one.offset - 40) for one in choice.layout.fields] == [
        ("ts", "u64", 0),
        ("who_pid", "u32", 8),
        ("who_parent", "u32", 12),
        ("step", "u32", 16),
        ("ret", "s32", 20),
        ("comm", "char[16]", 24),
        ("name", "char[64]", 40),
    ]
    assert choice.names == {"step": "1=STEP_BEGIN,2=STEP_END"}
    opens = read("opens")
    events = opens.map("events")
    assert events is not None
    by_debug = choose_record(opens, events)
    by_text = choose_record(
        opens, events, "u64 ts, u32 pid, u32 uid; int ret; int flags; char comm[16], char name[48]"
    )
    assert likely_structs(opens, events) == ["opened"]
    assert by_debug.layout == by_text.layout
    assert by_debug.payload == 88


def test_records_that_nothing_names_are_bytes_and_a_wrong_name_is_refused() -> None:
    opens = read_object(stripped("opens").read_bytes())
    events = opens.map("events")
    assert events is not None
    choice = choose_record(opens, events)
    assert (choice.struct, choice.payload) == ("", 88)
    assert "88 bytes" in choice.note
    for wanted, part in (
        ("nothing", "no struct nothing"),
        ("u32 pid, struct x y", "struct x y"),
        ("u99 a[2]", "u99"),
    ):
        with pytest.raises(ObjectError, match=part):
            choose_record(opens, events, wanted)


def test_a_record_that_is_too_long_is_cut() -> None:
    opens = read("opens")
    events = opens.map("events")
    assert events is not None
    choice = choose_record(opens, events, f"u32 pid, char text[{MAX_BYTES}], u32 behind")
    assert choice.payload == MAX_BYTES
    assert [(one.name, one.type.size) for one in choice.layout.fields] == [("pid", 4), ("text", MAX_BYTES - 4)]
    assert "cut" in choice.note


# -- plan --------------------------------------------------------------------------------------------------------


def test_a_plan_leaves_out_with_a_reason_what_cannot_be_attached() -> None:
    found = read("unlink")
    plan = plan_object(ObjectProbe("/tmp/unlink.bpf.o"), found, "group", (), lambda name: name == "vfs_unlink")
    assert plan.object is not None
    assert [one.name for one in plan.object.programs] == ["unlink_begins", "unlink_ends"]
    assert [event.path for event in plan.events] == ["group/unlink"]
    assert any("drops_nothing" in text and "xdp" in text for text in plan.losses)
    assert any("rmdir_begins" in text and "optional" in text for text in plan.losses)
    again = plan_object(ObjectProbe("/tmp/unlink.bpf.o"), found, "group", {"group/unlink"}, lambda _: True)
    assert again.events[0].path == "group/unlink_2"


def test_of_two_programs_at_one_place_the_one_by_types_is_attached() -> None:
    found = read("execs")
    plan = plan_object(ObjectProbe("/tmp/execs.bpf.o"), found, "group", (), lambda _: True)
    assert plan.object is not None
    assert [one.name for one in plan.object.programs] == ["program_starts", "folder_goes", "folder_came"]
    assert "program_starts_raw is left out: program_starts is at the same place" in plan.losses
    named = ObjectProbe("/tmp/execs.bpf.o", ("program_starts_raw",))
    alone = plan_object(named, found, "group", (), lambda _: True)
    assert alone.object is not None
    assert [one.name for one in alone.object.programs] == ["program_starts_raw"]


@pytest.mark.parametrize(
    ("probe", "part"),
    [
        (ObjectProbe("u.bpf.o", ("nothing",)), "no program of this object"),
        (ObjectProbe("u.bpf.o", ("drops_nothing",)), "xdp"),
        (ObjectProbe("u.bpf.o", ("rmdir_begins",)), "no function vfs_rmdir"),
        (ObjectProbe("u.bpf.o", (), (("removed_by", "x"),)), "no ring or perf buffer"),
    ],
)
def test_a_plan_refuses_what_is_named_and_cannot_be(probe: ObjectProbe, part: str) -> None:
    with pytest.raises(ObjectError, match=part):
        plan_object(probe, read("unlink"), "group", (), lambda name: name == "vfs_unlink")


@pytest.mark.parametrize(
    ("release", "version"), [("7.2.13+deb14-cloud-amd64", 0x07020D), ("6.12.300", 0x060CFF), ("5.17-rc1", 0x051100)]
)
def test_settings_of_a_kernel_are_those_of_the_target(release: str, version: int) -> None:
    found = read("latency")
    assert found.kconfig == (("LINUX_KERNEL_VERSION", 4),)
    assert kernel_settings(found, KernelSettings(release, lambda _: False)) == struct.pack("<I", version)
    more = replace(found, kconfig=(("LINUX_HAS_SYSCALL_WRAPPER", 1), *found.kconfig, ("LINUX_HAS_BPF_COOKIE", 1)))
    data = kernel_settings(more, KernelSettings(release, lambda name: name == "__x64_sys_bpf"))
    assert data == struct.pack("<IBB", version, 1, 1)
    with pytest.raises(ObjectError, match="CONFIG_HZ"):
        kernel_settings(replace(found, kconfig=(("CONFIG_HZ", 4),)), KernelSettings(release, lambda _: False))


def test_sections_of_programs_are_taken_away_alone() -> None:
    data = built("unlink").read_bytes()
    kept = read_object(without_programs(data, {"fexit/vfs_unlink"}))
    assert [one.name for one in kept.programs] == ["unlink_ends"]
    assert [one.name for one in kept.maps] == [one.name for one in read("unlink").maps]
    many = plan_object(ObjectProbe("/tmp/many.bpf.o"), read("many"), "group", (), lambda _: True)
    assert many.object is not None
    assert [one.name for one in many.object.programs] == ["wanted"]
    names = tuple(one.name for one in read("many").programs)
    with pytest.raises(ObjectError, match="41 programs are more than the 32"):
        plan_object(ObjectProbe("/tmp/many.bpf.o", names), read("many"), "group", (), lambda _: True)


# -- maps --------------------------------------------------------------------------------------------------------


def test_values_of_maps_are_decoded_by_type() -> None:
    found = read("opens")
    start = found.map("start")
    assert start is not None
    value = struct.pack("<Qi4x", 0xFFFF, -3)
    assert decode(found.btf, start.value_type, value) == {"name": "0xffff", "flags": -3}
    assert decode(found.btf, 0, b"\1\0\0\0") == 1
    assert decode(found.btf, 0, b"\1\0\0") == "010000"


def test_maps_by_cpu_are_summed_and_histograms_found() -> None:
    found = read("latency")
    hists, totals = found.map("hists"), found.map("totals")
    assert hists is not None
    assert totals is not None
    slots = [0, 3, 0, 1] + [0] * 23
    shown = shown_map(found.btf, hists, [(b"cat".ljust(16, b"\0"), (struct.pack("<27I", *slots),))])
    assert shown.histograms == (("cat", tuple(slots)),)
    values = tuple(struct.pack("<Q", number) for number in (2, 5))
    sums = shown_map(found.btf, totals, [(bytes(4), values), (b"\1\0\0\0", (bytes(8), bytes(8)))])
    assert [(row.key, row.value, row.by_cpu) for row in sums.rows] == [(0, 7, (2, 5))]
    assert sums.zeros == 1


@given(st.lists(st.lists(st.integers(0, 1 << 32), min_size=8, max_size=8), min_size=1, max_size=4))
def test_sums_of_lists_and_structs_add_up(columns: list[list[int]]) -> None:
    total = [sum(column) for column in zip(*columns, strict=True)]
    assert summed([list(one) for one in columns]) == total
    assert summed([{"slots": list(one), "name": "x"} for one in columns]) == {"slots": total, "name": "x"}
    assert histogram_of("a", {"slots": list(total)}) == ("slots", total)
    assert histogram_of("plain", list(total)) is None
