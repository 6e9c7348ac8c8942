"""Opening, closing and searching the argument tree; what keys do to a probe. No screen."""

from __future__ import annotations

from probes.completion.type_choice import sensible_types, shows
from probes.fetcharg import FetchArg, ReturnValue, variable
from probes.probe import Probe, ProbeEnds, ProbePlace
from probes.syntax.parse import parse_probe
from tests.interface.fields_of_vfs_read import VFS_READ
from widgets.fields.field_tree import FieldTree
from widgets.fields.probe_edits import EVERYTHING, at, moved, retype, toggle
from widgets.highlight import matched, rank

NAMES = ["file", "buf", "count", "pos"]
RETVAL = FetchArg(ReturnValue(), name="ret")


def arg(name, *path, kind=None):
    return FetchArg(variable(name, *path), type=kind)


def labels(rows):
    return [row.node.label for row in rows]


def test_children_are_made_when_they_are_opened():
    asked = []

    class Node:
        label, c_type, kernel_type, fetcharg, offset, step, reason = "x", "struct x *", "", None, None, "->", ""
        expandable = True

        def children(self):
            asked.append(self)
            return [Node()]

    tree = FieldTree([Node(), Node()])
    assert asked == []
    tree.open(tree.roots[0])
    assert len(asked) == 1
    tree.close(tree.roots[0])
    tree.open(tree.roots[0])
    assert len(asked) == 1


def test_open_shows_hidden_rows_and_close_keeps_what_was_open_inside():
    tree = FieldTree(VFS_READ.arguments)
    path = next(row for row in tree.roots[0].fields if row.node.label == "->f_path")
    tree.open(path)
    assert ".dentry" in labels(tree.rows)
    tree.close(tree.roots[0])
    assert labels(tree.rows) == NAMES
    tree.open(tree.roots[0])
    assert ".dentry" in labels(tree.rows)


def test_prefix_first_then_the_shorter():
    tree = FieldTree(VFS_READ.arguments)
    assert labels(tree.find(tree.roots[0], "f_p"))[:3] == ["->f_pos", "->f_path", "->f_pos_lock"]
    assert labels(tree.find(tree.roots[0], "pos"))[0] == "pos"  # an argument begins with it
    assert [row.name for row in tree.find(tree.roots[2], "pos")][:2] == ["pos", "pos[0]"]
    assert [str(row.node.fetcharg) for row in tree.find(tree.roots[0], "pos[")] == ["pos[0]"]
    assert labels(tree.find(tree.roots[2], "")) == NAMES  # count has no fields and is in none


def test_fields_of_the_other_arguments_are_found_behind_those_beside_the_cursor():
    tree = FieldTree(VFS_READ.arguments)
    assert [row.path for row in tree.find(tree.roots[2], "f_pos")][:2] == ["file->f_pos", "file->f_pos_lock"]
    assert [row.path for row in tree.find(tree.roots[2], "file->f_pos")][:1] == ["file->f_pos"]
    path = next(row for row in tree.roots[0].fields if row.node.label == "->f_path")
    found = [row.path for row in tree.find(path, "m")]
    assert found.index("file->f_path.mnt") < found.index("file->f_mode")
    assert len(found) == len(set(found))
    assert [row.path for row in tree.find(tree.roots[1], "f_psos")][:1] == ["file->f_pos"]  # a slip
    assert tree.find(tree.roots[1], "zzzzz") == []


class Struct:
    """A node of a type that points to itself, and to more types than are searched."""

    fetcharg, offset, step, reason, kernel_type, expandable = arg("x"), 0, "->", "", "u64", True

    def __init__(self, label: str, number: int, width: int) -> None:
        self.label, self.c_type = label, f"struct s{number} *"
        self._number, self._width = number, width

    def children(self) -> list[Struct]:
        name = "leaf_" if self._number > 99 else "f"
        behind = (
            Struct(f"->{name}{self._number}_{n}", self._number * 10 + n, self._width) for n in range(self._width)
        )
        return [Struct("->self", self._number, self._width), *behind]


