"""What is aggregated of the recording that comes with the application, against a dictionary made event by event."""

from __future__ import annotations

import struct
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.aggregates.aggregate import MOST_GROUPS, Aggregate
from events.aggregates.event_columns import EventColumns
from events.aggregates.request import AggregateError, AggregateFunction, AggregateRequest, Statistic, parse_keys
from events.aggregates.value_sums import ValueTotal
from events.batch import Batch, Chunk
from events.calls.calls import Calls
from events.clocks.boots import task_key
from events.conditions.condition_parser import parse_condition
from events.conditions.field_kinds import ValueKind, value_kinds
from events.decode import Decoder, Value
from events.format import EventFormat, HeaderPage, parse_format
from events.names.errnos import errno_name
from events.names.kernel_text import kernel_text
from events.names.value_names import Namer
from events.record import Record
from events.store.store import Store
from kernel.connection.open_target import shipped_recording
from probes.bpf.tracing.call_tracer import EXIT, EXIT_ID, SIZE
from tests.events_data import entry, event, page
from tests.fake_target import HEADER_PAGE
from tests.replays import replay_of
from tui.__main__ import main
from tui.filter.filter import Filter
from tui.present.call_ends import ends_of
from tui.views.aggregate.model import AggregateModel
from tui.views.aggregate.plan_columns import PlanColumns, check_request
from tui.views.aggregate.table_source import statistic_of

KEYS = ("comm", "pid", "cpu", "event", "func", "errno", "ret", "count", "f_pos", "filename", "flags", "cgroup")
VALUES = ("ret", "count", "f_pos", "flags", "$retval", "pos_0")
CONDITIONS = ("", "comm == head", "ret > 100", "count > 100 && ret >= 0", "event ~ *exit")


@pytest.fixture(scope="module")
def watch():
    watching = replay_of(shipped_recording())
    yield watching
    watching.close()
    watching.info.close()


def _records(store: Store) -> list[Record]:
    return [store.record(seq) for seq in range(store.first_seq, store.next_seq)]


def _aggregated(watch, request, condition="", piece=0, limit=MOST_GROUPS, store=None, **more) -> AggregateModel:
    store = store or watch.store
    chosen = Filter()
    chosen.choose(condition, watch)
    model = AggregateModel(watch, store, request, passing=chosen.of(watch, store), piece=piece, limit=limit, **more)
    while model.aggregate.backlog:
        model.tick(0.0)
    return model


def _key(watch, record: Record, name: str):
    """The name of a key of an event, as a person would look it up; None: the event has none."""
    values = record.values
    known = dict(watch.event_fields.values(record))
    if name in values:
        return known[name]
    found = {
        "comm": record.comm,
        "pid": str(record.pid),
        "cpu": str(record.cpu),
        "event": record.event.rpartition("/")[2],
        "func": record.event.rpartition("/")[2].removesuffix("__entry").removesuffix("__exit"),
        "cgroup": watch.store.cgroups.path_of(record.pid, record.ts, record.seq) or "unknown",
    }
    if name == "errno" and isinstance(ret := values.get("ret"), int):
        return errno_name(ret) if ret < 0 else "no error"
    return found.get(name)


def _value(record: Record, name: str) -> int | None:
    value = record.values.get("ret" if name == "$retval" else name)
    return value if isinstance(value, int) else None


def _other_ends(watch, request, condition) -> set[str]:
    """Events that are not counted, as the other end of their calls is; by the names of fields alone."""
    if "event" in (*request.keys, *condition.split()):
        return set()
    found = set[str]()
    fields: dict[str, set[str]] = {record.event: {*record.values} for record in _records(watch.store)}
    for entry_, names in fields.items():
        exit_ = entry_.removesuffix("__entry") + "__exit"
        if not entry_.endswith("__entry") or exit_ not in fields:
            continue

        def has_all(event: str) -> bool:
            own = fields[event] | {"comm", "pid", "cpu", "func", "cgroup"}
            own |= {"errno", "$retval"} if "ret" in own else set()
            return {*request.keys, *request.values} <= own

        needs_exit = "ret" in condition and "ret" not in names
        if has_all(entry_) and not needs_exit:
            found.add(exit_)
        elif has_all(exit_):
            found.add(entry_)
    return found


def _true_groups(watch, request, condition):
    chosen = Filter()
    chosen.choose(condition, watch)
    passing = chosen.of(watch, watch.store)
    groups: defaultdict[tuple[str, ...], list[Record]] = defaultdict(list)
    once = _other_ends(watch, request, condition)
    for record in _records(watch.store):
        if record.event in once:
            continue
        if passing is not None and not passing.passes(record.seq):
            continue
        keys = [_key(watch, record, name) for name in request.keys]
        has_value = not request.values or any(_value(record, name) is not None for name in request.values)
        if None not in keys and has_value:
            groups[tuple(keys)].append(record)
    return groups


