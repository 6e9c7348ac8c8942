/* Opened files as opensnoop does: two tracepoints, a hash between them, and a perf buffer. The struct of the records
 * lies on the stack alone, so that BTF does not have it. */
#include "kernel_types.h"

struct enter_args {
	u64 common;
	long number;
	long dfd;
	const char *filename;
	long flags;
};
struct exit_args {
	u64 common;
	long number;
	long ret;
};
struct started {
	const char *name;
	int flags;
};
struct opened {
	u64 ts;
	u32 pid;
	u32 uid;
	int ret;
	int flags;
	char comm[16];
	char name[48];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, struct started);
} start SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} events SEC(".maps");

SEC("tracepoint/syscalls/sys_enter_openat")
int open_begins(struct enter_args *ctx)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct started begun = {.name = ctx->filename, .flags = ctx->flags};
	bpf_map_update_elem(&start, &tid, &begun, 0);
	return 0;
}

SEC("tracepoint/syscalls/sys_exit_openat")
int open_ends(struct exit_args *ctx)
{
	u32 tid = bpf_get_current_pid_tgid();
	struct started *begun = bpf_map_lookup_elem(&start, &tid);
	struct opened out = {};
	if (!begun)
		return 0;
	out.ts = bpf_ktime_get_ns();
	out.pid = bpf_get_current_pid_tgid() >> 32;
	out.uid = bpf_get_current_uid_gid();
	out.ret = ctx->ret;
	out.flags = begun->flags;
	bpf_get_current_comm(out.comm, sizeof(out.comm));
	bpf_probe_read_user_str(out.name, sizeof(out.name), begun->name);
	bpf_map_delete_elem(&start, &tid);
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, &out, sizeof(out));
	return 0;
}
