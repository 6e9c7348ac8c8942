"""Hosts of an Ansible inventory: its INI form, and what `ansible-inventory --list` prints (JSON).

Of the variables those count that say how a host is reached: ansible_host, ansible_port, ansible_user and
ansible_connection. Ansible's own documents: "How to build your inventory", and lib/ansible/plugins/inventory/ini.py.
Templates in values are not evaluated, and no program is run: for those, and for YAML, `ansible-inventory --list`
makes the JSON.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from foreign import document
from foreign.refusal import InputRefusal
from kernel.hosts.errors import GroupError

_SECTION = re.compile(r"\[([^:\]]+)(?::(\w+))?\]\s*(?:[#;].*)?")
_RANGE = re.compile(r"\[(?:(\d+):(\d+)|([A-Za-z]):([A-Za-z]))(?::(\d+))?\]")
_VALUE = re.compile(
    r"""(?s)(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\s*(?:#.*)?|(?P<plain>.*?)(?:(?:^|(?<!\s)\s++)#.*)?"""
)
"""With a comment behind it, which begins after a space as in a shell."""
_BY_SSH = ("ssh", "smart", "paramiko", "paramiko_ssh")
"""Values of ansible_connection, without `ansible.builtin.`, for what our own ssh reaches too."""
_MOST_HOSTS = 10_000
_AS_JSON = "have it as JSON: ansible-inventory -i FILE --list > FILE.json"
_PRIORITY = "ansible_group_priority"
_REACHING = ("ansible_host", "ansible_port", "ansible_user", "ansible_connection", _PRIORITY)
_OF_SSH = {"ansible_ssh_host": "ansible_host", "ansible_ssh_port": "ansible_port", "ansible_ssh_user": "ansible_user"}
"""Names that count more than the others, wherever they stand (lib/ansible/plugins/connection/ssh.py)."""


@dataclass
class Inventory:
    """Groups of hosts, as a file names them."""

    hosts: dict[str, dict[str, str]] = field(default_factory=dict)
    """By name, with their own variables, in the order of the file."""
    groups: dict[str, list[str]] = field(default_factory=dict)
    """The hosts that stand in a group itself."""
    children: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, dict[str, str]] = field(default_factory=dict)
    """Of groups."""

    def members(self, group: str) -> tuple[str, ...]:
        """All hosts of a group and of those in it, each once. Raises GroupError."""
        if group == "all":
            return tuple(self.hosts)
        if group == "ungrouped":
            grouped = {host for hosts in self.groups.values() for host in hosts}
            return tuple(host for host in self.hosts if host not in grouped)
        if group not in self.groups and group not in self.children:
            known = ", ".join(sorted({*self.groups, *self.children})[:8]) or "none"
            raise GroupError(f"the inventory has no group {group}", f"its groups are: all, {known}")
        return tuple(dict.fromkeys(host for one in self._within(group) for host in self.groups.get(one, ())))

    def targets(self, group: str) -> tuple[str, ...]:
        """What `--target` takes, for each host of a group. Raises GroupError."""
        depths = self._depths()
        return tuple(dict.fromkeys(self._target(host, depths) for host in self.members(group)))

    def _within(self, group: str) -> list[str]:
        """A group and all that are in it; a circle ends where it began."""
        found, waiting = [group], list(self.children.get(group, ()))
        while waiting:
            one = waiting.pop(0)
            if one not in found:
                found.append(one)
                waiting += self.children.get(one, ())
        return found

    def _rank(self, group: str, depths: Mapping[str, int]) -> tuple[int, int, str]:
        """Return the sort key of a group, as `get_group_vars` of Ansible has it: depth, priority, name."""
        priority = self.variables.get(group, {}).get(_PRIORITY, "1")
        return depths.get(group, 1), int(priority) if re.fullmatch(r"-?\d{1,9}", priority) else 1, group

    def _depths(self) -> dict[str, int]:
        """Return by group the number of groups on the longest way from `all` to it; a circle is not gone around."""
        inside = {group: {*inner} - {group} for group, inner in self.children.items() if group != "all"}
        holders = Counter(inner for found in inside.values() for inner in found)
        depths = dict.fromkeys((*self.groups, *self.children, *holders), 1)
        free = [group for group in depths if not holders[group]]
        for group in free:
            for inner in inside.get(group, ()):
                depths[inner] = max(depths[inner], depths[group] + 1)
                holders[inner] -= 1
                if not holders[inner]:
                    free.append(inner)
        return depths

    def _target(self, host: str, depths: Mapping[str, int]) -> str:
        own = self._variables(host, depths)
        connection = own.get("ansible_connection", "smart").removeprefix("ansible.builtin.")
        if connection == "local":
            return "local"
        where = own.get("ansible_host", host)
        if "{{" in "".join(own.values()):
            raise GroupError(f"{host}: how it is reached is a template, which only Ansible can read", _AS_JSON)
        if connection not in _BY_SSH:
            raise GroupError(
                f"{host}: its ansible_connection is {connection[:60]}, and only ssh and local reach a host here",
                "take a group without it, or name the hosts with --target",
            )
        user = f"{own['ansible_user']}@" if own.get("ansible_user") else ""
        port = f":{own['ansible_port']}" if own.get("ansible_port") else ""
        return f"ssh://{user}{f'[{where}]' if ':' in where else where}{port}"

    def _variables(self, host: str, depths: Mapping[str, int]) -> dict[str, str]:
        """Return how it is reached: its own variables win over those of groups, and of these the last in `_rank`."""
        found = dict(self.variables.get("all", {}))
        holding = [group for group in {*self.groups, *self.children} if group != "all"]
        holding = [one for one in holding if any(host in self.groups.get(part, ()) for part in self._within(one))]
        for group in sorted(holding, key=lambda one: self._rank(one, depths)):
            found |= self.variables.get(group, {})
        found |= self.hosts[host]
        return found | {plain: found[name] for name, plain in _OF_SSH.items() if name in found}


