"""BPF programs on a target: maps, programs and links by bpf(2). Nothing is pinned: all of it ends with its files."""
