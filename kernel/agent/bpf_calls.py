"""Call bpf(2), read BPF ring buffers, find folders of cgroups; a part of the agent's source."""

# This file is Python 3.6. ctypes and mmap are imported at the first use: they would double the agent's start time.
import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

PLAIN, RETURNED, NAMES, CHANGED, INNER, ATTRIBUTES, FILES, GIVEN = b"", b"r", b"n", b"c", b"i", b"a", b"f", b"g"
"""Kinds of memory that a call's attributes point to, and what is given for them: bytes for the kernel; the number of
the bytes that the kernel fills, in decimal digits; texts, each with its NUL, whose addresses are in an array; bytes
that the kernel changes; as RETURNED, but the memory before it points to it; nothing, for the attributes themselves;
as CHANGED, behind `file_places`: the places in it at which the kernel puts the numbers of files that it opens; as
PLAIN, but the memory before it points to it.
"""
_NUMBERS = {
    "x86_64": (321, 298),
    "aarch64": (280, 241),
    "riscv64": (280, 241),
}  # __NR_bpf, __NR_perf_event_open in arch/x86/entry/syscalls and include/uapi/asm-generic/unistd.h
_BUSY_OR_DISCARDED = 3 << 30
_RING_HEADER = 8
FOLDER_BYTES = 1 << 20
"""Bytes of an answer with folders: some ten thousand."""


def addresses_of(names: bytes, first: int) -> "list[int]":
    """Return the address of each of some texts, which stand one after the other, each with its NUL."""
    addresses = []
    for name in names.split(b"\0")[:-1]:
        addresses.append(first)
        first += len(name) + 1
    return addresses


def folders_below(top: bytes) -> "list[tuple[int, bytes]]":
    """Return inode and path, from `top` on, of the folders below one, in bounded number and length.

    Raises OSError where that one can't be read.
    """
    found, waiting, room = [], [b""], FOLDER_BYTES
    while waiting and room > 0:
        path = waiting.pop(0)
        try:
            entries = [
                (entry.inode(), entry.name) for entry in os.scandir(top + path) if entry.is_dir(follow_symlinks=False)
            ]
        except OSError:  # it has gone meanwhile
            if not path:
                raise
            continue
        for inode, name in entries:
            below = path + b"/" + name
            room -= len(below) + 24
            if room > 0:
                found.append((inode, below))
                waiting.append(below)
    return found


def file_places(places: "Sequence[int]") -> bytes:
    """Return the text of places in memory of the kind FILES, which its bytes follow."""
    return b",".join(b"%d" % place for place in places) + b";"


def time_calls(calls: int, rounds: int) -> "tuple[int, list[bytes]]":
    """Call getsid(2) again and again, in bounded number and time; return the thread, and the time of each round.

    Args:
        calls: calls of each round.
        rounds: rounds; fewer are made where that takes more than `MOST_SECONDS`.

    Returns the id of the thread, and as the only memory the nanoseconds of each round (u64).
    """
    import time

    # Names of the loop are local ones: to look up others would take longer than the call.
    getsid, clock, calls = os.getsid, time.perf_counter, min(calls, MOST_CALLS)
    times = []
    begin = clock()
    for _ in range(min(rounds, MOST_ROUNDS)):
        start = clock()
        for _ in range(calls):
            getsid(0)
        end = clock()
        times.append(int((end - start) * 1e9))
        if end - begin > MOST_SECONDS:
            break
    thread = int(os.readlink("/proc/thread-self").rpartition("/")[2])
    return thread, [b"".join(one.to_bytes(8, "little") for one in times)]