def read_inventory(text: str) -> Inventory:
    """Read either form, by what it begins with. Raises GroupError."""
    begin = text.lstrip()
    if begin.startswith("{"):
        return read_json(text)
    if begin.startswith("#!"):
        raise GroupError("the inventory is a program, which is not run here", _AS_JSON)
    if begin.startswith("---") or re.search(r"^\w+:\s*$", text, re.MULTILINE):
        raise GroupError("the inventory is YAML, which is not read here", _AS_JSON)
    return read_ini(text)


def read_json(text: str) -> Inventory:
    """What `ansible-inventory --list` prints. Raises GroupError."""
    try:
        plain: Any = document.read_json(text, "the inventory")
    except InputRefusal as error:
        raise GroupError(str(error), _AS_JSON) from None
    if not isinstance(plain, dict):
        raise GroupError("the inventory is no object of JSON", _AS_JSON)
    found = Inventory()
    variables = _object(_object(plain.get("_meta")).get("hostvars"))
    for name, group in plain.items():
        if name == "_meta":
            continue
        body = {"hosts": group} if isinstance(group, list) else _object(group)
        hosts = [host for host in _list(body.get("hosts")) if isinstance(host, str)]
        found.groups[name] = hosts
        found.children[name] = [child for child in _list(body.get("children")) if isinstance(child, str)]
        found.variables[name] = _reaching(_object(body.get("vars")))
        for host in hosts:
            found.hosts.setdefault(host, _reaching(_object(variables.get(host))))
    return found


def read_ini(text: str) -> Inventory:
    """Raises GroupError, with the line."""
    found = Inventory()
    group, kind = "ungrouped", ""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words[0] in "#;":
            continue
        if words.startswith("["):
            match = _SECTION.fullmatch(words)
            if match and (match[2] or "") in ("", "children", "vars"):
                group, kind = match[1].strip(), match[2] or ""
                found.groups.setdefault(group, [])
                continue
            if not _RANGE.match(words):
                raise GroupError(f"line {number} of the inventory: {words[:60]!r} heads no group", _AS_JSON)
        _line(found, group, kind, words, number)
    found.groups.pop("ungrouped", None)
    return found


def _line(found: Inventory, group: str, kind: str, words: str, number: int) -> None:
    """One line below a group's head."""
    if kind == "vars":
        name, _, value = words.partition("=")
        found.variables.setdefault(group, {}).update(_reaching({name.strip(): _value(value)}))
        return
    try:
        name, *rest = shlex.split(words, comments=True)
    except ValueError as error:
        raise GroupError(f"line {number} of the inventory: {error}", _AS_JSON) from None
    if kind == "children":
        found.children.setdefault(group, []).append(name)
        return
    own = _reaching(dict(pair.split("=", 1) for pair in rest if "=" in pair))
    for host in _expanded(name, number):
        port = re.fullmatch(r"([^:\[\]]+):(\d+)", host)
        if port:
            host, own = port[1], {"ansible_port": port[2]} | own
        found.hosts.setdefault(host, {}).update(own)
        if host not in found.groups.setdefault(group, []):
            found.groups[group].append(host)
        if len(found.hosts) > _MOST_HOSTS:
            raise GroupError(f"the inventory has more than {_MOST_HOSTS:,} hosts")


def _value(text: str) -> str:
    """What stands behind `=` below a head of variables, without its quotes and its comment."""
    match = _VALUE.fullmatch(text.strip())
    return "" if match is None else match["quoted"] if match["quote"] else match["plain"]


def _expanded(name: str, number: int) -> Iterator[str]:
    """`web[01:03].lan` -> web01.lan, web02.lan, web03.lan, as Ansible counts: both ends are in it."""
    match = _RANGE.search(name)
    if match is None:
        yield name
        return
    step = int(match[5] or 1)
    if not step or len(match[1] or "") > 9 or len(match[2] or "") > 9:
        raise GroupError(f"line {number} of the inventory: {name[:60]} is no range")
    values: Sequence[str]
    if match[1]:
        _require_forward(int(match[1]), int(match[2]), name, number)
        wide = len(match[1]) if match[1].startswith("0") else 0
        if int(match[2]) - int(match[1]) > _MOST_HOSTS:
            raise GroupError(f"line {number} of the inventory: {name[:60]} is more than {_MOST_HOSTS:,} hosts")
        values = [str(one).zfill(wide) for one in range(int(match[1]), int(match[2]) + 1, step)]
    else:
        _require_forward(ord(match[3]), ord(match[4]), name, number)
        values = [chr(one) for one in range(ord(match[3]), ord(match[4]) + 1, step)]
    for value in values:
        yield from _expanded(f"{name[: match.start()]}{value}{name[match.end() :]}", number)


def _require_forward(begin: int, end: int, name: str, number: int) -> None:
    """Raises GroupError: such a range would name no host, silently."""
    if begin > end:
        raise GroupError(f"line {number} of the inventory: {name[:60]} ends before it begins", "turn the range round")


def _reaching(variables: Mapping[str, object]) -> dict[str, str]:
    named = {name: str(value) for name, value in variables.items() if isinstance(value, str | int)}
    return {name: value for name, value in named.items() if name in _REACHING or name in _OF_SSH}


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
