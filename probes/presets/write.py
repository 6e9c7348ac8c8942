"""Write a preset as the text of its file; an edit of a text preserves comments, order and unchanged values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tomlkit
from tomlkit.items import Array
from tomlkit.toml_document import TOMLDocument

from probes.presets.read import read_preset
from probes.presets.schema import VERSION, Parameter, Preset, PresetView


def new_text(preset: Preset) -> str:
    """Return the text of a new file."""
    document = tomlkit.document()
    document.add("version", tomlkit.item(VERSION))
    for key, value in _plain(preset).items():
        if value not in ("", [], {}):
            document.add(key, _item(key, value))
    return tomlkit.dumps(document)


def edited(text: str, preset: Preset) -> str:
    """Return the text with the values of a preset; unchanged values stay as they are written.

    Raises PresetError where the text is no preset.
    """
    before = _plain(read_preset(text))
    document = tomlkit.parse(text)
    for key, value in _plain(preset).items():
        if before[key] == value:
            continue
        if key == "parameters":
            _edit_parameters(document, preset.parameters)
        elif value in ("", []):
            document.pop(key, None)
        else:
            document[key] = _item(key, value)
    return tomlkit.dumps(document)


def _edit_parameters(document: TOMLDocument, wanted: Sequence[Parameter]) -> None:
    """Change the parameters that differ, remove those no longer in the preset, add new ones."""
    if "parameters" not in document:
        document["parameters"] = tomlkit.table(is_super_table=True)
    table: Any = document["parameters"]
    for name in [name for name in table if name not in {parameter.name for parameter in wanted}]:
        del table[name]
    for parameter in wanted:
        if parameter.name not in table:
            table[parameter.name] = tomlkit.item(_parameter(parameter))
            continue
        for key, value in (("type", str(parameter.type)), ("default", parameter.default), ("help", parameter.help)):
            if str(table[parameter.name].get(key, "")) != value:
                table[parameter.name][key] = value


def _plain(preset: Preset) -> dict[str, Any]:
    return {
        "name": preset.name,
        "title": preset.title,
        "question": preset.question,
        "tags": list(preset.tags),
        "description": preset.description,
        "view": str(preset.view) if preset.view is not PresetView.EVENTS else "",
        "columns": list(preset.columns),
        "min_latency": preset.min_latency,
        "calls": list(preset.calls),
        "errno": preset.errno,
        "probes": [texts[0] if len(texts) == 1 else list(texts) for texts in preset.probes],
        "parameters": {parameter.name: _parameter(parameter) for parameter in preset.parameters},
    }


def _parameter(parameter: Parameter) -> dict[str, str]:
    return {"type": str(parameter.type)} | {
        key: value for key in ("default", "help") if (value := getattr(parameter, key))
    }


def _item(key: str, value: Any) -> Any:  # noqa: ANN401 - what TOML has
    if key == "description" and "\n" in value and '"' not in value and "\\" not in value:
        printable = all(line.isprintable() for line in value.split("\n"))
        return tomlkit.string(f"{value}\n", multiline=True) if printable else tomlkit.string(value)
    item = tomlkit.item(value)
    if key == "probes" and isinstance(item, Array):
        item.multiline(True)
    return item