class _CallMemory:
    """Memory of one call: the attributes, and what their pointers lead to."""

    def __init__(self, attributes: bytes, parts: "Sequence[tuple[int, bytes, bytes]]") -> None:
        import ctypes

        self.attributes = ctypes.create_string_buffer(attributes, len(attributes))
        self.filled: list[ctypes.Array[ctypes.c_char]] = []
        """Parts that the kernel may fill."""
        self._kept: list[ctypes.Array[ctypes.c_char] | ctypes.Array[ctypes.c_uint64]] = []
        self._files: tuple[ctypes.Array[ctypes.c_char], list[int]] | None = None
        self._outer: ctypes.Array[ctypes.c_char] | ctypes.Array[ctypes.c_uint64] = self.attributes
        for offset, kind, data in parts:
            if kind == ATTRIBUTES:
                self.filled.append(self.attributes)
            else:
                self._add(offset, kind, data)

    def opened(self) -> "list[int]":
        """Return the files that a program has written into a part, after the call."""
        if self._files is None:
            return []
        buffer, places = self._files
        found = [int.from_bytes(buffer.raw[place : place + 4], "little", signed=True) for place in places]
        return [fd for fd in found if fd > 0]

    def _add(self, offset: int, kind: bytes, data: bytes) -> None:
        """Make the memory of a part, and write its address to `offset` of the attributes, or of the last part."""
        import ctypes

        places = b""
        if kind == FILES:
            places, _, data = data.partition(b";")
        empty = kind in (RETURNED, INNER)
        size = int(data) if empty else max(len(data), 1)
        buffer = ctypes.create_string_buffer(b"" if empty else data, size)
        holder = self._outer if kind in (INNER, GIVEN) else self.attributes
        self._kept.append(buffer)
        if kind == FILES:
            self._files = buffer, [int(place) for place in places.split(b",")]
        if empty or kind in (CHANGED, FILES):
            self.filled.append(buffer)
        elif kind == NAMES:
            addresses = addresses_of(data, ctypes.addressof(buffer))
            self._kept.append((ctypes.c_uint64 * len(addresses))(*addresses))
        ctypes.c_uint64.from_buffer(holder, offset).value = ctypes.addressof(self._kept[-1])
        if holder is self.attributes:
            self._outer = self._kept[-1]


class BpfCalls:
    """Caller of bpf(2), with the files it was given: programs, maps and links live as long as those are open."""

    def __init__(self) -> None:
        self.files: set[int] = set()

    def call(
        self, command: int, attributes: bytes, parts: "Sequence[tuple[int, bytes, bytes]]"
    ) -> "tuple[int, list[bytes]]":
        """Return the result of a call, below 0 an errno; and the contents of the memory that the kernel may fill.

        Args:
            command: BPF_* (enum bpf_cmd); or PERF_EVENT_OPEN, PERF_EVENT_READ, TIME_CALLS.
            attributes: union bpf_attr, of this machine; or the process and the CPU (s32 each), and perf_event_attr;
                or the file of a perf event that was opened here (u64), whose count becomes the first part; or the
                numbers for `time_calls` (u32 each).
            parts: for each pointer in it: its offset, the kind of the memory, and what is given for that.

        Raises OSError where this machine's number of the call is unknown.
        """
        import ctypes

        if command == PERF_EVENT_READ:
            return self._read_count(attributes, parts)
        if command == TIME_CALLS:
            return time_calls(int.from_bytes(attributes[:4], "little"), int.from_bytes(attributes[4:8], "little"))
        numbers = _NUMBERS.get(os.uname().machine)
        if numbers is None:
            raise OSError(errno.ENOSYS, "bpf")
        memory = _CallMemory(attributes, parts)
        given = memory.attributes
        call = ctypes.CDLL(None, use_errno=True).syscall
        call.restype = ctypes.c_long
        if command == PERF_EVENT_OPEN:
            task_and_cpu = (ctypes.c_int32 * 2).from_buffer(given)
            words = [numbers[1], ctypes.byref(given, 8), *task_and_cpu, -1, _CLOSE_ON_EXEC]
        else:
            words = [numbers[0], command, ctypes.byref(given), len(attributes)]
        result = call(*(ctypes.c_long(word) if isinstance(word, int) else word for word in words))
        if result < 0:
            result = -(ctypes.get_errno() or errno.EIO)
        elif command in GIVE_FILES:
            self.files.add(result)
        else:
            self.files.update(memory.opened())
        return result, [buffer.raw for buffer in memory.filled]

    def _read_count(
        self, attributes: bytes, parts: "Sequence[tuple[int, bytes, bytes]]"
    ) -> "tuple[int, list[bytes]]":
        """Return the count of a perf event, as `call` does."""
        fd = int.from_bytes(attributes[:8], "little")
        if fd not in self.files or not parts:
            return -errno.EBADF, []
        try:
            data = os.read(fd, int(parts[0][2]))
        except OSError as error:
            return -(error.errno or errno.EIO), []
        return len(data), [data]

    def close(self, fd: int) -> None:
        """Close a file that a call gave; another is left alone."""
        if fd in self.files:
            self.files.remove(fd)
            os.close(fd)

    def close_all(self) -> None:
        """Close all files, the newest first: what is attached goes before what it needs."""
        for fd in sorted(self.files, reverse=True):
            self.close(fd)


