"""Write a table of few rows as Parquet with pyarrow: the type of each column is that of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from events.export.formats.parquet import require_pyarrow

if TYPE_CHECKING:
    import pyarrow

_SUM_DIGITS: Final = 38
"""Digits of a sum that exceeds 64 bits."""
_BITS: Final = 64


def write_rows(rows: Sequence[Mapping[str, object]], columns: Sequence[str], out: BinaryIO) -> None:
    """Write rows of cells: integers, floats, bools and texts; null where a row has no such cell.

    A column of integers is int64, uint64 or decimal128(38), one of integers and floats float64, and one of values of
    other different types has their text. Raises NoPyarrow.
    """
    pa = require_pyarrow()
    names = dict.fromkeys(columns)
    arrays = [_array(pa, [row.get(name) for row in rows]) for name in names]
    pa.parquet.write_table(pa.table(arrays, names=list(names)), out, compression="zstd")


def _array(pa: Any, cells: list[Any]) -> pyarrow.Array:  # noqa: ANN401 - the module of pyarrow
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds or kinds == {str}:
        return pa.array(cells, pa.string())
    if kinds == {bool}:
        return pa.array(cells, pa.bool_())
    if kinds == {int}:
        return pa.array(cells, _integer(pa, [cell for cell in cells if cell is not None]))
    if kinds <= {int, float}:
        return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _integer(pa: Any, numbers: list[int]) -> pyarrow.DataType:  # noqa: ANN401
    if min(numbers) >= -(1 << (_BITS - 1)) and max(numbers) < 1 << (_BITS - 1):
        return pa.int64()
    return pa.uint64() if min(numbers) >= 0 and max(numbers) < 1 << _BITS else pa.decimal128(_SUM_DIGITS, 0)
