"""Recordings: what goes in comes out; a cut file is read up to the cut; a hostile one gives an error and no more."""

from __future__ import annotations

import io
import lzma
import struct
import tracemalloc
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import HeaderPage
from events.losses import UNKNOWN_TASK, NewestTask
from events.recording.chunks import LARGEST_CHUNK, ChunkKind, pack_batch, unpack_batches
from events.recording.reader import Codec, Recording, RecordingError, RecordingWriter
from events.recording.writer import NEWEST_TASK, boot_name
from events.store.store import Store
from kernel.connection.open_target import open_target
from tests.events_data import archive, captured, formats_of

FILES = archive("ringbuf.tar.xz")


def recorded(codec: Codec = Codec.ZLIB, name: str = "my") -> bytes:
    file = io.BytesIO()
    writer = RecordingWriter(file, codec)
    writer.meta({"facts": {"machine": "x86_64", "byteorder": "little"}, "plans": [{"probe": "f vfs_read"}]})
    writer.blob("btf", "", b"BTF" * 1000)
    writer.blob("btf", "ext4", b"split")
    writer.blob("header_page", "", FILES["7.2/header_page"])
    for path, data in FILES.items():
        if path.startswith("7.2/formats/"):
            writer.blob("format", path.removeprefix("7.2/formats/").removesuffix("/format"), data)
    writer.blob("symbols", "", FILES["7.2/kallsyms"])
    taken = captured("7.2", name)
    size = taken.decoder.header.page_size
    total = max(map(len, taken.raw.values()))
    for at in range(0, total, size):
        writer.pages(Batch(tuple(Chunk(c, raw[at : at + size]) for c, raw in taken.raw.items()), at + size >= total))
    writer.pages(Batch((Chunk(-1, b"text\n", text=True),), False))
    writer.blob("cmdlines", "", FILES["7.2/my/saved_cmdlines"])
    writer.meta({"ended": True})
    writer.close()
    return file.getvalue()


@given(st.lists(st.tuples(st.binary(max_size=9), st.booleans(), st.booleans(), st.booleans())))
def test_passes_come_out_as_they_went_in(passes: list[tuple[bytes, bool, bool, bool]]) -> None:
    batches = [Batch((Chunk(0, data), Chunk(-1, data, text=True)), *flags) for data, *flags in passes]
    assert list(unpack_batches(b"".join(map(pack_batch, batches)))) == batches


PASSES = st.sampled_from(["event", "loss", "gap", "removal", "task", "unread task", "boot"])


@given(st.lists(PASSES, max_size=20))
def test_a_recording_has_the_newest_task_after_each_gap_as_the_store_that_was_recorded(passes: list[str]) -> None:
    file = io.BytesIO()
    writer, live = RecordingWriter(file), Store(Decoder({}, HeaderPage()))
    tasks = 0
    for now, kind in enumerate(passes):
        line = b"  cat-812 [000] ..... %d: ping: a=1\n" % (now * 1000)
        batch = Batch((Chunk(-1, line, text=True),), False, after_gap=kind == "gap", booted=kind == "boot")
        if kind == "loss":
            batch = Batch((Chunk(-1, b"CPU:0 [LOST 5 EVENTS]\n" + line, text=True),), drained=False)
        elif kind == "removal":
            batch = Batch((), drained=False, after_gap=True)
        elif kind in ("task", "unread task"):
            batch = Batch((), drained=False, newest_task=NewestTask())
        writer.pages(batch)
        live.feed(batch)
        if batch.newest_task is not None:
            if kind == "task":
                batch.newest_task.id = now
                writer.blob(NEWEST_TASK, str(tasks), b"%d" % now)
            tasks += 1
    writer.close()
    replayed = Store(Decoder({}, HeaderPage()))
    replayed.feed(*Recording(file.getvalue()).batches())
    for store in (live, replayed):
        store.flush()
    assert len(live) == len(replayed)
    for ts in range(-1, len(passes) * 1000, 500):
        assert live.loss_spans.latest.newest_task(ts) == replayed.loss_spans.latest.newest_task(ts)
    assert live.loss_spans.latest.gaps.lacks_newest_task(-1) == replayed.loss_spans.latest.gaps.lacks_newest_task(-1)
    if passes[-1:] == ["task"]:
        assert replayed.loss_spans.latest.newest_task(len(passes) * 1000) != UNKNOWN_TASK


