"""Define events of your own program in the Linux kernel, and write them while somebody listens (user_events).

    from probewright_events import Event

    request = Event("request", "u64 length", "char[16] verb", "__rel_loc char[] path")
    request.write(len(body), "GET", "/index.html")

The kernel lists the event as `user_events/request` beside its own: probewright, perf, ftrace and trace-cmd record,
filter and count it as they do any tracepoint. While nobody listens a write is one look at memory of the program, in
which the kernel sets a bit; `if request.enabled:` saves making the values, too. A field is a type and a name, in the
kernel's words (Documentation/trace/user_events.rst):

    s8 u8 s16 u16 s32 u32 s64 u64       a number
    int short char, or `unsigned` and one of them       a number
    char[16], unsigned char[16]         a text, which has at most 15 bytes there, or 16 bytes
    __rel_loc char[], __data_loc char[] a text or bytes, of any length that an event can hold
    __rel_loc u8[] and other types      bytes
    struct NAME FIELD SIZE              SIZE bytes

Nothing here disturbs the program. Where a kernel has no user_events, or does not let this user have them, an event is
never enabled, and `problem` says why. A write whose values do not fit the fields writes nothing, returns False, and
says it there as well. Only a definition that no kernel would take raises an error, at once: ValueError.

An event is registered when it is first looked at (`enabled`, `write`, `register`), once in each process; a child made
by fork registers it for itself. All methods may be called in any thread. The kernel forgets an event when the last
program has closed it, or has ended.

One file, which needs the standard library of Python 3.7 or newer alone: a program may have a copy of its own. Numbers
are from include/uapi/linux/user_events.h; Linux 6.4 or newer has user_events, with CONFIG_USER_EVENTS.
"""

import ctypes
import errno
import fcntl
import mmap
import operator
import os
import queue
import re
import struct
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Event"]

FILES = ("/sys/kernel/tracing/user_events_data", "/sys/kernel/debug/tracing/user_events_data")
MOST_CHARACTERS = 511
"""Bytes of a definition (MAX_EVENT_DESC, less its NUL)."""
MOST_ELEMENTS = 1024
"""Bytes of an array of characters (MAX_FIELD_ARRAY_SIZE)."""
MOST_BYTES = 3900
"""Bytes of an event: a larger one finds no place in a page of the ring buffer, and is lost without a word."""

_LONG = struct.calcsize("L")
_OTHER_NUMBERS = os.uname().machine.startswith(("alpha", "mips", "parisc", "ppc", "sparc"))
"""True for architectures with an encoding of their own (their asm/ioctl.h)."""
_REGISTER = (6 << 29 if _OTHER_NUMBERS else 3 << 30) | _LONG << 16 | ord("*") << 8 | 0  # DIAG_IOCSREG
_UNREGISTER = (4 << 29 if _OTHER_NUMBERS else 1 << 30) | _LONG << 16 | ord("*") << 8 | 2  # DIAG_IOCSUNREG
_REGISTRATION = struct.Struct("=IBBHQQI")
_REMOVAL = struct.Struct("=IBBHQ")
_COMMON = 8
"""Bytes of struct trace_entry, from whose beginning a __data_loc counts."""

