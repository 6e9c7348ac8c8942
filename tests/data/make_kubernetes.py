"""Makes kubernetes.json.xz: what Kubernetes says an object may hold, of the kinds that our export writes.

    python -m tests.data.make_kubernetes FOLDER

FOLDER is `kubernetes-json-schema` of the package kubernetes-validate, whose schemas are made of the API server's own
OpenAPI (Apache License 2.0). The strict ones are taken, which know no other keys, without their descriptions.
"""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path
from typing import Any

VERSIONS = ("1.30", "1.37")
"""The oldest that has all fields that we write, and the newest."""
KINDS = ("namespace-v1", "serviceaccount-v1", "configmap-v1", "daemonset-apps-v1")
_HERE = "#/$defs/"
_THERE = "/api/_definitions.json"


def trimmed(schema: Any) -> Any:
    """A schema without what is for people, its references within one file; also of the names of properties."""
    if isinstance(schema, list):
        return [trimmed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key == "properties":
            kept[key] = {name: trimmed(one) for name, one in value.items()}
        elif key == "$ref":
            kept[key] = _HERE + value.removeprefix(_THERE).removeprefix(_HERE)
        elif key not in ("description", "$id", "$schema") and not key.startswith("x-kubernetes"):
            kept[key] = trimmed(value)
    return kept


def referred(schema: Any) -> set[str]:
    """Names of the definitions that it uses itself."""
    if isinstance(schema, dict):
        own = {schema["$ref"].removeprefix(_HERE)} if isinstance(schema.get("$ref"), str) else set()
        return own.union(*map(referred, schema.values()))
    return set().union(*map(referred, schema)) if isinstance(schema, list) else set()


def made(folder: Path) -> dict[str, Any]:
    """The kinds, and what they use."""
    every = json.loads((folder / "_definitions.json").read_text())
    definitions = every.get("$defs", every.get("definitions"))
    kinds = {name: trimmed(json.loads((folder / f"{name}.json").read_text())) for name in KINDS}
    used: dict[str, Any] = {}
    open_ = referred(kinds)
    while open_:
        name = open_.pop()
        used[name] = trimmed(definitions[name])
        open_ |= referred(used[name]) - used.keys()
    return {"kinds": kinds, "$defs": used}


def main() -> None:
    folder = Path(sys.argv[1])
    found = {version: made(folder / f"v{version}.0-local-strict") for version in VERSIONS}
    data = json.dumps(found, separators=(",", ":"), sort_keys=True).encode()
    Path(__file__).with_name("kubernetes.json.xz").write_bytes(lzma.compress(data, preset=9))


if __name__ == "__main__":
    main()