@given(
    st.lists(st.sampled_from(KEYS), max_size=3, unique=True),
    st.lists(st.sampled_from(VALUES), max_size=2, unique=True),
    st.sampled_from(CONDITIONS),
    st.sampled_from([7, 100, 1 << 15]),
)
@settings(max_examples=40, deadline=None)
def test_groups_of_events_are_those_of_a_dictionary(watch, keys, values, condition, piece):
    statistics = [Statistic(function, value) for value in values for function in AggregateFunction]
    request = AggregateRequest(tuple(keys), tuple(statistics))
    model = _aggregated(watch, request, condition, piece)
    if model.aggregate.of_calls:  # no event has all of them
        return
    true = _true_groups(watch, request, condition)
    rows = model.rows(0)
    assert rows.others is None and {row.labels for row in rows.rows} == set(true)
    for row in rows.rows:
        records = true[row.labels]
        assert row.hits == len(records)
        for name in request.values:
            numbers = [value for record in records if (value := _value(record, name)) is not None]
            total = row.totals[name]
            assert (total.number, total.sum) == (len(numbers), sum(numbers))
            assert (total.least, total.most) == (min(numbers, default=None), max(numbers, default=None))
    assert model.aggregate.counted + model.aggregate.left_out == model.aggregate.passing_count
    once = _other_ends(watch, request, condition)
    assert model.aggregate.of == sum(record.event not in once for record in _records(watch.store))
    sizes = [
        model.request.columns and statistic_of(model.request.columns[0], row.totals[values[0]]) for row in rows.rows
    ]
    if values:
        known = [size for size in sizes if size is not None]
        assert known == sorted(known, reverse=True) and sizes[: len(known)] == known


@pytest.mark.parametrize("keys", [("func",), ("func", "comm"), ("count",), ("ret",), ("errno", "cpu")])
@pytest.mark.parametrize("piece", [5, 1 << 15])
def test_calls_are_those_of_the_pairs_with_values_of_both_ends(watch, keys, piece):
    request = AggregateRequest(
        keys, tuple(Statistic(AggregateFunction.SUM, name) for name in ("latency", "count", "ret", "pos_0"))
    )
    model = _aggregated(watch, request, piece=piece)
    assert model.aggregate.of_calls
    calls = Calls(watch.store)
    calls.use(ends_of(watch.event_fields.plans))
    while calls.backlog:
        calls.tick()
    true: defaultdict[tuple[str, ...], list[tuple[Record, Record]]] = defaultdict(list)
    for number in range(calls.first, calls.next):
        call = calls.call(number)
        if call.entry is None or call.exit is None:
            continue
        entry, leave = watch.store.record(call.entry), watch.store.record(call.exit)
        found = []
        for name in keys:
            of_exit = _key(watch, leave, name)
            found.append(of_exit if of_exit is not None else _key(watch, entry, name))
        if None not in found:
            true[tuple(found)].append((entry, leave))
    assert true and model.aggregate.of == sum(
        calls.call(n).entry is not None and calls.call(n).exit is not None for n in range(calls.first, calls.next)
    )
    rows = {row.labels: row for row in model.rows(0).rows}
    assert rows.keys() == true.keys()
    for labels, pairs in true.items():
        row = rows[labels]
        assert row.hits == len(pairs)
        assert row.totals["latency"].sum == sum(leave.ts - entry.ts for entry, leave in pairs)
        for name in ("count", "ret", "pos_0"):
            values = [leave.values.get(name, entry.values.get(name)) for entry, leave in pairs]
            assert row.totals[name].sum == sum(value for value in values if isinstance(value, int))


def test_further_keys_than_there_is_room_for_are_added_up(watch):
    request = AggregateRequest(("pid", "event"), (Statistic(AggregateFunction.SUM, "count"),))
    whole = _aggregated(watch, request)
    few = _aggregated(watch, request, limit=3)
    rows, all_rows = few.rows(0), {row.labels: row for row in whole.rows(0).rows}
    assert len(rows.rows) == 3 and rows.others is not None and len(all_rows) > 4
    for row in rows.rows:
        assert (row.hits, row.totals) == (all_rows[row.labels].hits, all_rows[row.labels].totals)
    assert rows.others.hits + sum(row.hits for row in rows.rows) == sum(row.hits for row in all_rows.values())
    top = whole.rows(2)
    assert top.size == len(all_rows) and top.others is not None
    assert top.others.totals["count"].sum == sum(r.totals["count"].sum for r in all_rows.values()) - sum(
        r.totals["count"].sum for r in top.rows
    )


