"""`clean` on a kernel where someone else has laid journals: what they say is not done, and the way back of ours is.

A journal says what root writes into tracefs, so that whoever gets one read as root's has root's hands there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.agent import journal
from kernel.lab.guest import Guest
from tests.real import command
from tests.real.command import address, ssh_to

TRACING = "/sys/kernel/tracing"
DEPTH = f"{TRACING}/max_graph_depth"
FOLDER = journal.ROOTS
DEAD = 4194300
"""Number of a process that is not there: the first of several."""
DIALECTS = pytest.mark.parametrize("guest", ["7.2", "7.2-sh"], indirect=True)


@pytest.fixture
def env(guest: Guest, tmp_path: Path) -> Iterator[dict[str, str]]:
    guest.run(f"rm -rf {FOLDER} /tmp/theirs; mkdir -m 700 {FOLDER}; echo 3 >{DEPTH}")
    yield ssh_to(guest, tmp_path)
    guest.run(f"rm -rf {FOLDER} /tmp/theirs /tmp/victim; echo 0 >{DEPTH}")


def text(boot: str, path: str = DEPTH, data: bytes = b"9\n", expects: bytes = b"3") -> str:
    """Content of a journal that would write into a file, by default nine levels for three."""
    return f"{journal.FIRST_LINE}{boot}\n{journal.line_of('+', (b'write', path.encode(), data, expects)).decode()}"


def put(guest: Guest, path: str, content: str, more: str = "true") -> None:
    guest.run(f"cat >{path} <<'END'\n{content}END\nchmod 600 {path}; {more}")


def boot_of(guest: Guest) -> str:
    return guest.run(f"cat {journal.BOOT_ID}").decode().strip()


def cleaned(guest: Guest, env: dict[str, str]) -> str:
    """What `clean` says; the depth afterwards stands behind it."""
    done = command.run("clean", "--target", address(guest), env=env)
    assert done.status == 0, done
    return f"{done.out}{guest.run(f'cat {DEPTH}').decode().strip()}"


NOTHING = "nothing was left behind\n3"


@DIALECTS
def test_forged_ones_among_others(guest: Guest, env: dict[str, str]) -> None:
    boot = boot_of(guest)
    forged = {
        "of another user": "chown 1000 {0}",
        "that others may write": "chmod 606 {0}",
        "that a group may write": "chmod 660 {0}",
        "behind a link": "mv {0} /tmp/theirs; ln -s /tmp/theirs {0}",
        "a pipe": "rm {0}; mkfifo {0}",
    }
    names = {}
    for number, (what, how) in enumerate(forged.items()):
        names[what] = f"{FOLDER}/{DEAD + number}-12345"
        put(guest, names[what], text(boot), how.format(names[what]))
    # Of a session that lives: of process 1, by its start time.
    start = guest.run("cat /proc/1/stat").decode().rpartition(")")[2].split()[19]
    names["of one that lives"] = f"{FOLDER}/1-{start}"
    put(guest, names["of one that lives"], text(boot))
    # What is no name of a journal, and ways back that lead elsewhere.
    names["of no process"] = f"{FOLDER}/x-12345"
    put(guest, names["of no process"], text(boot))
    put(guest, "/tmp/victim", "kept\n")
    for number, path in enumerate(("/tmp/victim", f"{TRACING}/../../../tmp/victim", f"{TRACING}x/y")):
        put(guest, f"{FOLDER}/{DEAD + 20 + number}-12345", text(boot, path, b"harm\n", b"kept"))
    other_boot = f"{FOLDER}/{DEAD + 30}-12345"
    put(guest, other_boot, text("00000000-0000-0000-0000-000000000000"))
    assert cleaned(guest, env) == NOTHING
    assert guest.run("cat /tmp/victim") == b"kept\n"
    there = set(guest.run(f"ls {FOLDER}/*").decode().split())
    assert set(names.values()) <= there, "whose they are is not ours to remove"
    assert other_boot not in there, "one of an earlier boot has nothing to say"


@DIALECTS
@pytest.mark.parametrize(
    "how",
    [
        f"chmod 777 {FOLDER}",
        f"chmod 770 {FOLDER}",
        f"chown 1000 {FOLDER}",
        f"mv {FOLDER} /tmp/theirs && ln -s /tmp/theirs {FOLDER}",
    ],
    ids=["all write", "a group writes", "another's", "a link"],
)
def test_a_folder_of_another_holds_no_journal_of_ours(guest: Guest, env: dict[str, str], how: str) -> None:
    """He can move a file of root's there, whoever wrote it."""
    put(guest, f"{FOLDER}/{DEAD}-12345", text(boot_of(guest)), how)
    assert cleaned(guest, env) == NOTHING


@DIALECTS
def test_a_real_one_is_followed(guest: Guest, env: dict[str, str]) -> None:
    """Else the others would show nothing."""
    put(guest, f"{FOLDER}/{DEAD}-12345", text(boot_of(guest)))
    assert cleaned(guest, env).endswith("\n9")
    assert guest.run(f"ls {FOLDER}") == b""
