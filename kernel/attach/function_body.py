"""Read a function's code from a running kernel's memory, decoded, with the places that take a kprobe."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Sequence
from typing import Final

from btf.debug.dwarf import DwarfError
from events.names.kallsyms import Symbols
from events.names.kallsyms_table import KallsymsEntry
from foreign.refusal import InputRefusal
from kernel.attach.debug_info import DebugInfo
from kernel.attach.kcore import Kcore
from kernel.attach.kernel_tables import KernelTables
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused
from kernel.symbols.symbol_addresses import base_of
from kernel.target import TargetKind
from probes.attaching.attach import COLD
from probes.attaching.values import Attachability, ReasonKind
from probes.code.architectures.architecture import Architecture
from probes.code.architectures.table import ARCHITECTURES, names_text
from probes.code.body import CodePart, FunctionBody, Instruction
from probes.code.decode import NoCapstone, require_capstone
from probes.code.decoded import InstalledKprobe
from probes.code.make_body import CodeContext, PartCode, make_parts
from probes.code.patched_sites import PatchedSite
from probes.code.recover import recover
from probes.probe import ProbeKind, ProbePlace
from probes.readable.variables import PlaceVariable

_LARGEST: Final = 1 << 18
"""Bytes of code that are read of a part of a function."""
_NOT_RECORDED: Final = "the code of functions is not kept in recordings: open the machine itself"
_COPIED_NAMES: Final = ("__pi_", "__pfx_")
"""Beginnings of names that others of the same address are better than: those of early code, and of padding."""
_THUNKS: Final = "_thunk_array"
"""End of the names of arrays of code for calls through registers; their first element has its own name, too."""
_FTRACE_HANDLER: Final = "kprobe_ftrace_handler"
"""Function that a kernel has if kprobes may stand where ftrace's call does (CONFIG_KPROBES_ON_FTRACE)."""


class BodyReader:
    """Reader of function bodies of one target; every call may take a second on a remote host: for a worker."""

    def __init__(
        self, info: KernelInfo, attachability: Callable[[str], Attachability], debug: DebugInfo | None = None
    ) -> None:
        """Take a target, a function that returns the exact answer on whether a function can be probed, and the debug
        information for source lines; None: no source lines are wanted, which take a second.
        """
        self._info = info
        self._debug = debug
        self._attachability = attachability
        self._kept: tuple[int, Symbols, Kcore, KernelTables] | None = None
        """Boot and symbols that the readers are for."""

    def bodies(self, name: str) -> tuple[FunctionBody, ...]:
        """Return the code of each function of a name, most often one.

        Raises InputRefusal: the target has no such code, it can't be read, or capstone is missing; TargetLost.
        """
        try:
            require_capstone()
            symbols, kcore, tables = self._readers()
            entries = [entry for entry in symbols.named(name) if entry.code]
            if not entries:
                raise InputRefusal(name, "no function of this kernel has code under this name")
            about = self._attachability(name)
            return tuple(self._body(entry, about, len(entries) > 1, (symbols, kcore, tables)) for entry in entries)
        except FileRefused as error:
            raise InputRefusal("", self._unread(error)) from None
        except NoCapstone as error:
            raise InputRefusal(name, str(error)) from None

    def variables(self, part: CodePart, instruction: Instruction) -> tuple[PlaceVariable, ...]:
        """Return the parameters and local variables at an instruction.

        Raises InputRefusal: there is no debug information of it, or it can't be read; FileRefused, TargetLost.
        """
        from kernel.attach.debug_places import local_variables

        symbols, address = self._readers()[0], part.address + instruction.offset
        return local_variables(self._debug, symbols, part.place_at(instruction.offset), address)

    def _unread(self, error: FileRefused) -> str:
        if self._info.target.recording is not None:
            return _NOT_RECORDED
        if self._info.target.kind is TargetKind.SAVED and error.errno == errno.ENOENT:
            return "the code of functions is not among these saved facts: they have no file kcore"
        return f"the code of the kernel can't be read ({error})"

    def _readers(self) -> tuple[Symbols, Kcore, KernelTables]:
        """Return the readers of this boot. Raises InputRefusal, FileRefused, TargetLost."""
        info, machine = self._info, self._info.facts.machine
        architecture = ARCHITECTURES.get(machine)
        if architecture is None:
            raise InputRefusal("", f"the code of functions is decoded for {names_text()}, not for {machine}")
        if self._info.target.recording is not None:
            raise InputRefusal("", _NOT_RECORDED)
        symbols = info.symbols.current
        if symbols is None:
            raise InputRefusal(
                "", "the code of functions is found by their addresses, which are hidden, or not known here"
            )
        if self._kept is None or self._kept[:2] != (info.symbols.boot, symbols):
            kcore = Kcore(info.target)
            self._kept = (
                info.symbols.boot,
                symbols,
                kcore,
                KernelTables(info.target, kcore, symbols, info.btf, architecture),
            )
        return self._kept[1:]

    def _body(
        self, entry: KallsymsEntry, about: Attachability, is_twin: bool, readers: tuple[Symbols, Kcore, KernelTables]
    ) -> FunctionBody:
        symbols, kcore, tables = readers
        notes, sites = list[str](), list[PatchedSite]()
        with contextlib.suppress(FileRefused):
            sites = list(tables.sites(entry.module))
        if tables.unread or not sites:
            what = "; ".join(tables.unread) or "static branches and calls"
            notes.append(f"not all places that take no kprobe are known: {what}")
        entries = [entry, *([] if is_twin else self._split_off(entry, symbols))]
        earlier = _kprobes(tables)
        codes = [self._code(one, symbols, kcore, notes, is_twin) for one in entries]
        codes = [code for code in codes if code.code]
        if not codes:
            raise InputRefusal(entry.name, "its code is not in the kernel's memory as it is shown (/proc/kcore)")
        codes = _without_kprobes(codes, (earlier, _kprobes(tables)), ARCHITECTURES[self._info.facts.machine], notes)
        context = CodeContext(
            self._info.facts.machine,
            lambda address: _name_at(symbols, address),
            [
                site
                for site in sites
                if any(code.address <= site.start < code.address + len(code.code) for code in codes)
            ],
            symbols.address_of(_FTRACE_HANDLER) is not None,
        )
        refusal = _refusal(about, entry.address if is_twin else 0)
        parts = make_parts(codes, context)
        if self._debug is not None and not entry.module:
            parts = _with_source(parts, self._debug, symbols, notes)
        return FunctionBody(entry.name, entry.module, context.machine, parts, refusal, tuple(notes))

    def _split_off(self, entry: KallsymsEntry, symbols: Symbols) -> list[KallsymsEntry]:
        """Return the parts of a function that the compiler moved away."""
        parts = symbols.beginning(f"{entry.name}{COLD}")
        return [one for one in parts if one.code and one.module == entry.module and len(symbols.named(one.name)) == 1]

    def _code(
        self, entry: KallsymsEntry, symbols: Symbols, kcore: Kcore, notes: list[str], is_twin: bool
    ) -> PartCode:
        found = symbols.find(entry.address)
        size = found.size if found is not None else 0
        if size > _LARGEST:
            notes.append(f"{entry.name}: only the first {_LARGEST} of {size} bytes are shown")
        place = ProbePlace(entry.name, entry.module or None)
        if is_twin:
            base = base_of(entry, symbols)
            place = ProbePlace(entry.name, base=base) if base is not None else ProbePlace(f"{entry.address:#x}")
        return PartCode(entry.name, place, entry.address, kcore.read(entry.address, min(size, _LARGEST)))


