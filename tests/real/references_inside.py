"""References that are never put, beside as many that are; runs in a guest as `python3 -c SOURCE`.

A message with a file descriptor holds a reference of the file (`fget_raw` in `__scm_send`, put when it is received or
thrown away). The keeper is a process of its own that never receives: what a process has sent to it and closed is held
when that process has ended. `PLANTED` are such files; each is sent once more by a process that receives it and closes
it, and as many others are only opened, sent, received and closed.
"""

import array
import os
import socket

PLANTED = [f"planted-{number}" for number in range(5)]
BALANCED = [f"balanced-{number}" for number in range(5)]
FOLDER = "/tmp/references"


def send(to, fd):
    to.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])


def receive(end):
    _, found, _, _ = end.recvmsg(1, socket.CMSG_LEN(4))
    return array.array("i", found[0][2])[0]


def balance(name):
    """Open, send, receive, duplicate and close a file."""
    first, second = socket.socketpair()
    fd = os.open(FOLDER + "/" + name, os.O_RDWR | os.O_CREAT)
    send(first, fd)
    other = receive(second)
    third = os.dup(other)
    os.fsync(third)
    for one in (fd, other, third):
        os.close(one)
    first.close()
    second.close()


def plant(name, keeper):
    """Send a file to nobody who receives it, and close it."""
    fd = os.open(FOLDER + "/" + name, os.O_RDWR | os.O_CREAT)
    send(keeper, fd)
    os.close(fd)


def child(act, *words):
    """Do something in a process that ends then."""
    pid = os.fork()
    if not pid:
        act(*words)
        os._exit(0)
    os.waitpid(pid, 0)


def main():
    """Let a keeper stay when this has ended; `/tmp/references/keeper` holds its process."""
    os.makedirs(FOLDER)
    keeper, kept = socket.socketpair()
    pid = os.fork()
    if not pid:
        keeper.close()
        os.set_inheritable(kept.fileno(), True)
        os.setsid()
        for fd in range(3):
            os.dup2(os.open(os.devnull, os.O_RDWR), fd)
        os.execvp("sleep", ["sleep", "600"])
    kept.close()
    with open(FOLDER + "/keeper", "w") as file:
        file.write(str(pid))
    for planted, balanced in zip(PLANTED, BALANCED, strict=True):
        child(balance, balanced)
        child(plant, planted, keeper)
        child(balance, planted)
    print("done", flush=True)


if __name__ == "__main__":
    main()