def test_a_number_of_events_is_counted_and_no_more(watch):
    model = _aggregated(watch, AggregateRequest(("comm",)), "comm == head", piece=50, most=33)
    assert model.aggregate.counted == 33 and not model.aggregate.backlog
    calls = _aggregated(
        watch, AggregateRequest(("func",), (Statistic(AggregateFunction.AVG, "latency"),)), piece=50, most=33
    )
    assert calls.aggregate.counted == 33


def test_what_the_store_dropped_before_it_was_counted_is_told(watch):
    small = Store(watch.store.decoder, 64 << 10)
    model = AggregateModel(watch, small, AggregateRequest(("event",)))
    while not small.first_seq:
        for slab in watch.store._blocks.slabs.values():
            small.feed(Batch((Chunk(slab.cpu, slab.data, slab.text),), drained=True))
    small.flush()
    while model.aggregate.backlog:
        model.tick(0.0)
    assert model.aggregate.skipped_events == small.first_seq > 0
    assert model.aggregate.counted + small.first_seq == small.next_seq
    assert f"{small.first_seq:,} dropped before they were counted" in model.head


def test_a_name_that_is_known_later_makes_one_row(watch):
    store = Store(watch.store.decoder)
    for slab in watch.store._blocks.slabs.values():
        store.feed(Batch((Chunk(slab.cpu, slab.data, slab.text),), drained=True))
    store.flush()
    model = _aggregated(watch, AggregateRequest(("comm",)), store=store)
    pids = sorted({record.pid for record in _records(store)} - {0})
    assert {row.labels for row in model.rows(0).rows} <= {("<idle>",), *((f"pid {pid}",) for pid in pids)}
    store.task_names.known = {task_key(pid, 0): "same" if n else "first" for n, pid in enumerate(pids)}
    model.names_changed()
    rows = {row.labels[0]: row.hits for row in model.rows(0).rows if row.labels != ("<idle>",)}
    assert rows.keys() == {"first", "same"}
    once = _other_ends(watch, AggregateRequest(("comm",)), "")
    counted = [record for record in _records(store) if record.event not in once]
    assert once and rows["first"] == sum(record.pid == pids[0] for record in counted)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("comm", "event"), ""),
        (("pid", "cpu"), ""),
        (("func", "errno"), "ret"),
        (("ret", "comm"), "count"),
        (("filename",), "flags"),
        (("f_pos", "cgroup"), "$retval"),
    ],
)
def test_events_received_as_text_make_the_rows_of_their_records(watch, tmp_path, keys, value):
    path = tmp_path / "events.txt"
    assert main([str(shipped_recording()), "--export", f"text:{path}"]) == 0
    store = Store(watch.store.decoder)
    store.cgroups = watch.store.cgroups
    store.feed(Batch((Chunk(-1, path.read_bytes(), text=True),), drained=True))
    store.flush()
    assert len(store) == len(watch.store) and store.columns(0, len(store)).is_text.all()
    request = AggregateRequest(keys, (Statistic(AggregateFunction.SUM, value),) if value else ())
    found, true = (_aggregated(watch, request, store=one) for one in (store, watch.store))
    rows, true_rows = ({row.labels: row for row in one.rows(0).rows} for one in (found, true))
    assert rows.keys() == true_rows.keys()
    for labels, row in rows.items():
        assert row.hits == true_rows[labels].hits and row.totals == true_rows[labels].totals


