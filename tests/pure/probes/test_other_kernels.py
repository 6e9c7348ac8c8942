"""What a probe becomes on the kernels of the matrix, as they were found by booting them."""

from __future__ import annotations

import json

from kernel.connection.open_target import shipped_recording
from probes.facts.facts import Feature
from probes.lowering.other_kernels import lower_for_others
from probes.syntax.parse import parse_probe
from tests.probes_data import kernel
from tui.__main__ import main
from tui.compose.kernel_matrix import kernels

SHIPPED = str(shipped_recording())


def lines(spec: str) -> dict[str, tuple[str, ...]]:
    btf, facts, _ = kernel("7.2")
    return {name: one.lines for name, one in lower_for_others(parse_probe(spec), btf, kernels(facts), "pw_1").items()}


def test_the_stored_kernels_differ_as_real_ones_do() -> None:
    known = kernels(kernel("7.2").facts)
    assert list(known) == ["6.1", "6.12", "7.2", "arm64:6.12", "full"]
    assert not known["6.1"].has(Feature.BTF_ARGS)
    assert not known["arm64:6.12"].has(Feature.FPROBE_EVENTS)
    assert known["arm64:6.12"].machine == "aarch64"
    assert known["7.2"].functions is kernel("7.2").facts.functions


def test_each_gets_the_lines_it_can_take() -> None:
    found = lines("f vfs_read file->f_pos count")
    assert found["7.2"] == ("f:pw_1/vfs_read__entry vfs_read f_pos=file->f_pos count",) == found["6.12"]
    assert found["arm64:6.12"][0].startswith("p:pw_1/vfs_read__entry vfs_read f_pos=file->f_pos")
    assert "$arg1" in found["6.1"][0] and "file" not in found["6.1"][0]


def test_why_not_is_said_for_each() -> None:
    btf, facts, _ = kernel("7.2")
    found = lower_for_others(parse_probe("f vfs_read file->f_poss"), btf, kernels(facts))
    assert all(one.error is not None and one.error.token == "f_poss" for one in found.values())


def test_check_tells_them_too(capsys) -> None:
    status = main(["check", "--target", SHIPPED, "--matrix", "--json", "f vfs_read count"])
    found = json.loads(capsys.readouterr().out)
    assert status == 0
    assert found["matrix"]["7.2"] == {"lowered": found["lowered"], "losses": [], "error": None}
    assert found["matrix"]["6.1"]["lowered"][0].startswith("p:")
    main(["check", "--target", SHIPPED, "--matrix", "f vfs_read count"])
    assert "    6.1:" in capsys.readouterr().out
