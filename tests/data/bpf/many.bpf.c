/* More programs than libbpf's loader has room for, of which one is wanted. */
#include "kernel_types.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} counts SEC(".maps");

#define OTHER(number)                          \
	SEC("?kprobe/vfs_write")               \
	int other_##number(void *ctx)          \
	{                                      \
		return 0;                      \
	}
#define TEN(number) \
	OTHER(number##0) OTHER(number##1) OTHER(number##2) OTHER(number##3) OTHER(number##4) \
	OTHER(number##5) OTHER(number##6) OTHER(number##7) OTHER(number##8) OTHER(number##9)
TEN(1)
TEN(2)
TEN(3)
TEN(4)

SEC("kprobe/vfs_rmdir")
int wanted(void *ctx)
{
	u32 zero = 0;
	u64 *count = bpf_map_lookup_elem(&counts, &zero);
	if (count)
		__sync_fetch_and_add(count, 1);
	return 0;
}
