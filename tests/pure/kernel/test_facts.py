"""What is found of a kernel by looking: READMEs and lists of real kernels behind a fake target."""

import gzip
import json
import lzma
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from kernel.facts.diagnosis import Observations, diagnose, parse_config
from kernel.facts.gather import TRACEFS_MAGIC, gather, parse_blacklist, readme_features
from kernel.local.target import LocalTarget
from probes.facts.facts import Feature, TargetFacts
from tests.fake_target import ROOT, FakeTarget

LOOKS: dict[str, Any] = json.loads(
    lzma.decompress((Path(__file__).parents[2] / "data/tracefs-looks.json.xz").read_bytes())
)
NOWHERE = TargetFacts("", "")


def machine(uid: int = 0, caps: str = "000001ffffffffff", **more: bytes) -> dict[str, bytes]:
    elf = b"\x7fELF\2\1\1" + bytes(11) + struct.pack("<H", 183)
    files = {
        "/proc/self/exe": elf,
        "/proc/self/auxv": struct.pack("<QQQQ", 6, 16384, 0, 0),
        "/proc/self/status": f"Name:\tx\nUid:\t{uid}\t{uid}\t{uid}\t{uid}\nCapEff:\t{caps}\n".encode(),
        "/proc/self/uid_map": b"         0          0 4294967295\n",
        "/proc/sys/kernel/osrelease": b"6.12.0\n",
        "/proc/sys/kernel/version": b"#1 SMP\n",
        "/proc/filesystems": b"nodev\tsysfs\nnodev\ttracefs\n\text4\n",
        "/sys/devices/system/cpu/online": b"0-3,8\n",
        "/sys/kernel/security/lockdown": b"[none] integrity confidentiality\n",
        "/sys/kernel/btf/vmlinux": b"",
        "/proc/self/mounts": b"tracefs /sys/kernel/tracing tracefs rw,nosuid 0 0\n",
    }
    return files | {path.replace("__", "/"): data for path, data in more.items()}


def tracefs(version: str) -> dict[str, bytes]:
    look = LOOKS[version]
    files = {f"{ROOT}/{name}": b"" for name in look["files"]}
    files |= {f"{ROOT}/options/{name}": b"0" for name in look["options"]}
    return files | {
        f"{ROOT}/README": look["README"].encode(),
        f"{ROOT}/available_tracers": look["tracers"].encode(),
        f"{ROOT}/events/header_page": look["header_page"].encode(),
        f"{ROOT}/available_filter_functions": b"vfs_read\next4_readdir [ext4]\n",
        "/sys/kernel/debug/kprobes/blacklist": b"0xffffffff81000000-0xffffffff81000010\tdo_int3\n",
    }


def look(files: dict[str, bytes]) -> TargetFacts:
    return gather(FakeTarget(files, facts=NOWHERE))


BASE = {
    Feature.DYNAMIC_EVENTS,
    Feature.KPROBE_EVENTS,
    Feature.UPROBE_EVENTS,
    Feature.SYNTHETIC_EVENTS,
    Feature.EPROBE_EVENTS,
    Feature.EPROBE_FILTER,
    Feature.SYMSTR_TYPE,
    Feature.USTRING_TYPE,
    Feature.HIST_TRIGGERS,
}
BTF = BASE | {
    Feature.FPROBE_EVENTS,
    Feature.TPROBE_EVENTS,
    Feature.BTF_ARGS,
    Feature.ENTRY_ARGS_AT_EXIT,
    Feature.CHAR_TYPE,
    Feature.DENTRY_TYPE,
    Feature.SUBBUF_SIZE,
}
GRAPH = BTF | {Feature.FUNCTION_GRAPH_ARGS}
NEWEST = GRAPH | {Feature.TYPECAST, Feature.CURRENT, Feature.THIS_CPU}


