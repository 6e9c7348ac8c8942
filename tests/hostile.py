"""Files that cost much more than they weigh, and a process that is watched while it takes them."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import resource
import struct
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from events.recording.chunks import ChunkKind, Codec, write_head

DEFAULT = Path(__file__).parent.parent / "tui/default.pwr"
_CHUNK = struct.Struct("<4sBBHIII")


_MEASURED = """
import os, sys
if not (child := os.fork()):
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(child, 0)
os.write(int(sys.argv[1]), b"%d %d" % (os.waitstatus_to_exitcode(status), usage.ru_maxrss))
"""
"""Runs a program and tells its status and peak (KiB). The peak of a process begins with that of whom it was forked
from, here a small one: a worker of pytest has more than the bound (kernel: `exec_mmap`)."""


class Ended(NamedTuple):
    status: int
    out: str
    err: str
    peak: int
    """Most bytes of memory it had at once."""


def run(*words: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> Ended:
    """Run the command line in a process of its own; one that takes 4 GB or two minutes of a processor is killed."""

    def bound() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
        resource.setrlimit(resource.RLIMIT_CPU, (120, 120))

    told, tells = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", _MEASURED, str(tells), sys.executable, "-m", "tui", *words],
        pass_fds=[tells],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=bound,  # noqa: PLW1509 - no lock is taken there
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", **(environment or {})},
    )
    os.close(tells)
    out, err = _drained(process, stdin)
    process.wait()
    with open(told, "rb") as pipe:
        status, peak = pipe.read().split()
    return Ended(int(status), out, err, int(peak) << 10)


def _drained(process: subprocess.Popen[bytes], stdin: bytes) -> tuple[str, str]:
    import threading

    held: list[bytes] = []
    reader = threading.Thread(target=lambda: held.append(process.stderr.read()))
    reader.start()
    process.stdin.write(stdin)
    process.stdin.close()
    out = process.stdout.read()
    reader.join()
    process.stdout.close()
    process.stderr.close()
    return out.decode("utf-8", "replace"), held[0].decode("utf-8", "replace")


def tar_of(files: Mapping[str, bytes]) -> bytes:
    """A tar file packed by xz."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:xz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def packed_config() -> bytes:
    """Saved facts whose /proc/config.gz unpacks to 2 GB."""
    return tar_of(
        {
            "available_filter_functions": b"vfs_read\n",
            "/proc/config.gz": gzip.compress(bytes(64 << 20), 9) * 32,
        }
    )


def many_headers() -> bytes:
    """An archive of 80,000 headers, each of an empty file."""
    head = tarfile.TarInfo("a").tobuf()
    packer = lzma.LZMACompressor(preset=0)
    parts = [packer.compress(head * 2048) for _ in range(40)]
    return b"".join([*parts, packer.flush()])


def long_header() -> bytes:
    """An archive that says it has a name of 700 MB."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 700 << 20
    packer = lzma.LZMACompressor(preset=0)
    parts = [packer.compress(info.tobuf(tarfile.GNU_FORMAT))]
    parts += [packer.compress(b"a" * (1 << 20)) for _ in range(20)]
    return b"".join([*parts, packer.compress(tarfile.TarInfo("a").tobuf()), packer.flush()])


def function_list(line: bytes = b"a\n", number: int = 20 << 20) -> bytes:
    """Saved facts with a list of many functions."""
    return tar_of({"available_filter_functions": line * number})


def chunk(kind: int, raw: bytes, codec: Codec = Codec.ZLIB, length: int | None = None) -> bytes:
    stored = zlib.compress(raw, 9) if codec is Codec.ZLIB else lzma.compress(raw) if codec is Codec.XZ else raw
    length = len(raw) if length is None else length
    return _CHUNK.pack(b"PWRC", kind, codec, 0, len(stored), length, zlib.crc32(stored)) + stored


def blob(kind: str, name: str, data: bytes) -> bytes:
    return struct.pack("<HH", len(kind), len(name)) + kind.encode() + name.encode() + data


def recording(*chunks: bytes) -> bytes:
    out = io.BytesIO()
    write_head(out)
    return out.getvalue() + b"".join(chunks) + chunk(ChunkKind.END, b"", Codec.NONE)


def with_chunks(*chunks: bytes) -> bytes:
    """The recording that comes along, with chunks behind its own."""
    return DEFAULT.read_bytes()[: -_CHUNK.size] + b"".join(chunks) + chunk(ChunkKind.END, b"", Codec.NONE)


def with_meta(change: Callable[[dict[str, object]], object]) -> bytes:
    """The recording that comes along, with what `change` made of its metadata (of a copy; later values win)."""
    from events.recording.reader import Recording

    plain = json.loads(json.dumps(dict(Recording.open(DEFAULT).meta)))
    change(plain)
    return with_chunks(chunk(ChunkKind.META, json.dumps(plain).encode()))


def empty_passes(pattern: bytes = b"\1\0\0\0\0", number: int = 1 << 18, chunks: int = 200) -> bytes:
    """The recording that comes along, with fifty million passes in which nothing came."""
    return with_chunks(*[chunk(ChunkKind.PAGES, pattern * number)] * chunks)


def write(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)