MAP_CREATE, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, PROG_LOAD, GET_INFO_BY_FD, LINK_CREATE = 0, 1, 2, 5, 15, 28
RAW_TRACEPOINT_OPEN, BTF_GET_FD_BY_ID, BTF_GET_NEXT_ID, MAP_LOOKUP_BATCH = 17, 19, 23, 24
"""Commands of bpf(2) (enum bpf_cmd in include/uapi/linux/bpf.h)."""
PROG_RUN, MAP_GET_NEXT_KEY = 10, 4
PERF_EVENT_OPEN = 1 << 16
"""No command of bpf(2), but the call perf_event_open(2)."""
PERF_EVENT_READ = PERF_EVENT_OPEN + 1
"""No command of bpf(2), but read(2) of a perf event."""
TIME_CALLS = PERF_EVENT_OPEN + 2
"""No command of bpf(2), but `time_calls`."""
MOST_CALLS, MOST_ROUNDS, MOST_SECONDS = 10000, 64, 1.0
"""Bounds of the calls that are timed."""
_CLOSE_ON_EXEC = 8
"""PERF_FLAG_FD_CLOEXEC."""
GIVE_FILES = (MAP_CREATE, PROG_LOAD, LINK_CREATE, RAW_TRACEPOINT_OPEN, BTF_GET_FD_BY_ID, PERF_EVENT_OPEN)


class MappedRing:
    """Memory of one BPF ring buffer (kernel/bpf/ringbuf.c)."""

    def __init__(self, fd: int, size: int) -> None:
        """Map the ring buffer of a map, which may be closed afterwards; `size`: bytes of its data. Raises OSError."""
        import ctypes
        import mmap

        page = mmap.PAGESIZE
        self._consumer = mmap.mmap(fd, page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        try:
            # The data is there twice, one after the other: no record is cut.
            self._produced = mmap.mmap(fd, page + 2 * size, mmap.MAP_SHARED, mmap.PROT_READ, offset=page)
        except (OSError, ValueError):
            self._consumer.close()
            raise
        self.read_to = ctypes.c_uint64.from_buffer(self._consumer)
        """Bytes that were read, which we write."""
        view = memoryview(self._produced)
        self.written = view[:8].cast("Q")
        """Bytes that were written, by the kernel."""
        self.data = view[page:]

    def close(self) -> None:
        """Unmap it."""
        self.data.release()
        self.written.release()
        del self.read_to
        self._consumer.close()
        try:
            self._produced.close()
        except BufferError:  # a slice of it is alive until the garbage collector comes
            pass


class RecordRing:
    """Reader of one BPF ring buffer whose records all have one length."""

    def __init__(self, fd: int, size: int, record: int) -> None:
        """Map the ring buffer of a map; `record`: bytes of a record. Raises OSError."""
        self.fd = fd
        self.is_being_written = False
        """True if the last `take` ended at a record that a program is writing, or was discarded."""
        self._size, self._record = size, record
        self._stride = record + _RING_HEADER
        self._ring = MappedRing(fd, size)
        self._words = self._ring.data.cast("I")

    def take(self, limit: int) -> "tuple[bytes, bool]":
        """Return the oldest records, about `limit` bytes of them, and whether there are no more now."""
        ring = self._ring
        start, end = ring.read_to.value, ring.written[0]
        most = max(1, limit // self._stride)
        count = (end - start) // self._stride
        drained = count <= most
        count = min(count, most)
        first = start % self._size
        step = self._stride // 4
        lengths = self._words[first // 4 : first // 4 + count * step : step].tolist() if count else []
        self.is_being_written = False
        for place, length in enumerate(lengths):
            if length & _BUSY_OR_DISCARDED:  # it is being written; what follows is read with it
                count, self.is_being_written = place, True
                break
        if not count:
            return b"", True
        data = bytes(ring.data[first : first + count * self._stride])
        ring.read_to.value = start + count * self._stride
        return data, drained

    def close(self) -> None:
        """Unmap it."""
        self._words.release()
        self._ring.close()
