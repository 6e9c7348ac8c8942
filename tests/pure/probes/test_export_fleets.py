"""Exports for many machines: what Ansible and Kubernetes read in them, by their own readers and schemas."""

from __future__ import annotations

import json
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from probes.command import parse_armable
from probes.export.dialect import CannotExport
from probes.export.export import dialect_named, export
from probes.export.fleets import ansible_parts
from probes.export.fleets.kubernetes import preset_of
from probes.export.fleets.yaml_text import block, quoted
from probes.export.posix_sh import write as write_sh
from probes.export.shell import WAIT
from probes.plans.plan import Plan
from probes.presets.read import read_preset
from probes.presets.substitute import substitute
from probes.syntax.text import collapsed
from tests.pure.probes.test_exports import FACTS, HOSTILE, SHELLS, hostile_plan, made, text_of

MORE = (
    *HOSTILE,
    "{{ 7*7 }}",
    "{% for a in b %}",
    "{# a comment",
    "${name}",
    "$(NODE_NAME)",
    "!unsafe x",
    "--- \n...\n",
    "\t tab",
    " leading",
    "- item: [a, {b",
    "\u2028\x85\ufeff",
    "\ud800",
    '"""',
    "'''",
    "\\U0001F600",
    "a" * 300,
)
ANY = st.text(st.characters(exclude_characters="\0"), max_size=40) | st.sampled_from(MORE)
KINDS = {
    "Namespace": "namespace-v1",
    "ServiceAccount": "serviceaccount-v1",
    "ConfigMap": "configmap-v1",
    "DaemonSet": "daemonset-apps-v1",
}


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads `!unsafe` as Ansible does: the text, and nothing is made of it. In C where that is there: ten times."""


Loader.add_constructor("!unsafe", lambda loader, node: Unsafe(loader.construct_scalar(node)))


class Unsafe(str):
    """Text that no template sees."""


# -- YAML -----------------------------------------------------------------------------------------------------------


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from([one for one in MORE if one.isascii()]))
def test_quoted_text_is_that_text(text):
    made_ = quoted(text)
    assert made_.isascii() and (made_ + " ").isprintable()
    assert yaml.safe_load(f"a: {made_}\nb: 1") == {"a": text, "b": 1}


@given(
    st.lists(st.text(st.characters(codec="ascii")))
    | st.lists(st.sampled_from([one for one in MORE if one.isascii()]))
)
def test_a_block_is_its_lines(lines):
    text = "\n".join(lines) + "\n"
    made_ = f"a:\n  b: {block(text, 4)}\n  c: 1\n"
    assert made_.replace("\n", "").isprintable() or made_ == "\n"
    assert yaml.safe_load(made_) == {"a": {"b": text, "c": 1}}


# -- Ansible --------------------------------------------------------------------------------------------------------


def play_of(text: str) -> dict[str, Any]:
    (play,) = yaml.load(text, Loader)
    return play


@given(text=ANY)
@example("\n- name: x\n")
def test_no_playbook_is_broken_out_of(text):
    plan = hostile_plan(text, immediate=True)
    found = made("ansible", plan)
    script = made("sh", plan)
    assert (found is None) == (script is None)
    if found is None or script is None:
        return
    assert found.isascii() and found.replace("\n", "").isprintable()
    play = play_of(found)
    values = play["vars"]
    assert isinstance(values["probewright_script"], Unsafe)
    assert values["probewright_script"].replace(": >ready\n", "") == script
    assert values["probewright_script"].endswith(": >ready\n" + WAIT)
    plain = play_of(made("ansible", hostile_plan("x", immediate=True)) or "")
    for each in (play, plain):
        each["vars"].pop("probewright_script")
    assert play == plain, "nothing else depends on what a probe says"


def test_what_is_done_there_is_text_of_the_remote_host_only():
    play = play_of(text_of("ansible", "f vfs_read%both count $retval"))
    values = play["vars"]
    for name in ("look", "begin", "wait", "fetch", "end", "unpack"):
        assert isinstance(values[f"probewright_{name}"], Unsafe)
        assert values[f"probewright_{name}"] == getattr(ansible_parts, name.upper())
    names = re.findall(r"{{ (probewright_(?:look|begin|wait|fetch|end|script|folder)\b[^}]*)}}", ansible_parts.TASKS)
    assert all(each.endswith("| quote ") for each in names) and len(names) == 9


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="shellcheck is not installed")
def test_shellcheck_has_nothing_to_say(tmp_path):
    files = []
    for name in ("LOOK", "BEGIN", "WAIT", "FETCH", "END"):
        files.append(tmp_path / name)
        files[-1].write_text(getattr(ansible_parts, name))
    # SC2016: it is the inner shell that reads $1.
    done = subprocess.run(["shellcheck", "--shell=sh", "--exclude=SC2016", *files], capture_output=True, text=True)
    assert done.stdout == ""


def ansible(folder: Path, text: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Ansible itself, on this machine as if it were another one."""
    (folder / "book.yml").write_text(text)
    program = Path(sys.executable).with_name("ansible-playbook")
    environment = {
        **os.environ,
        "LC_ALL": "C.UTF-8",
        "ANSIBLE_HOME": str(folder / "home"),
        "ANSIBLE_NOCOLOR": "true",
        "ANSIBLE_LOCALHOST_WARNING": "false",
    }
    return subprocess.run(
        [program, "-i", "there,", "-c", "local", "book.yml", *words],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_ansible_takes_it(tmp_path):
    done = ansible(tmp_path, made("ansible", hostile_plan("{{ 7*7 }}{% x\n'$(touch broken)")) or "", "--syntax-check")
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_a_play_from_begin_to_end(tmp_path):
    """The script is another one, which has no kernel to do with: what stands around it is run for real."""
    hostile = "{{ 7*7 }}{% raw %}'$(touch broken)`touch broken`\"\\"
    script = (
        "#!/bin/sh\n"
        f"# {hostile}\n"
        f"printf '%s\\n' {shlex.quote(hostile)}\n"
        f"pwd >>{tmp_path}/folders\n"
        "printf '\\377\\000\\n%s\\n' \"$1\"; echo 'a loss' >&2\n"
        "trap 'echo ended; exit 0' TERM\n"
        ": >ready\n"
        'sleep "$1"\n'
        "echo over\n"
    )
    text = made("ansible", hostile_plan("x")) or ""
    was = play_of(text)["vars"]["probewright_script"]
    text = text.replace(block(was, 6), block(script, 6))
    assert play_of(text)["vars"]["probewright_script"] == script
    look = "probewright_look='uname -srm'"  # this machine may have no tracefs
    words = ("-e", "probewright_any_kernel=true", "-e", look, "-e", "ansible_become=false")
    done = ansible(tmp_path, text, *words, "-e", "probewright_seconds=1")
    assert done.returncode == 0, done.stdout + done.stderr
    got = (tmp_path / "probewright" / "there.txt").read_bytes()
    assert got == f"{hostile}\n".encode() + b"\xff\0\n1\nover\n"
    assert "a loss" in done.stdout and "cut off" not in done.stdout
    assert not (tmp_path / "broken").exists()
    # What is too much is not written, and the rest arrives; a failure on the way cleans up all the same.
    long = script.replace("echo over\n", "dd if=/dev/zero bs=65536 count=4 2>/dev/null || echo >&2 full\n")
    done = ansible(
        tmp_path,
        text.replace(block(script, 6), block(long, 6)),
        *(*words, "-e", "probewright_seconds=1", "-e", "probewright_most_bytes=131072"),
        *("-e", "probewright_unpack='import sys; sys.exit(3)'"),
    )
    assert done.returncode == 2
    assert "full" in done.stdout and "cut off at probewright_most_bytes: 131072" in done.stdout
    folders = (tmp_path / "folders").read_text().split()
    assert len(folders) == 2 and all(each.startswith("/tmp/probewright-") for each in folders)
    assert not any(Path(each).exists() for each in folders)


def test_another_kernel_is_refused(tmp_path):
    text = made("ansible", hostile_plan("x")) or ""
    done = ansible(tmp_path, text, "--check", "-e", "probewright_look='echo Linux 1.2.3 x86_64'")
    assert done.returncode == 2
    assert f"Linux 1.2.3 x86_64: the probes are made for Linux {FACTS.release} x86_64" in done.stdout.replace(
        "\n", " "
    )


@pytest.mark.parametrize("words", ["probewright_seconds=2m", "probewright_most_bytes=0"])
def test_a_number_that_is_none_is_refused(tmp_path, words):
    """A filter `int` makes 0 of it."""
    text = made("ansible", hostile_plan("x")) or ""
    done = ansible(tmp_path, text, "-e", words, "-e", "probewright_look='echo looked'")
    assert done.returncode == 2
    assert "are numbers, without a unit" in done.stdout and "Look at the kernel" not in done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_a_recording_that_nobody_fetches_ends_by_itself_and_by_a_signal(shell, tmp_path):
    words = ["busybox", "sh"] if shell == "busybox" else [shell]
    script = "trap 'echo by signal; exit 0' TERM\n: >ready\nwhile [ -e ready ]; do sleep 1; done\n"
    begun = subprocess.run(
        [*words, "-c", ansible_parts.BEGIN, "begin", script, "60", "65536"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    folder = Path(begun.stdout.strip())
    assert begun.returncode == 0 and re.fullmatch(r"/tmp/probewright-\d+", str(folder))
    assert folder.stat().st_mode & 0o777 == 0o700
    pid = int((folder / "pid").read_text())
    try:
        (folder / "err").write_text("two events were lost\n")
        ended = subprocess.run([*words, "-c", ansible_parts.END, "end", str(folder)], capture_output=True, text=True)
        assert (ended.returncode, ended.stdout) == (0, "two events were lost\n")
        assert not folder.exists() and not Path(f"/proc/{pid}/cwd").exists()
    finally:
        shutil.rmtree(folder, ignore_errors=True)  # nothing goes on without it


# -- Kubernetes -----------------------------------------------------------------------------------------------------


def manifests(text: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}


def schemas() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        lzma.decompress((Path(__file__).parents[2] / "data/kubernetes.json.xz").read_bytes())
    )
    return found


def errors_of(version: dict[str, Any], manifest: dict[str, Any]) -> list[str]:
    schema = {**version["kinds"][KINDS[manifest["kind"]]], "$defs": version["$defs"]}
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(manifest)]


@pytest.mark.parametrize("version", schemas())
def test_kubernetes_takes_it(version):
    known = schemas()[version]
    found = manifests(text_of("kubernetes", "f vfs_read%both file->f_pos count $retval | on sched/sched_switch"))
    assert len(found) == 5
    for manifest in found.values():
        assert errors_of(known, manifest) == []
    wrong = json.loads(json.dumps(found["DaemonSet", "probewright"]))
    wrong["spec"]["template"]["spec"]["containers"][0]["securityContext"]["apparmor"] = {}
    assert errors_of(known, wrong)


def test_parts_of_the_manifests_belong_together():
    found = manifests(text_of("kubernetes", "f vfs_read count"))
    daemon = found["DaemonSet", "probewright"]["spec"]
    pod = daemon["template"]["spec"]
    (container,) = pod["containers"]
    assert daemon["selector"]["matchLabels"].items() <= daemon["template"]["metadata"]["labels"].items()
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
    assert ("ServiceAccount", pod["serviceAccountName"]) in found
    maps = {one["configMap"]["name"] for one in pod["volumes"] if "configMap" in one}
    maps |= {one["valueFrom"]["configMapKeyRef"]["name"] for one in container["env"] if "configMapKeyRef" in str(one)}
    assert all(("ConfigMap", name) in found for name in maps) and len(maps) == 2
    assert {one["metadata"].get("namespace", "probewright") for one in found.values()} == {"probewright"}
    assert "export" in found["ConfigMap", "probewright"]["data"]


def test_the_command_of_the_container_is_one_that_we_have(capsys):
    """Its shell is run with our command line in the place of the program."""
    found = manifests(text_of("kubernetes", "f vfs_read count"))
    (container,) = found["DaemonSet", "probewright"]["spec"]["template"]["spec"]["containers"]
    export_ = found["ConfigMap", "probewright"]["data"]["export"]
    told = "probewright() { printf '%s\\0' probewright \"$@\"; }; "
    shell, option, line = container["command"]
    line = line.replace("exec probewright", "probewright")
    done = subprocess.run(
        [shell, option, told + line], env={"PROBEWRIGHT_EXPORT": f"{export_} $(x)"}, capture_output=True, text=True
    )
    from tui.cli.args.parser import parse
    from tui.cli.exports.export_options import export_request_of

    first, second = [each.split("\0") for each in done.stdout.strip("\0").split("probewright\0") if each]
    assert parse([word for word in first if word]).command == "clean"
    arguments = parse([word for word in second if word])
    assert (arguments.command, arguments.export) == ("run", f"{export_} $(x)")
    (mount,) = [one["mountPath"] for one in container["volumeMounts"] if one["name"] == "preset"]
    assert arguments.specs == [f"{mount}/preset.toml"]
    arguments.export = export_
    wanted = export_request_of(arguments)
    assert wanted is not None and wanted.outlet is not None and wanted.outlet.otlp is not None


@settings(max_examples=60)
@given(text=ANY)
def test_no_manifest_is_broken_out_of(text):
    """Whatever stands in the filter of a probe, the preset on the node means the same probe."""
    plan = hostile_plan("x")
    spec = f'p vfs_read count if comm == "{text}"'
    plan = Plan(_Said(spec), plan.events, plan.losses)
    try:
        found = export(dialect_named("kubernetes"), [plan], FACTS).text
    except CannotExport as error:
        assert error.reasons and all(error.reasons)
        return
    assert found.isascii() and found.replace("\n", "").isprintable()
    parts = manifests(found)
    preset = parts["ConfigMap", "probewright-preset"]["data"].pop("preset.toml")
    assert tomllib.loads(preset)["probes"] == [collapsed(spec)]
    assert substitute(read_preset(preset), {}) == ((collapsed(spec),),)
    plain = manifests(text_of("kubernetes", "p vfs_read count"))
    plain["ConfigMap", "probewright-preset"]["data"].pop("preset.toml")
    assert parts == plain


def test_blanks_in_the_text_of_a_filter_stay():
    text = preset_of([['f  vfs_read count if comm == "a  b"']])
    assert tomllib.loads(text)["probes"] == ['f vfs_read count if comm == "a  b"']


class _Said:
    """A probe that says what nobody checked."""

    subject = "vfs_read"

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text


def test_what_a_preset_cannot_hold_is_refused():
    with pytest.raises(CannotExport, match="no preset holds this"):
        preset_of([['p vfs_read note=\\"${x}":string']])
    with pytest.raises(CannotExport, match="looked for in the container"):
        text_of("kubernetes", "p /bin/true:0x1000 %di")
    text = preset_of([['f vfs_read count if comm != "é\x1b\'"']])
    assert text.isascii() and parse_armable(tomllib.loads(text)["probes"][0])


def test_the_script_is_the_one_of_the_shell():
    plan = hostile_plan("x")
    assert write_sh([plan], FACTS).text.endswith(WAIT)
