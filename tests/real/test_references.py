"""`probewright refs` finds each reference that a workload leaves behind, at the place that took it, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel.lab.guest import Guest
from tests.real import references_inside
from tests.real.command import Done, address, run, ssh_to
from tests.real.references_inside import FOLDER, PLANTED

SOURCE = Path(references_inside.__file__).read_text()
WORK = ("--", "python3", "-c", SOURCE)
CLEAN = f"kill $(cat {FOLDER}/keeper); rm -r {FOLDER}"


def on(*kernels: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("guest", kernels, indirect=True, scope="module")


def track(guest: Guest, tmp_path: Path, *words: str) -> Done:
    try:
        return run("refs", *words, "-t", address(guest), *WORK, env=ssh_to(guest, tmp_path))
    finally:
        guest.run(CLEAN)


@on("7.2", "6.12")
def test_each_planted_leak_is_found_and_no_other(guest: Guest, tmp_path: Path) -> None:
    file = tmp_path / "references.pwr"
    done = track(guest, tmp_path, "file", "--json", "-o", str(file))
    assert done.status == 1, done
    *objects, summary = done.objects
    faulty = [one for one in objects if one["state"] not in ("open", "balanced")]
    assert sorted(one["name"] for one in faulty) == PLANTED, done
    for one in faulty:
        assert (one["state"], one["of"], one["leaked"], one["count"]) == ("leaked", "file", 1, 1)
        (held,) = one["unmatched"]
        assert (held["function"], held["ended"], one["ambiguous"]) == ("fget_raw", True, False)
        assert any(frame.startswith("__scm_send+") for frame in held["stack"]), held
    assert summary["faults"] == summary["leaked"] == len(PLANTED)
    assert summary["objects"] > 10 * len(PLANTED)
    again = run("refs", "-t", str(file), "--json")
    assert (again.status, again.objects) == (1, done.objects)
    kept = run("refs", "-t", str(file), "--json", "--keeper", "__scm_send")
    assert (kept.status, kept.objects[-1]["faults"]) == (0, 0)
    shown = run("refs", "-t", str(file))
    assert [line.split()[0] for line in shown.out.splitlines() if " planted-" in line] == ["leaked"] * len(PLANTED)
    assert "fget_raw < __scm_send < " in shown.out


@on("6.1")
def test_a_reference_that_is_handed_on_by_an_inlined_get_is_open(guest: Guest, tmp_path: Path) -> None:
    """This kernel copies the files of a message (scm_fp_dup), and puts the first ones: only the count tells."""
    done = track(guest, tmp_path, "file", "--json")
    assert done.status == 0, done
    *objects, summary = done.objects
    planted = [one for one in objects if one["name"] in PLANTED]
    assert sorted(one["name"] for one in planted) == PLANTED, done
    for one in planted:
        assert (one["state"], one["count"], one["balance"], one["unseen_gets"]) == ("open", 1, 0, 1)
    assert summary["faults"] == 0, done


@on("7.2")
def test_what_is_all_put_is_no_leak(guest: Guest, tmp_path: Path) -> None:
    """Of one get and one put alone nothing is proven of what other functions hold, and that is no leak."""
    work = f"mkdir {FOLDER}; for i in 1 2 3; do cat /etc/passwd >{FOLDER}/x; done; rm -r {FOLDER}"
    env = ssh_to(guest, tmp_path)
    done = run("refs", "file", "--json", "-t", address(guest), "--", "sh", "-c", work, env=env)
    assert done.status == 0, done
    assert (done.objects[-1]["faults"], done.objects[-1]["unproven"]) == (0, 0)
    assert done.objects[-1]["events"] > 20


@on("7.2")
def test_kinds_that_cannot_be_seen_say_why(guest: Guest, tmp_path: Path) -> None:
    env = ssh_to(guest, tmp_path)
    for words, why in (
        (("netdev",), "dev_put and netdev_put are inlined"),
        (("pid",), "no function that gets a struct pid can be traced"),
        (("kobject",), "no such kind"),
        (("kobject_get,kobject_put",), "kobject_get: can't be traced"),
        (("fget,fput,a,b",), "two or three parts"),
    ):
        done = run("refs", *words, "--for", "1", "-t", address(guest), env=env)
        assert done.status == 3, done
        assert why in done.err, done
