"""Real pages of real kernels with the kernel's own text of them, and pages made by hand."""

from __future__ import annotations

import functools
import re
import struct
import tarfile
from pathlib import Path
from typing import NamedTuple

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import ByteOrder, EventFormat, HeaderPage, parse_format
from events.names.kallsyms import Symbols
from events.store.store import Store
from events.subbuffer import walk

DATA = Path(__file__).parent / "data"
KERNELS = ("7.2", "6.12")
SETS = ("my", "mixed", "overrun", "ext", "subbuf64k", "fgraph")


@functools.cache
def archive(name: str) -> dict[str, bytes]:
    """Files of an archive by name."""
    with tarfile.open(DATA / name) as tar:
        found = {}
        for member in tar.getmembers():
            file = tar.extractfile(member)
            assert file is not None
            found[member.name] = file.read()
        return found


def text_of(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


class Captured(NamedTuple):
    """One set of one kernel."""

    decoder: Decoder
    symbols: Symbols
    raw: dict[int, bytes]
    """Sub-buffers by CPU."""
    text: dict[int, list[str]]
    """Lines by CPU."""
    stats: dict[int, str]


@functools.cache
def formats_of(kernel: str) -> dict[int, EventFormat]:
    found = {}
    for name, data in archive("ringbuf.tar.xz").items():
        parts = name.split("/")
        if parts[0] == kernel and parts[1] == "formats":
            fmt = parse_format(data.decode(), parts[2])
            found[fmt.id] = fmt
    return found


@functools.cache
def captured(kernel: str, name: str) -> Captured:
    files = archive("ringbuf.tar.xz")
    header_file = "header_page.64k" if name == "subbuf64k" else "header_page"
    header = HeaderPage.parse(files[f"{kernel}/{header_file}"].decode())
    cpus = range(2)
    return Captured(
        Decoder(formats_of(kernel), header),
        Symbols(files[f"{kernel}/kallsyms"]),
        {cpu: files[key] for cpu in cpus if (key := f"{kernel}/{name}/cpu{cpu}.raw") in files},
        {cpu: text_of(files[key]).splitlines() for cpu in cpus if (key := f"{kernel}/{name}/cpu{cpu}.txt") in files},
        {cpu: files[key].decode() for cpu in cpus if (key := f"{kernel}/{name}/cpu{cpu}.stats") in files},
    )


def fgraph_text(kernel: str) -> list[str]:
    return archive("ringbuf.tar.xz")[f"{kernel}/fgraph/trace.txt"].decode().splitlines()


def store_of(decoder: Decoder, raw: dict[int, bytes], limit: int = 1 << 30) -> Store:
    """A store that has seen everything in one pass."""
    store = Store(decoder, limit)
    store.feed(Batch(tuple(Chunk(cpu, data) for cpu, data in raw.items()), drained=True))
    store.flush()
    return store


class Sample(NamedTuple):
    """A hex dump of pages with text and formats, made on the console of a small machine."""

    decoder: Decoder
    raw: bytes
    text: list[str]
    symbols: Symbols
    cmdlines: str


@functools.cache
def sample(kernel: str) -> Sample:
    files = archive("ringbuf-s7.tar.xz")
    parts: dict[str, list[str]] = {}
    formats = {}
    for part in text_of(files[f"s7/{kernel}.txt"]).split("\n@@")[1:]:
        head, _, body = part.replace("\r", "").partition("\n")
        key, _, rest = head.partition(" ")
        if key == "FMT":
            fmt = parse_format(body, rest.split("/")[1])
            formats[fmt.id] = fmt
        else:
            parts[key] = body.splitlines()
    raw = b"".join(bytes.fromhex("".join(line.split()[1:])) for line in parts["RAW"] if line[:7].isdecimal())
    known = files.get(f"s7/{kernel}.kallsyms", b"") or made_symbols(parts["KSYM"], parts["TEXT"])
    header = HeaderPage.parse("\n".join(parts["HP"]))
    text = [line for line in parts["TEXT"] if line and not line.startswith("#")]
    return Sample(Decoder(formats, header), raw, text, Symbols(known), "\n".join(parts["SAVEDCMD"]))


def made_symbols(ksym: list[str], text: list[str]) -> bytes:
    """kallsyms of a kernel we have only a few lines of: what follows each symbol is put where its size says."""
    sizes = dict(re.findall(r"(\w+)\+0x[0-9a-f]+/0x([0-9a-f]+)", "\n".join(text)))
    lines = []
    for line in ksym:
        address, kind, name = line.split()
        lines.append(line)
        if name in sizes:
            lines.append(f"{int(address, 16) + int(sizes[name], 16):016x} {kind} behind_{name}")
    return ("\n".join(lines) + "\n").encode()


# Pages made by hand.


def word(type_len: int, delta: int, order: ByteOrder = "little") -> bytes:
    value = type_len | delta << 5 if order == "little" else type_len << 27 | delta
    return value.to_bytes(4, order)


def u32(value: int, order: ByteOrder = "little") -> bytes:
    return value.to_bytes(4, order)


def event(data: bytes, delta: int, order: ByteOrder = "little", long_form: bool = False) -> bytes:
    """A data event; the long form has its length in a word of its own."""
    assert len(data) % 4 == 0
    if long_form or len(data) > 112:
        return word(0, delta, order) + u32(len(data) + 4, order) + data
    return word(len(data) // 4, delta, order) + data


def entry(number: int, pid: int, data: bytes = b"", order: ByteOrder = "little") -> bytes:
    """A record: struct trace_entry and what follows."""
    head = struct.pack(("<" if order == "little" else ">") + "HBBi", number, 0, 0, pid)
    return head + data + bytes(-len(data) % 4)


def page(ts: int, data: bytes, header: HeaderPage, flags: int = 0, lost: int | None = None) -> bytes:
    """A sub-buffer around events."""
    order = header.byteorder
    commit = (len(data) | flags).to_bytes(header.commit_size, order)
    stored = b"" if lost is None else lost.to_bytes(header.long_size, order)
    return (ts.to_bytes(8, order) + commit + data + stored).ljust(header.page_size, b"\0")


def to_big(little: bytes, header: HeaderPage, target: HeaderPage, formats: dict[int, EventFormat]) -> bytes:
    """A page of events with fields of 1 to 8 bytes and strings, as a big-endian machine would have written it."""
    ts = before = int.from_bytes(little[:8], "little")
    data = b""
    for stamp, offset, length in walk(little, header):
        record = bytearray(little[offset : offset + length])
        fmt = formats[int.from_bytes(record[:2], "little")]
        for field in (*fmt.common, *fmt.fields):
            swap = record[field.offset : field.end]
            record[field.offset : field.end] = swap[::-1] if field.size in (2, 4, 8) else swap
        delta = stamp - before
        if delta >> 27:
            data += word(30, delta & 0x7FFFFFF, "big") + u32(delta >> 27, "big")
            delta = 0
        before = stamp
        data += event(bytes(record), delta, "big")
    return page(ts, data, target)
