"""Groups of hosts: the configuration, Ansible's inventories, ~/.ssh/config."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.hosts.ansible import read_ini, read_inventory, read_json
from kernel.hosts.errors import GroupError
from kernel.hosts.groups import HostGroups
from kernel.hosts.sshconfig import aliases

INVENTORY = """\
# those in front of a head are in no group
lonely ansible_connection=local

[web]
web[01:03].lan ansible_user=deploy
web9 ansible_host=10.0.0.9 ansible_port=2222   # a comment
six ansible_host=fe80::1

[db]
db-[a:c] ansible_ssh_user=postgres
odd:2200

[site:children]
web
db

[site:vars]
ansible_user=root
ansible_python_interpreter='/usr/bin/python3'

[db:vars]
ansible_port = 22022
"""


def test_an_inventory_in_ini():
    found = read_inventory(INVENTORY)
    assert found.targets("web") == (
        *(f"ssh://deploy@web0{n}.lan" for n in (1, 2, 3)),
        "ssh://root@10.0.0.9:2222",
        "ssh://root@[fe80::1]",
    )
    databases = (*(f"ssh://postgres@db-{n}:22022" for n in "abc"), "ssh://root@odd:2200")
    assert found.targets("db") == databases
    assert found.targets("site") == (*found.targets("web"), *databases)
    assert found.targets("ungrouped") == ("local",)
    assert set(found.targets("all")) == {"local", *found.targets("site")}
    with pytest.raises(GroupError, match="no group nosuch"):
        found.targets("nosuch")


ANSIBLE = shutil.which("ansible-inventory", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


@pytest.mark.skipif(ANSIBLE is None, reason="Ansible is not installed")
def test_ansible_reads_the_same_hosts(tmp_path):
    told = listed_by_ansible(INVENTORY, tmp_path)
    for group in ("web", "db", "site", "all"):
        assert set(read_json(told).targets(group)) == set(read_ini(INVENTORY).targets(group)), group


def listed_by_ansible(inventory: str, folder: Path) -> str:
    """Return what `ansible-inventory --list` prints of an inventory in INI."""
    file = folder / "inventory.ini"
    file.write_text(inventory)
    assert ANSIBLE is not None
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "ANSIBLE_HOME": str(folder / "home")}
    words = [ANSIBLE, "-i", str(file), "--list"]
    return subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.mark.skipif(ANSIBLE is None, reason="Ansible is not installed")
def test_of_several_groups_the_one_counts_that_counts_for_ansible(tmp_path):
    """Groups within groups, each with a port of its own, some with a priority; each host is in several of them."""
    chosen, lines = Random(4), []
    for number in range(60):
        lines += [f"[g{number}]", *(f"h{host}" for host in chosen.sample(range(40), 3))]
        lines += [f"[g{number}:vars]", f"ansible_port={1000 + number}"]
        if not number % 7:
            lines.append(f"ansible_group_priority={chosen.randrange(-3, 12)}")
        inner = [f"g{one}" for one in range(number + 1, 60) if not chosen.randrange(12)]
        lines += [f"[g{number}:children]", *inner] if inner else []
    inventory = "\n".join(lines)
    told = read_json(listed_by_ansible(inventory, tmp_path))
    assert sorted(told.targets("all")) == sorted(read_ini(inventory).targets("all"))


def test_what_ansible_inventory_lists():
    told = {
        "_meta": {"hostvars": {"web1": {"ansible_host": "10.0.0.1", "ansible_port": 2222, "x": [1]}}},
        "all": {"children": ["ungrouped", "site"]},
        "site": {"children": ["web", "site"], "vars": {"ansible_user": "root"}},
        "web": {"hosts": ["web1", "web2"]},
        "old": ["web2"],
    }
    found = read_inventory(json.dumps(told))
    assert found.targets("site") == ("ssh://root@10.0.0.1:2222", "ssh://root@web2"), "also where a group is in itself"
    assert found.targets("old") == ("ssh://root@web2",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("all:\n  hosts:\n    web1:\n", "YAML"),
        ("---\nweb:\n", "YAML"),
        ("#!/bin/sh\necho {}\n", "program"),
        ("{", "JSON"),
        ("[web\nhost\n", "line 1"),
        ("[web:nosuch]\nhost\n", "line 1"),
        ("ok\nweb 'x\n", "line 2"),
        ("web[1:999999]\n", "10,000"),
        ("web[1:5:0]\n", "no range"),
        ("web[5:1]\n", "line 1 .* ends before it begins"),
        ("web[c:a]\n", "line 1 .* ends before it begins"),
        (f"web[1:3:{'9' * 5_000}]\n", "line 1 .* has more than 1,000 characters"),
        (f"web[1:3:{'9' * 500}]\n", "line 1 .* is no range"),
        ("web[1:3:0]\n", "line 1 .* is no range"),
        (f"web{'[1:1]' * 150}\n", "line 1 .* has more than 8 ranges"),
        (f"web{'[1:1]' * 1_500}\n", "line 1 .* has more than 1,000 characters"),
        (f"{'[' * 20}1{':1]' * 20}\n[all]\n", "line 1 .* heads no group"),
        (f"x{'[' * 20}1{':1]' * 20}\n", "line 1 .* has more than 8 ranges"),
        (f"a\nb x={'a' * 10_000}\n", "line 2 of the inventory has more than 10,000 characters"),
        (f"h[1:9999] ansible_host={'a' * 9_000}\n", "ansible_host of the inventory has more than 1,000 characters"),
        ("box ansible_connection=docker\n", "box: its ansible_connection is docker"),
        ("win\n[all:vars]\nansible_connection=winrm\n", "win: its ansible_connection is winrm"),
    ],
)
def test_what_is_no_inventory_is_said_with_the_way_out(text, why):
    with pytest.raises(GroupError, match=why):
        read_inventory(text).targets("all")


def test_comments_behind_values_are_none_of_them():
    for line, user in (
        ("ansible_user=adm # comment", "adm@"),
        ("ansible_user = 'adm'  # comment", "adm@"),
        ('ansible_user="a # b" # comment', "a # b@"),
        ("ansible_user=a#b", "a#b@"),
        ("ansible_user= # nobody", ""),
    ):
        assert read_ini(f"web1\n[all:vars]\n{line}\n").targets("all") == (f"ssh://{user}web1",), line


@pytest.mark.parametrize("connection", ["ssh", "smart", "paramiko", "paramiko_ssh", "ansible.builtin.ssh"])
def test_what_ssh_reaches_is_reached_by_ssh(connection):
    assert read_ini(f"web1 ansible_connection={connection}\n").targets("all") == ("ssh://web1",)
    assert read_ini("here ansible_connection=ansible.builtin.local\n").targets("all") == ("local",)


def test_a_template_is_not_taken_for_an_address():
    with pytest.raises(GroupError, match="template"):
        read_ini("web1 ansible_host='{{ where }}'\n").targets("all")


@given(st.text(st.sampled_from("[]:=# \n'\"{}ab019-._"), max_size=80))
def test_no_text_of_an_inventory_breaks_the_reader(text):
    try:
        found = read_inventory(text)
        for group in ("all", "ungrouped", *found.groups):
            assert all(target == "local" or target.startswith("ssh://") for target in found.targets(group))
    except GroupError:
        pass


def test_groups_within_groups_are_bounded():
    chain = "".join(f"[g{number}:children]\ng{number + 1}\n" for number in range(5000))
    deep = f"{chain}[g5000]\na\n[g0:vars]\nansible_user=outer\n[g4999:vars]\nansible_user=inner\n"
    assert read_inventory(deep).targets("g0") == ("ssh://inner@a",)
    with pytest.raises(GroupError, match="more than 1,000,000 groups"):
        read_inventory(f"{deep}[g5000]\nb[1:300]\n").targets("all")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a\n" * 100_001, "100,000 lines"),
        ("h[1:9999]\n" * 21, "200,000 hosts, of all groups together"),
        ("".join(f"[g{number}]\nh[1:99][1:99]\n" for number in range(40)), "200,000 hosts, of all groups together"),
        ("a[1:9999][1:9999]\n", "10,000 hosts"),
        ("#\n" * (1 << 20) + "a", "2,097,152 characters"),
        (json.dumps({"web": {"hosts": [str(number) for number in range(10_001)]}}), "10,000 hosts"),
    ],
)
def test_lines_and_hosts_are_bounded(text, said):
    with pytest.raises(GroupError, match=f"more than {said}"):
        read_inventory(text)


@pytest.fixture
def ssh_config(tmp_path: Path) -> Path:
    (tmp_path / "more").write_text("Host edge-2\n  Include more\n")
    path = tmp_path / "config"
    path.write_text(
        f"Include {tmp_path}/more {tmp_path}/nosuch*\nHost edge-1 web !bad edge-*  # the edge\n  HostName 10.0.0.1\n"
        f'HOST="edge-3"\nMatch host x\nHost * -oProxy\nHost "bro ken\nInclude {path}\n'
    )
    return path


def test_the_hosts_of_sshs_configuration(ssh_config):
    assert aliases(ssh_config) == ("edge-2", "edge-1", "web", "edge-3")


def test_files_that_include_themselves_are_no_endless_work(ssh_config):
    ssh_config.write_text(f"Host mine\nInclude {ssh_config}\nInclude {ssh_config}\n")
    with pytest.raises(GroupError, match="more than 1000 files are included"):
        aliases(ssh_config)


def test_a_configuration_that_others_may_write_decides_nothing(tmp_path):
    config = tmp_path / "config.toml"
    config.write_text('[hosts.web]\ntargets = ["ssh://theirs"]\n')
    config.chmod(0o646)
    groups = HostGroups(config)
    for ask in (groups.names, lambda: groups.targets("web")):
        with pytest.raises(GroupError, match="others may write to"):
            ask()
    config.chmod(0o644)
    assert groups.targets("web") == ("ssh://theirs",)


def test_groups_of_the_configuration(tmp_path, ssh_config):
    (tmp_path / "inventory").write_text(INVENTORY)
    config = tmp_path / "config.toml"
    config.write_text(
        f"""
        [hosts.mine]
        targets = ["ssh://a", "local", "ssh://a"]
        [hosts.web]
        ansible = "{tmp_path}/inventory"
        [hosts.many]
        targets = ["lab:6.12"]
        ansible = "{tmp_path}/inventory"
        group = "ungrouped"
        ssh = "edge-*"
        [hosts.none]
        [hosts.wrong]
        targets = ["nosuch"]
        [hosts.misspelt]
        target = ["local"]
        """
    )
    groups = HostGroups(config, ssh_config)
    assert groups.names() == ("mine", "web", "many", "none", "wrong", "misspelt")
    assert groups.targets("mine") == ("ssh://a", "local")
    assert len(groups.targets("web")) == 5
    assert groups.targets("many") == ("lab:6.12", "local", "ssh://edge-2", "ssh://edge-1", "ssh://edge-3")
    assert groups.targets("ssh:web") == ("ssh://web",)
    assert groups.targets(f"{tmp_path}/inventory:db") == read_ini(INVENTORY).targets("db")
    for name, why in (
        ("none", "no hosts"),
        ("wrong", "neither a kind of target nor a file"),
        ("misspelt", "target is not known"),
        ("min", "no group is named min"),
        ("ssh:nosuch*", "no Host"),
        (f"{tmp_path}/nosuch:web", "No such file"),
    ):
        with pytest.raises(GroupError, match=why) as caught:
            groups.targets(name)
        assert name in ("none", "wrong") or caught.value.remedy, name
    with pytest.raises(GroupError) as caught:
        groups.targets("min")
    assert "mine" in caught.value.remedy


def test_a_configuration_that_is_not_there_or_is_broken(tmp_path):
    assert HostGroups(tmp_path / "nosuch.toml").names() == ()
    for text, why in (("[hosts", "Expected"), ("hosts = 3", "no table"), ("[hosts]\nweb = 3", "no table")):
        (tmp_path / "config.toml").write_text(text)
        with pytest.raises(GroupError, match=why):
            HostGroups(tmp_path / "config.toml").targets("web")
