"""A program with events of its own, in all the ways that programs live: runs in a guest, tells JSON in lines.

The module of probewright lies beside it. Python 3.7.
"""

import json
import os
import sys
import threading
import time

import probewright_events
from probewright_events import Event

TRACING = "/sys/kernel/tracing"
SCRATCH = "/tmp/scratch"
_SECONDS = 30


def forget():
    """Drop what was recorded: the kernel gives the number of an event that has gone to the next one."""
    with open(f"{TRACING}/trace", "w"):
        pass


def tell(**what):
    print(json.dumps(what), flush=True)


def read(name):
    with open(f"{TRACING}/{name}", errors="backslashreplace") as file:
        return file.read()


def switch(event, on):
    with open(f"{TRACING}/events/user_events/{event.name}/enable", "w") as file:
        file.write("01"[on])


def until(condition):
    end = time.monotonic() + _SECONDS
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def listed(event):
    return event.name in read("user_events_status").replace("#", " ").split()


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def in_child(work):
    pid = os.fork()
    if not pid:
        status = 1
        try:
            status = 0 if work() else 1
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def seen(event):
    """Values of the events with this name, as the kernel prints them, with their thread; once there are some."""
    lines = [line for line in read("trace").splitlines() if f": {event.name}: " in line]
    return [line.partition(f": {event.name}: ")[2] for line in lines]


def life():
    event = Event("pw_life", "u64 length", "char[8] verb", "__rel_loc char[] path", "__data_loc char[] more", "s16 n")
    tell(test="life", before=listed(event), unheard=event.write(1, "a", "b", "c", 0), listed=listed(event))
    tell(test="format", text=read("events/user_events/pw_life/format"))
    switch(event, True)
    tell(test="on", enabled=event.enabled, problem=event.problem)
    tell(
        test="written",
        taken=[event.write(1 << 70 | 5, "GETGETGET", "/x", "", -3), event.write(2, "", "y" * 9000, "z", 7)],
    )
    tell(test="mistaken", taken=event.write(1), problem=event.problem)
    lines = seen(event)
    tell(test="seen", first=lines[0], second=lines[1][:60], number=len(lines), longest=lines[1].count("y"))
    switch(event, False)
    tell(test="off", enabled=event.enabled, taken=event.write(1, "a", "b", "c", 0))
    event.close()
    tell(test="closed", gone=until(lambda: not listed(event)))
    tell(test="again", registered=event.register(), listed=listed(event))
    event.close()
    until(lambda: not listed(event))


def threads():
    early = threading.Event()
    closed = threading.Event()
    event, main = Event("pw_thread", "u32 n"), Event("pw_main", "u32 n")

    def close():
        early.wait()
        main.close()
        closed.set()

    old = threading.Thread(target=close)
    old.start()
    in_thread(event.register)  # the thread has ended when somebody begins to listen
    main.register()
    switch(event, True)
    tell(test="thread", enabled=until(lambda: event.enabled), taken=event.write(1))
    before = len(seen(event))
    writers = [threading.Thread(target=lambda: [event.write(n) for n in range(200)]) for _ in range(5)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    tell(test="writers", number=len(seen(event)) - before)
    forked = []
    in_thread(lambda: forked.append(in_child(lambda: event.write(77) and event.write(78))))
    forked.append(in_child(lambda: event.write(79)))
    tell(test="fork", forked=forked, seen=[line.split()[0] for line in seen(event)[-3:]])
    grand = in_child(lambda: in_child(lambda: event.write(80)) and event.write(81))
    tell(test="grandchild", taken=grand)

    def close_in_child():
        event.close()
        return True

    tell(test="child closes", taken=in_child(close_in_child), still=event.write(82))
    early.set()
    closed.wait()
    old.join()
    tell(test="closed elsewhere", works=main.register() and main.problem == "")
    switch(event, False)
    for one in (event, main):
        one.close()
    tell(test="thread closed", gone=until(lambda: not listed(event)))


def daemon():
    """All files are closed by somebody who does not ask whose they are, and their numbers are used again."""
    one, other = Event("pw_one", "u32 n"), Event("pw_other", "u32 n")
    for event in (one, other):
        event.register()
        switch(event, True)
    os.closerange(3, 100)
    with open(SCRATCH, "w") as scratch:
        taken = [other.write(5), one.write(6), other.write(7)]
        number = scratch.fileno()
    with open(SCRATCH) as scratch:
        tell(test="daemon", taken=taken, reused=number == 3, scratch=scratch.read(), one=seen(one), other=seen(other))
    os.closerange(3, 100)
    one.close()  # not any file that has its number now
    tell(test="closed blindly", works=one.register())
    for event in (one, other):
        switch(event, False)
        event.close()


def refusals():
    event, twin = Event("pw_twin", "u32 n"), Event("pw_twin", "u64 n")
    same = Event("pw_twin", "u32 n")
    tell(test="twins", first=event.register(), second=twin.register(), problem=twin.problem, same=same.register())
    event.close()
    same.close()
    until(lambda: not listed(event))
    tell(test="twin freed", second=twin.register(), problem=twin.problem)
    twin.close()
    until(lambda: not listed(twin))
    with open("/proc/sys/kernel/user_events_max") as file:
        most = file.read()
    with open("/proc/sys/kernel/user_events_max", "w") as file:
        file.write("0")
    tell(test="too many", taken=event.register(), problem=event.problem)
    with open("/proc/sys/kernel/user_events_max", "w") as file:
        file.write(most)


def rights():
    """A program that gives up being root goes on with its events, and so do its children; a new one has no rights."""

    def work():
        old, new = Event("pw_old", "u32 n"), Event("pw_new", "u32 n")
        old.register()
        switch(old, True)
        os.setgid(65534)
        os.setuid(65534)
        tell(
            test="rights",
            old=old.write(1),
            new=new.register(),
            problem=new.problem,
            child=in_child(lambda: old.write(2)),
        )
        return True

    in_child(work)
    with open(f"{TRACING}/events/user_events/enable", "w") as file:
        file.write("0")
    data = f"{TRACING}/user_events_data"
    modes = [(path, os.stat(path).st_mode & 0o777) for path in (TRACING, data)]
    os.chmod(TRACING, 0o711)
    os.chmod(data, 0o666)

    def unprivileged():
        os.setgid(65534)
        os.setuid(65534)
        event = Event("pw_user", "u32 n")
        tell(test="unprivileged", registered=event.register(), problem=event.problem, enabled=event.enabled)
        return True

    in_child(unprivileged)
    for path, mode in modes:
        os.chmod(path, mode)


def sizes():
    """The longest event that the module makes, for every split of it, finds its place in a page."""
    event = Event("pw_size", "__rel_loc char[] a", "__rel_loc char[] b")
    event.register()
    switch(event, True)
    splits = [(0, 9999), (9999, 0), (1000, 9999), (3900, 3900)]
    taken = [event.write("a" * first, b"b" * second) for first, second in splits]
    tell(test="sizes", taken=taken, seen=len(seen(event)))
    switch(event, False)
    event.close()


if __name__ == "__main__":
    for part in (life, threads, daemon, refusals, rights, sizes):
        forget()
        part()
    forget()
    tell(test="end", open=len(probewright_events._process.events), version=list(sys.version_info[:2]))