@pytest.mark.parametrize("codec", list(Codec))
def test_what_goes_in_comes_out(codec, tmp_path):
    path = tmp_path / "a.pwr"
    path.write_bytes(recorded(codec))
    recording = Recording.open(path)
    assert not recording.truncated
    assert recording.facts["machine"] == "x86_64"
    assert recording.plans == [{"probe": "f vfs_read"}]
    assert recording.meta["ended"] is True
    assert recording.btf() == b"BTF" * 1000
    assert recording.btf("ext4") == b"split"
    assert recording.btf("xfs") is None
    assert sorted(recording.names("btf")) == ["", "ext4"]
    assert recording.header == captured("7.2", "my").decoder.header
    assert recording.formats == formats_of("7.2")
    assert recording.symbols.known
    assert recording.cmdlines[121] == "wl"
    batches = list(recording.batches())
    assert batches[-1] == Batch((Chunk(-1, b"text\n", True),), False)
    raw = captured("7.2", "my").raw
    for cpu in raw:
        assert b"".join(c.data for b in batches for c in b.chunks if c.cpu == cpu) == raw[cpu]
    assert [b.drained for b in batches[-3:]] == [False, True, False]


def test_a_recording_replays_into_the_same_events():
    recording = Recording.open(recorded(Codec.XZ))
    store = Store(Decoder(recording.formats, recording.header))
    store.task_names.known = recording.cmdlines
    for batch in recording.batches():
        store.feed(batch)
    store.flush()
    live = Store(captured("7.2", "my").decoder)
    live.task_names.known = recording.cmdlines
    live.feed(Batch(tuple(Chunk(c, raw) for c, raw in captured("7.2", "my").raw.items()), True))
    live.flush()
    assert len(store) == len(live) == 928
    assert store.overrun == live.overrun
    for seq in range(len(store)):
        assert store.record(seq).values == live.record(seq).values


def test_a_cut_file_is_read_up_to_the_cut():
    file = io.BytesIO()
    writer = RecordingWriter(file)
    writer.meta({"facts": {}})
    ends = []
    for number in range(5):
        writer.pages(Batch((Chunk(0, bytes([number]) * 100),), True))
        writer.flush()
        ends.append(file.tell())
    writer.close()
    whole = file.getvalue()
    for cut in range(16, len(whole)):
        recording = Recording(whole[:cut])
        assert recording.truncated
        assert len(list(recording.batches())) == sum(end <= cut for end in ends)
    assert not Recording(whole).truncated
    for cut in range(16):
        with pytest.raises(RecordingError):
            Recording(whole[:cut])


def test_a_later_version_is_refused_by_name():
    data = bytearray(recorded())
    data[12] = 2
    with pytest.raises(RecordingError, match="version 2"):
        Recording(bytes(data))


def test_no_file(tmp_path):
    with pytest.raises(RecordingError) as caught:
        Recording.open(tmp_path / "none.pwr")
    assert caught.value.file.endswith("none.pwr")


def chunk(kind: int, codec: int, stored: bytes, raw_length: int, crc: int | None = None) -> bytes:
    crc = zlib.crc32(stored) if crc is None else crc
    return struct.pack("<4sBBHIII", b"PWRC", kind, codec, 0, len(stored), raw_length, crc) + stored


HEAD = b"probewright\0" + struct.pack("<I", 1)
BLOB = struct.pack("<HH", 6, 0) + b"format"


def read_all(data: bytes) -> tuple[list[object], list[Batch]]:
    """Everything a program would ask for."""
    recording = Recording(data)
    found = [recording.meta, recording.facts, recording.plans, recording.header, recording.formats, recording.btf()]
    found += [recording.symbols.lookup(1), recording.cmdlines]
    return found, list(recording.batches())


@pytest.mark.parametrize(
    "made",
    [
        chunk(ChunkKind.META, Codec.NONE, b"[]", 2),
        chunk(ChunkKind.META, Codec.NONE, b"{", 1),
        chunk(ChunkKind.META, Codec.NONE, b"[" * 100_000, 100_000),
        chunk(ChunkKind.META, Codec.NONE, b"{}", 3),
        chunk(ChunkKind.META, Codec.NONE, b"{}", 2, crc=1),
        chunk(ChunkKind.META, 77, b"{}", 2),
        chunk(ChunkKind.META, Codec.ZLIB, b"{}", 2),
        chunk(ChunkKind.META, Codec.XZ, b"{}", 2),
        chunk(ChunkKind.META, Codec.ZLIB, zlib.compress(b"{}  "), 2),
        chunk(ChunkKind.META, Codec.ZLIB, zlib.compress(b"{}"), LARGEST_CHUNK + 1),
        chunk(ChunkKind.BLOB, Codec.NONE, b"\1", 1),
        chunk(ChunkKind.BLOB, Codec.NONE, BLOB + b"name: x", len(BLOB) + 7),
        chunk(ChunkKind.BLOB, Codec.XZ, lzma.compress(BLOB)[:-30], len(BLOB)),
        chunk(ChunkKind.PAGES, Codec.NONE, b"\1\1", 2),
        chunk(ChunkKind.PAGES, Codec.NONE, struct.pack("<BI", 1, 0xFFFFFFFF), 5),
        chunk(ChunkKind.PAGES, Codec.NONE, struct.pack("<BIiBI", 1, 1, 0, 0, 0xFFFFFFFF), 14),
        b"PWRX" + bytes(16),
    ],
)
def test_damage_is_named_with_its_offset(made):
    with pytest.raises(RecordingError) as caught:
        read_all(HEAD + made + chunk(ChunkKind.END, 0, b"", 0))
    assert caught.value.offset >= len(HEAD)
    assert "recording" in str(caught.value)


