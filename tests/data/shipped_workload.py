"""Calls whose truth is known, for the recording that ships; runs in a guest, a stage for each line that it reads."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time

FOLDER = "/tmp/shop"
SLOW_OPEN = 0.04
"""Seconds for which the open of a FIFO waits for its writer."""
HOG = 0.05
"""Seconds for which a process keeps the CPU that others wait for."""
SECONDS = 5
"""Seconds for which the workload of the guest runs, after the known calls."""


def prepare():
    os.makedirs(FOLDER + "/orders")
    for name, mode in (("price-list", 0o644), ("ledger", 0o600)):
        with open(FOLDER + "/" + name, "w") as file:
            file.write(name)
        os.chmod(FOLDER + "/" + name, mode)
    os.symlink("round", FOLDER + "/round")
    os.mkfifo(FOLDER + "/till")


def try_open(path, flags=os.O_RDONLY):
    """Open and close a file; return the error, 0 if there is none."""
    try:
        os.close(os.open(FOLDER + "/" + path, flags))
    except OSError as error:
        return error.errno
    return 0


def as_nobody(path):
    """Open a file in a process without rights."""
    child = os.fork()
    if not child:
        os.setgid(65534)
        os.setuid(65534)
        os._exit(try_open(path))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def failing_opens():
    """Yield the error of each open."""
    for _ in range(3):
        yield try_open("no-such-file")
    yield try_open("price-list/page")
    yield try_open("orders", os.O_WRONLY)
    yield try_open("round")
    yield try_open("till", os.O_WRONLY | os.O_NONBLOCK)
    yield as_nobody("ledger")
    yield try_open("price-list")


def slow_open():
    """Open a FIFO whose writer comes late."""

    def write():
        time.sleep(SLOW_OPEN)
        os.close(os.open(FOLDER + "/till", os.O_WRONLY))

    writer = threading.Thread(target=write)
    writer.start()
    os.close(os.open(FOLDER + "/till", os.O_RDONLY))
    writer.join()


def kills():
    """Send signals to a process that sleeps, and ends by the last one."""
    child = subprocess.Popen(["sleep", "60"])
    for number in (signal.SIGSTOP, signal.SIGCONT, signal.SIGTERM):
        os.kill(child.pid, number)
        time.sleep(0.01)
    child.wait()
    subprocess.run(["sh", "-c", "kill -USR1 $$"], check=False)
    return child.pid


def crowded_cpu():
    """Two processes keep the CPU, on which a third one is woken again and again."""
    os.sched_setaffinity(0, {0})
    children = []
    for _ in range(2):
        child = os.fork()
        if not child:
            end = time.monotonic() + HOG
            while time.monotonic() < end:
                pass
            os._exit(0)
        children.append(child)
    for _ in range(5):
        time.sleep(0.002)
    for child in children:
        os.waitpid(child, 0)
    os.sched_setaffinity(0, {0, 1})


def dropped_packets():
    """Send to a port at which nobody listens."""
    closed = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    closed.bind(("127.0.0.1", 0))
    port = closed.getsockname()[1]
    closed.close()
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(4):
        sender.sendto(b"nobody listens", ("127.0.0.1", port))


def main():
    prepare()
    print("ready", flush=True)
    sys.stdin.readline()
    crowded_cpu()
    print({"keeps the CPU": HOG}, flush=True)
    sys.stdin.readline()
    print({"opens": list(failing_opens()), "pid": os.getpid()}, flush=True)
    sys.stdin.readline()
    slow_open()
    killed = kills()
    subprocess.run(["ls", "-l", FOLDER], stdout=subprocess.DEVNULL, check=False)
    subprocess.run(["cat", FOLDER + "/no-such-file"], stderr=subprocess.DEVNULL, check=False)
    subprocess.run(["grep", "-c", "price", FOLDER + "/price-list"], stdout=subprocess.DEVNULL, check=False)
    dropped_packets()
    subprocess.run(["workload", "on"], check=True)
    time.sleep(SECONDS)
    print({"pid": os.getpid(), "killed": killed}, flush=True)


if __name__ == "__main__":
    main()