def test_fields_of_deeper_structures_are_found_with_their_path_and_slips():
    tree = FieldTree([Struct("x", 1, 3)])
    root = tree.roots[0]
    assert [row.path for row in tree.find(root, "leaf_111_2")][:1] == ["x->f1_1->f11_1->leaf_111_2"]
    assert [row.path for row in tree.find(root, "f11_1->leaf_111_2")][:1] == ["x->f1_1->f11_1->leaf_111_2"]
    assert [row.path for row in tree.find(root, "laef_111_2")][:1] == ["x->f1_1->f11_1->leaf_111_2"]
    assert not [row for row in tree.find(root, "f11111") if row.depth > 4]
    assert next(row.path for row in tree.find(root, "self")) == "x->self"
    assert [row.path for row in tree.find(root, "1_11")][:1] == ["x->f1_1"], "a slip for what is near comes first"
    wide = FieldTree([Struct("x", 1, 50)])
    assert len(wide.find(wide.roots[0], "f1")) <= 4000 + 53


def test_ranks_and_matches():
    names = ["f_op", "f_path", "ref_p", "f_pos", "x_f_p"]
    assert sorted(names, key=lambda name: rank(name, "f_p") or (9, 9)) == [
        "f_pos",
        "f_path",
        "x_f_p",
        "ref_p",
        "f_op",
    ]
    assert rank("f_pos", "zz") is None
    assert matched("vfs_readlink", "link VFS") == [(0, 3), (8, 12)]
    assert matched("vfs_read", "vrd") == [(0, 1), (4, 5), (7, 8)]
    assert matched("vfs_read", "zq") == []


def test_ticks_stand_in_the_order_of_the_arguments():
    probe = Probe(ProbePlace("vfs_read"), ProbeEnds.EXIT)
    for ticked in (RETVAL, arg("count"), arg("file", "->f_pos"), EVERYTHING):
        probe = toggle(probe, ticked, NAMES)
    assert str(probe) == "f vfs_read%return $$args file->f_pos count ret=$retval"
    assert str(toggle(probe, arg("count"), NAMES)) == "f vfs_read%return $$args file->f_pos ret=$retval"


def test_moving_between_the_ends_of_a_call():
    probe = Probe(ProbePlace("vfs_read"))
    assert at(probe, ProbeEnds.EXIT, RETVAL).fetchargs == (RETVAL,)
    assert at(probe, ProbeEnds.EXIT, None).fetchargs == ()
    chosen = toggle(probe, arg("count"), NAMES)
    assert at(chosen, ProbeEnds.BOTH, RETVAL).fetchargs == chosen.fetchargs
    assert at(at(probe, ProbeEnds.EXIT, RETVAL), ProbeEnds.ENTRY, RETVAL) == probe
    typed = parse_probe("r vfs_read $retval count")
    assert str(at(typed, ProbeEnds.ENTRY, RETVAL)) == "p vfs_read count"
    assert str(at(typed, ProbeEnds.EXIT, RETVAL)) == "r vfs_read $retval count"
    there, parked = moved(typed, ProbeEnds.ENTRY, RETVAL, ())
    assert (str(there), [str(arg) for arg in parked]) == ("p vfs_read count", ["$retval"])
    assert moved(there, ProbeEnds.ENTRY, RETVAL, parked) == (there, parked)
    back, parked = moved(there, ProbeEnds.BOTH, RETVAL, parked)
    assert ({str(arg) for arg in back.fetchargs}, parked) == ({"count", "$retval"}, ())


def test_types_go_round():
    probe = toggle(Probe(ProbePlace("f")), arg("count"), NAMES)
    kinds = sensible_types("u64")
    assert kinds == (None, "s64", "x64")
    seen = []
    for _ in range(4):
        probe = retype(probe, arg("count"), kinds)
        seen.append(probe.fetchargs[0].type)
    assert seen == ["s64", "x64", None, "s64"]
    assert retype(probe, arg("buf"), kinds) == probe
    assert sensible_types("string", "char *") == (None, "ustring", "x64")
    assert sensible_types("x64", "struct file *") == (None, "symbol")
    assert sensible_types("u8[16]", "u8 [16]") == (None,)
    assert "char" in sensible_types("u8")


def test_what_types_show():
    assert shows("s64") == "signed, 64 bits"
    assert shows("b1") == "one bit"
    assert shows("b4@0/32") == "4 bits"
    assert shows("u8[16]") == "16 elements: unsigned, 8 bits"
    assert shows("%pD") == "name of the file"
    assert shows("nonsense") == ""
