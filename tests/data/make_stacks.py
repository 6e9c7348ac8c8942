"""Makes stacks-7.2.pwr: events of a real kernel with their kernel stacks, with what is needed to read them.

python -m tests.data.make_stacks
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from events.batch import Batch
from events.decode import Decoder
from events.names.kallsyms import Symbols
from events.recording.chunks import Codec
from events.recording.reader import Recording, RecordingWriter
from events.stacks.addresses import stack_event_addresses
from events.store.store import Store

OUT = Path(__file__).parent / "stacks-7.2.pwr"
PROBES = ("f kfree", "f vfs_read%both count $retval", "f vfs_write count")
EVENTS = 1500
META = ("byteorder", "stacks", "plans")


def trim(path: Path, out: Path, most_events: int = EVENTS) -> None:
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
    with out.open("wb") as file:
        writer = RecordingWriter(file)
        writer.meta({name: found.meta[name] for name in META if name in found.meta})
        writer.blob("header_page", "", found.header.source.encode())
        writer.blob("symbols", "", _symbols(found.blob("symbols") or b"", addresses), Codec.XZ)
        for one in kept:
            if isinstance(one, Batch):
                writer.pages(one, Codec.XZ)
            elif isinstance(one, dict):
                for fmt in one.values():
                    writer.blob("format", fmt.path, fmt.source.encode())
        names = "".join(f"{pid} {comm}\n" for pid, comm in sorted(found.cmdlines.items()))
        writer.blob("cmdlines", "", names.encode())
        writer.close()


def _symbols(kallsyms: bytes, addresses: set[int]) -> bytes:
    """Lines of the functions that have one of the addresses, and of what stands behind each."""
    symbols = Symbols(kallsyms)
    starts = {address - place.offset for address in addresses if (place := symbols.find(address))}
    lines = sorted(kallsyms.decode().splitlines(), key=lambda line: int(line.split()[0], 16))
    behind = (line for before, line in pairwise(lines) if int(before.split()[0], 16) in starts)
    own = (line for line in lines if int(line.split()[0], 16) in starts)
    kept = sorted({*own, *behind}, key=lambda line: int(line.split()[0], 16))
    return ("\n".join(kept) + "\n").encode()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole.pwr"
        words = ("record", *PROBES, "--trigger", "stacktrace", "--target", "lab:7.2", "--for", "4s", "--force")
        subprocess.run([sys.executable, "-m", "tui", *words, "-o", str(whole)], check=True)
        trim(whole, OUT)
