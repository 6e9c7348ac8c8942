"""Bars and lines say what the counts are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from widgets.events.summary_rows import Bar, BarRows, Rate, RateRows, levels, rate_lines, sparkline, squeezed
from widgets.number_format import bar, duration, short
from widgets.safe_text import width


@given(st.lists(st.integers(0, 9), max_size=600), st.integers(1, 80))
def test_neighbours_are_put_together_without_loss(counts, columns):
    found = squeezed(counts, columns)
    assert sum(found) == sum(counts) and len(found) <= columns
    line = sparkline(counts, columns)
    assert [level == " " for level in line] == [not count for count in found]
    assert not any(found) or line[found.index(max(found))] == "█"


@given(st.integers(1, 512), st.integers(50, 160), st.sampled_from([50_000_000, 100_000_000, 800_000_000]))
def test_a_column_of_a_rate_stands_for_the_time_that_is_told(counts, columns, step):
    """Two probes, one with a total of many digits: the lines of both have columns of that time."""
    rates = RateRows([Rate("vfs_read", (1,) * counts, counts), Rate("f", (1,) * counts, 10**13)], step)
    lines = [list(rates.pieces(row, columns))[1].text for row in range(2)]
    assert lines[0] == lines[1]
    each = next(n for n in range(1, counts + 1) if -(-counts // n) <= len(lines[0]))
    assert len(lines[0].rstrip()) == -(-counts // each)
    assert rates.legend(columns) == f", {duration(each * step)} a column, max: the highest column"
    assert RateRows([Rate("vfs_read", (), 5)]).legend(columns) == ""


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=512), st.integers(50, 160))
def test_the_highest_rate_is_that_of_the_highest_column(counts, columns):
    step = 50_000_000
    rates = RateRows([Rate("vfs_read", tuple(counts), sum(counts))], step)
    _, line, figures = rates.pieces(0, columns)
    each = next(n for n in range(1, len(counts) + 1) if -(-len(counts) // n) <= len(line.text))
    at = line.text.find("█")
    highest = sum(counts[at * each : (at + 1) * each]) if any(counts) else 0
    assert figures.text.endswith(f"  max {short(max(squeezed(counts, len(line.text))) * 1e9 / each / step):>5}/s")
    # Columns of one level may differ a little.
    assert max(squeezed(counts, len(line.text))) * 15 / 16 <= highest + 1


@given(st.floats(0, 1), st.integers(1, 60))
def test_a_bar_is_as_long_as_its_share(share, columns):
    drawn = bar(share, columns)
    assert width(drawn) == columns
    assert (share > 0) == (drawn.strip() != "")
    assert abs(drawn.count("█") - share * columns) <= 1


@given(
    st.lists(st.tuples(st.text(max_size=70), st.integers(0, 1 << 50), st.integers(0, 2)), max_size=5),
    st.integers(20, 160),
)
def test_no_row_is_wider_than_the_screen_for_what_it_is_named(rows, columns):
    bars = BarRows([Bar(label, hits, error) for label, hits, error in rows], sum(hits for _, hits, _ in rows))
    rates = RateRows([Rate(label, (hits, 0, 1), hits) for label, hits, _ in rows])
    for number in range(len(rows)):
        text = "".join(piece.text for piece in bars.pieces(number, columns))
        assert f"{rows[number][1]:,}" in text
        assert text.isprintable() and width(text) <= max(columns, 50)
        assert "".join(piece.text for piece in rates.pieces(number, columns)).isprintable()


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=60), st.integers(1, 4))
def test_a_line_of_several_lines_has_the_levels_of_all(counts, lines):
    drawn = levels(counts, 60, lines)
    assert len(drawn) == lines
    heights = [sum(" ▁▂▃▄▅▆▇█".index(line[n]) for line in drawn) for n in range(len(counts))]
    most = max(counts)
    assert all((height == 0) == (count == 0) for height, count in zip(heights, counts, strict=True))
    if most:
        assert max(heights) == 8 * lines
        assert all(abs(height - count / most * 8 * lines) <= 1 for height, count in zip(heights, counts, strict=True))
    assert levels(counts, 60, 1) == (sparkline(counts, 60),)


@given(st.integers(0, 60), st.integers(-40, 100))
def test_rates_take_the_lines_that_are_free_and_few_if_none_is(rates, free):
    shown, lines = rate_lines(rates, free)
    assert min(rates, 8) <= shown <= rates
    assert 1 <= lines <= 4
    assert lines == 1 or shown * lines <= free
    rows = RateRows([Rate("f", (1, 2), 3)] * shown, 10**6, lines)
    texts = ["".join(piece.text for piece in rows.pieces(row, 80)) for row in range(rows.next)]
    assert sum("max" in text for text in texts) == shown
