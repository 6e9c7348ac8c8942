/* Removed files by a ring buffer, and their number by process: fentry and fexit, CO-RE, a hash map. */
#include "kernel_types.h"

enum step { STEP_BEGIN = 1, STEP_END = 2 };

struct place {
	u32 pid;
	u32 parent;
};

struct removal {
	u64 ts;
	struct place who;
	enum step step;
	int ret;
	char comm[16];
	char name[64];
};
const struct removal *unused_removal __attribute__((unused));

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 18);
} removals SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, char[16]);
	__type(value, u64);
} removed_by SEC(".maps");

static int note(struct dentry *dentry, enum step step, int ret)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct removal *out = bpf_ringbuf_reserve(&removals, sizeof(*out), 0);
	if (!out)
		return 0;
	out->ts = bpf_ktime_get_ns();
	out->who.pid = BPF_CORE_READ(task, tgid);
	out->who.parent = BPF_CORE_READ(task, real_parent, tgid);
	out->step = step;
	out->ret = ret;
	bpf_get_current_comm(out->comm, sizeof(out->comm));
	bpf_probe_read_kernel_str(out->name, sizeof(out->name), BPF_CORE_READ(dentry, d_name.name));
	bpf_ringbuf_submit(out, 0);
	return 0;
}

SEC("fentry/vfs_unlink")
int BPF_PROG(unlink_begins, struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry)
{
	return note(dentry, STEP_BEGIN, 0);
}

SEC("fexit/vfs_unlink")
int BPF_PROG(unlink_ends, struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry, void *delegated, int ret)
{
	char comm[16] = {};
	u64 one = 1, *count;
	bpf_get_current_comm(comm, sizeof(comm));
	count = bpf_map_lookup_elem(&removed_by, comm);
	if (count)
		__sync_fetch_and_add(count, 1);
	else
		bpf_map_update_elem(&removed_by, comm, &one, 0);
	return note(dentry, STEP_END, ret);
}

SEC("?fentry/vfs_rmdir")
int BPF_PROG(rmdir_begins, struct mnt_idmap *idmap, struct inode *dir, struct dentry *dentry)
{
	return note(dentry, STEP_BEGIN, 0);
}

SEC("xdp")
int drops_nothing(void *ctx)
{
	return 2;
}
