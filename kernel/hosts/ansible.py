"""Read hosts from an Ansible inventory: its INI form, and the JSON of `ansible-inventory --list`.

Only the variables that define the connection are used: ansible_host, ansible_port, ansible_user and
ansible_connection. Ansible's own documents: "How to build your inventory", and lib/ansible/plugins/inventory/ini.py.
Templates in values are not evaluated, and no program is run: for those, and for YAML, `ansible-inventory --list`
makes the JSON.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from foreign import document
from foreign.refusal import InputRefusal
from kernel.hosts.errors import GroupError

_SECTION = re.compile(r"\[([^:\]]+)(?::(\w+))?\]\s*(?:[#;].*)?")
_RANGE = re.compile(r"\[(?:(\d+):(\d+)|([A-Za-z]):([A-Za-z]))(?::(\d+))?\]")
_VALUE = re.compile(
    r"""(?s)(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\s*(?:#.*)?|(?P<plain>.*?)(?:(?:^|(?<!\s)\s++)#.*)?"""
)
"""Value of a variable, with an optional comment, which begins after a space as in a shell."""
_BY_SSH = ("ssh", "smart", "paramiko", "paramiko_ssh")
"""Values of ansible_connection, without `ansible.builtin.`, of hosts that our own ssh can reach."""
_MOST_HOSTS = 10_000
_MOST_LINES = 100_000
_MOST_LISTED = 200_000
"""Hosts of all lines of the INI form together, each counted wherever it is listed."""
_MOST_INI_CHARACTERS = 2 << 20
"""Largest INI form, in characters: shlex reads one in a microsecond."""
_LONGEST_LINE = 10_000
"""Characters of a line of the INI form: shlex takes the square of a word's."""
_MOST_RANGES = 8
"""Ranges in one line's name."""
_MOST_CHARACTERS = 1_000
"""Characters of a line's name before its ranges are expanded, or of a variable: each host repeats them."""
_MOST_DIGITS = 9
"""Digits of each number of a range."""
_MOST_HOLDERS = 1_000_000
"""Groups that hosts are in, directly or not, of all hosts together."""
_AS_JSON = "have it as JSON: ansible-inventory -i FILE --list > FILE.json"
_PRIORITY = "ansible_group_priority"
_CONNECTION_VARIABLES = ("ansible_host", "ansible_port", "ansible_user", "ansible_connection", _PRIORITY)
_OLD_NAMES = {
    "ansible_ssh_host": "ansible_host",
    "ansible_ssh_port": "ansible_port",
    "ansible_ssh_user": "ansible_user",
}
"""Old names of variables, which override the new names wherever they are set
(lib/ansible/plugins/connection/ssh.py).
"""


@dataclass
class Inventory:
    """Groups of hosts of one inventory file."""

    hosts: dict[str, dict[str, str]] = field(default_factory=dict)
    """Variables of each host, by host name, in the order of the file."""
    groups: dict[str, list[str]] = field(default_factory=dict)
    """Hosts listed in each group itself."""
    children: dict[str, list[str]] = field(default_factory=dict)
    variables: dict[str, dict[str, str]] = field(default_factory=dict)
    """Variables of each group."""

    def members(self, group: str) -> tuple[str, ...]:
        """Return all hosts of a group and of its subgroups, each once. Raises GroupError."""
        if group == "all":
            return tuple(self.hosts)
        if group == "ungrouped":
            grouped = {host for hosts in self.groups.values() for host in hosts}
            return tuple(host for host in self.hosts if host not in grouped)
        if group not in self.groups and group not in self.children:
            group_names = ", ".join(sorted({*self.groups, *self.children})[:8]) or "none"
            raise GroupError(f"the inventory has no group {group}", f"its groups are: all, {group_names}")
        return tuple(dict.fromkeys(host for name in self._within(group) for host in self.groups.get(name, ())))

    def targets(self, group: str) -> tuple[str, ...]:
        """Return the `--target` value of each host of a group. Raises GroupError."""
        depths = self._depths()
        of_hosts, of_groups = _holders(self.groups), _holders(self.children)
        found = dict[str, None]()
        left = _MOST_HOLDERS
        for host in self.members(group):
            containing = _reached(of_hosts.get(host, ()), of_groups)
            left -= len(containing)
            if left < 0:
                raise GroupError(f"the hosts of the inventory are in more than {_MOST_HOLDERS:,} groups", _AS_JSON)
            found[self._target(host, sorted(containing, key=lambda name: self._rank(name, depths)))] = None
        return tuple(found)

    def _within(self, group: str) -> list[str]:
        """Return a group and all its subgroups; each once, even if they form a cycle."""
        return _reached([group], self.children)

    def _rank(self, group: str, depths: Mapping[str, int]) -> tuple[int, int, str]:
        """Return the sort key of a group, as Ansible's `get_group_vars`: depth, priority, name."""
        priority = self.variables.get(group, {}).get(_PRIORITY, "1")
        return depths.get(group, 1), int(priority) if re.fullmatch(r"-?\d{1,9}", priority) else 1, group

    def _depths(self) -> dict[str, int]:
        """Return by group the length of the longest path from `all` to it; cycles are not followed."""
        inside = {group: {*inner} - {group} for group, inner in self.children.items() if group != "all"}
        holders = Counter(inner for subgroups in inside.values() for inner in subgroups)
        depths = dict.fromkeys((*self.groups, *self.children, *holders), 1)
        free = [group for group in depths if not holders[group]]
        for group in free:
            for inner in inside.get(group, ()):
                depths[inner] = max(depths[inner], depths[group] + 1)
                holders[inner] -= 1
                if not holders[inner]:
                    free.append(inner)
        return depths

    def _target(self, host: str, containing: Sequence[str]) -> str:
        variables = self._variables(host, containing)
        connection = variables.get("ansible_connection", "smart").removeprefix("ansible.builtin.")
        if connection == "local":
            return "local"
        address = variables.get("ansible_host", host)
        if "{{" in "".join(variables.values()):
            raise GroupError(f"{host}: how it is reached is a template, which only Ansible can read", _AS_JSON)
        if connection not in _BY_SSH:
            raise GroupError(
                f"{host}: its ansible_connection is {connection[:60]}, and only ssh and local reach a host here",
                "take a group without it, or name the hosts with --target",
            )
        user = f"{variables['ansible_user']}@" if variables.get("ansible_user") else ""
        port = f":{variables['ansible_port']}" if variables.get("ansible_port") else ""
        return f"ssh://{user}{f'[{address}]' if ':' in address else address}{port}"

    def _variables(self, host: str, containing: Sequence[str]) -> dict[str, str]:
        """Return the variables of a host: its own override those of groups, and of `containing` later groups earlier
        ones.
        """
        variables = dict(self.variables.get("all", {}))
        for group in containing:
            variables |= self.variables.get(group, {})
        variables |= self.hosts[host]
        return variables | {plain: variables[name] for name, plain in _OLD_NAMES.items() if name in variables}


def _holders(listed: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the groups in which each name is listed, without `all`."""
    found: dict[str, list[str]] = {}
    for group, names in listed.items():
        for name in names if group != "all" else ():
            found.setdefault(name, []).append(group)
    return found


def _reached(begin: Iterable[str], steps: Mapping[str, Sequence[str]]) -> list[str]:
    """Return some groups and all that the steps lead to from there, the nearest first; each once, even in a cycle."""
    found = dict.fromkeys(begin)
    waiting = list(found)
    for name in waiting:
        fresh = [other for other in dict.fromkeys(steps.get(name, ())) if other not in found]
        found |= dict.fromkeys(fresh)
        waiting += fresh
    return waiting


def read_inventory(text: str) -> Inventory:
    """Read either form, recognised by its beginning. Raises GroupError."""
    begin = text.lstrip()
    if begin.startswith("{"):
        return read_json(text)
    if begin.startswith("#!"):
        raise GroupError("the inventory is a program, which is not run here", _AS_JSON)
    if begin.startswith("---") or re.search(r"^\w+:\s*$", text, re.MULTILINE):
        raise GroupError("the inventory is YAML, which is not read here", _AS_JSON)
    return read_ini(text)


def read_json(text: str) -> Inventory:
    """Read the output of `ansible-inventory --list`. Raises GroupError."""
    try:
        plain: Any = document.read_json(text, "the inventory")
    except InputRefusal as error:
        raise GroupError(str(error), _AS_JSON) from None
    if not isinstance(plain, dict):
        raise GroupError("the inventory is no object of JSON", _AS_JSON)
    inventory = Inventory()
    variables = _object(_object(plain.get("_meta")).get("hostvars"))
    for name, group in plain.items():
        if name == "_meta":
            continue
        body = {"hosts": group} if isinstance(group, list) else _object(group)
        hosts = [host for host in _list(body.get("hosts")) if isinstance(host, str)]
        inventory.groups[name] = hosts
        inventory.children[name] = [child for child in _list(body.get("children")) if isinstance(child, str)]
        inventory.variables[name] = _connection_variables(_object(body.get("vars")))
        for host in hosts:
            inventory.hosts.setdefault(host, _connection_variables(_object(variables.get(host))))
    _require_few(inventory)
    return inventory


def _require_few(inventory: Inventory) -> None:
    """Raise GroupError if there are more hosts than anybody watches at a time."""
    if len(inventory.hosts) > _MOST_HOSTS:
        raise GroupError(f"the inventory has more than {_MOST_HOSTS:,} hosts")


def read_ini(text: str) -> Inventory:
    """Read the INI form. Raises GroupError, with the line number."""
    if len(text) > _MOST_INI_CHARACTERS:
        raise GroupError(f"the inventory has more than {_MOST_INI_CHARACTERS:,} characters", _AS_JSON)
    lines = text.splitlines()
    if len(lines) > _MOST_LINES:
        raise GroupError(f"the inventory has more than {_MOST_LINES:,} lines")
    reader = _IniReader()
    for number, line in enumerate(lines, 1):
        words = line.strip()
        if len(line) > _LONGEST_LINE:
            raise GroupError(f"line {number} of the inventory has more than {_LONGEST_LINE:,} characters", _AS_JSON)
        if words and words[0] not in "#;":
            reader.take(words, number)
    return reader.inventory()


class _IniReader:
    """Reader of the INI form, line by line."""

    def __init__(self) -> None:
        self._inventory = Inventory()
        self._group, self._kind = "ungrouped", ""
        self._listed: dict[str, dict[str, None]] = {}
        """Hosts listed in each group itself, in the order of the file."""
        self._left = _MOST_LISTED

    def inventory(self) -> Inventory:
        """Return the groups of all lines so far."""
        found = {group: list(hosts) for group, hosts in self._listed.items() if group != "ungrouped"}
        return replace(self._inventory, groups=found)

    def take(self, words: str, number: int) -> None:
        """Read one line that is no comment. Raises GroupError."""
        if words.startswith("["):
            match = _SECTION.fullmatch(words)
            if match and (match[2] or "") in ("", "children", "vars"):
                self._group, self._kind = match[1].strip(), match[2] or ""
                self._listed.setdefault(self._group, {})
                return
            if not _RANGE.match(words):
                raise GroupError(f"line {number} of the inventory: {words[:60]!r} heads no group", _AS_JSON)
        if self._kind == "vars":
            name, _, value = words.partition("=")
            variables = _connection_variables({name.strip(): _value(value)})
            self._inventory.variables.setdefault(self._group, {}).update(variables)
            return
        try:
            name, *rest = shlex.split(words, comments=True)
        except ValueError as error:
            raise GroupError(f"line {number} of the inventory: {error}", _AS_JSON) from None
        if self._kind == "children":
            self._inventory.children.setdefault(self._group, []).append(name)
        else:
            self._add_hosts(
                name, _connection_variables(dict(pair.split("=", 1) for pair in rest if "=" in pair)), number
            )

    def _add_hosts(self, name: str, variables: dict[str, str], number: int) -> None:
        """Add the hosts of a line. Raises GroupError."""
        if len(name) > _MOST_CHARACTERS:
            raise GroupError(
                f"line {number} of the inventory: {name[:60]}... has more than {_MOST_CHARACTERS:,} characters"
            )
        listed = self._listed.setdefault(self._group, {})
        for host in _expanded(name, number):
            self._left -= 1
            if self._left < 0:
                raise GroupError(f"the inventory lists more than {_MOST_LISTED:,} hosts, of all groups together")
            port = re.fullmatch(r"([^:\[\]]+):(\d+)", host)
            if port:
                host, variables = port[1], {"ansible_port": port[2]} | variables
            self._inventory.hosts.setdefault(host, {}).update(variables)
            listed[host] = None
            _require_few(self._inventory)


def _value(text: str) -> str:
    """Return the value behind `=` in a section of variables, without its quotes and its comment."""
    match = _VALUE.fullmatch(text.strip())
    return "" if match is None else match["quoted"] if match["quote"] else match["plain"]


def _expanded(name: str, number: int, depth: int = 0) -> Iterator[str]:
    """Expand `web[01:03].lan` -> web01.lan, web02.lan, web03.lan, with both ends, as Ansible does."""
    match = _RANGE.search(name)
    if match is None:
        yield name
        return
    if depth >= _MOST_RANGES:
        raise GroupError(f"line {number} of the inventory: {name[:60]} has more than {_MOST_RANGES} ranges")
    if any(len(match[group] or "") > _MOST_DIGITS for group in (1, 2, 5)) or (match[5] and not int(match[5])):
        raise GroupError(f"line {number} of the inventory: {name[:60]} is no range")
    step = int(match[5] or 1)
    values: Sequence[str]
    if match[1]:
        _require_forward(int(match[1]), int(match[2]), name, number)
        width = len(match[1]) if match[1].startswith("0") else 0
        if int(match[2]) - int(match[1]) > _MOST_HOSTS:
            raise GroupError(f"line {number} of the inventory: {name[:60]} is more than {_MOST_HOSTS:,} hosts")
        values = [str(index).zfill(width) for index in range(int(match[1]), int(match[2]) + 1, step)]
    else:
        _require_forward(ord(match[3]), ord(match[4]), name, number)
        values = [chr(code) for code in range(ord(match[3]), ord(match[4]) + 1, step)]
    for value in values:
        yield from _expanded(f"{name[: match.start()]}{value}{name[match.end() :]}", number, depth + 1)


def _require_forward(begin: int, end: int, name: str, number: int) -> None:
    """Raise GroupError for a reversed range, which would silently name no host."""
    if begin > end:
        raise GroupError(f"line {number} of the inventory: {name[:60]} ends before it begins", "turn the range round")


def _connection_variables(variables: Mapping[str, object]) -> dict[str, str]:
    """Return the variables that define the connection, as texts. Raises GroupError for one that is too long."""
    texts = {name: str(value) for name, value in variables.items() if isinstance(value, str | int)}
    found = {name: value for name, value in texts.items() if name in _CONNECTION_VARIABLES or name in _OLD_NAMES}
    for name, value in found.items():
        if len(value) > _MOST_CHARACTERS:
            raise GroupError(f"{name} of the inventory has more than {_MOST_CHARACTERS:,} characters")
    return found


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
