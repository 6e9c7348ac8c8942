"""Compiled BPF objects (`.bpf.o`): read, described, chosen from. Nothing here asks a kernel."""
