"""Write a copy of an initrd with a bootconfig at its end, as `bootconfig -a` of the kernel's sources does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, NamedTuple

from foreign.files import opened_file
from kernel.safe_files.new_file import create
from probes.bootconfig.initrd_tail import MOST_TAIL, Tail, find_tail, tail
from probes.bootconfig.text import compose, parse
from probes.export.bootconfig import INSTANCE, SPECS

_PIECE = 1 << 20
_LARGEST = 4 << 30
"""Most bytes of an initrd; those of distributions have 50 to 500 MB."""
_OURS = (f"ftrace.instance.{INSTANCE}.", f"{SPECS}.")
"""Beginnings of the keys that an earlier copy has of us."""


class InitrdCopy(NamedTuple):
    """Written copy of an initrd."""

    size: int
    """Bytes of the copy."""
    kept_keys: int
    """Number of keys that the original's bootconfig has, which the copy has as well."""


def copy_initrd(original: Path, copy: Path, text: str) -> InitrdCopy:
    """Write a copy of an initrd with a bootconfig; the original is only read.

    Keys of a bootconfig that it has already stay before ours; those of an earlier copy of ours are replaced. Nothing
    is left of the copy if it fails.

    Args:
        original: initrd.
        copy: new file, of mode 0600.
        text: bootconfig.

    Raises:
        OSError: one of the files can't be used, or the copy exists.
        InputRefusal: the original is no regular file, or too large.
        BootconfigError: its bootconfig is damaged, or has no room for ours.
    """
    with opened_file(original, _LARGEST) as (source, size):
        source.seek(max(0, size - MOST_TAIL))
        found = find_tail(source.read(MOST_TAIL), size)
        kept = _without_ours(found) if found is not None else ""
        body = size - (found.size if found is not None else 0)
        end = tail(kept + text, body)
        with create(copy) as into:
            try:
                source.seek(0)
                _copy(source, into, body)
                into.write(end)
                into.flush()
                os.fsync(into.fileno())
            except BaseException:
                copy.unlink()
                raise
    return InitrdCopy(body + len(end), len(parse(kept)) if kept else 0)


def _without_ours(found: Tail) -> str:
    """Return the text of a bootconfig without the keys of an earlier copy, ending with a newline."""
    pairs = parse(found.text)
    others = {key: values for key, values in pairs if not f"{key}.".startswith(_OURS)}
    if len(others) == len(pairs):
        return found.text.rstrip("\n") + "\n"
    return compose(others) if others else ""


def _copy(source: BinaryIO, into: BinaryIO, size: int) -> None:
    while size > 0:
        piece = source.read(min(_PIECE, size))
        if not piece:
            raise OSError(5, "the original became shorter while it was copied")
        into.write(piece)
        size -= len(piece)