_RESULTS = sorted(
    {(1 << bits) + step for bits in (0, 8, 16, 31, 32, 63, 64) for step in (-4096, -4095, -530, -2, -1, 0)}
)
_FORMAT = """name: r
ID: 2000
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:unsigned long __probe_func;\toffset:8;\tsize:8;\tsigned:0;
\tfield:unsigned long __probe_ret_ip;\toffset:16;\tsize:8;\tsigned:0;
\tfield:{sign}{bits} ret;\toffset:24;\tsize:{size};\tsigned:{signed};

print fmt: "(%lx <- %lx) ret={spec}", REC->__probe_func, REC->__probe_ret_ip, REC->ret
"""


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize(("sign", "spec"), [("u", "%{}u"), ("s", "%{}d"), ("u", "0x%{}x")])
@pytest.mark.parametrize("is_unknown", [False, True])
@pytest.mark.parametrize("keys", [("errno",), ("ret",), ()])
def test_returned_values_of_text_are_those_of_records_in_every_type(bits, sign, spec, keys, is_unknown):
    header = HeaderPage.parse(HEADER_PAGE)
    spec = spec.format("L" if bits == 64 else "")
    fmt = parse_format(_FORMAT.format(sign=sign, bits=bits, size=bits // 8, signed=int(sign == "s"), spec=spec), "pw")
    fmt = fmt.with_results({"ret": is_unknown})
    values = [(value % (1 << bits)).to_bytes(bits // 8, "little") for value in _RESULTS]
    data = b"".join(event(entry(2000, 7, bytes(16) + value), 1000) for value in values)
    pages, texts = (Store(Decoder({fmt.id: fmt}, header)) for _ in range(2))
    pages.feed(Batch((Chunk(0, page(1 << 30, data, header)),), drained=True))
    pages.flush()
    lines = [f"{'sh':>16}-7       [000] ..... {one.ts / 1e9:.6f}: {kernel_text(one)}\n" for one in _records(pages)]
    texts.feed(Batch((Chunk(-1, "".join(lines).encode(), text=True),), drained=True))
    texts.flush()
    assert len(pages) == len(texts) == len(values)
    request = AggregateRequest(keys, tuple(Statistic(function, "ret") for function in AggregateFunction))
    found, true = (_totals(store, request) for store in (texts, pages))
    assert found == true
    errors = [number for value in values if -4096 < (number := _error(value, is_unknown and sign == "u")) < 0]
    if keys == ("errno",) and bits >= 32:
        counted = {key: hits for (key,), (hits, _) in found.items()}
        assert counted == Counter([*(-number for number in errors), *[0] * (len(values) - len(errors))])
        _check_filters(pages, fmt, found)
    elif keys == ("errno",):
        assert found == {}


def _error(value: bytes, is_register: bool) -> int:
    """Return the number with its sign; of a register the lower half where the upper is 0."""
    if is_register and len(value) == 8 and not any(value[4:]) and value[3] >> 7:
        value = value[:4]
    return int.from_bytes(value, "little", signed=True)


def _check_filters(store: Store, fmt: EventFormat, found: dict[tuple[Value, ...], tuple[int, ValueTotal]]) -> None:
    """Check that filters find as many events as the table of errors counts, and that each is shown as its error."""
    kinds = {"ret": ValueKind.NUMBER, "errno": ValueKind.NUMBER}
    field = next(one for one in fmt.fields if one.name == "ret")
    for (error,), (hits, total) in found.items():
        assert isinstance(error, int)
        words = [f"errno == {error}", f"errno == -{error}", *([f"ret == -{error}"] if error else [])]
        if name := errno_name(-error):
            words += [f"errno == {name}", f"errno == {name[1:]}", f"ret == {name}"]
        words += [] if error else ["errno == 'no error'", "errno < 1"]
        for text in words:
            condition = parse_condition(text, kinds, str)
            mask = condition.candidates(store.columns(0, store.next_seq))
            assert mask.sum() == hits, text
            assert [condition(one) for one in _records(store)] == mask.tolist()
            values = {_records(store)[row].values["ret"] for row in np.flatnonzero(mask)}
            assert not name or {Namer().text(value, None, True, field) for value in values} == {name}
        assert not error or total.least == total.most == -error
    below = parse_condition("ret < 0", kinds, str).candidates(store.columns(0, store.next_seq)).sum()
    failed = sum(hits for (error,), (hits, _) in found.items() if error)
    assert below == failed if not field.signed else below >= failed


@pytest.mark.parametrize("value", ["retval", "$retval"])
def test_errors_of_the_tracers_calls_are_those_that_a_filter_finds(watch, value):
    header = HeaderPage.parse(HEADER_PAGE)
    fmt = parse_format(EXIT.format_text("funcgraph_exit", EXIT_ID, SIZE), "ftrace")
    at = next(field.offset for field in fmt.fields if field.name == "retval")
    results = [(number % (1 << 64)).to_bytes(8, "little") for number in _RESULTS]
    events = [event(entry(EXIT_ID, 7, bytes(at - 8) + one), 1000) for one in results]
    pages = [page(n + 1 << 30, b"".join(events[n : n + 20]), header) for n in range(0, len(events), 20)]
    store = Store(Decoder({fmt.id: fmt}, header))
    store.feed(Batch((Chunk(0, b"".join(pages)),), drained=True))
    store.flush()
    assert len(store) == len(results)
    columns = PlanColumns(watch).of(fmt.path)
    request = AggregateRequest(("errno",), (Statistic(AggregateFunction.MIN, value),))
    found = _totals(store, request, columns)
    kinds = value_kinds([fmt], [field.name for field in fmt.fields])
    assert (4095,) in found and (530,) in found
    for (error,), (hits, total) in found.items():
        if isinstance(error, int) and error:
            condition = parse_condition(f"retval == -{error}", kinds, str)
            assert hits == condition.candidates(store.columns(0, store.next_seq)).sum()
            assert total.least == total.most == -error
    failed = parse_condition("retval < 0", kinds, str).candidates(store.columns(0, store.next_seq))
    assert failed.sum() == sum(hits for (error,), (hits, _) in found.items() if error)


_OF_PROBE = EventColumns({"$retval": "ret"})


def _totals(
    store: Store, request: AggregateRequest, columns: EventColumns = _OF_PROBE
) -> dict[tuple[Value, ...], tuple[int, ValueTotal]]:
    found = Aggregate(store, request, lambda _: columns)
    while found.backlog:
        found.tick()
    return {
        tuple(key.value for key in found.keys_of(n)): (int(found.groups.counts[n]), found.groups.values[0].total(n))
        for n in range(len(found.groups))
        if found.groups.counts[n]
    }


@pytest.mark.parametrize("name", ["x", "comm"])
def test_numbers_and_texts_are_never_one_row(watch, name):
    """A key that is a text in one event may be a number, or the task, in another."""
    declared = {5: f"char {name}[4]", 6: "u32 x"}
    form = 'name: ev{}\nID: {}\nformat:\n\tfield:{};\toffset:8;\tsize:4;\tsigned:0;\n\nprint fmt: ""\n'
    formats = {number: parse_format(form.format(number, number, one), "g") for number, one in declared.items()}
    texts, numbers = (b"", b"7", b"a", b""), (0, 7, 7, 7)
    records = [entry(5, 7, one.ljust(4, b"\0")) for one in texts]
    records += [entry(6, one, struct.pack("<I", one)) for one in numbers]
    store = Store(Decoder(formats, HeaderPage()))
    store.feed(
        Batch((Chunk(0, page(1000, b"".join(event(one, 10) for one in records), HeaderPage())),), drained=True)
    )
    store.flush()
    found = _aggregated(watch, AggregateRequest((name,)), store=store)
    rows = sorted((repr(found.labels.exported(row.keys[0])), row.hits) for row in found.rows(0).rows)
    others = [("0", 1), ("7", 3)] if name == "x" else [("'pid 7'", 3), ("'<idle>'", 1)]
    assert rows == sorted([("''", 2), ("'7'", 1), ("'a'", 1), *others])


@pytest.mark.parametrize(
    ("text", "at", "why"),
    [
        ("", 0, "a key is missing here"),
        ("comm,", 5, "a key is missing here"),
        ("comm, , pid", 5, "a key is missing here"),
        ("comm, pid,comm", 10, "comm is a key already"),
        ("comm,pid,cpu,event", 13, "at most 3 keys are possible"),
    ],
)
def test_keys_that_are_none_are_refused_at_their_place(text, at, why):
    with pytest.raises(AggregateError) as refused:
        parse_keys(text)
    assert (str(refused.value), refused.value.at) == (why, at)


def test_keys_are_read_with_and_without_blanks():
    assert parse_keys("func,comm") == parse_keys(" func , comm ") == ("func", "comm")
    assert parse_keys("file->f_pos") == ("file->f_pos",)


@pytest.mark.parametrize(
    ("keys", "statistics", "option", "at", "words"),
    [
        ("cpu, comn", (), "by", 5, ["no event has comn: did you mean comm", "There are func, comm, pid"]),
        ("kstack", (), "by", 0, ["no event has a stack", "stacktrace"]),
        ("comm", ((AggregateFunction.SUM, "filename"),), "sum", 0, ["filename is a text"]),
        ("comm", ((AggregateFunction.MAX, "cuont"),), "max", 0, ["no event has cuont: did you mean count"]),
        ("filename", ((AggregateFunction.MAX, "f_pos"),), "by", 0, ["no event has all of filename, f_pos"]),
    ],
)
def test_a_name_that_no_event_has_is_told_with_what_there_is(watch, keys, statistics, option, at, words):
    request = AggregateRequest(parse_keys(keys), tuple(Statistic(*one) for one in statistics))
    with pytest.raises(AggregateError) as refused:
        check_request(watch, request, PlanColumns(watch), keys)
    assert (refused.value.option, refused.value.at) == (option, at)
    assert all(word in str(refused.value) for word in words)
