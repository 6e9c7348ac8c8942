"""List the shell commands that boot a machine with probes, and those that take them away again."""

from __future__ import annotations

import shlex
from typing import NamedTuple

from probes.export.boot_request import BootRequest, BootWay


class BootCommands(NamedTuple):
    """Commands for a machine, each a line for a shell of root."""

    install: tuple[str, ...]
    undo: tuple[str, ...]


_TWICE = "# or for each boot, until it is undone:"
_ONCE = "# for one boot:"


def boot_commands(request: BootRequest, release: str, original: str = "", copy: str = "") -> BootCommands:
    """Return the commands for a request.

    Args:
        request: probes.
        release: `uname -r` of the kernel to boot.
        original: path of its initrd; empty: the usual one of Debian.
        copy: path of the copy with the bootconfig; empty: none was written.
    """
    kernel = f"/boot/vmlinuz-{release}"
    initrd = original or f"/boot/initrd.img-{release}"
    words = request.command_line
    read_back = "probewright boot --read --remove -o boot.pwr"
    if request.way is BootWay.CMDLINE:
        return BootCommands(
            (_ONCE, *_kexec(kernel, initrd, words), "# then, on that machine:", read_back),
            ("reboot", "# as far as the words stand in the boot loader's configuration: take them out there"),
        )
    copied = copy or "INITRD-COPY"
    made = () if copy else (f"probewright boot SPEC… --initrd {shlex.quote(initrd)} -o {copied}",)
    saved = f"{initrd}.before-probewright"
    keep = (
        f"cp -p {shlex.quote(initrd)} {shlex.quote(saved)}",
        f"cp {shlex.quote(copied)} {shlex.quote(initrd)}",
        "# and add the word `bootconfig` to the kernel's command line (GRUB_CMDLINE_LINUX, then update-grub)",
    )
    return BootCommands(
        (*made, _ONCE, *_kexec(kernel, copied, words), _TWICE, *keep, "# then, on that machine:", read_back),
        (f"mv {shlex.quote(saved)} {shlex.quote(initrd)}", "# take `bootconfig` off the command line, update-grub"),
    )


def _kexec(kernel: str, initrd: str, words: str) -> tuple[str, ...]:
    append = f'--append="$(cat /proc/cmdline) "{shlex.quote(words)}'
    return (f"kexec -l {shlex.quote(kernel)} --initrd={shlex.quote(initrd)} {append}", "systemctl kexec")
