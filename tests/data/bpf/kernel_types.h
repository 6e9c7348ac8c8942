/* The few types of a kernel that these objects read. Members stand at other offsets than in any kernel, so that a
 * program reads the right bytes only where it was relocated. */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;

#define __VMLINUX_H__ /* the members of pt_regs have the names that the kernel gives them */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct qstr {
	const unsigned char *name;
};
struct dentry {
	struct qstr d_name;
	struct dentry *d_parent;
};
struct task_struct {
	int tgid;
	int pid;
	struct task_struct *real_parent;
	char comm[16];
};
struct pt_regs {
	unsigned long di, ax;
	unsigned long regs[31];
};
struct user_pt_regs {
	unsigned long long regs[31];
};
struct inode;
struct mnt_idmap;
struct linux_binprm {
	const char *filename;
	int argc;
};
#pragma clang attribute pop

char LICENSE[] SEC("license") = "GPL";
