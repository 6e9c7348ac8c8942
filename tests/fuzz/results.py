"""Kinds of what is found in events: tables by key, first failures, records of programs, lists of functions, objects.

A recording of calls with return values, one of probes on several functions, and records of BPF programs are damaged,
and given to all that counts, pairs and exports them.
"""

from __future__ import annotations

import functools
import json
import struct
from itertools import islice
from random import Random

from btf.btf import Btf
from btf.functions.error_returns import ErrorReturn
from events.aggregates.aggregate import Aggregate
from events.aggregates.event_columns import EventColumns
from events.aggregates.request import AggregateFunction, AggregateRequest, Statistic
from events.batch import Batch, Chunk
from events.bpf_records import RecordConverter
from events.decode import Decoder
from events.failures.failed_calls import FailedCalls
from events.format import HeaderPage, parse_format
from events.graph.live_tree import LiveTree
from events.recording.chunks import pack_batch
from events.recording.reader import Recording
from events.store.store import Store
from kernel.recording.target import RecordingTarget
from probes.bpf.tracing.call_tracer import ENTRY, ENTRY_ID, EXIT, EXIT_ID, SIZE
from probes.facts.lookups import Environment
from probes.facts.program_support import ProgramSupport
from probes.lowering.lower import lower
from probes.plans.json_values import plan_to_dict
from probes.plans.plan import Via
from probes.syntax.parse import parse_probe
from tests.btf_writer import every_kind
from tests.fake_target import HEADER_PAGE
from tests.fuzz import material
from tests.fuzz.commands import feed_files, feed_lines
from tests.fuzz.kinds import Kind
from tests.fuzz.mutation import damaged, damaged_text, damaged_value
from tests.probes_data import kernel
from tests.trimmed_recordings import DATA

_TABLES: tuple[tuple[str, ...], ...] = (
    ("FILE", "--by", "comm,pid,errno", "--sum", "ret", "--log2", "count", "--max", "latency"),
    ("FILE", "--by", "func", "--avg", "latency", "--min", "latency", "--log2", "latency"),
    ("FILE", "--by", "event,cgroup,cpu", "--filter", "ret < 0 || comm ~ '*a*'", "--top", "3"),
    ("FILE", "--by", "$retval", "--export", "csv:OUT", "--overwrite"),
    ("run", "-t", "FILE", "f record_read%return n $retval", "--by", "errno", "--sum", "$retval", "--json"),
    *[("FILE", "--view", view, "--export", "jsonl:OUT", "--overwrite") for view in ("calls", "summary", "failures")],
)
_OF_CALLS: tuple[tuple[str, ...], ...] = (
    ("errors", "-t", "FILE"),
    ("errors", "openat", "vfs_*", "-t", "FILE", "--json"),
    ("errors", "-t", "FILE", "--errno", "ENOENT", "--count", "2"),
    ("graph", "-t", "FILE", "--json"),
    ("FILE", "--by", "func,errno", "--sum", "retval", "--log2", "depth"),
    ("FILE", "--export", "csv:OUT", "--overwrite", "--filter", "retval < 0 && func ~ '*a*'"),
    *[("FILE", "--view", view, "--export", "csv:OUT", "--overwrite") for view in ("failures", "hot-spots")],
)
_OF_FUNCTIONS: tuple[tuple[str, ...], ...] = (
    ("check", "-t", "FILE", "f @LIST%both"),
    ("check", "-t", "FILE", "f @LIST,!vfs_* n"),
    ("check", "-t", "FILE", "--json", "f @LIST%return $retval"),
    ("export", "-t", "FILE", "--as", "bpftrace", "f @LIST"),
)
_NAMES = "vfs_*\nrecord_read # a comment\n!twin\nmod:record_exit\nrecord_exit [mod]\n[rs]ecord_find\n\n# nothing\n"
_TRACKED = "f vfs_read%track file->f_inode $comm"
_SEVERAL = (
    "f [struct record *]%both $retval",
    "f record_*,!record_exit%both n $retval if ret < 0",
    "f /^rec(ord|x)_[a-z]+$/ n",
    "f record_read%both record n $retval",
)


def _tables(random: Random) -> bytes:
    """A recording of which pages, or the format of an event, are damaged."""
    if random.random() < 0.5:
        return material.recording(pages=damaged(material.parts().pages, random))
    formats = {key: data for key, data in material.parts().blobs.items() if key[0] == "format"}
    key = random.choice(list(formats))
    return material.recording(blobs={key: damaged_text(formats[key].decode(), random).encode("utf-8", "replace")})


@functools.cache
def _graph() -> tuple[dict[tuple[str, str], bytes], bytes]:
    """Blobs and some passes of a recording of calls with return values."""
    whole = Recording.open(DATA / "graph-failures.pwr")
    blobs = {
        (kind, name): whole.blob(kind, name) or b""
        for kind in ("symbols", "header_page", "cmdlines")
        for name in whole.names(kind)
    }
    formats = {("format", f"ftrace/{name}"): text.encode() for name, text in _formats().items()}
    return {**blobs, **formats}, b"".join(map(pack_batch, islice(whole.batches(), 8)))


