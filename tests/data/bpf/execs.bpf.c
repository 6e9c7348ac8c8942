/* Started programs as execsnoop does, by all kinds of tracepoints: records of different lengths in one perf buffer, and
 * numbers in maps. */
#include "kernel_types.h"

struct started {
	u32 pid;
	u32 parent;
	int argc;
	u32 length;
	char comm[16];
	char file[];
};
#define MOST 128

struct buffer {
	struct started head;
	char file[MOST];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct buffer);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(u32));
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");

static void add(u32 number)
{
	u64 *count = bpf_map_lookup_elem(&counts, &number);
	if (count)
		__sync_fetch_and_add(count, 1);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(program_starts, struct task_struct *task, int old_pid, struct linux_binprm *binary)
{
	u32 zero = 0;
	struct buffer *out = bpf_map_lookup_elem(&scratch, &zero);
	long length;
	if (!out)
		return 0;
	out->head.pid = task->tgid;
	out->head.parent = BPF_CORE_READ(task, real_parent, tgid);
	out->head.argc = BPF_CORE_READ(binary, argc);
	bpf_get_current_comm(out->head.comm, sizeof(out->head.comm));
	length = bpf_probe_read_kernel_str(out->head.file, MOST, BPF_CORE_READ(binary, filename));
	if (length < 0 || length > MOST)
		return 0;
	out->head.length = length;
	bpf_perf_event_output(ctx, &events, BPF_F_CURRENT_CPU, out, sizeof(out->head) + length);
	add(0);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int program_starts_raw(struct bpf_raw_tracepoint_args *ctx)
{
	add(1);
	return 0;
}

SEC("kprobe.multi/vfs_rmdir*")
int BPF_KPROBE(folder_goes)
{
	add(2);
	return 0;
}

SEC("kretprobe.multi/vfs_mkdi?")
int BPF_KRETPROBE(folder_came)
{
	add(3);
	return 0;
}
