"""Read named groups of targets from the user's configuration, an Ansible inventory, or `~/.ssh/config`.

The configuration is `config.toml` in the user's folder for probewright:

    [hosts.web]
    targets = ["ssh://web1", "ssh://root@web2:2222", "local"]

    [hosts.db]
    ansible = "~/infra/inventory.ini"   # INI, or JSON of `ansible-inventory --list`
    group = "databases"                 # default: our own group name

    [hosts.edge]
    ssh = "edge-*"                      # Host lines of ~/.ssh/config

Several of these together are one group. Without a configuration, `FILE:GROUP` and `ssh:PATTERN` name a group, too.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs

from foreign.files import home_path, read_file
from foreign.refusal import InputRefusal
from foreign.toml import TomlBounds, read_toml
from kernel.connection.open_target import require_target
from kernel.errors import TargetUnusable
from kernel.hosts import sshconfig
from kernel.hosts.ansible import Inventory, read_inventory
from kernel.hosts.errors import GroupError
from kernel.safe_files.ownership import distrust_reason

_MOST_BYTES = 16 << 20
"""Largest accepted inventory, in bytes."""
_MOST_HOSTS = 10_000
"""Largest accepted group; each host takes a connection."""
_LARGEST_CONFIGURATION = 1 << 20
_TOML = TomlBounds(characters=_LARGEST_CONFIGURATION, lines=50_000, dots=20_000, line_dots=32)
_KEYS = ("targets", "ansible", "group", "ssh")


class HostGroups:
    """Reader of groups; reads the files at each call, as they may change while the application runs."""

    def __init__(self, config: Path | None = None, ssh_config: Path | None = None) -> None:
        """Take the files; None: the user's own."""
        self.config = config or Path(platformdirs.user_config_dir("probewright", appauthor=False)) / "config.toml"
        self._ssh = ssh_config

    def names(self) -> tuple[str, ...]:
        """Return the names of the configured groups. Raises GroupError if the configuration can't be read."""
        return tuple(self._configured())

    def targets(self, name: str) -> tuple[str, ...]:
        """Return the `--target` value of each host of a group, each once. Raises GroupError."""
        configured = self._configured()
        if name in configured:
            specs = self._targets_of(name, configured[name])
        elif name.startswith("ssh:"):
            specs = sshconfig.targets(name.removeprefix("ssh:"), self._ssh)
        elif ":" in name:
            path, _, group = name.rpartition(":")
            specs = _inventory(path).targets(group or "all")
        else:
            raise self._unknown(name, configured)
        if not specs:
            raise GroupError(f"the group {name} has no hosts")
        if len(specs) > _MOST_HOSTS:
            raise GroupError(f"the group {name} has more than {_MOST_HOSTS:,} hosts", "name fewer of them")
        return tuple(dict.fromkeys(specs))

    def _unknown(self, name: str, configured: Mapping[str, Any]) -> GroupError:
        similar = difflib.get_close_matches(name, configured, 3) or list(configured)[:8]
        hint = f"there are: {', '.join(similar)}; " if similar else f"write [hosts.{name}] into {self.config}, "
        return GroupError(f"no group is named {name}", f"{hint}or say INVENTORY:GROUP, or ssh:PATTERN")

    def _configured(self) -> Mapping[str, Any]:
        try:
            text = read_file(self.config, _LARGEST_CONFIGURATION).decode()
            if reason := distrust_reason(self.config):
                raise GroupError(f"groups are not taken from {self.config}: {reason}")
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise GroupError(f"{self.config}: {error}") from None
        try:
            hosts = read_toml(text, str(self.config), _TOML).get("hosts", {})
        except InputRefusal as error:
            raise GroupError(str(error), "mend that line") from None
        if not isinstance(hosts, dict):
            raise GroupError(f"{self.config}: hosts is no table", "write [hosts.NAME] above each group")
        return hosts

    def _targets_of(self, name: str, body: object) -> tuple[str, ...]:
        section = f"{self.config}: hosts.{name}"
        if not isinstance(body, dict):
            raise GroupError(f"{section} is no table", f'write [hosts.{name}] and below it targets = ["ssh://HOST"]')
        if unknown := [key for key in body if key not in _KEYS]:
            raise GroupError(
                f"{section}: {unknown[0]} is not known there", f"what may stand there: {', '.join(_KEYS)}"
            )
        targets = body.get("targets", [])
        words = [body.get(key, "") for key in _KEYS[1:]]
        if not isinstance(targets, list) or not all(isinstance(text, str) for text in (*targets, *words)):
            raise GroupError(f"{section}: targets is a list of texts, the others are texts")
        specs = [_require_valid(text, section) for text in targets]
        ansible, group, ssh = words
        if ansible:
            specs += _inventory(ansible).targets(group or name)
        if ssh:
            specs += sshconfig.targets(ssh, self._ssh)
        return tuple(specs)


def _require_valid(target: str, section: str) -> str:
    """Return a valid target unchanged. Raises GroupError."""
    try:
        require_target(target)
    except TargetUnusable as error:
        raise GroupError(f"{section}: {error}", error.remedy) from None
    return target


def _inventory(filename: str) -> Inventory:
    """Read an Ansible inventory. Raises GroupError."""
    path = home_path(filename)
    try:
        return read_inventory(read_file(path, _MOST_BYTES).decode())
    except InputRefusal as error:
        raise GroupError(str(error)) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise GroupError(
            f"{path}: {reason}", "name the file of an inventory, or a group of the configuration"
        ) from None
    except GroupError as error:
        raise GroupError(f"{path}: {error}", error.remedy) from None
