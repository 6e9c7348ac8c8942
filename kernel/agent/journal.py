"""Write a journal of effects that outlive our death, before they happen; a part of the agent's source.

A dead session's instance and events are found by their names. Other changes - a setting of the whole kernel, an event
with a user's name - have none of our names: their undo step is in a file until it is done. The process that holds our
effects on a kernel writes it, and the next start finds it (`kernel.cleanup.leftovers`).

    probewright 1 BOOT-ID
    + write TAB path TAB data TAB expects       an undo step; the escapes are those of Python's `unicode_escape`
    - write TAB path TAB data TAB expects       it was done, or is no longer needed

Each line is appended by one write(2); a last line without its newline was never followed by an effect.
"""

# This file is Python 3.6 and imports the standard library alone: it runs on the remote host too.
import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Entry = tuple[bytes, bytes, bytes, bytes]
    """Effect, path, data, and the content of the file as long as nobody else has changed it."""

FIRST_LINE = "probewright 1 "
BOOT_ID = "/proc/sys/kernel/random/boot_id"
MACHINE_ID = "/etc/machine-id"
ROOTS = "/run/probewright"
"""Root's folder, which nobody else can create; it is removed at boot."""


def needs_journal(path: bytes, data: bytes) -> bool:
    """Return whether the effect behind this undo step can't be found by its name."""
    if b"/instances/" in path or path.endswith(b"/user_events_data"):  # a registration ends with its process
        return False
    if not path.endswith(b"/dynamic_events"):
        return True
    group, _, event = data.partition(b":")[2].partition(b"/")
    words = (event.partition(b"__")[0] if group == b"synthetic" else group).split(b"_")
    return not (len(words) > 2 and words[0] == b"pw" and words[1].isdigit())


def is_untouched(effect: bytes, content: bytes, expects: bytes) -> bool:
    """Return whether a file still has the content that we wrote.

    Args:
        effect: kind of the undo step: `write` replaces the content of the file, `append` removes one line.
        content: present content of the file.
        expects: words we wrote, in which functions may be patterns; or the line that has to be there.
    """
    import fnmatch  # slow to import, and seldom needed on a remote host

    if effect == b"append":
        return expects.split() in [line.split() for line in content.splitlines()]
    words, patterns = _words(content), _words(expects)
    matched = {pattern for pattern in patterns for word in words if fnmatch.fnmatchcase(word, pattern)}
    return len(matched) == len(patterns) and all(any(fnmatch.fnmatchcase(w, p) for p in patterns) for w in words)


def _words(text: bytes) -> "set[str]":
    """Return the first word of each line; a line that begins with `#` says that the list is empty."""
    lines = [line.split() for line in text.decode("utf-8", "surrogateescape").splitlines()]
    return {words[0] for words in lines if words and not words[0].startswith("#")}


def folders(uid: int, environment: "Mapping[str, str]") -> "list[str]":
    """Return the folders in which a process of that user keeps its journal, the best first.

    Root has one folder only: its environment may be that of someone else (`sudo -E`), who could write undo steps
    there that root would carry out.
    """
    if not uid:
        return [ROOTS]
    home = environment.get("HOME", "")
    state = environment.get("XDG_STATE_HOME") or (home + "/.local/state" if home.startswith("/") else "")
    return [state + "/probewright/undo"] if state.startswith("/") else []


