"""The function that a record of a probe is from: in pages of real kernels, as the kernel's own text names it."""

from __future__ import annotations

import re
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.conditions.comparison import SymbolComparison
from events.conditions.condition_parser import ConditionError, parse_condition
from events.conditions.field_kinds import ValueKind, value_kinds
from events.decode import Decoder, Layout
from events.format import EventFormat, FieldKind, FormatError, parse_format
from events.names.kallsyms import Symbols
from events.names.value_names import Namer
from events.record import Record
from events.store.store import Store
from events.text import text_values
from tests.events_data import KERNELS, captured, store_of

PROBED = re.compile(r"\((?:[^()]* <- )?([^\s()+]+)")


def with_functions(decoder: Decoder) -> Decoder:
    formats = {number: fmt.with_function("func") for number, fmt in decoder.formats.items()}
    return Decoder(formats, decoder.header)


def store(kernel: str, name: str) -> Store:
    found = captured(kernel, name)
    return store_of(with_functions(found.decoder), found.raw)


def probed(kernel: str, name: str) -> list[tuple[Record, str]]:
    """Records of probes with the function in the kernel's text of the same event."""
    found = captured(kernel, name)
    texts: dict[tuple[int, int, str], str] = {}
    for cpu, lines in found.text.items():
        for line in lines:
            match = re.search(r" (\d+)\.(\d{6}): (\w+): (.*)", line)
            if match and (function := PROBED.match(match[4])):
                texts[cpu, int(match[1]) * 10**6 + int(match[2]), match[3]] = function[1]
    events = store(kernel, name)
    records = map(events.record, range(events.first_seq, events.next_seq))
    keys = ((record, (record.cpu, record.ts // 1000, record.event.rpartition("/")[2])) for record in records)
    return [(record, texts[key]) for record, key in keys if record.format and record.format.function and key in texts]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["my", "ext"])
def test_the_name_is_the_one_in_the_kernels_text(kernel: str, name: str) -> None:
    found = probed(kernel, name)
    assert len(found) > 20
    symbols = captured(kernel, name).symbols
    namer = Namer(symbols=lambda: symbols)
    for record, text in found:
        assert record.format is not None and record.format.function is not None
        value = record.values["func"]
        assert namer.text(value, field=record.format.function) == text
        assert isinstance(value, int) and namer.function(value) == text


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_record_that_was_received_as_text_has_the_name(kernel: str) -> None:
    found = captured(kernel, "my")
    formats = {fmt.name: fmt.with_function("func") for fmt in found.decoder.formats.values()}
    names = set()
    for line in (line for lines in found.text.values() for line in lines):
        match = re.search(r" \d+\.\d{6}: (\w+): (.*)", line)
        fmt = formats.get(match[1]) if match else None
        if match is None or fmt is None or fmt.function is None:
            continue
        plain = text_values(f"{match[1]}: {match[2]}", parse_format(fmt.source, fmt.system))
        place = PROBED.match(match[2])
        assert place is not None
        assert text_values(f"{match[1]}: {match[2]}", fmt) == plain | {"func": place[1]}
        names.add(place[1])
    assert names


def test_the_text_of_a_function_in_a_module() -> None:
    fmt = next(fmt for fmt in captured("7.2", "my").decoder.formats.values() if fmt.is_probe).with_function("func")
    assert text_values(f"{fmt.name}: (ext4_readdir+0x0/0x8a0 [ext4])", fmt)["func"] == "ext4_readdir [ext4]"
    assert (
        text_values(f"{fmt.name}: (iterate_dir+0x8/0x9 <- ext4_readdir [ext4])", fmt)["func"] == "ext4_readdir [ext4]"
    )
    assert text_values(f"{fmt.name}: (0xffffffff81000000)", fmt)["func"] == "0xffffffff81000000"


def plain_and_named(kernel: str) -> list[tuple[EventFormat, EventFormat]]:
    formats = captured(kernel, "my").decoder.formats.values()
    return [(fmt, fmt.with_function("func")) for fmt in formats if fmt.is_probe]


@given(st.data())
@settings(max_examples=200)
def test_all_other_fields_are_decoded_as_without_it(data: st.DataObject) -> None:
    """Also of records that end before some of their fields."""
    fmt, named = data.draw(st.sampled_from([pair for kernel in KERNELS for pair in plain_and_named(kernel)]))
    raw = data.draw(st.binary(min_size=0, max_size=fmt.fields[-1].end + 40))
    values = Layout(named, "little").named(raw)
    address = next(field for field in fmt.fields if field.name in ("__probe_func", "__probe_ip"))
    assert values.pop("func") == values[address.name]
    assert values == Layout(fmt, "little").named(raw)


@pytest.mark.parametrize("kernel", KERNELS)
def test_of_a_return_it_is_not_the_caller(kernel: str) -> None:
    both = plain_and_named(kernel)
    assert {fmt.at_exit for fmt, _ in both} == {True, False}
    for fmt, named in both:
        assert named.function is not None
        own = {field.offset: field.name for field in fmt.fields}
        assert own[named.function.offset] == ("__probe_func" if fmt.at_exit else "__probe_ip")


def test_a_format_without_a_place_stays_as_it_is() -> None:
    fmt = next(fmt for fmt in captured("7.2", "mixed").decoder.formats.values() if not fmt.is_probe)
    assert fmt.with_function("func") is fmt
    with pytest.raises(FormatError):
        parse_format("no format")
    probe, _ = plain_and_named("7.2")[0]
    assert probe.with_function(probe.names[-1]) is probe, "a name that is taken"


@pytest.mark.parametrize(
    "declared",
    ["struct odd __probe_ip;\toffset:8;\tsize:24", "char __probe_ip[16];\toffset:8;\tsize:16",
     "unsigned long __probe_ip[2];\toffset:8;\tsize:16", "__data_loc char[] __probe_ip;\toffset:8;\tsize:4",
     "u16 __probe_ip;\toffset:8;\tsize:2", "u64 __probe_ip;\toffset:8;\tsize:0"],
)  # fmt: skip
def test_a_place_that_is_no_address_names_no_function(declared: str) -> None:
    """As a forged recording may have it."""
    text = f'name: odd\nID: 7\nformat:\n\tfield:{declared};\tsigned:0;\n\nprint fmt: "(%lx)", REC->__probe_ip\n'
    fmt = parse_format(text)
    named = fmt.with_function("func")
    assert named is fmt
    Layout(named, "little").named(bytes(64))


def holding(events: Store, text: str, kernel: str) -> list[int]:
    """Rows by the columns, which must be those by the records."""
    formats = events.decoder.formats.values()
    symbols = captured(kernel, "my").symbols
    condition = parse_condition(
        text, value_kinds(formats, ["func"]), events.task_names.name, symbols=lambda _: symbols
    )
    rows = condition.candidates(events.columns(events.first_seq, events.next_seq)).tolist()
    assert rows == [condition(events.record(seq)) for seq in range(events.first_seq, events.next_seq)]
    return [row for row, holds in enumerate(rows) if holds]


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_condition_compares_names(kernel: str) -> None:
    events = store(kernel, "my")
    symbols = captured(kernel, "my").symbols
    names = {}
    for seq in range(events.first_seq, events.next_seq):
        if isinstance(value := events.record(seq).values.get("func"), int):
            names[seq - events.first_seq] = symbols.text(value, offset=False)
    assert len(set(names.values())) > 1
    for name in set(names.values()):
        assert holding(events, f"func == {name}", kernel) == [row for row, own in names.items() if own == name]
        assert holding(events, f"func != {name}", kernel) == [row for row, own in names.items() if own != name]
        beginning = [row for row, own in names.items() if own.startswith(name[:4])]
        assert holding(events, f'func ~ "{name[:4]}*"', kernel) == beginning
        lowest = min(value for seq in range(events.first_seq, events.next_seq)
                     if isinstance(value := events.record(seq).values.get("func"), int))  # fmt: skip
        assert holding(events, f"func >= {lowest:#x}", kernel) == list(names)


NUMBER_OF_THAT_NAME = parse_format(
    'name: other\nID: 9999\nformat:\n\tfield:u32 func;\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: "%u", REC->func\n'
)


def test_a_number_of_that_name_in_another_event_does_not_keep_names_from_being_compared() -> None:
    events = store("7.2", "my")
    formats = list(events.decoder.formats.values())
    assert value_kinds([*formats, NUMBER_OF_THAT_NAME], ["func"]) == {"func": ValueKind.MIXED}
    symbols = captured("7.2", "my").symbols
    values = {seq: events.record(seq).values.get("func") for seq in range(events.first_seq, events.next_seq)}
    name = symbols.text(next(value for value in values.values() if isinstance(value, int)), offset=False)
    for text in (f"func == {name}", f"func != {name}", f'func ~ "{name[:4]}*"', f"!(func == {name})"):
        mixed = parse_condition(text, {"func": ValueKind.MIXED}, events.task_names.name, symbols=lambda _: symbols)
        rows = mixed.candidates(events.columns(events.first_seq, events.next_seq)).tolist()
        assert rows == [mixed(events.record(seq)) for seq in values]
        assert [row for row, holds in enumerate(rows) if holds] == holding(events, text, "7.2") != []
    other = Record(0, 0, 0, 1, "a", "g/other", NUMBER_OF_THAT_NAME, text="other: 5")
    for text, holds in ((f"func != {name}", False), ("func == 5", True), ("func > 4", True)):
        assert parse_condition(text, {"func": ValueKind.MIXED}, str, symbols=lambda _: symbols)(other) == holds


def _last(symbols: list[Symbols | None], boot: int) -> Symbols | None:
    return symbols[-1] if boot == 0 else None


def test_without_symbols_no_name_is_the_same_and_none_is_another() -> None:
    events = store("7.2", "my")
    kinds = value_kinds(events.decoder.formats.values(), ["func"])
    assert kinds == {"func": ValueKind.SYMBOL}
    for text in ("func == vfs_read", "func != vfs_read", 'func ~ "*"'):
        symbols: list[Symbols | None] = [None]
        condition = parse_condition(text, kinds, events.task_names.name, symbols=partial(_last, symbols))
        before = condition.tasks({})
        assert not condition.candidates(events.columns(events.first_seq, events.next_seq)).any()
        assert not any(condition(events.record(seq)) for seq in range(events.first_seq, events.next_seq))
        assert condition.tasks({}) == before
        symbols.append(captured("7.2", "my").symbols)
        assert condition.tasks({}) != before, "so that the events are checked again"
    with pytest.raises(ConditionError, match="func is a function or an address"):
        parse_condition("func > vfs_read", kinds, events.task_names.name)


def test_a_name_is_compared_without_its_module() -> None:
    fmt = next(fmt for fmt in captured("7.2", "my").decoder.formats.values() if fmt.is_probe).with_function("func")
    text = f"{fmt.name}: (ext4_readdir+0x0/0x8a0 [ext4])"
    record = Record(0, 0, 0, 1, "a", fmt.path, fmt, text=text)
    for operator, holds in (("==", True), ("!=", False), ("~", True)):
        assert SymbolComparison("func", operator, "ext4_readdir", lambda _: None).of_record(record) == holds


def test_the_store_has_the_address_as_a_column() -> None:
    events = store("7.2", "my")
    for table in events.columns(events.first_seq, events.next_seq).tables.values():
        if (field := table.layout.format.function) is not None:
            values, missing = table.column(field)
            assert field.kind is FieldKind.SYMBOL and missing is None
            own = [events.record(int(seq)).values["func"] for seq in table.seqs]
            assert np.array_equal(values, np.array(own, np.uint64))


def test_of_several_names_of_a_function_the_one_that_was_asked_for() -> None:
    """`__do_sys_getuid` and `__x64_sys_getuid` begin at one address."""
    places = ((0, "__do_sys_getuid"), (0, "__x64_sys_getuid"), (0, "__ia32_sys_getuid"), (64, "other"))
    table = "".join(f"{0xFFFFFFFF81000000 + at:016x} t {name}\n" for at, name in places)
    symbols = Symbols(table.encode())
    namer = Namer(symbols=lambda: symbols)
    address = 0xFFFFFFFF81000004
    assert namer.function(address, "__x64_sys_get*") == "__x64_sys_getuid"
    assert namer.function(address, "__ia32_*") == "__ia32_sys_getuid"
    assert namer.function(address, "nothing*") == namer.function(address) == "__do_sys_getuid"
    assert namer.function(0x10, "*") == "0x10"
    for operator, text, holds in (
        ("==", "__x64_sys_getuid", True), ("==", "__do_sys_getuid", True), ("==", "other", False),
        ("!=", "__x64_sys_getuid", False), ("!=", "other", True), ("~", "__ia32*", True), ("~", "o*", False),
        ("==", "__x64_sys_getuid+0x4", True), ("==", "__x64_sys_getuid+0x8", False),
        ("!=", "__do_sys_getuid+0x4", False), ("!=", "__do_sys_getuid+0x8", True),
        ("~", "__ia32*+0x4", True), ("==", "__do_sys_getuid+0x0", False),
    ):  # fmt: skip
        comparison = SymbolComparison("func", operator, text, lambda _: symbols)
        assert comparison._holds_at(address, symbols) == holds


def test_the_names_at_an_address_are_matched_once_for_all_its_events(monkeypatch) -> None:
    symbols = Symbols(b"ffffffff81000000 T first\nffffffff81000000 T second\nffffffff81000100 T other\n")
    asked: list[str] = []

    def matching(pattern: str) -> SimpleNamespace:
        asked.append(pattern)
        return SimpleNamespace(matches="second".__eq__)

    monkeypatch.setattr("events.names.kallsyms.choice_or_any", matching)
    namer = Namer(symbols=lambda: symbols)
    assert [namer.function(0xFFFFFFFF81000000, "sec*") for _ in range(3)] == ["second"] * 3
    assert asked == ["sec*"]
    assert namer.function(0xFFFFFFFF81000000) == "first" and namer.function(5, "sec*") == "0x5"