def test_kinds_of_later_writers_are_passed_over():
    made = HEAD + chunk(99, 0, b"new", 3) + chunk(ChunkKind.META, 0, b'{"a":1}', 7) + chunk(ChunkKind.END, 0, b"", 0)
    assert Recording(made).meta == {"a": 1}


@pytest.mark.parametrize("pack", [lambda raw: zlib.compress(raw, 9), lzma.compress], ids=["zlib", "xz"])
def test_a_bomb_does_not_fill_the_memory(pack):
    codec = Codec.XZ if pack is lzma.compress else Codec.ZLIB
    bomb = pack(bytes(64 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(RecordingError):
            read_all(HEAD + chunk(ChunkKind.META, codec, bomb, 1000) + chunk(ChunkKind.END, 0, b"", 0))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20  # xz has a dictionary of 8 MB
    finally:
        tracemalloc.stop()


@settings(max_examples=300)
@given(st.data())
def test_mutated_files_give_an_error_or_a_recording(data):
    made = bytearray(_SMALL)
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(made) - 1), st.integers(0, 255)), min_size=1, max_size=8)
    ):
        made[place] = value
    cut = data.draw(st.one_of(st.just(len(made)), st.integers(0, len(made))))
    try:
        read_all(bytes(made[:cut]))
    except RecordingError as error:
        assert 0 <= error.offset <= len(made)


def _small() -> bytes:
    file = io.BytesIO()
    writer = RecordingWriter(file, Codec.NONE)
    writer.meta({"facts": {"byteorder": "little"}, "plans": []})
    writer.blob("header_page", "", FILES["7.2/header_page"])
    writer.blob("format", "my/op", FILES["7.2/formats/my/op/format"])
    writer.blob("symbols", "", FILES["7.2/kallsyms"])
    writer.pages(Batch((Chunk(0, bytes(300)), Chunk(1, b"")), True))
    writer.close()
    return file.getvalue()


_SMALL = _small()


def test_formats_stand_where_they_began_to_hold():
    """The kernel gives an id twice: what was recorded between belongs to the first format."""
    file = io.BytesIO()
    writer = RecordingWriter(file)
    first = FILES["7.2/formats/my/op/format"]
    second = first.replace(b"s32 dfd", b"s32 again")
    data = captured("7.2", "my").raw[0][:4096]
    writer.blob("format", "my/op", first, Codec.XZ)
    writer.pages(Batch((Chunk(0, data),), True))
    writer.blob("format", "my/op", second)
    writer.pages(Batch((Chunk(0, data),), True))
    writer.close()
    recording = Recording(file.getvalue())
    store = Store(Decoder({}, recording.header))
    seen = []
    for entry in recording.timeline():
        if isinstance(entry, Batch):
            seen.append(store.feed(entry) + store.flush())
        else:
            store.use(entry)
    assert seen[0] == seen[1] > 1
    assert all("dfd" in store.record(seq).values for seq in range(seen[0]))
    assert all("again" in store.record(seq).values for seq in range(seen[0], sum(seen)))
    [fmt] = recording.formats.values()
    assert fmt.source.encode() == second


def test_variables_stand_behind_the_functions_of_their_boot(tmp_path):
    path = tmp_path / "a.pwr"
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        for boot, name in ((0, "first"), (1, "second")):
            writer.blob("symbols", boot_name(boot), f"ffffffff8100000{boot} T {name}\n".encode())
        writer.blob("variables", boot_name(0), b"ffffffff82000000 D tcp_prot\n")
        writer.close()
    found = Recording.open(path)
    assert found.kallsyms(0) == b"ffffffff81000000 T first\nffffffff82000000 D tcp_prot\n"
    assert found.kallsyms(1) == b"ffffffff81000001 T second\n", "an older recording has none"
    assert found.kallsyms(2) is None
    assert open_target(str(path)).read("/proc/kallsyms") == found.kallsyms(0)
    assert found.symbols.object_name(0xFFFFFFFF82000000) == "tcp_prot"