def open_own(path: "bytes | str", access: int = os.O_RDONLY) -> int:
    """Open a journal that nobody but us can have written, nor can change. Raises OSError.

    Its folder and the file belong to our user, no one else may write to them, neither is a link, and the file is a
    regular one: opening any other kind never blocks.
    """
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        require_own(folder, stat.S_ISDIR)
        flags = access | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(os.path.basename(path), flags, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        require_own(fd, stat.S_ISREG)
    except OSError:
        os.close(fd)
        raise
    return fd


def require_own(fd: int, is_kind: "Callable[[int], bool]") -> None:
    """Raise PermissionError if an open file is of another kind, is not ours or may be written by others."""
    status = os.fstat(fd)
    if not is_kind(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


class Journal:
    """Journal of one process; the file exists as long as it has entries."""

    def __init__(self, places: "Iterable[str]", name: str) -> None:
        """Use a file of this `name` (from `own_name`), in the first of `places` where it can be created."""
        self.places, self.name = list(places), name
        self.path = ""
        self.fd = -1
        self.open: list[Entry] = []
        self.unwritten = b""
        """Bytes not yet written to the file, for lack of space."""

    def add(self, effect: bytes, path: bytes, data: bytes, expects: bytes) -> None:
        """Write an undo step to the journal, if needed and possible."""
        if needs_journal(path, data):
            self.open.append((effect, path, data, expects))
            self.write("+", self.open[-1])

    def drop(self, effect: bytes, path: bytes, data: bytes, expects: bytes) -> None:
        """Mark an undo step as no longer needed (the newest equal one)."""
        entry = (effect, path, data, expects)
        if entry in self.open:
            del self.open[len(self.open) - 1 - self.open[::-1].index(entry)]
            if self.open:
                self.write("-", entry)
            else:
                self.end()

    def write(self, sign: str, entry: "Entry") -> None:
        try:
            if self.fd < 0:
                self.unwritten = self.begin() + b"".join(line_of("+", open_entry) for open_entry in self.open)
            else:
                self.unwritten += line_of(sign, entry)
            while self.unwritten:  # a truncated line is completed, else the lines behind it would be lost with it
                self.unwritten = self.unwritten[os.write(self.fd, self.unwritten) :]
        except OSError:  # no folder, no space: the effect is carried out all the same
            pass

    def begin(self) -> bytes:
        """Create the file; return its first line. Raises OSError if no folder is usable."""
        boot = read_whole(BOOT_ID).decode("ascii", "replace").strip()
        for number, place in enumerate(self.places):
            try:
                os.makedirs(place, 0o700, exist_ok=True)
                self.path = place + "/" + self.name
                self.fd = open_own(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
                os.ftruncate(self.fd, 0)
                break
            except OSError:
                if number == len(self.places) - 1:
                    raise
        return (FIRST_LINE + boot + "\n").encode()

    def end(self) -> None:
        """Remove the file, as it has no entries left."""
        if self.fd >= 0:
            try:
                os.unlink(self.path)
            except OSError:
                pass
            os.close(self.fd)
            self.fd, self.unwritten = -1, b""


def line_of(sign: str, entry: "Entry") -> bytes:
    """Return one line of the file."""
    words = [part.decode("latin-1").encode("unicode_escape") for part in entry]
    return sign.encode() + b" " + b"\t".join(words) + b"\n"


def parse(content: bytes) -> "tuple[str, list[Entry]]":
    """Return boot id and remaining undo steps, the oldest first; both empty if the content is no journal."""
    lines = content.split(b"\n")[:-1]
    if not lines or not lines[0].startswith(FIRST_LINE.encode()):
        return "", []
    entries: list[Entry | None] = []
    places: dict[Entry, list[int]] = {}  # of each entry; a search for each would take the square of their number
    for line in lines[1:]:
        sign, _, rest = line.partition(b" ")
        try:
            parts = [part.decode("unicode_escape").encode("latin-1") for part in rest.split(b"\t")]
        except (UnicodeDecodeError, UnicodeEncodeError):
            continue
        if len(parts) != 4:
            continue
        entry = (parts[0], parts[1], parts[2], parts[3])
        if sign == b"+":
            places.setdefault(entry, []).append(len(entries))
            entries.append(entry)
        elif sign == b"-" and places.get(entry):
            entries[places[entry].pop()] = None
    left = [entry for entry in entries if entry is not None]
    return lines[0][len(FIRST_LINE) :].decode("ascii", "replace").strip(), left


def own_name() -> str:
    """Return the journal's name for this process, `PID-STARTTIME` (of /proc/PID/stat), with `-MACHINE` if there is an
    id.

    Several machines may share a home folder. Empty if there is no /proc.
    """
    try:
        head, _, tail = read_whole("/proc/self/stat").rpartition(b")")
        name = "{}-{}".format(int(head.split(b" ", 1)[0]), int(tail.split()[19]))
    except (OSError, ValueError, IndexError):
        return ""
    try:
        machine = machine_of(read_whole(MACHINE_ID))
    except OSError:
        return name
    return name + "-" + machine if machine else name


def machine_of(content: bytes) -> str:
    """Return the id in /etc/machine-id (machine-id(5)); empty: there is none yet."""
    word = content.decode("ascii", "replace").strip()
    return word if len(word) == 32 and not set(word) - set("0123456789abcdef") else ""


def read_whole(path: "bytes | str") -> bytes:
    """Return the content of a file. Raises OSError."""
    with open(path, "rb") as file:
        return file.read()
