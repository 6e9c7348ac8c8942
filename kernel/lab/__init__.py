"""Boot temporary virtual machines to try probes on: any kernel, QEMU without KVM, reached over SSH.

Entry point: `guest.boot()`. From the outside in: `guest` (one running machine), `qemu` (its command line and
process), `kernels` (the image for a word such as `7.2`), `userland` and `initramfs` (the programs in it), `packages`
(Debian's archive, through apt), `build` (the kernel with every tracer on), `needs` (programs missing on this
machine).
"""