@pytest.mark.parametrize(
    ("version", "features"), [("6.1", BASE), ("6.12", BTF), ("7.0", GRAPH), ("7.2", GRAPH), ("7.3", NEWEST)]
)
def test_features_of_real_kernels(version, features):
    facts = look(machine() | tracefs(version))
    assert facts.features == features
    assert facts.usable
    assert facts.tracers == tuple(LOOKS[version]["tracers"].split())
    assert facts.functions == ("vfs_read", "ext4_readdir [ext4]")
    assert facts.blacklist == {"do_int3"}
    assert facts.tracefs == ROOT


def test_the_machine():
    facts = look(machine())
    assert (facts.machine, facts.page_size, facts.cpus, facts.byteorder, facts.long_size) == (
        "aarch64",
        16384,
        5,
        "little",
        8,
    )
    assert facts.lockdown == "none"


def test_a_kernel_without_function_probes_is_explained_by_its_config():
    config = gzip.compress(LOOKS["6.18-bare"]["config"].encode())
    facts = look(machine() | tracefs("6.18-bare") | {"/proc/config.gz": config})
    assert not facts.usable
    (fatal,) = [trouble for trouble in facts.troubles if trouble.fatal]
    assert "CONFIG_KPROBES and CONFIG_FPROBE are not set" in fatal.what
    assert "lab" in fatal.remedy
    # Its README speaks of event probes, its configuration says that there are none.
    assert Feature.EPROBE_EVENTS in readme_features(LOOKS["6.18-bare"]["README"])
    assert Feature.EPROBE_EVENTS not in facts.features


def test_nothing_mounted():
    files = machine() | {"/proc/self/mounts": b"proc /proc proc rw 0 0\n"}
    files["/proc/config.gz"] = gzip.compress(b"CONFIG_KPROBE_EVENTS=y\n")
    (trouble,) = look(files).troubles
    assert (trouble.what, trouble.remedy) == ("tracefs is not mounted", "mount -t tracefs nodev /sys/kernel/tracing")
    files["/proc/config.gz"] = gzip.compress(b"# CONFIG_KPROBES is not set\n")
    assert len([t for t in look(files).troubles if t.fatal]) == 2


def test_tracefs_below_debugfs_is_found():
    moved = {name.replace(ROOT, "/sys/kernel/debug/tracing"): data for name, data in tracefs("6.12").items()}
    files = machine() | moved | {"/proc/self/mounts": b"debugfs /sys/kernel/debug debugfs rw 0 0\n"}
    assert look(files).tracefs == "/sys/kernel/debug/tracing"
    mounted = b"tracefs /mnt/with\\040space tracefs rw 0 0\n"
    moved = {name.replace(ROOT, "/mnt/with space"): data for name, data in tracefs("6.12").items()}
    assert look(machine() | moved | {"/proc/self/mounts": mounted}).usable


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"/proc/self/mounts": b"tracefs /sys/kernel/tracing tracefs ro 0 0\n"},
            ("read-only", "mount -o remount,rw"),
        ),
        ({"/proc/filesystems": b"", "/proc/self/mounts": b""}, ("no tracefs", "lab")),
        ({"/sys/kernel/security/lockdown": b"none integrity [confidentiality]\n"}, ("locked down", "Secure Boot")),
        ({"/proc/self/status": b"Uid:\t1000\t1000\nCapEff:\t0000000000000000\n"}, ("only root", "sudo")),
        ({"/proc/self/uid_map": b"0 100000 65536\n", f"{ROOT}/README": b""}, ("only root", "root")),
    ],
)
def test_what_stands_in_the_way_is_named_with_its_remedy(change, words):
    facts = look(machine() | tracefs("7.2") | change)
    fatal = [trouble for trouble in facts.troubles if trouble.fatal]
    assert any(words[0] in trouble.what and words[1] in trouble.remedy for trouble in fatal), facts.troubles
    assert facts.troubles[0].fatal


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"/proc/sys/kernel/ftrace_enabled": b"0\n"}, "ftrace is switched off"),
        ({"/sys/kernel/debug/kprobes/enabled": b"0\n"}, "kprobes are switched off"),
        ({"/proc/sys/kernel/kptr_restrict": b"2\n"}, "addresses of symbols"),
        ({"/sys/kernel/debug/kprobes/blacklist": b""}, "blacklist"),
        ({f"{ROOT}/available_filter_functions": b""}, "traceable functions"),
    ],
)
def test_what_is_only_a_pity_is_not_fatal(change, word):
    facts = look(machine() | tracefs("7.2") | change)
    assert facts.usable
    assert any(word in trouble.what for trouble in facts.troubles)
    assert not any(word in trouble.what for trouble in look(machine() | tracefs("7.2")).troubles)