_NUMBERS = {
    "s8": "b",
    "u8": "B",
    "s16": "h",
    "u16": "H",
    "s32": "i",
    "u32": "I",
    "s64": "q",
    "u64": "Q",
    "char": "b",
    "short": "h",
    "int": "i",
    "unsigned char": "B",
    "unsigned short": "H",
    "unsigned int": "I",
}
"""Codes of the module struct, by type."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FIELD = re.compile(
    rf"(?:(?P<number>{'|'.join(_NUMBERS)})"
    r"|(?:unsigned )?char\[(?P<length>[0-9]{1,4})\]"
    r"|(?P<base>__rel_loc|__data_loc) (?P<element>(?:unsigned )?[A-Za-z_][A-Za-z0-9_]*)\[\]"
    r"|(?P<structure>struct [A-Za-z_][A-Za-z0-9_]*))"
    rf" (?P<name>{_NAME.pattern})(?: (?P<size>[0-9]{{1,4}}))?"
)

_FIRST_LOOK = ctypes.c_ulong(1)
"""Word of an event that is not registered yet: whoever looks at it registers the event."""
_OFF = ctypes.c_ulong(0)
"""Word of an event that the kernel did not take."""


class Event:
    """An event of this program; see the module for its fields."""

    __slots__ = (
        "_fd",
        "_fields",
        "_file",
        "_fixed",
        "_slot",
        "_terminators",
        "_word",
        "definition",
        "name",
        "problem",
    )

    def __init__(self, name: str, *fields: str) -> None:
        """Define an event; the kernel hears of it at the first look. Raises ValueError for a wrong name or field.

        Args:
            name: a C identifier; the event will be `user_events/NAME`.
            fields: type and name of each: `u32 size`, `__rel_loc char[] path`.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of an event: letters, digits and _ make one, no digit first")
        self.name = name
        self._fields = [_Field(text) for text in fields]
        names = [field.name for field in self._fields]
        if len(set(names)) < len(names):
            raise ValueError(f"two fields of {name} have one name")
        self.definition = " ".join([name, "; ".join(field.text for field in self._fields)]).rstrip()
        """Definition in the kernel's words: `request u64 length; char[16] verb`."""
        if len(self.definition) > MOST_CHARACTERS:
            raise ValueError(f"the definition of {name} has more than {MOST_CHARACTERS} characters")
        self._fixed = struct.Struct("=I" + "".join(field.code for field in self._fields))
        self._terminators = sum(field.terminated for field in self._fields)
        if self._fixed.size + self._terminators > MOST_BYTES:
            raise ValueError(f"the fields of {name} have more than {MOST_BYTES} bytes")
        self.problem = ""
        """Reason why the kernel has no such event, or why the last write failed; empty: there is none."""
        self._word = _FIRST_LOOK
        self._slot: _Slot | None = None
        self._fd = -1
        self._file = (0, 0)

    @property
    def enabled(self) -> bool:
        """True while somebody listens: one look at memory."""
        return self._is_enabled() if self._word else False

    def write(self, *values: object) -> bool:
        """Write the event, with a value for each field; return whether the kernel took it. Raises nothing.

        Numbers are cut to the bits of their fields, texts to their bytes.
        """
        return self._write(values) if self._word else False

    def register(self) -> bool:
        """Register the event, so that it is listed before it is first written; return whether the kernel has it.

        What the kernel refused before is asked again.
        """
        with _process.lock:
            if self._word is _OFF:
                self._word = _FIRST_LOOK
            if self._word is _FIRST_LOOK:
                self._register()
            return self._word is not _OFF

    def close(self) -> None:
        """Take the event back from the kernel. To look at it again registers it again."""
        with _process.lock:
            slot, self._slot, self._word = self._slot, None, _FIRST_LOOK
            fd, self._fd = self._fd if _is_file(self._fd, self._file) else -1, -1
            if slot is not None:
                _process.events.remove(self)
                slot.release(fd)
            if fd >= 0:
                os.close(fd)

    def __enter__(self) -> "Event":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Event({', '.join(map(repr, [self.name, *(field.text for field in self._fields)]))})"

    def payload(self, *values: object) -> bytes:
        """Return the bytes that `write` writes. Raises ValueError where values do not fit, TypeError for a wrong one.

        First comes the event's number in the file, which has no other event.
        """
        if len(values) != len(self._fields):
            raise ValueError(f"{self.name} has {len(self._fields)} fields, {len(values)} values were given")
        fixed: list[int | bytes] = []
        tail, place, room = b"", 0, MOST_BYTES - self._fixed.size - self._terminators
        for number, field in enumerate(self._fields):
            if field.base:
                data = field.data(values[number], room)
                room -= len(data)
                data += b"\0" * field.terminated
                start = self._fixed.size - 4 + len(tail)
                start += _COMMON if field.base == "__data_loc" else -(place + 4)
                fixed.append(len(data) << 16 | start)
                tail += data
            else:
                fixed.append(field.value(values[number]))
            place += field.size
        return self._fixed.pack(0, *fixed) + tail

    def _is_enabled(self) -> bool:
        """Return the kernel's bit; register the event at the first look."""
        if self._word is _FIRST_LOOK:
            self.register()
        return self._word is not _FIRST_LOOK and bool(self._word)

    def _write(self, values: "Sequence[object]") -> bool:
        if not self._is_enabled():
            return False
        try:
            data = self.payload(*values)
            with _process.lock:  # so that no other thread closes the file, and a third opens another of its number
                if not _is_file(self._fd, self._file):
                    # A daemon closes all files that it finds.
                    self._register()
                    if not self._is_enabled():
                        return False
                taken = os.write(self._fd, data) > 0
        except (ValueError, TypeError) as error:
            self.problem = str(error)
            return False
        except OSError as error:
            # EBADF of a file that is open: nobody listens any more (user_events_write_core in trace_events_user.c).
            self.problem = _reason(error) if error.errno != errno.EBADF else ""
            return False
        self.problem = ""
        return taken

    def _register(self) -> None:
        """Register the event where it is not; where that fails, it is off and `problem` says why."""
        with _process.lock:
            if _process.busy:  # a signal handler looks at it within a registration
                return
            _process.busy = True
            try:
                if self._slot is None:
                    slot = _process.take_slot()
                    try:
                        slot.register(self)
                    except BaseException:
                        _process.free.append(slot)
                        raise
                    self._slot = slot
                    _process.events.append(self)
                elif self._word is not self._slot.word or not _is_file(self._fd, self._file):
                    self._slot.register(self)
                self._word = self._slot.word
                self.problem = ""
            except (OSError, RuntimeError) as error:  # RuntimeError: no new thread any more, at the process's end
                self.problem = _reason(error)
                self._word = _OFF
            finally:
                _process.busy = False

    def _ask_kernel(self, address: int, again: bool) -> None:
        """Register the definition with the kernel's bit at an address. Raises OSError."""
        fd = self._fd if _is_file(self._fd, self._file) else _process.open_file()
        try:
            if again:
                _remove(fd, address)
            text = ctypes.create_string_buffer(self.definition.encode())
            asked = bytearray(_REGISTRATION.pack(_REGISTRATION.size, 0, _LONG, 0, address, ctypes.addressof(text), 0))
            fcntl.ioctl(fd, _REGISTER, asked)
        except BaseException:
            if fd != self._fd:
                os.close(fd)
            raise
        status = os.fstat(fd)
        self._fd, self._file = fd, (status.st_dev, status.st_ino)


