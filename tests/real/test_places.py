"""On a real kernel: each event is listed; events and tracepoints are found, ticked and armed by keys."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest

from kernel.lab.guest import Guest
from tests.real.command import address, run, screen_on, ssh_to
from tests.real.test_ssh_guest import is_clean, left
from tests.real.test_terminal import READY
from tests.real.tmux import Tmux


def test_the_list_has_every_event_of_the_kernel(guest_72: Guest, tmp_path: Path) -> None:
    env = ssh_to(guest_72, tmp_path)
    kinds = [word for kind in ("event", "syscall") for word in ("--kind", kind)]
    listed = run("list", *kinds, "--json", "-t", address(guest_72), env=env)
    there = guest_72.run("cat /sys/kernel/tracing/available_events").decode().split()
    assert {row["name"] for row in listed.objects} == {event.replace(":", "/", 1) for event in there}
    assert {row["name"] for row in listed.objects if row["place"] == "syscall"} >= {"syscalls/sys_enter_openat"}
    shown = run("show", "sched:sched_switch", "--json", "-t", address(guest_72), env=env)
    form = guest_72.run("cat /sys/kernel/tracing/events/sched/sched_switch/format").decode()
    fields = re.findall(r"field:[^;]*?(\w+)(?:\[\d+\])?;", form)
    own = [name for name in fields if not name.startswith("common_")]
    assert [node["label"] for node in shown.objects[0]["fetchargs"]] == [*own, "$comm"]


def test_an_event_that_somebody_makes_later_is_found(guest_72: Guest, tmp_path: Path) -> None:
    """A probe of others, made while the application is open, and its own fields."""
    with Tmux(screen_on(guest_72, tmp_path), 100, 30) as terminal:
        terminal.wait(READY.search)
        guest_72.run("echo 'p:theirs/late_open do_sys_openat2 dfd=$arg1:s32' >>/sys/kernel/tracing/kprobe_events")
        try:
            terminal.press("F2")
            terminal.press(*"late_open")
            terminal.wait(lambda screen: "▌theirs/late_open" in screen)
            terminal.press("Enter")
            terminal.wait(lambda screen: "[ ] dfd" in screen and "on theirs/late_open" in screen)
            terminal.press("Enter")
            terminal.wait(lambda screen: "armed 1 " in screen and "[events]" in screen)
            guest_72.run("cat /dev/null")
            terminal.wait(lambda screen: re.search(r"late_open +-100", screen))
            terminal.press("C-q")
            terminal.wait(lambda screen: "[ended " in screen or "?" in screen)
            if "[ended " not in terminal.screen():
                terminal.press("Enter")
            assert terminal.status() == 0
        finally:
            guest_72.run("echo '-:theirs/late_open' >>/sys/kernel/tracing/kprobe_events")
    assert is_clean(guest_72), left(guest_72)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_events_and_tracepoints_are_picked_ticked_and_armed(
    guest_72: Guest, tmp_path: Path, size: tuple[int, int]
) -> None:
    guest_72.workload(True)
    try:
        with Tmux(screen_on(guest_72, tmp_path), *size) as terminal:
            terminal.wait(READY.search)
            terminal.press(*"openat")
            terminal.wait(lambda screen: re.search(r"▌(syscalls/)?sys_enter_openat ", screen))
            terminal.press("Enter")
            terminal.wait(lambda screen: "[ ] filename" in screen and "on syscalls/sys_enter_openat" in screen)
            terminal.press("3", "4")
            terminal.wait(lambda screen: "$filename $flags" in screen and "✓ this kernel" in screen)
            terminal.press("Enter")
            terminal.wait(lambda screen: "armed 1 " in screen and re.search(r"sys_enter_openat +\S", screen))
            terminal.press("F2")
            terminal.wait(lambda screen: re.search(r"sys_enter_openat +● ", screen))
            terminal.press(*"sched_switch")
            terminal.wait(lambda screen: "▌sched/sched_switch" in screen)
            terminal.press("Down", "Enter")
            terminal.wait(lambda screen: "▸ [ ] prev" in screen)
            terminal.press("4")
            terminal.wait(lambda screen: "t sched_switch prev_state" in screen and "✓ this kernel" in screen)
            terminal.press("Enter")
            terminal.wait(lambda screen: "armed 2 " in screen and re.search(r"sched_switch +\d", screen))
            terminal.press("F2")
            terminal.wait(lambda screen: re.search(r"t sched_switch +● ", screen))
            terminal.press("C-q")
            terminal.wait(lambda screen: "[ended " in screen or "?" in screen)
            if "[ended " not in terminal.screen():
                terminal.press("Enter")
            assert terminal.status() == 0
    finally:
        guest_72.workload(False)
    assert is_clean(guest_72), left(guest_72)


def _clear(terminal: Tmux) -> None:
    """Clear the search line; a letter just behind Escape would be one with Alt."""
    terminal.press("Escape")
    terminal.wait(lambda screen: "> part of a name" in screen)


def test_marked_events_are_armed_together(guest_72: Guest, tmp_path: Path) -> None:
    guest_72.workload(True)
    try:
        with Tmux(screen_on(guest_72, tmp_path), 120, 40) as terminal:
            terminal.wait(READY.search)
            terminal.press(*"sys_enter_openat")
            terminal.wait(lambda screen: re.search(r"▌(syscalls/)?sys_enter_openat ", screen))
            terminal.press("IC")
            terminal.wait(lambda screen: "1 marked" in screen)
            _clear(terminal)
            terminal.press(*"sched_process_exec")
            terminal.wait(partial(re.search, r"▌ *sched/sched_process_exec "))
            terminal.press("IC")
            terminal.wait(lambda screen: "2 marked" in screen)
            _clear(terminal)
            terminal.press(*"sched_switch")
            terminal.wait(partial(re.search, r"▌ *sched/sched_switch "))
            terminal.press("Down", "IC")
            terminal.wait(lambda screen: "3 marked" in screen)
            terminal.press("Enter")
            terminal.wait(lambda screen: "arm 3 of 3 probes?" in screen and "✓ t sched_switch" in screen)
            terminal.press("Enter")
            terminal.wait(lambda screen: "armed 3 " in screen and "[events]" in screen)
            for name in ("sys_enter_openat", "sched_process_exec", "sched_switch"):
                terminal.wait(partial(re.search, rf"{name} +\S"))
            terminal.press("F2")
            terminal.wait(lambda screen: "marked" not in screen)
            terminal.press("C-q")
            terminal.wait(lambda screen: "[ended " in screen or "?" in screen)
            if "[ended " not in terminal.screen():
                terminal.press("Enter")
            assert terminal.status() == 0
    finally:
        guest_72.workload(False)
    assert is_clean(guest_72), left(guest_72)
