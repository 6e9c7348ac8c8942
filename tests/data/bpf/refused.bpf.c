/* A program that the verifier refuses, beside one that it takes. */
#include "kernel_types.h"

SEC("fentry/vfs_unlink")
int BPF_PROG(is_fine, struct mnt_idmap *idmap)
{
	return 0;
}

SEC("fentry/vfs_rmdir")
int BPF_PROG(reads_anything, struct mnt_idmap *idmap)
{
	return *(int *)((u64)bpf_ktime_get_ns());
}
