"""Compiled BPF objects on a target: loaded by a program that libbpf makes here, attached, read."""
