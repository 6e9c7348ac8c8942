"""Makes `calls.txt`: where compilers look for the parameters of a function, found by calling it.

    apt-get install --no-install-recommends qemu-user gcc-{aarch64,riscv64,s390x,i686}-linux-gnu
    python -m tests.data.make_calls >tests/data/calls.txt

For each signature a function in C is compiled with the options of the kernel and writes out the bytes of its
parameters. It is called with every argument register and many longs of the stack set to values of their own, which
are addresses of memory that is as recognisable; so each byte it saw tells where it came from. Nothing of probewright
is asked. The language of signatures is that of `tests.pure.probes.test_convention.written`.
"""

from __future__ import annotations

import random
import re
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

COUNT = 160


class Machine(NamedTuple):
    compiler: str
    emulator: str
    long: int
    registers: int
    flags: str
    enter: str
    """Assembly of `invoke(function)`: sets registers and stack from `slots` and calls; and of `_start`."""
    write: str
    """C: system calls write(1, p, n) and exit(0)."""
    big_endian: bool = False


MACHINES = {
    "x86_64": Machine(
        "x86_64-linux-gnu-gcc",
        "",
        8,
        6,
        "-mno-red-zone -mno-sse -mno-mmx",
        """invoke: push %rbp; mov %rsp,%rbp; and $-16,%rsp; sub $192,%rsp; mov %rdi,%rax
        lea slots+48(%rip),%rsi; mov %rsp,%rdi; mov $24,%ecx; rep movsq
        mov slots(%rip),%rdi; mov slots+8(%rip),%rsi; mov slots+16(%rip),%rdx; mov slots+24(%rip),%rcx
        mov slots+32(%rip),%r8; mov slots+40(%rip),%r9; call *%rax; leave; ret
        .globl _start
        _start: and $-16,%rsp; call begin""",
        """static void put(const char *p, long n) { long r;
          __asm__ volatile("syscall" : "=a"(r) : "0"(1L), "D"(1L), "S"(p), "d"(n) : "rcx", "r11", "memory"); }
        static void end(void) { __asm__ volatile("syscall" :: "a"(60L), "D"(0L)); }""",
    ),
    "aarch64": Machine(
        "aarch64-linux-gnu-gcc",
        "qemu-aarch64",
        8,
        8,
        "-mgeneral-regs-only",
        """invoke: stp x29,x30,[sp,-16]!; mov x29,sp; sub sp,sp,192; mov x9,x0; adrp x10,slots
        add x10,x10,:lo12:slots
        add x11,x10,64; mov x12,sp; mov x13,24
        1: ldr x14,[x11],8; str x14,[x12],8; subs x13,x13,1; b.ne 1b
        ldr x8,[x10,248]; ldp x0,x1,[x10]; ldp x2,x3,[x10,16]; ldp x4,x5,[x10,32]; ldp x6,x7,[x10,48]
        blr x9; mov sp,x29; ldp x29,x30,[sp],16; ret
        .globl _start
        _start: bl begin""",
        """static void put(const char *p, long n) { register long x8 __asm__("x8") = 64, x0 __asm__("x0") = 1,
          x1 __asm__("x1") = (long)p, x2 __asm__("x2") = n;
          __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory"); }
        static void end(void) { register long x8 __asm__("x8") = 93, x0 __asm__("x0") = 0;
          __asm__ volatile("svc 0" :: "r"(x8), "r"(x0)); }""",
    ),
    "riscv64": Machine(
        "riscv64-linux-gnu-gcc",
        "qemu-riscv64",
        8,
        8,
        "-march=rv64imac -mabi=lp64 -mno-relax",
        """invoke: addi sp,sp,-208; sd ra,200(sp); mv t6,a0; la t0,slots; addi t1,t0,64; mv t2,sp; li t3,24
        1: ld t4,0(t1); sd t4,0(t2); addi t1,t1,8; addi t2,t2,8; addi t3,t3,-1; bnez t3,1b
        ld a0,0(t0); ld a1,8(t0); ld a2,16(t0); ld a3,24(t0); ld a4,32(t0); ld a5,40(t0); ld a6,48(t0); ld a7,56(t0)
        jalr t6; ld ra,200(sp); addi sp,sp,208; ret
        .globl _start
        _start: call begin""",
        """static void put(const char *p, long n) { register long a7 __asm__("a7") = 64, a0 __asm__("a0") = 1,
          a1 __asm__("a1") = (long)p, a2 __asm__("a2") = n;
          __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2) : "memory"); }
        static void end(void) { register long a7 __asm__("a7") = 93, a0 __asm__("a0") = 0;
          __asm__ volatile("ecall" :: "r"(a7), "r"(a0)); }""",
    ),
    "s390x": Machine(
        "s390x-linux-gnu-gcc",
        "qemu-s390x",
        8,
        5,
        "-march=z13 -msoft-float -mno-vx -mno-htm",
        """invoke: stmg %r6,%r15,48(%r15); lgr %r11,%r15; aghi %r15,-352; lgr %r1,%r2; larl %r12,slots
        mvc 160(192,%r15),40(%r12); lmg %r2,%r6,0(%r12); basr %r14,%r1; lgr %r15,%r11; lmg %r6,%r15,48(%r15); br %r14
        .globl _start
        _start: aghi %r15,-160; brasl %r14,begin""",
        """static void put(const char *p, long n) { register long r1 __asm__("r1") = 4, r2 __asm__("r2") = 1,
          r3 __asm__("r3") = (long)p, r4 __asm__("r4") = n;
          __asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4) : "memory"); }
        static void end(void) { register long r1 __asm__("r1") = 1, r2 __asm__("r2") = 0;
          __asm__ volatile("svc 0" :: "d"(r1), "d"(r2)); }""",
        big_endian=True,
    ),
    "i686": Machine(
        "i686-linux-gnu-gcc",
        "qemu-i386",
        4,
        3,
        "-mregparm=3 -freg-struct-return -fno-pic -no-pie -msoft-float -mno-sse -mno-mmx",
        """invoke: push %ebp; mov %esp,%ebp; push %ebx; push %esi; push %edi; and $-16,%esp; sub $96,%esp
        mov %eax,%ebx; mov $slots+12,%esi; mov %esp,%edi; mov $24,%ecx; rep movsl
        mov slots,%eax; mov slots+4,%edx; mov slots+8,%ecx; call *%ebx
        lea -12(%ebp),%esp; pop %edi; pop %esi; pop %ebx; pop %ebp; ret
        .globl _start
        _start: and $-16,%esp; call begin""",
        """static void put(const char *p, long n) { long r;
          __asm__ volatile("int $0x80" : "=a"(r) : "0"(4L), "b"(1L), "c"(p), "d"(n) : "memory"); }
        static void end(void) { __asm__ volatile("int $0x80" :: "a"(1L), "b"(0L)); }""",
    ),
}