class _Field:
    """A field of an event: its type, and the bytes of a value."""

    __slots__ = ("base", "code", "integer", "length", "name", "size", "terminated", "text")

    def __init__(self, text: str) -> None:
        """Read a field in the kernel's words. Raises ValueError."""
        self.text = " ".join(text.split())
        match = _FIELD.fullmatch(self.text)
        if match is None or (match["structure"] is None) != (match["size"] is None):
            raise ValueError(f"{text!r} is no field: a type and a name make one, as in 'u32 size'")
        self.name = match["name"]
        self.base = match["base"] or ""
        """`__rel_loc` or `__data_loc` where the value stands behind all fields; else empty."""
        self.terminated = "char" in (match["element"] or "")
        self.length = int(match["length"] or match["size"] or 0)
        """Bytes of a text or structure; 0: a number, or a value behind all fields."""
        if not self.base and match["number"] is None and not 1 <= self.length <= MOST_BYTES:
            raise ValueError(f"{text!r} has no bytes, or too many")
        if match["length"] and self.length > MOST_ELEMENTS:
            raise ValueError(f"{text!r} has more than {MOST_ELEMENTS} bytes")
        self.integer = match["number"] is not None
        self.code = "I" if self.base else _NUMBERS[match["number"]] if self.integer else f"{self.length}s"
        """Code of the module struct."""
        self.size = struct.calcsize("=" + self.code)
        if match["structure"]:
            self.length = -self.length

    def value(self, value: object) -> "int | bytes":
        """Return what the module struct packs. Raises TypeError, and ValueError for a structure of another size."""
        if self.integer:
            if isinstance(value, str) and len(value) == 1:
                value = ord(value)
            number = operator.index(value) & (1 << self.size * 8) - 1  # type: ignore[arg-type]
            return number - (1 << self.size * 8) if self.code.islower() and number >> self.size * 8 - 1 else number
        if isinstance(value, str):
            return _cut(value, self.size - 1)
        data = _bytes(value, self.name)
        if self.length < 0 and len(data) != self.size:
            raise ValueError(f"{self.name} has {self.size} bytes, {len(data)} were given")
        return data

    def data(self, value: object, room: int) -> bytes:
        """Return the bytes that stand behind all fields, at most `room` of them. Raises TypeError."""
        return _cut(value, room) if isinstance(value, str) else _bytes(value, self.name)[:room]


def _cut(text: str, most: int) -> bytes:
    """Return a text in UTF-8, at most so many bytes of it, and no half character. Raises UnicodeEncodeError."""
    data = text.encode(errors="surrogateescape")
    if len(data) <= most:
        return data
    begin = most
    while begin > max(most - 3, 0) and data[begin] & 0xC0 == 0x80:
        begin -= 1
    return data[:begin]


def _bytes(value: object, name: str) -> bytes:
    """Return the bytes of an object that has some. Raises TypeError."""
    try:
        return bytes(memoryview(value))  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{name} takes text or bytes, not {type(value).__name__}") from None


