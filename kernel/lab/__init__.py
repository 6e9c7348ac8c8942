"""Throw-away virtual machines to try probes on: any kernel, QEMU without KVM, reached over SSH.

`guest.boot()` is the door. From the outside in: `guest` (one running machine), `qemu` (its command line and life),
`kernels` (which image a word such as `7.2` means), `userland` and `initramfs` (what runs in it), `packages`
(Debian's archive, through apt), `build` (the kernel with every tracer on), `needs` (what is missing here).
"""
