"""Create the histogram of a hist trigger's text as the kernel does, or raise its error.

create_hist_data in kernel/trace/trace_events_hist.c: actions are parsed first, then values, variables, keys, sort.
"""

from __future__ import annotations

from probes.hist.actions import parse_action
from probes.hist.clause import MAX_VARIABLES, inner
from probes.hist.expression import Expressions, remaining_text
from probes.hist.field import LONG_STRING, HistError, HistField, HistFieldFlag, create_field
from probes.hist.state import Creation, has_variables
from probes.hist.trigger import HistTrigger

MAX_KEYS = 3
_MAX_VALUES = 3
_MAX_SORT_KEYS = 2
_WORD = 8
_NO_VALUE = (
    HistFieldFlag.BUCKET
    | HistFieldFlag.LOG2
    | HistFieldFlag.SYM
    | HistFieldFlag.SYM_OFFSET
    | HistFieldFlag.SYSCALL
    | HistFieldFlag.STACKTRACE
)
_SHARES = HistFieldFlag.GRAPH | HistFieldFlag.PERCENT
_NO_VARIABLE = _SHARES | HistFieldFlag.BUCKET | HistFieldFlag.LOG2


class HistCreator:
    """Creator of a histogram; each step raises HistError."""

    def __init__(self, trigger: HistTrigger, creation: Creation) -> None:
        self._trigger = trigger
        self._creation = creation
        self._hist = creation.hist
        self._dialect = creation.state.dialect
        self._expressions = Expressions(creation)

    def create(self) -> None:
        """Create the histogram, except for its actions, which are only parsed. Raises HistError."""
        self._hist.name = self._trigger.name
        for action in self._trigger.actions:
            self._hist.actions.append(parse_action(action, self._creation))
        self._read_definitions()
        self._create_values()
        self._create_variables()
        self._create_keys()
        self._creation.definitions.clear()
        self._create_sort()

    def _read_definitions(self) -> None:
        """Parse the variables' names and texts (parse_var_defs). Raises HistError."""
        creation, definitions = self._creation, self._creation.definitions
        for clause in self._trigger.clauses:
            if clause.word != "variables":
                continue
            for part in inner(clause.text).split(",")[:MAX_VARIABLES]:
                name, sign, text = part.partition("=")
                if not sign:
                    raise creation.error("MALFORMED_ASSIGNMENT", name)
                if len(definitions) == MAX_VARIABLES:
                    raise creation.error("TOO_MANY_VARS", name)
                definitions.append((name, text))

    def _create_values(self) -> None:
        self._hist.fields.append(create_field(None, HistFieldFlag.HITCOUNT, self._dialect))
        texts = self._texts("values")
        hits = taken = 0
        while texts and taken < _MAX_VALUES and len(self._hist.fields) < _MAX_VALUES:
            text = texts.pop(0)
            taken += 1
            if text == "hitcount" and (not self._dialect.nohitcount or not hits):
                hits += 1
                continue
            self._hist.fields.append(self._value(text))
        if texts and texts != ["hitcount"]:
            raise HistError(f"At most {_MAX_VALUES - 1} values besides hitcount")
        if len(self._hist.fields) == 1 and self._trigger.has("nohitcount"):
            raise self._creation.error("NEED_NOHC_VAL", "")

    def _texts(self, word: str) -> list[str]:
        """Return the items of a clause, as the kernel parses them."""
        clause = self._trigger.last(word)
        return inner(clause.value).split(",") if clause is not None else []

    def _value(self, text: str, variable: str | None = None) -> HistField:
        """Parse a value or a variable (__create_val_field). Raises HistError."""
        field = self._expressions.read(text, HistFieldFlag.NONE if variable is None else HistFieldFlag.VAR, variable)
        forbidden = _NO_VARIABLE if variable is not None else _NO_VALUE
        if variable is None and not self._dialect.shares:
            forbidden |= _SHARES
        if field.flags & forbidden:
            raise self._creation.error("BAD_FIELD_MODIFIER", remaining_text(text))
        return field

    def _create_variables(self) -> None:
        definitions = self._creation.definitions
        for number, (name, text) in enumerate(definitions):
            if self._creation.find_variable(name) is not None and not self._creation.remove:
                raise self._creation.error("DUPLICATE_VAR", name)
            field = self._value(text, name)
            definitions[number] = (name, remaining_text(text))
            if field.flags & HistFieldFlag.EXECNAME:
                field.flags = HistFieldFlag.STRING | HistFieldFlag.VAR | HistFieldFlag.EXECNAME
                field.type, field.size, field.signed = "char[]", LONG_STRING, False
            self._hist.fields.append(field)

    def _create_keys(self) -> None:
        texts = self._texts("keys")
        longest = LONG_STRING + self._dialect.stack_size
        offset = 0
        for text in texts[:MAX_KEYS]:
            key = self._key(text)
            key.size = -(-key.size // _WORD) * _WORD
            key.offset = offset
            offset += key.size
            if offset > longest:
                raise HistError(f"The keys are longer than {longest} bytes together")
            self._hist.fields.append(key)
            self._hist.keys.append(key)
        if texts[MAX_KEYS:]:
            raise HistError(f"At most {MAX_KEYS} keys")

    def _key(self, text: str) -> HistField:
        if text == "stacktrace":
            key = create_field(None, HistFieldFlag.KEY | HistFieldFlag.STACKTRACE, self._dialect)
            key.size = self._dialect.stack_size
            return key
        key = self._expressions.read(text, HistFieldFlag.KEY)
        if has_variables(key):
            raise self._creation.error("INVALID_REF_KEY", remaining_text(text))
        return key

    def _create_sort(self) -> None:
        creation, texts = self._creation, self._texts("sort") or ["hitcount"]
        for number, text in enumerate(texts):
            name, dot, direction = text.partition(".")
            if text and number == _MAX_SORT_KEYS - 1 and len(texts) > _MAX_SORT_KEYS:
                raise creation.error("TOO_MANY_SORT_FIELDS", "sort=")
            if not name:
                raise creation.error("EMPTY_SORT_FIELD", "sort=")
            index = 0 if name == "hitcount" else self._sorted_field(name)
            if dot and direction not in ("descending", "ascending"):
                raise creation.error("INVALID_SORT_MODIFIER", direction)
            self._hist.sort.append((index, direction == "descending"))

    def _sorted_field(self, name: str) -> int:
        """Return the index of the value or key to sort by, without variables."""
        sortable = [field for field in self._hist.fields if not field.flags & HistFieldFlag.VAR]
        for index, field in enumerate(sortable):
            if index and field.shown_name == name:
                return index
        names = ("hitcount", *(field.shown_name for field in sortable[1:]))
        raise self._creation.error("INVALID_SORT_FIELD", name, names)
