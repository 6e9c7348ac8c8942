"""Read a preset from the text of its file; errors name their line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import ParseError as TomlParseError
from tomlkit.exceptions import TOMLKitError

from foreign.document import require_plain_numbers
from foreign.refusal import InputRefusal
from foreign.toml import TomlBounds, require_small_toml
from probes.command import parse_armable
from probes.presets.errors import PresetError
from probes.presets.lines import line_of
from probes.presets.schema import MAX_BYTES, NAME, PARAMETER, VERSION, Parameter, ParameterType, Preset, PresetView
from probes.presets.substitute import PLACEHOLDER, names_in, unremovable_clause
from probes.presets.values import check_value, number_of
from probes.syntax.parse import ParseError
from probes.syntax.text import collapsed

_BOUNDS = TomlBounds(characters=MAX_BYTES, lines=2_000, dots=500, line_dots=8)
_KEYS = (
    *("version", "name", "title", "question", "tags", "description"),
    *("parameters", "probes", "view", "columns", "min_latency", "calls", "errno"),
)
_PARAMETER_KEYS = ("type", "default", "help")


def read_preset(text: str) -> Preset:
    """Parse a file's text. Raises PresetError."""
    try:
        require_small_toml(text, "", _BOUNDS)
        plain = tomlkit.parse(text).unwrap()
        require_plain_numbers(plain, "no TOML")
    except InputRefusal as error:
        raise PresetError(str(error)) from None
    except TomlParseError as error:
        raise PresetError(f"no TOML: {str(error).rpartition(' at line ')[0]}", error.line) from None
    except (TOMLKitError, RecursionError, ValueError) as error:
        raise PresetError(f"no TOML: {error}") from None
    return _KeyReader(text).preset(plain)


