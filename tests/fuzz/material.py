"""Whole inputs, which are then damaged: small, as most of the time goes into reading them."""

from __future__ import annotations

import functools
import io
import json
import lzma
import tarfile
from pathlib import Path
from typing import Any

from events.recording.chunks import ChunkKind, Codec, pack_batch, write_head
from events.recording.reader import Recording
from tests.btf_writer import every_kind
from tests.events_data import DATA, formats_of
from tests.fake_target import HEADER_PAGE, ROOT
from tests.hostile import DEFAULT, blob, chunk

SHIPPED = DEFAULT.parent.parent / "probes/presets/shipped"
FUNCTIONS = b"record_read\nrecord_find\nrecord_exit [mod]\nvfs_read\nvfs_write\ntwin\ntwin\ndo_sys_openat2\n"

_OF_SMALL_BTF = {
    "f vfs_read%return file->f_pos count $retval": "f record_read%return record->inner.value n $retval",
    '"label": "file->f_pos"': '"label": "record->inner.value"',
    '"label": "count"': '"label": "n"',
}


class Parts:
    """The chunks of a recording, as values that can be damaged one by one."""

    def __init__(self) -> None:
        whole = Recording.open(DEFAULT)
        text = json.dumps(dict(whole.meta))
        for old, new in _OF_SMALL_BTF.items():
            text = text.replace(old, new)
        self.meta: Any = json.loads(text)
        self.blobs = {("btf", ""): every_kind(), ("facts", "functions"): FUNCTIONS}
        for kind in ("format", "header_page", "cmdlines"):
            self.blobs |= {(kind, name): whole.blob(kind, name) or b"" for name in whole.names(kind)}
        self.blobs["facts", "blacklist"] = (whole.blob("facts", "blacklist") or b"")[:2000]
        self.blobs["facts", "readme"] = whole.blob("facts", "readme") or b""
        self.blobs["symbols", ""] = (whole.blob("symbols") or b"")[:8000]
        self.blobs["cgroups", ""] = json.dumps({"v": 1}).encode()
        batches = list(whole.batches())[:6]
        self.pages = b"".join(map(pack_batch, batches))


@functools.cache
def parts() -> Parts:
    return Parts()


def recording(
    meta: Any = None, blobs: dict[tuple[str, str], bytes] | None = None, pages: bytes | None = None
) -> bytes:
    """A recording of its parts, or of others in place of them."""
    of = parts()
    out = io.BytesIO()
    write_head(out)
    text = meta if isinstance(meta, bytes) else json.dumps(of.meta if meta is None else meta).encode()
    chunks = [chunk(ChunkKind.META, text, Codec.NONE)]
    for (kind, name), data in {**of.blobs, **(blobs or {})}.items():
        chunks.append(chunk(ChunkKind.BLOB, blob(kind, name, data), Codec.NONE))
    chunks.append(chunk(ChunkKind.PAGES, of.pages if pages is None else pages, Codec.NONE))
    return out.getvalue() + b"".join(chunks) + chunk(ChunkKind.END, b"", Codec.NONE)


def presets() -> list[str]:
    return [path.read_text() for path in sorted(SHIPPED.glob("*.toml"))]


INVENTORY = """[web]
web[01:12].lan ansible_user=root ansible_port=2222
10.0.0.1:22 ansible_host='fe80::1%eth0' # a comment

[db:children]
web
[db:vars]
ansible_connection = "ssh"
ansible_ssh_user=admin
"""
INVENTORY_JSON: dict[str, Any] = {
    "_meta": {"hostvars": {"a": {"ansible_host": "10.0.0.1", "ansible_port": 22}, "b": {}}},
    "all": {"children": ["web", "ungrouped"]},
    "web": {"hosts": ["a", "b"], "vars": {"ansible_user": "root"}},
}
CONFIGURATION = """[hosts.web]
targets = ["ssh://root@web1", "ssh://web2:2222"]
[hosts.lab]
ssh = "web*"
[hosts.db]
ansible = "{inventory}"
group = "db"
"""
SSH_CONFIG = "Host web1 web2 !bad\n  HostName 10.0.0.1\nHost *\n  User root\nInclude other\nhost=db\n"


def folder_of(where: Path, files: dict[str, bytes]) -> Path:
    where.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_bytes(data)
    return where


def formats() -> list[str]:
    files = [data.decode() for (kind, _), data in parts().blobs.items() if kind in ("format", "header_page")]
    return [*files, *(fmt.source for fmt in list(formats_of("7.2").values())[:12])]


def plain_tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in {
            "available_filter_functions": FUNCTIONS,
            "vmlinux.btf": every_kind(),
            "README": parts().blobs["facts", "readme"],
            "a" * 120: b"x",
            "ä" * 120: b"y",
        }.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


def small_files() -> list[str]:
    """Histograms, counts, lists and journals as kernels and we print them."""
    hists = json.loads(lzma.decompress((DATA / "hist.json.xz").read_bytes()))
    texts = [text for text in _texts(hists) if 50 < len(text) < 5000][:8]
    return [
        *texts,
        "entries: 5\noverrun: 0\ncommit overrun: 0\nbytes: 12\noldest event ts:  12.3\nnow ts:   13.4\n"
        "dropped events: 0\nread events: 5\n",
        "  vfs_read__exit                     12               0\n  myprobe       3    4\n",
        "p:kprobes/myprobe vfs_read file=%di\nr4:kprobes/ret vfs_write $retval\nf:pw/x do_y a=$arg1\n",
        "[  123.456] trace_kprobe: error: Bad argument type\n  Command: p vfs_read x:u99\n                       ^\n",
        parts().blobs["symbols", ""][:1500].decode(),
        "12 4 /system.slice/cron.service\n13 0 /user.slice\n",
    ]


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inside for text in _texts(one)]


def machine() -> dict[str, str]:
    """Files of /proc, /sys and tracefs that are looked at."""
    return {
        "/proc/self/exe": "\x7fELF\2\1\1" + "\0" * 11 + ">\0",
        "/proc/self/auxv": "\6\0\0\0\0\0\0\0\0\x10\0\0\0\0\0\0",
        "/proc/self/status": "Name:\tx\nUid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n",
        "/proc/self/uid_map": "         0          0 4294967295\n",
        "/proc/sys/kernel/osrelease": "6.12.0\n",
        "/proc/sys/kernel/arch": "x86_64\n",
        "/proc/filesystems": "nodev\tsysfs\nnodev\ttracefs\n\text4\n",
        "/sys/devices/system/cpu/online": "0-3,8\n",
        "/sys/kernel/address_bits": "64\n",
        "/sys/kernel/cpu_byteorder": "little\n",
        "/sys/kernel/security/lockdown": "[none] integrity confidentiality\n",
        "/proc/self/mounts": "tracefs /sys/kernel/tracing tracefs rw,nosuid 0 0\n",
        f"{ROOT}/README": parts().blobs["facts", "readme"].decode(),
        f"{ROOT}/events/header_page": HEADER_PAGE,
        f"{ROOT}/available_tracers": "function_graph function nop\n",
        f"{ROOT}/available_filter_functions": FUNCTIONS.decode(),
        f"{ROOT}/dynamic_events": "",
        "/sys/kernel/debug/kprobes/blacklist": "0x1-0x2\tfoo\n0x3-0x4\tbar.cold\n",
        "/proc/config.gz": "",
        "/boot/config-6.12.0": "CONFIG_KPROBES=y\n# CONFIG_FPROBE is not set\n",
    }
