"""`btf/` against bpftool, on the BTF of kernels that run; tests/pure has 7.2's with a module's."""

from __future__ import annotations

import shutil

import pytest

from btf.btf import Btf
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from tests import oracle_btf
from tests.real.conftest import REQUIRED

pytestmark = [
    pytest.mark.matrix,
    pytest.mark.skipif(
        shutil.which("bpftool") is None and not REQUIRED, reason="bpftool is not installed: apt install bpftool"
    ),
]


@pytest.mark.parametrize("guest", ["7.2", "6.12"], indirect=True)
def test_no_difference(guest: Guest) -> None:
    """As the application fetches it; and every module that the guest has loaded, on top of it."""
    target = connect(guest, guest.kernel.release)
    try:
        base = target.btf()
        assert base == guest.run("cat /sys/kernel/btf/vmlinux")
        assert len(Btf.load(base).functions) > 40_000
        assert oracle_btf.compare(base) == []
        for module in target.list("/sys/kernel/btf"):
            if module != "vmlinux":
                assert oracle_btf.compare(target.btf(module), base) == [], module
    finally:
        target.close()