class _Slot:
    """A long of memory in which the kernel sets a bit; it stays where it is as long as the process lasts."""

    def __init__(self, word: ctypes.c_ulong) -> None:
        self.word = word
        """The long: true while the kernel's bit is set."""
        self.address = ctypes.addressof(word)
        self.used = False
        """True once the kernel may know it."""
        self.registrar: _Registrar | None = None
        """Thread that the kernel knows it by; None: the main thread, and those that it started since."""

    def register(self, event: Event) -> None:
        """Register an event that has its bit here. Raises OSError."""
        again, self.used = self.used, True
        self.registrar = _process.lasting_thread()
        self._perform(lambda: event._ask_kernel(self.address, again))

    def release(self, fd: int) -> None:
        """Take the bit back from the kernel; where that can't be done from here, the slot is used no more."""
        taken_back: list[bool] = []
        self._perform(lambda: taken_back.append(_remove(fd, self.address)))
        if taken_back[0]:
            self.used = False
            _process.free.append(self)

    def _perform(self, work: "Callable[[], None]") -> None:
        if self.registrar is None:
            work()
        else:
            self.registrar.perform(work)


class _Registrar(threading.Thread):
    """A thread that registers events for threads other than the main one.

    The kernel keeps what a thread registers by that thread, those that it starts and those that they start: it
    forgets that when the last of them ends, although the process goes on (user_event_mm_remove).
    """

    def __init__(self) -> None:
        super().__init__(name="user_events", daemon=True)
        self._asked: queue.SimpleQueue[tuple[Callable[[], None], queue.SimpleQueue[BaseException | None]]]
        self._asked = queue.SimpleQueue()

    def perform(self, work: "Callable[[], None]") -> None:
        """Do something in this thread, and wait for it. Raises what that raises."""
        done: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        self._asked.put((work, done))
        error = done.get()
        if error is not None:
            raise error

    def run(self) -> None:
        while True:
            work, done = self._asked.get()
            try:
                work()
            except BaseException as error:
                done.put(error)
            else:
                done.put(None)


class _Process:
    """The registered events of this process, and the memory for the kernel's bits."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.busy = False
        self.events: list[Event] = []
        self.free: list[_Slot] = []
        self._pages: list[mmap.mmap] = []
        self._registrar: _Registrar | None = None

    def take_slot(self) -> _Slot:
        """Return a slot that nobody uses."""
        if not self.free:
            page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._pages.append(page)
            places = reversed(range(0, mmap.PAGESIZE, _LONG))
            self.free = [_Slot(ctypes.c_ulong.from_buffer(page, place)) for place in places]
        return self.free.pop()

    def lasting_thread(self) -> "_Registrar | None":
        """Return the thread to register in; None: this one, which is the main thread. Raises RuntimeError."""
        if threading.get_ident() == threading.main_thread().ident:
            return None
        if self._registrar is None:
            registrar = _Registrar()
            registrar.start()
            self._registrar = registrar
        return self._registrar

    def open_file(self) -> int:
        """Open the kernel's file. Raises OSError."""
        errors: list[OSError] = []
        for path in FILES:
            try:
                fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
            except OSError as error:
                errors.append(error)
                continue
            for event in self.events:
                if event._fd == fd:  # it was closed behind our back
                    event._fd = -1
            return fd
        raise min(errors, key=lambda error: error.errno in (errno.ENOENT, errno.ENOTDIR))

    def hold(self) -> None:
        """Wait until nobody registers, and have others wait."""
        self.lock.acquire()

    def let_go(self) -> None:
        """End what `hold` began."""
        self.lock.release()

    def reset_in_child(self) -> None:
        """Have each event registered at the next look: the kernel knows those of the thread that forked, or none."""
        self.lock = threading.RLock()
        self._registrar = None
        for event in self.events:
            event._word = _FIRST_LOOK
            if event._slot is not None:
                event._slot.registrar = None  # a child has the one thread that forked


def _remove(fd: int, address: int) -> bool:
    """Take a bit back from the kernel; return whether it did: it knows none that another thread gave it."""
    if fd < 0:
        return False
    try:
        fcntl.ioctl(fd, _UNREGISTER, _REMOVAL.pack(_REMOVAL.size, 0, 0, 0, address))
    except OSError:
        return False
    return True


def _is_file(fd: int, file: "tuple[int, int]") -> bool:
    """Return whether a number is that of an open file, given as device and inode."""
    try:
        status = os.fstat(fd)
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == file


def _reason(error: "OSError | RuntimeError") -> str:
    """Return why an event is not written."""
    if not isinstance(error, OSError):
        return str(error)
    if error.filename is not None and error.errno in (errno.ENOENT, errno.ENOTDIR):
        return "no user_events: the kernel has no CONFIG_USER_EVENTS, or tracefs is not mounted"
    if error.filename is not None and error.errno in (errno.EACCES, errno.EPERM):
        return f"no rights to write {error.filename}"
    if error.errno == errno.EADDRINUSE:
        return "the kernel has an event of this name with other fields"
    return f"the kernel says: {os.strerror(error.errno or 0)}"


_process = _Process()
os.register_at_fork(before=_process.hold, after_in_parent=_process.let_go, after_in_child=_process.reset_in_child)