C_TYPES = {
    "b": "signed char",
    "h": "short",
    "w": "int",
    "q": "long long",
    "o": "__int128",
    "p": "void *",
    "l": "long",
}
COMMON = """
typedef unsigned long size_t;
unsigned long slots[32];  // 1032 bytes from one address to the next: their lowest bytes differ
static char memory[33 * 1032] __attribute__((aligned(65536)));
void *memcpy(void *d, const void *s, size_t n) { volatile char *a = d; const char *b = s; while (n--) *a++ = *b++;
  return d; }
void *memset(void *d, int v, size_t n) { volatile char *a = d; while (n--) *a++ = v; return d; }
static void hex(const void *p, int n) { const unsigned char *c = p;
  for (; n--; c++) { put(&"0123456789abcdef"[*c >> 4], 1); put(&"0123456789abcdef"[*c & 15], 1); } put(" ", 1); }
extern void invoke(void *);
static void call(void *f) {
  for (int i = 0; i < 32; i++) { slots[i] = (unsigned long)memory + i * 1032;
    memset((void *)slots[i], 128 + i, 512); }
  hex(slots, sizeof slots); invoke(f); put("\\n", 1); }
"""


def source(signatures: list[str], machine: Machine) -> str:
    lines = [machine.write, COMMON]
    lines.append("__asm__(" + "".join(f'"{line.strip()}\\n"' for line in machine.enter.splitlines()) + ");")
    for number, signature in enumerate(signatures):
        words, _, result = signature.partition("=")
        types = [_c_type(word, f"s{number}_{n}", lines) for n, word in enumerate(split(words))]
        returned = _c_type(result, f"r{number}", lines) if result else "void"
        body = "".join(f"hex(&a{n}, sizeof a{n}); " for n in range(len(types)))
        body += f"static {returned} r; return r;" if result else ""
        params = ", ".join(f"{kind} a{n}" for n, kind in enumerate(types)) or "void"
        lines.append(f"__attribute__((noinline)) {returned} f{number}({params}) {{ {body} }}")
    calls = "".join(f"call(f{number}); " for number in range(len(signatures)))
    return "\n".join([*lines, f"void begin(void) {{ {calls} end(); }}"])


