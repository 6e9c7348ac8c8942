"""Damaged files given to the commands, in this process; the status has to be a documented one."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random

from tests.btf_writer import every_kind
from tests.fuzz import material
from tests.fuzz.kinds import KINDS as CORE
from tests.fuzz.kinds import (
    Kind,
    btf_of_screens,
    damaged_blob,
    damaged_chunks,
    damaged_meta,
    damaged_passes,
    damaged_tar,
)
from tests.fuzz.mutation import damaged_text
from tui.__main__ import main

STATUSES = (0, 1, 2, 3, 4)
_STATUSES_WITH_COMMAND = (*STATUSES, 125, 126, 127)
"""As docs/commands.md has them, of `run` and `record` with `-- COMMAND`."""
_READ = "f record_read%return record->inner.value n $retval"
_RECORD = "f record_read record->name record->inner.value record->matrix[1] $retval"
_ON_TARGET: tuple[tuple[str, ...], ...] = (
    ("list", "-t", "FILE"),
    ("list", "-t", "FILE", "--json", "rec"),
    ("show", "-t", "FILE", "record_read"),
    ("show", "-t", "FILE", "record"),
    ("show", "-t", "FILE", "record_find", "--json"),
    ("check", "-t", "FILE", _RECORD),
    ("check", "-t", "FILE", "f record_read $$args"),
    ("check", "-t", "FILE", "f record_find%return $retval->name where"),
    ("check", "-t", "FILE", _READ, "--json"),
    ("check", "-t", "FILE", "p vfs_read+4 @jiffies_64"),
    ("export", "-t", "FILE", "--as", "bpftrace", _RECORD),
    ("export", "-t", "FILE", "--as", "sh", "f record_read $$args"),
    ("doctor", "-t", "FILE"),
)
_ON_RECORDING: tuple[tuple[str, ...], ...] = (
    *_ON_TARGET[:6],
    ("run", "-t", "FILE", _READ),
    ("run", "-t", "FILE", _READ, "--json"),
    ("run", "-t", "FILE", _READ, "--summary"),
    ("run", "-t", "FILE", _READ, "--summary", "n", "--json"),
    ("graph", "-t", "FILE"),
    ("errors", "-t", "FILE"),
    ("refs", "-t", "FILE"),
    *[("FILE", "--export", f"{form}:OUT", "--overwrite") for form in ("jsonl", "csv", "text", "perfetto", "folded")],
)


def feed_lines(lines: tuple[tuple[str, ...], ...], ending: str) -> Callable[[bytes], str]:
    """Give a file to one of some command lines; which one, the file says."""
    return lambda data: feed_files(lines, {"FILE": data}, data, ending)


def feed_files(lines: tuple[tuple[str, ...], ...], files: Mapping[str, bytes], chooses: bytes, ending: str) -> str:
    """Give files, by their words in some command lines, to one of these, which some bytes choose."""
    words = list(lines[zlib.crc32(chooses) % len(lines)])
    with _folder() as folder:
        for name, data in files.items():
            (folder / f"{name.lower()}{ending}").write_bytes(data)
            words = [word.replace(name, f"{name.lower()}{ending}") for word in words]
        return run([word.replace("OUT", "out") for word in words])


def run(words: list[str]) -> str:
    """Run a command line; raises AssertionError where it does not end as documented."""
    out, told = (io.TextIOWrapper(io.BytesIO(), "utf-8", "backslashreplace", write_through=True) for _ in range(2))
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, told
    try:
        status = main(words)
    except SystemExit as end:
        status = int(end.code or 0)
    finally:
        sys.stdout, sys.stderr = before
    said = told.buffer.getvalue().decode()
    assert status in (_STATUSES_WITH_COMMAND if "--" in words else STATUSES), f"status {status}"
    assert "Traceback" not in said, said
    assert status == 0 or said or out.buffer.getvalue(), "nothing was said"
    return f"status {status}"


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        try:
            yield Path(place)
        finally:
            os.chdir(here)


def _btf_of_recording(random: Random) -> bytes:
    """A recording of whose BTF one to three words are others, which loading does not look at."""
    return material.recording(blobs={("btf", ""): damaged_words(random)})


def damaged_words(random: Random) -> bytes:
    """BTF of which some words behind the header are others."""
    data = bytearray(every_kind())
    for _ in range(random.choice((1, 1, 2, 3))):
        at = 24 + 4 * random.randrange((len(data) - 24) // 4)
        old = int.from_bytes(data[at : at + 4], "little")
        new = random.choice((0, 1, old + 1, old ^ 1 << random.randrange(32), random.randrange(80), 0xFFFFFFFF))
        data[at : at + 4] = (new & 0xFFFFFFFF).to_bytes(4, "little")
    return bytes(data)


def _preset(random: Random) -> bytes:
    return damaged_text(random.choice(material.presets()), random).encode("utf-8", "surrogatepass")


def _feed_preset(data: bytes) -> str:
    lines = (("show", "./x.toml"), ("check", "-t", "x.pwr", "./x.toml"), ("diff", "./x.toml", "slow-opens"))
    with _folder() as folder:
        (folder / "x.toml").write_bytes(data)
        (folder / "x.pwr").write_bytes(_whole())
        return run(["preset", *lines[zlib.crc32(data) % 3]])


def _other(random: Random) -> bytes:
    """A damaged recording of any kind."""
    return random.choice((damaged_meta, damaged_blob, damaged_chunks, damaged_passes))(random)


def _feed_compare(data: bytes) -> str:
    lines = (("x.pwr", "y.pwr"), ("y.pwr", "x.pwr", "--json"), ("x.pwr", "y.pwr", "--by", "comm", "--export", "csv"))
    with _folder() as folder:
        (folder / "x.pwr").write_bytes(_whole())
        (folder / "y.pwr").write_bytes(data)
        return run(["compare", *lines[zlib.crc32(data) % 3]])


@functools.cache
def _whole() -> bytes:
    return material.recording()


def _words(random: Random) -> bytes:
    """A command line whose values are damaged."""
    line = list(random.choice(_ON_RECORDING + _WITH_NUMBERS))
    at = random.randrange(1, len(line))
    if line[at] not in ("FILE", "-t"):
        line[at] = damaged_text(line[at], random)
    return json.dumps(line).encode()


_WITH_NUMBERS: tuple[tuple[str, ...], ...] = (
    ("list", "-t", "FILE", "--limit", "5"),
    ("run", "-t", "FILE", _READ, "--for", "1s", "--count", "2"),
    ("run", "-t", "FILE", _READ, "--max-rate", "5", "--storm", "7", "--window", "3"),
    ("graph", "-t", "FILE", "--depth", "3", "--slower", "2", "--count", "5"),
    ("errors", "openat", "do_*", "-t", "FILE", "--errno", "ENOENT,13", "--count", "5", "--json"),
    ("refs", "-t", "FILE", "--limit", "3", "--count", "5", "--json"),
    ("run", "-t", "FILE", "slow-opens", "-p", "min_latency=10ms"),
    ("FILE", "--export", "jsonl:OUT", "--rotate-size", "5", "--rotate-age", "7", "--keep", "2"),
)


def _feed_words(data: bytes) -> str:
    words: list[str] = json.loads(data)
    with _folder() as folder:
        (folder / "x.pwr").write_bytes(_whole())
        return run([word.replace("FILE", "x.pwr").replace("OUT", "out").replace("\0", "") for word in words])


KINDS: dict[str, Kind] = {
    "command btf": Kind(_btf_of_recording, feed_lines(_ON_TARGET, ".pwr"), (), 5),
    "command meta": Kind(damaged_meta, feed_lines(_ON_RECORDING, ".pwr"), (), 4),
    "command blobs": Kind(damaged_blob, feed_lines(_ON_RECORDING, ".pwr"), (), 4),
    "command chunks": Kind(damaged_chunks, feed_lines(_ON_RECORDING, ".pwr"), (), 2),
    "command passes": Kind(damaged_passes, feed_lines(_ON_RECORDING, ".pwr"), (), 2),
    "command tar": Kind(damaged_tar, feed_lines(_ON_TARGET, ".tar.xz"), (), 2),
    "command compare": Kind(_other, _feed_compare, (), 2),
    "command preset": Kind(_preset, _feed_preset, (), 2),
    "command words": Kind(_words, _feed_words, (), 3),
    "btf words": Kind(damaged_words, CORE["btf"].feed, CORE["btf"].refusals, 3),
    "btf of screens": Kind(damaged_words, btf_of_screens, (), 3),
}
