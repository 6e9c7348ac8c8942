"""Keeps a part of a recording: some passes, and what is needed to read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from events.batch import Batch
from events.decode import Decoder
from events.names.kallsyms import Symbols
from events.recording.chunks import Codec
from events.recording.reader import Recording, RecordingWriter
from events.stacks.addresses import stack_event_addresses
from events.store.store import Store

META = ("byteorder", "stacks", "plans")


def trim(path: Path, out: Path, most_events: int = 1500) -> None:
    """Keep the first passes, the plans, and the symbols of the functions in stacks.

    `most_events`: number of events after which no further pass is kept.
    """
    found = Recording.open(path)
    store = Store(Decoder({}, found.header))
    store.expect_stacks(frozenset(found.meta.get("stacks", ())))
    kept: list[object] = []
    for entry in found.timeline():
        kept.append(entry)
        if isinstance(entry, Batch):
            store.feed(entry)
            store.flush()
            if len(store) >= most_events:
                break
        else:
            store.use(entry)
    records = (store.record(seq) for seq in range(store.first_seq, store.next_seq))
    stacks = (stack_event_addresses(stack) for record in records for stack in record.stacks)
    addresses = {address for stack in stacks if stack is not None for address in stack}
    write_trimmed(out, found, kept, addresses, meta=META)


def write_trimmed(
    out: Path,
    found: Recording,
    kept: Sequence[object],
    addresses: set[int],
    *,
    meta: Sequence[str],
    others: Collection[str] = (),
) -> None:
    """Write what is `kept` of the time line of a recording, with the symbols of the functions at some addresses.

    `meta`: names of the values beside the events; `others`: names of other symbols.
    """
    with out.open("wb") as file:
        writer = RecordingWriter(file)
        writer.meta({name: found.meta[name] for name in meta if name in found.meta})
        writer.blob("header_page", "", found.header.source.encode())
        writer.blob("symbols", "", _symbols(found.blob("symbols") or b"", addresses, others), Codec.XZ)
        for one in kept:
            if isinstance(one, Batch):
                writer.pages(one, Codec.XZ)
            elif isinstance(one, dict):
                for fmt in one.values():
                    writer.blob("format", fmt.path, fmt.source.encode())
        names = "".join(f"{pid} {comm}\n" for pid, comm in sorted(found.cmdlines.items()))
        writer.blob("cmdlines", "", names.encode())
        writer.close()


def _symbols(kallsyms: bytes, addresses: set[int], others: Collection[str]) -> bytes:
    """Lines of the functions that have one of the addresses, of what stands behind each, and of `others`."""
    symbols = Symbols(kallsyms)
    starts = {address - place.offset for address in addresses if (place := symbols.find(address))}
    lines = sorted(kallsyms.decode().splitlines(), key=lambda line: int(line.split()[0], 16))
    kept, behind = [], False
    for line in lines:
        address, _, name = line.split()[:3]
        wanted = int(address, 16) in starts
        if wanted or behind or name in others:
            kept.append(line)
        behind = wanted
    return ("\n".join(kept) + "\n").encode()
