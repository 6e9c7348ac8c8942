"""Find programs and libraries of a target by name or path, and the functions and static probes of each.

A search reads nothing: it has what was learnt, for a worker reads the rest. The texts are `/usr/bin/bash:read`,
`bash:read`, a path that is being typed, and the name of a program alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from events.names.place_kinds import PlaceKind, kind_of_place
from foreign.count_text import counted
from kernel.errors import FileRefused
from probes.completion.choice import ranked
from probes.programs.program import Program, SymbolNotPlaced

_NAME: Final = re.compile(r"[A-Za-z_][\w.+-]*")
_OF_PROGRAM: Final = re.compile(r"(/[^\n:]*|[A-Za-z_][\w.+-]*):([^/\s]*)")
_PLAIN: Final = re.compile(r"[^\s:,*?()|\[\]^$!]+")
"""Names of files that a specification can have."""
_LIBRARY: Final = re.compile(r"(.+?)\.so[\d.]*+")
_PROGRAM_FOLDERS: Final = ("/usr/bin", "/usr/sbin", "/usr/local/bin", "/bin", "/sbin")
_LIBRARY_FOLDERS: Final = ("/usr/lib/{machine}-linux-gnu", "/usr/lib64", "/usr/lib", "/lib64", "/lib")
_MOST_KEPT: Final = 8
"""Programs that are kept; the symbols of a large one take some ten megabytes."""


class FileLists(Protocol):
    """Target whose folders can be listed."""

    def list(self, path: str) -> Sequence[str]: ...


class FoundPlaces(NamedTuple):
    """Places that a text finds."""

    names: Sequence[str]
    """Names, as the list of places has them."""
    total: int
    part: str
    """The part of the text that names are like."""
    note: str = ""
    """Why there are none, or not yet."""
    unread: bool = False
    """True: something has to be read first."""
    of_program: bool = True
    """True: the text names a program or a path; False: also other places may be meant."""


class ProgramFiles:
    """Programs of one target, as far as they were asked for."""

    def __init__(self, target: FileLists, machine: str, look_up: Callable[[str], Program]) -> None:
        """Take a target with its machine, and the function that reads a program, which raises SymbolNotPlaced."""
        self._target = target
        self._machine = machine
        self._look_up = look_up
        self._programs: dict[str, Program | str] = {}
        """Programs by path; of a file that is none the reason."""
        self._folders: dict[str, Sequence[str] | None] = {}
        """Names in each folder; None: it is no folder that can be listed."""
        self._by_name: Mapping[str, str] | None = None

    # -- for a worker ----------------------------------------------------------------------------------------------

    def learn(self, text: str) -> None:
        """Read what a search for a text needs. Raises TargetLost."""
        if text.startswith("/"):
            self._list(text.partition(":")[0].rpartition("/")[0] or "/")
        elif self._by_name is None:
            self._by_name = self._read_names()
        path = self._path_of(text)
        program = self.read(path) if path is not None and self._list(path) is None else None
        if isinstance(program, Program):
            program.places_like("", 1)  # makes its index here, not where a person types

    def read(self, path: str) -> Program | str:
        """Return a program, or why it is none. Raises TargetLost."""
        found = self._programs.get(path)
        if found is None:
            try:
                found = self._look_up(path)
            except SymbolNotPlaced as error:
                found = str(error)
            kept = list(self._programs.items())[1 - _MOST_KEPT :]
            self._programs = {**dict(kept), path: found}
        return found

    def forget(self) -> None:
        """Forget folders, and files that were no programs: others may be there by now."""
        self._folders, self._by_name = {}, None
        self._programs = {path: one for path, one in self._programs.items() if isinstance(one, Program)}

    def _list(self, folder: str) -> Sequence[str] | None:
        """Return the names in a folder; None: it is none that can be listed."""
        folders = self._folders
        if folder not in folders:
            try:
                folders[folder] = [name for name in self._target.list(folder) if _PLAIN.fullmatch(name)]
            except FileRefused:
                folders[folder] = None
        return folders[folder]

    def _read_names(self) -> Mapping[str, str]:
        """Return the paths of programs and libraries by name; of a library also by the name without its version."""
        found: dict[str, str] = {}
        stems: dict[str, list[str]] = {}
        for folder in (*_PROGRAM_FOLDERS, *(one.format(machine=self._machine) for one in _LIBRARY_FOLDERS)):
            for name in self._list(folder) or ():
                library = _LIBRARY.fullmatch(name)
                if library is not None:
                    stems.setdefault(library[1], []).append(f"{folder}/{name}")
                if library is not None or folder in _PROGRAM_FOLDERS:
                    found.setdefault(name, f"{folder}/{name}")
        for stem, paths in stems.items():  # NAME.so may be a text for the linker
            versions = [path for path in paths if not path.endswith(".so")] or paths
            found.setdefault(stem, min(versions, key=len))
        return found

    # -- what is known ---------------------------------------------------------------------------------------------

    def is_unknown(self, text: str) -> bool:
        """Return whether a search for a text has to read something first."""
        folders = self._folders
        if text.startswith("/"):
            if (text.partition(":")[0].rpartition("/")[0] or "/") not in folders:
                return True
        elif not _could_name(text):
            return False
        elif self._by_name is None:
            return True
        path = self._path_of(text)
        return path is not None and (path not in folders or (folders[path] is None and path not in self._programs))

    def program(self, path: str) -> Program | None:
        """Return a program that was read; None: it was not, or is none."""
        found = self._programs.get(path)
        return found if isinstance(found, Program) else None

    def search(self, text: str, limit: int, kind: PlaceKind | None = None) -> FoundPlaces | None:
        """Return the places that a text finds, those of one kind alone, or None where it names no program or path."""
        if not text.startswith("/") and not _could_name(text):
            return None
        path = self._path_of(text)
        if path is not None:
            return self._in_program(path, text.partition(":")[2], limit, kind)
        if text.startswith("/"):
            return self._in_folder(text.rpartition("/")[0], text.rpartition("/")[2], limit)
        found = (self._by_name or {}).get(text)
        return FoundPlaces((found,), 1, text, of_program=False) if found is not None else None

    def _path_of(self, text: str) -> str | None:
        """Return the path before the colon of a text, also of a program that is named, or a whole path that is there;
        None: there is none.
        """
        named = _OF_PROGRAM.fullmatch(text)
        if named is None:
            folder, _, name = text.rpartition("/")
            is_there = text.startswith("/") and bool(name) and name in (self._folders.get(folder or "/") or ())
            return text if is_there else None
        return named[1].rstrip("/") or "/" if named[1].startswith("/") else (self._by_name or {}).get(named[1])

    def _in_folder(self, folder: str, part: str, limit: int) -> FoundPlaces:
        folders = self._folders
        if (folder or "/") not in folders:
            return FoundPlaces((), 0, part, f"reading {folder or '/'} …", unread=True)
        names = folders[folder or "/"]
        if names is None:
            return FoundPlaces((), 0, part, f"no folder {folder} can be listed there")
        found = ranked(names, part)
        note = "" if found else f"nothing in {folder or '/'} has {part} in its name"
        return FoundPlaces([f"{folder}/{names[at]}" for at in found[:limit]], len(found), part, note)

    def _in_program(self, path: str, part: str, limit: int, kind: PlaceKind | None) -> FoundPlaces:
        if self._folders.get(path) is not None:
            return self._in_folder("" if path == "/" else path, part, limit)
        program = self._programs.get(path)
        if program is None:
            return FoundPlaces((), 0, part, f"reading the symbols of {path} …", unread=True)
        if isinstance(program, str):
            return FoundPlaces((), 0, part, f"{path}: {program}")
        indices = program.places_like(part, None).indices
        names = [f"{path}:{program.places[at]}" for at in indices]
        if kind is not None:
            names = [name for name in names if kind_of_place(name) is kind]
        note = "" if names else f"no {kind or 'function or static probe'} of {path} matches {part}".rstrip()
        if not program.places:
            note = f"{path}: nothing in it has a name that a probe can be on; give an offset, {path}:0x…"
        return FoundPlaces(names[:limit], len(names), part, note)

    def kinds(self, text: str) -> Sequence[PlaceKind]:
        """Return the kinds of places in the program that a text names; none where all are of one kind."""
        program = self.program(self._path_of(text) or "")
        has_both = program is not None and bool(program.static) and len(program.places) > len(program.static)
        return (PlaceKind.SYMBOL, PlaceKind.USDT) if has_both else ()

    def arguments_text(self, name: str) -> str:
        """Return the arguments of a static probe by its name in the list, for people; empty: it is a function."""
        path, _, symbol = name.partition(":")
        program = self.program(path)
        if program is None or kind_of_place(name) is not PlaceKind.USDT:
            return ""
        arguments = program.arguments(symbol)
        kinds = " ".join(one.type if one.expression is not None else "?" for one in arguments)
        return f"{counted(len(arguments), 'argument')}{': ' if kinds else ''}{kinds}"


def _could_name(text: str) -> bool:
    """Return whether a text may name a program, with or without a place in it."""
    return _NAME.fullmatch(text) is not None or _OF_PROGRAM.fullmatch(text) is not None