def split(words: str) -> list[str]:
    return re.findall(r"[a-z]|\{.*?\}|<.*?>", words)


def _c_type(word: str, name: str, lines: list[str]) -> str:
    if len(word) == 1:
        return C_TYPES[word]
    members = re.findall(r"([a-z])(\d*)", word)
    body = " ".join(f"{C_TYPES[m]} m{n}{f'[{count}]' if count else ''};" for n, (m, count) in enumerate(members))
    lines.append(f"struct {name} {{ {body} }}{' __attribute__((packed))' if word[0] == '<' else ''};")
    return f"struct {name}"


def holders(line: str, machine: Machine) -> list[str]:
    """Say of each parameter that a call wrote out where it was."""
    slots, *params = map(bytes.fromhex, line.split())
    values = [slots[at : at + machine.long] for at in range(0, len(slots), machine.long)]
    names = [f"r{n}" if n < machine.registers else f"s{n - machine.registers}" for n in range(32)]
    out = []
    for data in params:
        pointed = [name for n, name in enumerate(names) if data == bytes([128 + n]) * len(data)]
        if pointed and len(data) > 1:
            out.append(f"&{pointed[0]}")
            continue
        chunks = [data[at : at + machine.long] for at in range(0, len(data), machine.long)]
        out.append(" ".join(_holder(chunk, values, names, machine) for chunk in chunks))
    return out


def _holder(chunk: bytes, values: list[bytes], names: list[str], machine: Machine) -> str:
    """The slot whose low bytes these are."""
    n = len(chunk)
    same = [v[-n:] == chunk if machine.big_endian else v[:n] == chunk for v in values]
    return names[same.index(True)]


def random_signature(rng: random.Random, machine: Machine) -> str:
    letters = "bhwqlp" if machine.long == 4 else "bhwqlpo"

    def struct() -> str:
        inner = "".join(
            rng.choice(letters) + (str(rng.randrange(2, 4)) if rng.random() < 0.15 else "")
            for _ in range(rng.randrange(1, 4))
        )
        # A packed __int128 alone looks to BTF like one that isn't packed.
        return f"{{{inner}}}" if rng.random() < 0.8 or inner == "o" else f"<{inner}>"

    words = "".join(rng.choice(letters) if rng.random() < 0.65 else struct() for _ in range(rng.randrange(1, 9)))
    if rng.random() < 0.4:
        words += "=" + (struct() if rng.random() < 0.7 else rng.choice(letters))
    return words


def main() -> None:
    print("# machine, signature, where each parameter was: made by make_calls.py with gcc 12")
    for name, machine in MACHINES.items():
        rng = random.Random(name)
        signatures = list(dict.fromkeys(random_signature(rng, machine) for _ in range(COUNT * 2)))[:COUNT]
        with tempfile.TemporaryDirectory() as folder:
            text, program = Path(folder, "calls.c"), Path(folder, "calls")
            text.write_text(source(signatures, machine))
            options = f"-O1 -w -nostdlib -static -ffreestanding -fno-stack-protector -fno-builtin {machine.flags}"
            subprocess.run([machine.compiler, *options.split(), str(text), "-o", str(program)], check=True)
            command = [word for word in (machine.emulator, str(program)) if word]
            lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
        for signature, line in zip(signatures, lines, strict=True):
            print(name, signature, ", ".join(holders(line, machine)))


if __name__ == "__main__":
    main()