class _KeyReader:
    """Reader of a preset's keys, with the text for the lines of errors."""

    def __init__(self, text: str) -> None:
        self._text = text

    def preset(self, plain: Mapping[str, Any]) -> Preset:
        self._check_version(plain)
        self._check_keys(plain, _KEYS, ())
        name = self._word(plain, "name")
        if not NAME.fullmatch(name):
            raise self._error("a name has small letters, digits, - and _, at most 63", "name")
        parameters = self._parameters(plain.get("parameters", {}))
        return Preset(
            name=name,
            title=self._line(plain, "title"),
            calls=self._calls(plain, parameters),
            errno=self._errno(plain, parameters),
            probes=self._probes(plain, parameters),
            question=self._line(plain, "question", ""),
            tags=self._words(plain, "tags"),
            description=self._word(plain, "description", "").strip(),
            parameters=parameters,
            view=self._view(plain),
            columns=self._words(plain, "columns"),
            min_latency=self._least(plain, parameters),
        )

    def _check_version(self, plain: Mapping[str, Any]) -> None:
        version = plain.get("version")
        if type(version) is not int or version < 1:
            raise self._error(f"a preset begins with `version = {VERSION}`", "version")
        if version > VERSION:
            raise self._error(
                f"it is for version {version}, and this probewright knows version {VERSION}: a newer one reads it",
                "version",
            )

    def _check_keys(self, table: Mapping[str, Any], keys: Sequence[str], within: tuple[str, ...]) -> None:
        for key in table:
            if key not in keys:
                similar = difflib.get_close_matches(key, keys, 1, 0.5)
                hint = f"did you mean {similar[0]}?" if similar else f"known are {', '.join(keys)}"
                raise self._error(f"{ascii(key)[1:-1]} is no key; {hint}", *within, key)

    def _word(self, plain: Mapping[str, Any], key: str, default: str | None = None) -> str:
        value = plain.get(key, default)
        if value is None:
            raise PresetError(f"{key} is missing")
        if not isinstance(value, str):
            raise self._error(f"{key} is a text, in quotes", key)
        return value

    def _line(self, plain: Mapping[str, Any], key: str, default: str | None = None) -> str:
        value = self._word(plain, key, default).strip()
        if default is None and not value:
            raise self._error(f"{key} is empty", key)
        if "\n" in value:
            raise self._error(f"{key} is one line", key)
        return value

    def _words(self, plain: Mapping[str, Any], key: str) -> tuple[str, ...]:
        value = plain.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) and item.strip() for item in value):
            raise self._error(f'{key} is a list of texts: ["one", "two"]', key)
        return tuple(value)

    def _view(self, plain: Mapping[str, Any]) -> PresetView:
        try:
            return PresetView(plain.get("view", PresetView.EVENTS))
        except ValueError:
            raise self._error(f"view is one of {', '.join(PresetView)}", "view") from None

    def _least(self, plain: Mapping[str, Any], parameters: Sequence[Parameter]) -> str:
        text = self._word(plain, "min_latency", "").strip()
        durations = [parameter.name for parameter in parameters if parameter.type is ParameterType.DURATION]
        if text and self._view(plain) is not PresetView.CALLS:
            raise self._error('min_latency is for view = "calls"', "min_latency")
        if match := PLACEHOLDER.fullmatch(text):
            if match[1] not in durations:
                raise self._error(f"no parameter of type duration is named {ascii(match[1])[1:-1]}", "min_latency")
        elif text:
            try:
                number_of(Parameter("min_latency", ParameterType.DURATION), text)
            except PresetError as error:
                raise self._error(str(error), "min_latency") from None
        return text

    def _calls(self, plain: Mapping[str, Any], parameters: Sequence[Parameter]) -> tuple[str, ...]:
        calls, view = self._words(plain, "calls"), self._view(plain)
        if view is not PresetView.FAILURES:
            if calls:
                raise self._error('calls are for view = "failures"', "calls")
            return ()
        if not calls:
            raise self._error('view = "failures" needs the calls that may fail: calls = ["openat"]', "view")
        for word in calls:
            self._check_word(word, ParameterType.CALL, "calls", parameters)
        return calls

    def _errno(self, plain: Mapping[str, Any], parameters: Sequence[Parameter]) -> str:
        text = self._word(plain, "errno", "").strip()
        if text and self._view(plain) is not PresetView.FAILURES:
            raise self._error('errno is for view = "failures"', "errno")
        if text:
            self._check_word(text, ParameterType.ERRNO, "errno", parameters)
        return text

    def _check_word(self, text: str, kind: ParameterType, key: str, parameters: Sequence[Parameter]) -> None:
        """Check a value of a type, or a parameter of that type in its place. Raises PresetError."""
        match = PLACEHOLDER.fullmatch(text)
        if match is None:
            try:
                check_value(Parameter(key, kind), text)
            except PresetError as error:
                raise self._error(str(error), key) from None
        elif match[1] not in [parameter.name for parameter in parameters if parameter.type is kind]:
            raise self._error(f"no parameter of type {kind} is named {ascii(match[1])[1:-1]}", key)

    def _parameters(self, table: Any) -> tuple[Parameter, ...]:  # noqa: ANN401 - as the file has it
        if not isinstance(table, Mapping):
            raise self._error("parameters are tables: [parameters.NAME]", "parameters")
        return tuple(self._parameter(name, plain) for name, plain in table.items())

    def _parameter(self, name: str, plain: Any) -> Parameter:  # noqa: ANN401 - as the file has it
        path = ("parameters", name)
        if not PARAMETER.fullmatch(name):
            raise self._error("a parameter's name has small letters, digits and _, at most 32", *path)
        if not isinstance(plain, Mapping):
            raise self._error(f"a parameter is a table: [parameters.{name}]", *path)
        self._check_keys(plain, _PARAMETER_KEYS, path)
        try:
            kind = ParameterType(plain.get("type", ""))
        except ValueError:
            raise self._error(f"type is one of {', '.join(ParameterType)}", *path, "type") from None
        default, about = plain.get("default", ""), plain.get("help", "")
        if isinstance(default, bool) or not isinstance(default, str | int) or not isinstance(about, str):
            raise self._error("default is a text or a number, help is a text", *path, "default")
        parameter = Parameter(name, kind, str(default), about)
        if parameter.default:
            try:
                check_value(parameter, parameter.default)
            except PresetError as error:
                raise self._error(str(error), *path, "default") from None
        return parameter

    def _probes(self, plain: Mapping[str, Any], parameters: Iterable[Parameter]) -> tuple[tuple[str, ...], ...]:
        probes_value = plain.get("probes")
        if self._view(plain) is PresetView.FAILURES:
            if probes_value is not None:
                raise self._error('view = "failures" traces calls: it takes no probes', "probes")
            return ()
        if not isinstance(probes_value, list) or not probes_value:
            raise self._error('probes is a list of specifications: ["f vfs_read count"]', "probes")
        names = [parameter.name for parameter in parameters]
        probes = []
        for item in probes_value:
            texts = [item] if isinstance(item, str) else item
            if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
                raise self._error(
                    "a probe is a text, or a list of texts of which the first that works is taken", "probes"
                )
            for text in texts:
                self._check_probe(text, names)
            probes.append(tuple(map(collapsed, texts)))
        return tuple(probes)

    def _check_probe(self, text: str, parameter_names: Sequence[str]) -> None:
        """Check the syntax of a specification, with a value in place of each parameter. Raises PresetError."""
        for name in names_in(text):
            if name not in parameter_names:
                similar = difflib.get_close_matches(name, parameter_names, 1, 0.5)
                hint = (
                    f"did you mean {similar[0]}?" if similar else f"known are {', '.join(parameter_names) or 'none'}"
                )
                raise PresetError(f"${{{ascii(name)[1:-1]}}} is no parameter; {hint}", self._line_with(name))
        if clause := unremovable_clause(collapsed(text)):
            name = names_in(clause)[0]
            raise PresetError(
                f"without a value for ${{{name}}} its clause is left out, which one with parentheses or || "
                f"can't be: {clause}",
                self._line_with(f"${{{name}}}"),
            )
        try:
            parse_armable(PLACEHOLDER.sub("1", text))
        except ParseError as error:
            raise PresetError(f"{text}: {error.refusal.message}", self._line_with(text.split("${")[0])) from None

    def _line_with(self, text: str) -> int:
        lines = self._text.splitlines()
        return next((n for n, line in enumerate(lines, 1) if text and text in line), line_of(self._text, ["probes"]))

    def _error(self, text: str, *path: str) -> PresetError:
        return PresetError(text, line_of(self._text, path))
