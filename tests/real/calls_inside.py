"""Runs in a guest: calls that are hard to pair, each told by a number that no other has.

    python3 calls_inside.py ROUNDS [READER]

Threads write to /dev/null and read from /dev/zero, each time another number of bytes, which is also what the call
returns: so an entry and an exit belong together where `count` of the one is `ret` of the other. Meanwhile they are
moved from CPU to CPU and interrupted by signals, other threads hang in reads that use up what the kernel keeps of
calls, and processes are killed in the middle of one. TCP over the loopback sends answers from within what it sends.
At last one thread does as much as it can, on each CPU; meanwhile the process READER is stopped, so that it reads no
events. The threads that hang return just before.
"""

import os
import signal
import socket
import sys
import threading
import time

ROUNDS = int(sys.argv[1])
NUMBERS = iter(range(1 << 17, 1 << 20))
LOCK = threading.Lock()


def number():
    with LOCK:
        return next(NUMBERS)


def write():
    sink = os.open("/dev/null", os.O_WRONLY)
    data = memoryview(bytes(1 << 20))
    for _ in range(ROUNDS):
        os.write(sink, data[: number()])
        os.sched_setaffinity(0, {number() % os.cpu_count()})


def read():
    source = os.open("/dev/zero", os.O_RDONLY)
    for _ in range(ROUNDS):
        os.read(source, number())


def talk():
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    other, _ = server.accept()
    for _ in range(ROUNDS):
        client.sendall(b"x" * 100)
        other.recv(100)


def hang(pipe):
    os.read(pipe, number())


def die():
    """Processes that are killed while they wait in a read."""
    for _ in range(ROUNDS // 10):
        child = os.fork()
        if not child:
            reading, _ = os.pipe()
            os.read(reading, number())
        time.sleep(0.1)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def burst():
    """More than a small buffer of each CPU holds."""
    sink = os.open("/dev/null", os.O_WRONLY)
    data = memoryview(bytes(1 << 20))
    for cpu in range(os.cpu_count()):
        os.sched_setaffinity(0, {cpu})
        for _ in range(15 * ROUNDS):
            os.write(sink, data[: number()])


signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
os.system("ifconfig lo 127.0.0.1 up")
pipe, keep = os.pipe()
hanging = [threading.Thread(target=hang, args=(pipe,), daemon=True) for _ in range(24)]
working = [threading.Thread(target=work) for work in (write, write, read, read, talk)]
for thread in hanging + working:
    thread.start()
die()
for thread in working:
    thread.join()
for reader in map(int, sys.argv[2:]):
    os.kill(reader, signal.SIGSTOP)
os.close(keep)
for thread in hanging:
    thread.join()
burst()
for reader in map(int, sys.argv[2:]):
    os.kill(reader, signal.SIGCONT)
print(next(NUMBERS) - (1 << 17), flush=True)
os._exit(0)
