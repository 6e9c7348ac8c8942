"""Write events/names/syscalls.txt: the numbers of system calls by architecture, from the headers of Debian's newest
kernel.

    python -m tests.data.make_syscalls

The package linux-libc-dev has the headers of all architectures that programs are compiled with. Numbers are ABI: a
kernel may have more of them than an older one, never others.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from kernel.lab import packages
from kernel.lab.work import Work

PATH = Path(__file__).parents[2] / "events" / "names" / "syscalls.txt"
_FOLDER = "usr/lib/linux/uapi"
HEADERS = {
    "x86_64": f"{_FOLDER}/x86/asm/unistd_64.h",
    "aarch64": f"{_FOLDER}/arm64/asm/unistd_64.h",
    "riscv64": f"{_FOLDER}/riscv/asm/unistd_64.h",
    "s390x": f"{_FOLDER}/s390/asm/unistd_64.h",
    "i686": f"{_FOLDER}/x86/asm/unistd_32.h",
}
"""By `uname -m`."""
_DEFINED = re.compile(r"^#define __NR_(\w+) (\d+)$", re.MULTILINE)


def fetched() -> tuple[str, dict[str, str]]:
    """The package's version, and the headers by their paths."""
    work = Work(lambda progress: print(progress.text))
    apt = packages.Apt(work, "amd64")
    apt.update()
    versions = apt.versions(["linux-libc-dev"])
    newest = functools.reduce(
        lambda one, other: other if packages.newer(other.version, one.version) else one, versions
    )
    debs = apt.fetch([newest], f"linux-libc-dev {newest.version}")
    members = (member for deb in debs for member in packages.contents(work, deb))
    found = {m.path: m.file.read().decode() for m in members if m.file and m.path in HEADERS.values()}
    packages.remove(debs)
    return newest.version, found


def main() -> None:
    version, headers = fetched()
    tables = {
        machine: {name: int(nr) for name, nr in _DEFINED.findall(headers[HEADERS[machine]])} for machine in HEADERS
    }
    names = sorted({name for table in tables.values() for name in table})
    lines = [
        f"# Made by tests/data/make_syscalls.py from linux-libc-dev {version}; by `uname -m`, - is none.",
        " ".join(("name", *tables)),
        *(" ".join((name, *(str(table.get(name, "-")) for table in tables.values()))) for name in names),
    ]
    PATH.write_text("\n".join(lines) + "\n")
    print(version, {machine: len(table) for machine, table in tables.items()})


if __name__ == "__main__":
    main()