def test_no_btf_is_no_end():
    files = machine() | tracefs("7.2")
    del files["/sys/kernel/btf/vmlinux"]
    facts = look(files)
    assert facts.usable
    assert any("no BTF" in trouble.what for trouble in facts.troubles)


def test_config():
    assert parse_config("CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=m\n# nothing\n") == {
        "A": "y",
        "B": "n",
        "C": "m",
    }


def test_blacklist():
    assert parse_blacklist("0x1-0x2\tfoo\n\n0x3-0x4\tbar.cold\n") == {"foo", "bar.cold"}


def test_an_empty_look_is_explained_not_a_traceback():
    facts = gather(FakeTarget({}, facts=NOWHERE))
    assert not facts.usable
    assert facts.machine == "unknown"
    assert diagnose(TargetFacts("x", "y"), Observations())


def test_the_machine_we_run_on():
    facts = LocalTarget().facts()
    uname = os.uname()
    assert (facts.machine, facts.release, facts.version) == (uname.machine, uname.release, uname.version)
    assert facts.page_size == os.sysconf("SC_PAGE_SIZE")
    assert facts.uid == os.geteuid()
    assert facts.usable or any(trouble.fatal and trouble.remedy for trouble in facts.troubles)


DEBUG = "/sys/kernel/debug/tracing"
SYSFS_MAGIC = 0x62656572


@pytest.mark.parametrize(
    ("mounts", "kinds", "root", "trouble"),
    [
        # Nobody can be asked, as on a machine far away: the list of mounts counts.
        ([ROOT], {}, ROOT, ""),
        ([ROOT], {ROOT: TRACEFS_MAGIC}, ROOT, ""),
        # The folder is there, nothing is mounted on it.
        ([], {ROOT: SYSFS_MAGIC}, "", "tracefs is not mounted"),
        # Something was mounted over it: the list doesn't say that.
        ([ROOT], {ROOT: SYSFS_MAGIC}, "", f"something else is mounted over tracefs at {ROOT}"),
        ([ROOT, DEBUG], {ROOT: SYSFS_MAGIC, DEBUG: TRACEFS_MAGIC}, DEBUG, ""),
        ([ROOT, "/t"], {ROOT: SYSFS_MAGIC, "/t": TRACEFS_MAGIC}, "/t", ""),
        # No list, as where /proc is hidden.
        ([], {ROOT: TRACEFS_MAGIC}, ROOT, ""),
    ],
)
def test_tracefs_is_where_statfs_says(mounts, kinds, root, trouble):
    files = machine() | tracefs("7.2")
    files |= {f"{point}/README": files[f"{ROOT}/README"] for point in mounts}
    files["/proc/self/mounts"] = "".join(f"tracefs {point} tracefs rw 0 0\n" for point in mounts).encode()
    facts = gather(FakeTarget(files, facts=NOWHERE), kinds.get)
    assert facts.tracefs == root
    said = [one for one in facts.troubles if "tracefs" in one.what]
    assert [one.what for one in said] == ([trouble] if trouble else [])
    if trouble:
        assert said[0].fatal
        assert said[0].remedy.startswith(("mount -t tracefs nodev ", f"umount {ROOT}"))
