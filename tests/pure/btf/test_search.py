"""Search: against a plain reading of what it should find, and what it forgives."""

import re
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from btf.btf import Btf
from btf.search import Search
from tests.btf_writer import stored


@cache
def names() -> list[str]:
    return Btf.load(stored("btf-7.2")).functions


def found(query: str, limit: int | None = 5) -> list[str]:
    return [names()[i] for i in Search(names()).find(query, limit).indices]


def place_of(term: str, name: str) -> int:
    """Rank as the words say: beginning, system call, whole word, beginning of a word, anywhere."""
    if name.startswith(term):
        return 0
    if len(term) < 2 or f"_{term}" not in name:
        return 4
    if len(term) < 3:
        return 1
    if re.search(f"sys_{re.escape(term)}[0-9]*$", name):
        return 1
    return 2 if re.search(f"_{re.escape(term)}([^a-z]|$)", name) else 3


def plain_rank(query: str) -> list[str]:
    """The names with the term, ranked; short before long."""
    term = query.lower()
    return sorted((n for n in names() if term in n.lower()), key=lambda n: (place_of(term, n.lower()), len(n)))


@pytest.mark.parametrize(
    "query", ["r", "_", "e", "vf", "re", "vfs_r", "vfs_read", "tcp_send", "VFS_Re", "zstd_c", "openat", "read"]
)
def test_equals_the_plain_reading(query):
    expected = plain_rank(query)
    assert len(expected) > 2
    assert found(query, None) == expected
    hits = Search(names()).find(query, 3)
    assert (hits.total, len(hits.indices)) == (len(expected), 3)


def test_typing_on_is_the_same_as_a_new_search():
    typed = Search(names())
    for end in range(1, len("vfs_readv") + 1):
        query = "vfs_readv"[:end]
        assert typed.find(query) == Search(names()).find(query)
    for query in ("vfs_re", "vf", "tcp vfs", "", "sched_sw", "sched_switchh", "sched_switch"):
        assert typed.find(query) == Search(names()).find(query)


def test_several_terms():
    hits = found("ext4 inode read", None)
    assert hits
    assert all("ext4" in n and "inode" in n and "read" in n for n in hits)
    assert set(hits) == {n for n in names() if "ext4" in n and "inode" in n and "read" in n}


def test_nothing_typed_is_everything_as_given():
    hits = Search(names()).find("  ")
    assert hits.total == len(names())
    assert list(hits.indices) == list(range(len(names())))
    assert list(Search(names()).find("", 2).indices) == [0, 1]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("vfs_read", "vfs_read"),
        ("vfs_read()", "vfs_read"),
        ("vfs_*read", "vfs_read"),
        ("ext4:ext4_readdir", "ext4_readdir"),
        ("vfsread", "vfs_read"),
        ("vfsrd", "vfs_read"),
        ("vfs_raed", "vfs_read"),
        ("vfs_reed", "vfs_read"),
        ("vfs_readd", "vfs_read"),
        ("raed", "vfs_read"),
        ("tcp_sned", "tcp_sendmsg"),
        ("tcp_sendmsgg", "tcp_sendmsg"),
        ("xcp_sendmsg", "tcp_sendmsg"),
        ("schedule_tiemout", "schedule_timeout"),
        ("prcess_one_work", "process_one_work"),
        ("do_sys_opne", "do_sys_open"),
    ],
)
def test_forgives(query, name):
    assert name in found(query, 40 if query == "raed" else 12)


def test_nothing_near():
    assert Search(names()).find("zzzqqq") == ([], 0)
    assert Search(names()).find("vfs_read zzzqqq") == ([], 0)
    assert Search([]).find("x") == ([], 0)
    assert Search([]).find("") == ([], 0) or list(Search([]).find("").indices) == []


def test_names_of_any_letters():
    odd = ["İstanbul", "a\nb", "ÄRGER", "", "x" * 5000]
    search = Search(odd)
    assert [odd[i] for i in search.find("ärger").indices] == ["ÄRGER"]
    assert odd[search.find("a\nb").indices[0]] == "a\nb"
    assert [odd[i] for i in search.find("xxx").indices] == ["x" * 5000]
    assert search.find("[").total == 5


def test_a_system_call_is_found_by_its_name():
    hits = found("openat", None)
    calls = [name for name in hits if re.search("sys_openat[0-9]*$", name)]
    assert "do_sys_openat2" in calls and hits[0] == "do_sys_openat2"
    assert hits[: len(calls)] == calls and hits.index("io_openat") == len(calls)
    assert found("read", None).index("vfs_read") < found("read", None).index("vfs_readv")


_WORDS = st.lists(st.sampled_from(["sys", "do", "ope", "open", "openat", "x", "2", "at"]), min_size=1, max_size=4)


@settings(max_examples=150)
@given(st.lists(st.builds(lambda words, sign: sign.join(words), _WORDS, st.sampled_from(["_", "", "."]))), _WORDS)
def test_names_are_ranked_by_the_word_that_was_typed(some, query):
    term = "_".join(query)
    hits = [some[i] for i in Search(some).find(term).indices]
    if any(term in name for name in some):
        keys = [(place_of(term, name), len(name)) for name in hits]
        assert keys == sorted(keys) and len(hits) == sum(term in name for name in some)


@settings(max_examples=150)
@given(
    st.lists(st.text(alphabet="abcd_.", max_size=8), max_size=30),
    st.text(alphabet="abcd_. (*[^$", max_size=8),
    st.integers(0, 5),
)
def test_finds_all_that_has_the_term(some, query, limit):
    hits = Search(some).find(query)
    terms = query.replace("(", " ").replace("*", " ").replace("[", " ").replace("^", " ").split()
    exact = {i for i, name in enumerate(some) if all(term in name for term in terms)}
    assert exact <= set(hits.indices)
    assert len(set(hits.indices)) == hits.total
    if exact and len(terms) == 1:
        assert set(hits.indices) == exact
    assert list(Search(some).find(query, limit).indices) == list(hits.indices)[:limit]


def test_a_word_longer_than_every_name_is_not_looked_at_for_slips(monkeypatch):
    """A pasted page of text took the square of its length."""
    search = Search(["vfs_read", "vfs_write"])
    assert search.find("vfs_wrrite").total == 1, "one letter too many"
    monkeypatch.setattr(Search, "_slips", lambda self, term: pytest.fail(f"looked for slips in {len(term)} letters"))
    assert search.find("x" * 70_000) == ([], 0)
    assert search.find("zzz " + " ".join(f"vfs_{at}" for at in range(9_000))).total == 0