def _formats() -> dict[str, str]:
    """Formats of the events of calls by name."""
    layouts = {"funcgraph_entry": (ENTRY, ENTRY_ID), "funcgraph_exit": (EXIT, EXIT_ID)}
    return {name: layout.format_text(name, number, SIZE) for name, (layout, number) in layouts.items()}


def _calls(random: Random) -> bytes:
    """A recording of calls whose passes, formats or symbols are damaged."""
    blobs, passes = _graph()
    meta = {**material.parts().meta, "plans": []}
    if random.random() < 0.6:
        return material.recording(meta, blobs, damaged(passes, random))
    key = random.choice(list(blobs))
    text = damaged_text(blobs[key].decode("utf-8", "surrogateescape"), random)
    return material.recording(meta, {**blobs, key: text.encode("utf-8", "backslashreplace")}, passes)


@functools.cache
def _ring() -> bytes:
    """Records that programs which trace calls make, as a BPF ring buffer has them."""
    records = b""
    for number in range(60):
        is_exit = number % 4 > 1
        layout, event = (EXIT, EXIT_ID) if is_exit else (ENTRY, ENTRY_ID)
        record = bytearray(struct.pack("<QIIIH", 1000 * number, 7, number // 40, 0, event).ljust(SIZE, b"\0"))
        words = [0xFFFFFFFF81001000 + number % 4 % 3, number % 2, *([(1 << 64) - 2] * (len(layout.fields) - 2))]
        record[layout.fields[0].offset : layout.fields[0].offset + 8 * len(words)] = struct.pack(
            f"<{len(words)}Q", *words
        )
        records += struct.pack("<II", SIZE, 0) + record
    return records


def _ring_records(data: bytes) -> None:
    """Convert records, count them by every key and value, and look for first failures."""
    header = HeaderPage.parse(HEADER_PAGE)
    formats = [parse_format(text, "ftrace") for text in _formats().values()]
    converter = RecordConverter(header)
    converter.sizes[1] = SIZE
    store = Store(Decoder({fmt.id: fmt for fmt in formats}, header))
    half = len(data) // 2
    for part in (data[:half], data[half:]):
        store.feed(converter.converted(Batch((Chunk(0, part, ring=1), Chunk(1, part, ring=2)), drained=True)))
    store.flush()
    columns = EventColumns({"$retval": "retval"})
    statistics = tuple(Statistic(function, "retval") for function in AggregateFunction)
    for keys in (("func", "errno"), ("comm", "args", "cpu"), ()):
        counted = Aggregate(store, AggregateRequest(keys, statistics), lambda _: columns)
        while counted.backlog:
            counted.tick()
        for group in range(len(counted.groups)):
            counted.keys_of(group)
            counted.groups.values[0].total(group)
    live = LiveTree(store, {})
    failed = FailedCalls(live.tree, lambda *_: ErrorReturn.UNKNOWN)
    while live.tick(1.0):
        pass
    failed.take()


@functools.cache
def _plans() -> list[object]:
    """Plans of probes on several functions, by programs and by tracefs, as a recording has them."""
    target, around = RecordingTarget(Recording.open(_whole()), "x"), Environment(programs=ProgramSupport())
    btf, facts = Btf.load(every_kind()), target.facts()
    probes = map(parse_probe, _SEVERAL)
    known = kernel("7.2")
    plans = [lower(one, btf, facts, "pw", environment=around, via=Via.BPF) for one in probes]
    plans.append(lower(parse_probe(_TRACKED), known.btf, known.facts, "pw", environment=around, via=Via.BPF))
    return [plan_to_dict(plan) for plan in plans]


def _objects(random: Random) -> bytes:
    """A recording whose plans are of objects and of several functions, damaged."""
    plans = damaged_value(_plans(), random) if random.random() < 0.8 else _plans() * 2
    try:
        return material.recording(json.dumps({**material.parts().meta, "plans": plans}).encode())
    except ValueError:  # a circle
        return material.recording()


def _lists(random: Random) -> bytes:
    return damaged_text(_NAMES * random.choice((1, 1, 3, 2000)), random).encode("utf-8", "surrogatepass")


def _lists_feed(data: bytes) -> str:
    return feed_files(_OF_FUNCTIONS, {"FILE": _whole(), "LIST": data}, data, ".pwr")


@functools.cache
def _whole() -> bytes:
    return material.recording()


KINDS: dict[str, Kind] = {
    "tables": Kind(_tables, feed_lines(_TABLES, ".pwr"), (), 3),
    "calls": Kind(_calls, feed_lines(_OF_CALLS, ".pwr"), (), 3),
    "ring records": Kind(lambda random: damaged(_ring(), random), _ring_records, (), 2),
    "objects": Kind(_objects, feed_lines((*_OF_CALLS[:2], *_TABLES), ".pwr"), (), 2),
    "function lists": Kind(_lists, _lists_feed, (), 2),
}
