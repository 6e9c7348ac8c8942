"""Recording without a screen, on a real kernel: what is sent over the net, and what a service has to be allowed."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from kernel.lab.guest import Guest
from tests.pure.tui.test_otlp import Collector, collector
from tests.real.code_inside import CORE, put_code
from tests.real.command import SPEC, TOP, address, finish, run, ssh_to, start
from tests.real.processes import until
from tests.real.test_ssh_guest import is_clean, left

__all__ = ["collector"]  # a fixture


@pytest.fixture(scope="module")
def env(guest_72: Guest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return ssh_to(guest_72, tmp_path_factory.mktemp("bin"))


@pytest.fixture
def busy(guest_72: Guest) -> Iterator[Guest]:
    guest_72.workload(True)
    yield guest_72
    guest_72.workload(False)


def test_events_of_a_kernel_reach_a_collector(busy: Guest, env: dict[str, str], collector: Collector) -> None:
    words = ("run", SPEC, "--target", address(busy), "--count", "40", "--json")
    done = run(*words, "--export", f"otlp:{collector.url}", env=env)
    assert done.status == 0, done
    (told,) = done.objects
    assert (told["events"], told["dropped"]) == (40, 0)
    resource = collector.requests.queue[0].resource_logs[0].resource
    about = {one.key: one.value.string_value for one in resource.attributes}
    assert about["host.name"] == busy.run("hostname").decode().strip()
    assert about["os.version"] == busy.kernel.release
    records = collector.records()
    assert len(records) == 40
    for record in records:
        assert record["probewright.event"] == "vfs_read__exit" and record["thread.id"] > 0
        assert record["count"] >= 0 and record["f_pos"] >= 0 and type(record["ret"]) is int
        assert record["ret"] <= record["count"]
    assert is_clean(busy), left(busy)


def test_a_stopped_recording_into_files_is_whole(busy: Guest, env: dict[str, str], tmp_path: Path) -> None:
    process = start("run", SPEC, "--target", address(busy), "--export", f"parquet:{tmp_path}/", "--json", env=env)
    try:
        assert until(lambda: process.poll() is not None or list(tmp_path.glob("*.part")))
        # Several passes of the reader over there: what the first ones brought has come.
        stats = "/sys/kernel/tracing/instances/probewright-*/per_cpu/cpu*/stats"
        read = f"cat {stats} | sed -n 's/^read events: //p' | awk '{{ sum += $1 }} END {{ print sum }}'"
        assert until(lambda: process.poll() is not None or int(busy.run(read)) > 500)
    finally:
        process.send_signal(signal.SIGTERM)
        done = finish(process)
    assert done.status == 0, done
    (path,) = tmp_path.iterdir()
    (told,) = done.objects
    table = pyarrow.parquet.read_table(path)
    assert path.suffix == ".parquet" and table.num_rows == told["events"] > 0
    assert busy.run("hostname").decode().strip() in path.name
    assert all(row["ret"] <= row["count"] for row in table.to_pylist())
    assert is_clean(busy), left(busy)


@pytest.fixture(scope="module")
def core(guest_72: Guest) -> Guest:
    put_code(guest_72, CORE, {"headless_inside.py": TOP / "tests/real/headless_inside.py"})
    return guest_72


def inside(guest: Guest, *capabilities: int) -> dict[str, Any]:
    words = " ".join(map(str, capabilities))
    found: dict[str, Any] = json.loads(guest.run(f"cd /pw && python3 headless_inside.py {words}"))
    return found


def test_two_capabilities_are_enough(core: Guest) -> None:
    """As the exported DaemonSet and the unit for systemd have it."""
    answers = inside(core, 1, 34)
    assert int(answers["capabilities"], 16) == 1 << 1 | 1 << 34
    assert answers["read_only"], "/sys is"
    assert answers["usable"], answers["troubles"]
    assert answers["functions"] > 20_000 and answers["addresses"]
    assert answers["bytes"] > 0 and answers["failures"] == []
    assert is_clean(core), left(core)


def test_without_the_second_no_address_is_seen(core: Guest) -> None:
    """The control: the capability is one that matters."""
    answers = inside(core, 1)
    assert answers["usable"] and answers["bytes"] > 0
    assert not answers["addresses"]
