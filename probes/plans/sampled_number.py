"""Represent what a monitor samples: a number in the kernel's memory, or one of a file of /proc or /sys."""

from __future__ import annotations

from dataclasses import dataclass

from probes.bpf.record import RecordLayout, stored_type


@dataclass(frozen=True, slots=True)
class FileNumberPlace:
    """Place of a number in a file."""

    path: str
    key: str = ""
    """First word of its line; empty: the first line."""
    column: int = 1
    """Place among the words behind the key, from 1 on."""


@dataclass(frozen=True, slots=True)
class SampledNumber:
    """Number that is read again and again."""

    every_us: int
    """Microseconds between two samples."""
    layout: RecordLayout
    """Fields of a sample: the value, and its difference to the sample before."""
    size: int
    """Bytes of the number in memory; the sum of several has 8."""
    signed: bool
    file: FileNumberPlace | None = None
    """Place in a file; None: it is in memory."""
    scale: int = 1
    """Factor of a number of a file, which keeps digits behind its point."""
    bases: tuple[tuple[int, int], ...] = ()
    """CPU and address at which the path begins, for each CPU; of what is no per-CPU variable one, of CPU 0."""
    steps: tuple[int, ...] = (0,)
    """Bytes added to the address, with a pointer read behind each but the last."""
    is_summed: bool = True
    """True if the numbers of all CPUs are added up; False: each is a sample of its own, on its CPU."""

    @property
    def has_delta(self) -> bool:
        """True if a sample has the difference to the one before; hexadecimal numbers, as addresses, have none."""
        return len(self.layout.fields) > 1

    @property
    def value_size(self) -> int:
        """Bytes of the value in a sample."""
        return self.layout.fields[0].type.size

    @property
    def lines(self) -> tuple[str, ...]:
        """Lines for a person: the bytes or words that are read, and how often."""
        rate = f"every {self.every_us / 1e6:g} s"
        if self.file is not None:
            place = f" behind {self.file.key}" if self.file.key else ""
            return (f"{rate}: word {self.file.column}{place} of {self.file.path}",)
        path = "".join(
            f"+{step:#x}" + "->" * (number < len(self.steps) - 1) for number, step in enumerate(self.steps)
        )
        many = len(self.bases) > 1
        cpus = [f"CPU {cpu}: " if many else "" for cpu, _ in self.bases]
        found = [
            f"{rate}: {cpu}{self.size} bytes at {base:#x}{path} of /proc/kcore"
            for cpu, (_, base) in zip(cpus, self.bases, strict=True)
        ]
        return (*found, *(("their sum is the value",) if many and self.is_summed else ()))


def sample_layout(word: str) -> RecordLayout:
    """Return the fields of a sample by the type of its value, as `s64`."""
    kinds = [stored_type(one) for one in (word, "s64")]
    fields = [(name, kind) for name, kind in zip(("value", "delta"), kinds, strict=True) if kind is not None]
    return RecordLayout.of(fields[: 1 if word[0] == "x" else 2])
