"""Find preset files: in the project, in the user's configuration folder, and those shipped with the application.

A project's are in `.probewright/` of the working directory or of one above it. A preset of the project or of the user
replaces a shipped one of its name; if both have it, the user must choose: `user:NAME`.

A writer of such a file chooses which probes a name arms, so files that another user can change are skipped
(`kernel.safe_files.ownership.distrust_reason`), with a message.
"""

from __future__ import annotations

import contextlib
import difflib
import enum
import itertools
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

import platformdirs

from foreign.files import read_file
from foreign.refusal import InputRefusal
from kernel.safe_files.new_file import write_atomically
from kernel.safe_files.ownership import distrust_reason
from probes.presets.errors import PresetError
from probes.presets.read import read_preset
from probes.presets.schema import MAX_BYTES, NAME, Preset

SUFFIX = ".toml"
PROJECT = ".probewright"


class Origin(enum.StrEnum):
    """Origin of a preset."""

    PROJECT = "project"
    USER = "user"
    SHIPPED = "shipped"
    FILE = "file"
    """File named by its path."""


class PresetFile(NamedTuple):
    """File with a preset."""

    name: str
    """Name of the file, without its suffix."""
    origin: Origin
    path: Path
    preset: Preset | None
    error: str = ""
    """Error in the file."""
    shadowed: bool = False
    """True: a shipped preset, replaced by another of its name."""
    replaces_shipped: bool = False
    """True: a preset that replaces a shipped one of its name."""


class Presets:
    """Reader of the preset folders, at each call: files change while the application runs."""

    def __init__(self, user: Path | None = None, start: Path | None = None) -> None:
        """Take the user's folder and the working directory; None: the present ones."""
        self.user = user or Path(platformdirs.user_config_dir("probewright", appauthor=False)) / "presets"
        self._start = start or Path.cwd()

    @property
    def project(self) -> Path | None:
        """Nearest project folder that nobody else can change; None: there is none."""
        return next((folder for folder in self._projects() if not distrust_reason(folder)), None)

    @property
    def passed_over(self) -> tuple[str, ...]:
        """Skipped folders and files of the project and the user, with reasons, a line each."""
        project = self.project
        folders = [*itertools.takewhile(lambda folder: folder != project, self._projects())]
        reasons = [(folder, distrust_reason(folder)) for folder in folders]
        for folder in (project, self.user):
            if folder is not None and folder.is_dir():
                reason = distrust_reason(folder)
                reasons += (
                    [(folder, reason)] if reason else [(path, distrust_reason(path)) for path in _files(folder)]
                )
        return tuple(f"{path} is passed over: {reason}" for path, reason in reasons if reason)

    def _projects(self) -> Iterator[Path]:
        """Yield the project folders at or above the working directory, the nearest first."""
        for folder in (self._start, *self._start.parents):
            if (folder / PROJECT).is_dir():
                yield folder / PROJECT

    def all(self) -> tuple[PresetFile, ...]:
        """Return every file, the project's first, then the user's, then the shipped ones."""
        own_files = [*self._read_origin(Origin.PROJECT), *self._read_origin(Origin.USER)]
        shipped = [*self._read_origin(Origin.SHIPPED)]
        own_names, shipped_names = {entry.name for entry in own_files}, {entry.name for entry in shipped}
        return (
            *(entry._replace(replaces_shipped=entry.name in shipped_names) for entry in own_files),
            *(entry._replace(shadowed=entry.name in own_names) for entry in shipped),
        )

    def find(self, word: str) -> PresetFile:
        """Return the preset named `NAME`, `user:NAME`, `project:NAME`, `shipped:NAME`, or by a path. Raises
        PresetError.

        The result always has a `preset`; an unreadable file raises an error with its path and line.
        """
        entry = self._read_path(Path(word)) if word.endswith(SUFFIX) else self._find_by_name(word)
        if entry.preset is None:
            raise PresetError(f"{entry.path}: {entry.error}")
        return entry

    def save(self, name: str, text: str, *, origin: Origin = Origin.USER, replace: bool = False) -> Path:
        """Write a file of the user's or the project's, completely or not at all; return its path.

        Raises:
            PresetError: the text is no preset, has another name, or the file exists already.
            OSError: it could not be written.
        """
        preset = read_preset(text)
        if preset.name != name:
            raise PresetError(f"it is named {preset.name}, not {name}")
        folder = self.project if origin is Origin.PROJECT else self.user
        if folder is None:
            raise PresetError(f"no project here: make a folder {PROJECT} at its top")
        path = folder / f"{name}{SUFFIX}"
        for parent in reversed((folder, *folder.parents)):
            parent.mkdir(mode=0o700, exist_ok=True)  # with a permissive umask it would be skipped
        try:
            write_atomically(path, text.encode(), replace=replace)
        except FileExistsError:
            raise PresetError(f"{path} is there already") from None
        return path

    def _find_by_name(self, word: str) -> PresetFile:
        origin, _, name = word.rpartition(":")
        if not NAME.fullmatch(name):
            raise PresetError(f"{ascii(word)[1:-1]} is no name of a preset")
        entries = self.all()
        if origin:
            matches = [entry for entry in entries if entry.name == name and entry.origin == origin]
        else:
            matches = [entry for entry in entries if entry.name == name and not entry.shadowed]
        if len(matches) > 1:
            words = " or ".join(f"{entry.origin}:{name}" for entry in matches)
            raise PresetError(f"{name} is in {' and in '.join(str(e.path) for e in matches)}: say {words}")
        if not matches:
            similar = difflib.get_close_matches(name, {entry.name for entry in entries}, 3)
            hint = f"did you mean {', '.join(similar)}?" if similar else "`probewright preset list` names them all"
            raise PresetError(f"no preset is named {ascii(word)[1:-1]}; {hint}")
        return matches[0]

    def _read_origin(self, origin: Origin) -> Iterator[PresetFile]:
        folders: dict[Origin, Path | None] = {
            Origin.PROJECT: self.project,
            Origin.USER: self.user,
            Origin.SHIPPED: Path(str(resources.files("probes.presets"))) / "shipped",
        }
        folder = folders[origin]
        for path in _files(folder) if folder is not None else ():
            if origin is Origin.SHIPPED or not distrust_reason(path):
                yield self._read_file(path, origin)

    def _read_path(self, path: Path) -> PresetFile:
        if not path.is_file():
            raise PresetError(f"{path}: no such file")
        return self._read_file(path, Origin.FILE)

    def _read_file(self, path: Path, origin: Origin) -> PresetFile:
        try:
            preset = read_preset(read_text(path))
        except PresetError as error:
            return PresetFile(path.stem, origin, path, None, str(error))
        if origin is not Origin.FILE and preset.name != path.stem:
            return PresetFile(path.stem, origin, path, None, f"it is named {preset.name}, and its file is not")
        return PresetFile(preset.name, origin, path, preset)


def read_text(path: Path) -> str:
    """Return the text of a preset file. Raises PresetError."""
    try:
        return read_file(path, MAX_BYTES).decode()
    except InputRefusal as error:
        if error.bound:
            raise PresetError(f"it is larger than {MAX_BYTES >> 10} KB: no preset is") from None
        raise PresetError(f"it is {error.thing}") from None
    except OSError as error:
        raise PresetError(error.strerror or str(error)) from None
    except UnicodeDecodeError:
        raise PresetError("it is no UTF-8 text") from None


def _files(folder: Path) -> Sequence[Path]:
    with contextlib.suppress(OSError):
        return sorted(path for path in folder.iterdir() if path.suffix == SUFFIX and path.is_file())
    return ()