def _with_source(
    parts: tuple[CodePart, ...], debug: DebugInfo, symbols: Symbols, notes: list[str]
) -> tuple[CodePart, ...]:
    """Return parts of the kernel itself with their source lines, as far as they are known."""
    places = [part.address + one.offset for part in parts for one in part.instructions]
    try:
        lines = debug.source_lines(places, symbols)
    except DwarfError as error:
        notes.append(f"no source lines: {error}")
        return parts
    return tuple(
        part._replace(
            instructions=tuple(one._replace(source=lines.get(part.address + one.offset)) for one in part.instructions)
        )
        for part in parts
    )


def _kprobes(tables: KernelTables) -> list[InstalledKprobe] | None:
    """Return the kprobes of a kernel; None: unknown. Raises TargetLost."""
    with contextlib.suppress(FileRefused):
        return tables.kprobes()
    return None


def _without_kprobes(
    codes: list[PartCode],
    probes: Sequence[list[InstalledKprobe] | None],
    architecture: Architecture,
    notes: list[str],
) -> list[PartCode]:
    """Return code without the breakpoints and jumps of kprobes, which hide what they stand on.

    `probes`: those before and after the code was read; the kernel takes some away at its leisure.
    """
    known = [probe for found in probes for probe in found or ()]
    if None in probes:
        notes.append("kprobes that are armed in it now are shown as breakpoints")
    return [code._replace(code=recover(code.code, code.address, known, architecture)) for code in codes]


def _refusal(about: Attachability, address: int) -> str:
    """Return why no instruction of a function takes a kprobe; empty: some may.

    `address`: that of the function, where others have its name; else 0.
    """
    if ProbeKind.KPROBE in about.kinds:
        return ""
    ways = [way for way in about.alternatives if address and way.place.address == address]
    if about.has(ReasonKind.TWINS) and any(ProbeKind.KPROBE in way.kinds for way in ways):
        return ""
    return about.text or "no kprobe can attach to this function"


def _name_at(symbols: Symbols, address: int) -> str:
    """Return symbol and offset of an address, of several names the one that the code itself has."""
    found = symbols.find(address)
    if found is None:
        return ""
    names = symbols.names_at(address - found.offset)
    own = (one for one in names if not one.startswith(_COPIED_NAMES) and not one.endswith(_THUNKS))
    name = next(own, found.name)
    return f"{name}+{found.offset:#x}" if found.offset else name
