/* Durations of reads as biolatency shows them: a kprobe and a kretprobe, powers of two in a struct of slots. */
#include "kernel_types.h"

#define MAX_SLOTS 27

struct hist {
	u32 slots[MAX_SLOTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, u32);
	__type(value, u64);
} begun SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, char[16]);
	__type(value, struct hist);
} hists SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} totals SEC(".maps");

const volatile u64 shift = 0;

static u32 log2_of(u64 number)
{
	u32 slot = 0;
	for (int at = 0; at < MAX_SLOTS - 1 && number > 1; at++, slot++)
		number >>= 1;
	return slot;
}

SEC("kprobe/vfs_read")
int BPF_KPROBE(read_begins)
{
	u32 tid = bpf_get_current_pid_tgid(), zero = 0;
	u64 now = bpf_ktime_get_ns(), *total = bpf_map_lookup_elem(&totals, &zero);
	bpf_map_update_elem(&begun, &tid, &now, 0);
	if (total)
		*total += 1;
	return 0;
}

SEC("kretprobe/vfs_read")
int BPF_KRETPROBE(read_ends, long ret)
{
	static const struct hist empty;
	u32 tid = bpf_get_current_pid_tgid(), one = 1, slot;
	u64 *then = bpf_map_lookup_elem(&begun, &tid), *total = bpf_map_lookup_elem(&totals, &one);
	char comm[16] = {};
	struct hist *hist;
	if (total && ret > 0)
		*total += ret;
	if (!then)
		return 0;
	slot = log2_of((bpf_ktime_get_ns() - *then) >> shift);
	bpf_map_delete_elem(&begun, &tid);
	bpf_get_current_comm(comm, sizeof(comm));
	hist = bpf_map_lookup_elem(&hists, comm);
	if (!hist) {
		bpf_map_update_elem(&hists, comm, &empty, 1);
		hist = bpf_map_lookup_elem(&hists, comm);
	}
	if (hist && slot < MAX_SLOTS)
		__sync_fetch_and_add(&hist->slots[slot], 1);
	return 0;
}
