"""Makes programs.tar.xz: small ELF files whose functions begin with a number of their own, so that a place in the
file can be looked at. Run it where gcc and binutils for x86 are: `python -m tests.data.make_programs`.

    pie        position-independent, with a symbol table, static probes and a reference counter
    fixed      linked to an address; code lies elsewhere in the file than in memory
    small      the same for 32 bits
    stripped   `pie` without its symbol table: the dynamic linker's is left
    bare       `fixed` without any symbol
    hidden     `stripped` with `.gnu_debugdata`
    versions   a library with an old and a new version of one function, and an old one that has no new one
    runs       passes its two static probes while their counter is not 0, and ends
"""

from __future__ import annotations

import io
import lzma
import subprocess
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = r"""
    .macro function name, number, scope=globl
    .\scope \name
    .type \name, @function
\name:
    mov $\number, %eax
    nop
    ret
    .size \name, . - \name
    .endm
    .text
    .globl _start
    function _start, 0x11110001
    function work, 0x11110002
    function quiet, 0x11110003, local
    function twin, 0x11110004, local
    function "part.cold.0", 0x11110005, local
    .globl chooser
    .type chooser, @gnu_indirect_function
    .set chooser, work
    .section .rodata
    .space 5000
    .data
    .globl counter
    .type counter, @object
    .size counter, 4
counter:
    .long 7
"""
SECOND = r"""
    .text
    .type twin, @function
twin:
    mov $0x11110014, %eax
    ret
    .size twin, . - twin
"""
PASSED = r"""
    .text
    mov $0x11110021, %eax
990: nop
    mov $0x11110022, %eax
991: nop
    mov $0x11110023, %eax
992: nop
"""
NOTES = r"""
    .macro note place, counter, provider, name
    .pushsection .note.stapsdt, "", "note"
    .balign 4
    .4byte 8, 1f - 0f, 3
    .asciz "stapsdt"
0:  .8byte \place, _.stapsdt.base, \counter
    .asciz "\provider"
    .asciz "\name"
    .asciz "8@%rdi"
1:  .balign 4
    .popsection
    .endm
    note 990b, gate, made, twice
    note 991b, gate, made, twice
    .section .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
    .weak _.stapsdt.base
    .hidden _.stapsdt.base
_.stapsdt.base: .space 1
    .size _.stapsdt.base, 1
    .section .probes, "aw", "progbits"
gate:
    .short VALUE
"""
OPEN = "    note 992b, 0, made, open\n"
IMPORT = r"""
    .text
    .globl caller
    .type caller, @function
caller:
    mov $0x11110031, %eax
    call elsewhere@PLT
    ret
    .size caller, . - caller
"""
ELSEWHERE = r"""
    .text
    .globl elsewhere
    .type elsewhere, @function
elsewhere: ret
    .size elsewhere, . - elsewhere
"""
VERSIONS = r"""
    .text
    .macro version name, number
    .globl \name
    .type \name, @function
\name:
    mov $\number, %eax
    ret
    .size \name, . - \name
    .endm
    version first, 0x11110041
    version second, 0x11110042
    version gone, 0x11110043
    .symver first, changed@OLD, remove
    .symver second, changed@@NEW, remove
    .symver gone, retired@OLD, remove
"""
RUNS = r"""
    .text
    .globl _start
    .type _start, @function
_start:
    cmpw $0, gate(%rip)
    je 2f
    mov $0x2a, %edi
990: nop
    mov $0x2b, %edi
991: nop
2:  mov $60, %eax
    xor %edi, %edi
    syscall
    .size _start, . - _start
"""


def main() -> None:
    """Assemble, link, strip and pack."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sources = {"main": SOURCE, "second": SECOND, "import": IMPORT, "elsewhere": ELSEWHERE, "versions": VERSIONS}
        sources["static"] = PASSED + NOTES.replace("VALUE", "0x5344") + OPEN
        sources["runs"] = RUNS + NOTES.replace("VALUE", "0")
        for one, text in sources.items():
            (folder / f"{one}.s").write_text(text)
        (folder / "versions.map").write_text("OLD { local: *; }; NEW { } OLD;\n")
        link = ["gcc", "-nostdlib", "-Wl,--build-id=none", "-Wl,-z,noseparate-code"]
        _run(folder, *link, "-shared", "-o", "libelsewhere.so", "elsewhere.s")
        parts = ["main.s", "second.s", "static.s", "import.s"]
        exported = "-Wl,--export-dynamic-symbol=work,--export-dynamic-symbol=chooser"
        _run(folder, *link, "-pie", exported, "-o", "pie", *parts, "-L.", "-lelsewhere")
        _run(folder, *link, "-static", "-Wl,-Ttext-segment=0x600000", "-o", "fixed", "main.s", "second.s")
        _run(folder, *link, "-m32", "-static", "-o", "small", "main.s", "second.s")
        _run(folder, "strip", "-o", "stripped", "pie")
        _run(folder, "strip", "-o", "bare", "fixed")
        _run(folder, "objcopy", "--keep-symbol=quiet", "--strip-unneeded", "--only-keep-debug", "pie", "hidden.sym")
        (folder / "hidden.xz").write_bytes(lzma.compress((folder / "hidden.sym").read_bytes()))
        _run(folder, "objcopy", "--add-section", ".gnu_debugdata=hidden.xz", "stripped", "hidden")
        _run(folder, *link, "-shared", "-Wl,--version-script=versions.map", "-o", "versions", "versions.s")
        _run(folder, *link, "-static", "-o", "runs", "runs.s")
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for one in ("pie", "fixed", "small", "stripped", "bare", "hidden", "versions", "runs"):
                info = tarfile.TarInfo(one)
                data = (folder / one).read_bytes()
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        (HERE / "programs.tar.xz").write_bytes(lzma.compress(buffer.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def _run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True)


if __name__ == "__main__":
    main()
