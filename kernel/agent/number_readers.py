"""Read numbers of the kernel's memory (/proc/kcore) and of files of /proc and /sys; a part of the agent's source.

/proc/kcore is an ELF core file (fs/proc/kcore.c) whose segments give addresses their places in the file. Memory that
is not mapped reads as zeros where it lies within a segment, as of vmalloc.
"""

# This file is Python 3.6.
import errno
import os
import struct

KCORE = b"/proc/kcore"
_CORE_HEAD, _CORE_SEGMENT = struct.Struct("<16x2H4x3Q4x3H"), struct.Struct("<2I6Q")
_MOST_CORE_SEGMENTS = 4096
MOST_FILE_BYTES = 1 << 18
"""Bytes of a file in which a number is looked for."""


class KcoreFile:
    """The kernel's memory by address."""

    def __init__(self, path: bytes = KCORE) -> None:
        """Open the file. Raises OSError."""
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            self._segments = self._read_segments()
        except OSError:
            os.close(self._fd)
            raise

    def _read_segments(self) -> "list[tuple[int, int, int]]":
        """Return address, size and place in the file of each segment. Raises OSError."""
        head = os.pread(self._fd, _CORE_HEAD.size, 0)
        if len(head) < _CORE_HEAD.size or head[:6] != b"\x7fELF\x02\x01":
            raise OSError(errno.ENOEXEC, "no core file")
        fields = _CORE_HEAD.unpack(head)
        table, size, count = fields[3], fields[6], fields[7]
        if size != _CORE_SEGMENT.size or count > _MOST_CORE_SEGMENTS:
            raise OSError(errno.ENOEXEC, "no core file")
        data = os.pread(self._fd, size * count, table)
        rows = [_CORE_SEGMENT.unpack_from(data, at) for at in range(0, len(data) - size + 1, size)]
        return [(row[3], row[5], row[2]) for row in rows if row[0] == 1]

    def read(self, address: int, size: int) -> bytes:
        """Return bytes of memory. Raises OSError: EFAULT outside of all segments."""
        for start, length, place in self._segments:
            if start <= address and address + size <= start + length:
                data = os.pread(self._fd, size, place + address - start)
                if len(data) == size:
                    return data
        raise OSError(errno.EFAULT, "not mapped")

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


class MemoryNumber:
    """Number in the kernel's memory, or the sum of those of several CPUs."""

    def __init__(self, bases: "list[int]", steps: "list[int]", size: int, signed: bool) -> None:
        """Take the addresses at which a path begins, and its steps.

        Args:
            bases: addresses, one for each CPU that is added up.
            steps: bytes that are added, with a pointer read after each but the last.
            size: bytes of the number.
            signed: True for a number with a sign.

        Raises OSError.
        """
        self._bases, self._steps, self._size, self._signed = bases, steps, size, signed
        self._file = KcoreFile()

    def read(self) -> int:
        """Return the number; a sum is not yet cut to its size. Raises OSError: EFAULT for a path through NULL."""
        total = 0
        for address in self._bases:
            for step in self._steps[:-1]:
                address = int.from_bytes(self._file.read(address + step, 8), "little")
            data = self._file.read(address + self._steps[-1], self._size)
            total += int.from_bytes(data, "little", signed=self._signed)
        return total

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def number_in(text: bytes, key: bytes, column: int, scale: int) -> "int | None":
    """Return a number of a file's text; None: there is none at that place.

    Args:
        text: content of the file.
        key: first word of the line, with or without a colon behind it; empty: the first line.
        column: place of the number among the words behind the key, from 1 on.
        scale: factor by which it is multiplied, so that digits behind the point are kept.
    """
    for line in text.splitlines():
        words = line.split()
        if key:
            if not words or words[0] not in (key, key + b":"):
                continue
            words = words[1:]
        elif not words:
            continue
        return _scaled_number(words[column - 1], scale) if column <= len(words) else None
    return None


def _scaled_number(word: bytes, scale: int) -> "int | None":
    """Return the number that a word is, or begins with before a sign such as `/` or `%`; None: it is none."""
    sign = -1 if word[:1] == b"-" else 1
    digits = word[1:] if word[:1] in (b"-", b"+") else word
    if digits[:2].lower() == b"0x":
        try:
            return sign * scale * int(digits, 0) if digits.isalnum() and len(digits) <= 18 else None
        except ValueError:
            return None
    end = _digits_end(digits, 0)
    if not 0 < end <= 20:
        return None
    number = int(digits[:end]) * scale
    behind = _digits_end(digits, end + 1)
    if digits[end : end + 1] == b"." and behind > end + 1:
        part = digits[end + 1 : min(behind, end + 10)]
        number += int(part) * scale // 10 ** len(part)
        end = behind
    return None if digits[end : end + 1].isalnum() else sign * number


def _digits_end(text: bytes, at: int) -> int:
    """Return the place behind the decimal digits from `at` on."""
    while text[at : at + 1].isdigit():
        at += 1
    return at


class FileNumber:
    """Number of a file of /proc or /sys."""

    def __init__(self, path: bytes, key: bytes, column: int, scale: int) -> None:
        """Open the file; the others are those of `number_in`. Raises OSError."""
        self._place = key, column, scale
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def read(self) -> int:
        """Return the number. Raises OSError: ENODATA where the file does not have it now."""
        parts, size = [], 0
        while size < MOST_FILE_BYTES:
            parts.append(os.pread(self._fd, 1 << 16, size))
            size += len(parts[-1])
            if not parts[-1]:
                break
        found = number_in(b"".join(parts), *self._place)
        if found is None:
            raise OSError(errno.ENODATA, "no number")
        return found

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def number_reader(words: "list[bytes]") -> "MemoryNumber | FileNumber":
    """Return the reader of a text of `kernel.target.SampleForm`. Raises OSError, ValueError."""
    if words[0] == b"memory":
        bases, steps = ([int(number) for number in word.split(b",")] for word in words[1:3])
        return MemoryNumber(bases, steps, int(words[3]), words[4] == b"1")
    path, key = (bytes.fromhex(word.decode()) for word in words[1:3])
    return FileNumber(path, key, int(words[3]), int(words[4]))
