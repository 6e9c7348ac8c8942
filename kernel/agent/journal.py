"""What of our doing outlives our death, written down before it is done; the third part of the agent's source.

A dead session's instance and events are found by their names. What it has changed elsewhere - a setting of the whole
kernel, an event under a name that a person chose - bears no name: the way back from it stands in a file until it is
taken. The process that holds our effects on a kernel keeps it, and the next start finds it
(`kernel.cleanup.leftovers`).

    probewright 1 BOOT-ID
    + write TAB path TAB data TAB expects       a way back; the escapes are those of Python's `unicode_escape`
    - write TAB path TAB data TAB expects       it was taken, or is not needed any more

A line is one write(2) behind the others, and a last one without its end was never followed by an effect.
"""

# This file speaks Python 3.6 and imports nothing but the standard library: it runs on the far side too.
import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Entry = tuple[bytes, bytes, bytes, bytes]
    """Effect, path, data, and what the file says as long as nobody else has changed it."""

FIRST_LINE = "probewright 1 "
BOOT_ID = "/proc/sys/kernel/random/boot_id"
MACHINE_ID = "/etc/machine-id"
ROOTS = "/run/probewright"
"""The folder of root, which nobody else can make; it is gone with the boot."""


def outlives(path: bytes, data: bytes) -> bool:
    """Whether nobody would find, by its name, what this way back leads back from."""
    if b"/instances/" in path:
        return False
    if not path.endswith(b"/dynamic_events"):
        return True
    group, _, event = data.partition(b":")[2].partition(b"/")
    words = (event.partition(b"__")[0] if group == b"synthetic" else group).split(b"_")
    return not (len(words) > 2 and words[0] == b"pw" and words[1].isdigit())


def is_untouched(effect: bytes, now: bytes, expects: bytes) -> bool:
    """Whether a file still says what we made it say.

    Args:
        effect: of the way back: `write` replaces the content of the file, `append` tells it of one line.
        now: content of the file.
        expects: the words we wrote, where functions may be patterns; or the line that has to be there.
    """
    import fnmatch  # takes its time, and a far side seldom needs it

    if effect == b"append":
        return expects.split() in [line.split() for line in now.splitlines()]
    said, wanted = _words(now), _words(expects)
    found = {pattern for pattern in wanted for word in said if fnmatch.fnmatchcase(word, pattern)}
    return len(found) == len(wanted) and all(any(fnmatch.fnmatchcase(w, p) for p in wanted) for w in said)


def _words(text: bytes) -> "set[str]":
    """The first word of each line; a line that begins with `#` says that there is none."""
    lines = [line.split() for line in text.decode("utf-8", "surrogateescape").splitlines()]
    return {words[0] for words in lines if words and not words[0].startswith("#")}


def folders(uid: int, environment: "Mapping[str, str]") -> "list[str]":
    """Where a process of that user keeps its journal, the best first.

    Root has one place only: its environment may be that of someone else (`sudo -E`), who could write there what root
    is to take back.
    """
    if not uid:
        return [ROOTS]
    home = environment.get("HOME", "")
    state = environment.get("XDG_STATE_HOME") or (home + "/.local/state" if home.startswith("/") else "")
    return [state + "/probewright/undo"] if state.startswith("/") else []


def open_own(path: "bytes | str", how: int = os.O_RDONLY) -> int:
    """Open a journal that nobody but us can have written, nor can change. Raises OSError.

    Its folder and the file belong to who we are, no one else may write to them, neither is a link, and the file is a
    plain one: what is none is not waited for.
    """
    folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        own(folder, stat.S_ISDIR)
        flags = how | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(os.path.basename(path), flags, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        own(fd, stat.S_ISREG)
    except OSError:
        os.close(fd)
        raise
    return fd


def own(fd: int, is_kind: "Callable[[int], bool]") -> None:
    """Raises PermissionError where what is open is of another kind, is not ours or may be written by others."""
    found = os.fstat(fd)
    if not is_kind(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


class Journal:
    """Of one process; the file is there as long as there is something in it."""

    def __init__(self, places: "Iterable[str]", name: str) -> None:
        """`name` of the file, as `own_name` gives it; it is made in the first place that takes it."""
        self.places, self.name = list(places), name
        self.path = ""
        self.fd = -1
        self.open: list[Entry] = []
        self.owed = b""
        """What did not get into the file yet, for want of room."""

    def add(self, effect: bytes, path: bytes, data: bytes, expects: bytes) -> None:
        """Write a way back down, where that is needed and can be done."""
        if outlives(path, data):
            self.open.append((effect, path, data, expects))
            self.write("+", self.open[-1])

    def drop(self, effect: bytes, path: bytes, data: bytes, expects: bytes) -> None:
        """It is not needed any more (the newest equal one)."""
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
                self.owed = self.begin() + b"".join(line_of("+", one) for one in self.open)
            else:
                self.owed += line_of(sign, entry)
            while self.owed:  # a line that was cut off is gone on with, else those behind it would be lost with it
                self.owed = self.owed[os.write(self.fd, self.owed) :]
        except OSError:  # no place, no room: what is to be done is done all the same
            pass

    def begin(self) -> bytes:
        """Make the file; gives its first line. Raises OSError where there is no place for it."""
        boot = whole(BOOT_ID).decode("ascii", "replace").strip()
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
        """Remove the file: nothing is left in it."""
        if self.fd >= 0:
            try:
                os.unlink(self.path)
            except OSError:
                pass
            os.close(self.fd)
            self.fd, self.owed = -1, b""


def line_of(sign: str, entry: "Entry") -> bytes:
    """One line of the file."""
    words = [part.decode("latin-1").encode("unicode_escape") for part in entry]
    return sign.encode() + b" " + b"\t".join(words) + b"\n"


def parse(content: bytes) -> "tuple[str, list[Entry]]":
    """Boot id, and the ways back that were not taken, the oldest first; of what is no journal nothing."""
    lines = content.split(b"\n")[:-1]
    if not lines or not lines[0].startswith(FIRST_LINE.encode()):
        return "", []
    found: list[Entry] = []
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
            found.append(entry)
        elif sign == b"-" and entry in found:
            del found[len(found) - 1 - found[::-1].index(entry)]
    return lines[0][len(FIRST_LINE) :].decode("ascii", "replace").strip(), found


def own_name() -> str:
    """Name of the journal of this process, `PID-STARTTIME` (of /proc/PID/stat) and `-MACHINE` where that has an id.

    A home may be that of several machines. Empty where there is no /proc.
    """
    try:
        head, _, tail = whole("/proc/self/stat").rpartition(b")")
        name = "{}-{}".format(int(head.split(b" ", 1)[0]), int(tail.split()[19]))
    except (OSError, ValueError, IndexError):
        return ""
    try:
        machine = machine_of(whole(MACHINE_ID))
    except OSError:
        return name
    return name + "-" + machine if machine else name


def machine_of(content: bytes) -> str:
    """The id in /etc/machine-id (machine-id(5)); empty: it has none yet."""
    word = content.decode("ascii", "replace").strip()
    return word if len(word) == 32 and not set(word) - set("0123456789abcdef") else ""


def whole(path: "bytes | str") -> bytes:
    """Content of a file. Raises OSError."""
    with open(path, "rb") as file:
        return file.read()
