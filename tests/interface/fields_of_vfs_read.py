"""vfs_read and the fields behind it, written by hand as a picker's nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from probes.fetcharg import FetchArg, Hop, ReturnValue, Variable
from widgets.fields.signature import SignatureText

PROTOTYPE = "ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos)"


@dataclass(frozen=True)
class Node:
    label: str
    c_type: str
    kernel_type: str = ""
    fetcharg: FetchArg | None = None
    offset: int | None = None
    reason: str = ""
    behind: tuple[Node, ...] = field(default=(), repr=False)

    @property
    def step(self) -> str:
        return self.behind[0].label[:1].replace("-", "->") if self.behind else ""

    @property
    def expandable(self) -> bool:
        return bool(self.behind)

    def children(self) -> Sequence[Node]:
        return self.behind


def member(path: str, c_type: str, kind: str, offset: int, behind: tuple[Node, ...] = (), tick: bool = True) -> Node:
    hops = tuple(Hop("->" if n == 0 else ".", name) for n, name in enumerate(path.split(".")))
    arg = FetchArg(Variable("file", hops)) if tick else None
    return Node(str(hops[-1]), c_type, kind, arg, offset, behind=behind)


def argument(name: str, c_type: str, kind: str, behind: tuple[Node, ...] = ()) -> Node:
    return Node(name, c_type, kind, FetchArg(Variable(name)), behind=behind)


DENTRY = member("f_path.dentry", "struct dentry *", "%pd", 8)
FILE_FIELDS = (
    member("f_lock", "spinlock_t", "", 0, tick=False),
    member("f_mode", "fmode_t", "u32", 4),
    member("f_op", "const struct file_operations *", "x64", 16),
    member("f_pos_lock", "struct mutex", "", 96, tick=False),
    member(
        "f_path", "struct path", "", 152, (member("f_path.mnt", "struct vfsmount *", "x64", 0), DENTRY), tick=False
    ),
    member("f_pos", "loff_t", "s64", 64),
    Node("->f_evil[/b]\x1b[31m", "struct {\n}", reason="an unnamed union has no value"),
)
POINTED = FetchArg(Variable("pos", (Hop("[]", "0"),)))
RETVAL = Node("$retval", "ssize_t", "s64", FetchArg(ReturnValue(), name="ret"))
VFS_READ = SignatureText(
    "vfs_read",
    PROTOTYPE,
    (
        argument("file", "struct file *", "x64", FILE_FIELDS),
        argument("buf", "char *", "string"),
        argument("count", "size_t", "u64"),
        argument("pos", "loff_t *", "x64", (Node("[0]", "loff_t", "s64", POINTED),)),
    ),
    RETVAL,
    "fs/read_write.c",
)
