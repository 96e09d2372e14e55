/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tells the launcher which modules lie where: all at the start, then what came and went. What is
 * not told in time the launcher finds in /proc by itself, so this never waits for a lock.
 */
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "runtime/runtime.h"
#include "runtime/system.h"

#define MODULES_MAX 2048

/* What the launcher was told. */
static struct known {
	uint64_t base, low, high, name;
	uint32_t seen; /* in the scan of this number */
} known[MODULES_MAX];
static size_t known_count;
static uint32_t scan_number;
static unsigned long long last_adds, last_subs;
static _Atomic bool scanning;

static uint64_t hash_name(const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return hash;
}

/* ---- the log ---- */

/* NULL: the launcher is gone. The number is the entry's. */
struct shared_module *rt_log_begin(uint64_t *number)
{
	struct shared_module *entry;
	struct timespec pause = { .tv_nsec = 1000000 };

	*number = atomic_fetch_add(&rt_control->modules_begun, 1);
	while (*number - rt_control->modules_read >= rt_control->module_count) {
		rt_wake_launcher();
		RT_CALL2(SYS_nanosleep, &pause, NULL);
		if (!rt_launcher_lives())
			return NULL;
	}
	entry = (struct shared_module *)rt_shared(rt_control->modules) +
		*number % rt_control->module_count;
	entry->process = rt_process->slot;
	entry->time = rt_clock();
	entry->build_id_size = 0;
	entry->path_size = 0;
	return entry;
}

void rt_log_end(struct shared_module *entry, uint64_t number)
{
	atomic_store_explicit(&entry->ready, number + 1, memory_order_release);
}

static void set_path(struct shared_module *entry, const char *name)
{
	size_t room = sizeof(entry->path) - 1, used = 0, size = strlen(name);
	long result;

	if (!size) {
		result = RT_CALL3(SYS_readlink, "/proc/self/exe", entry->path, room);
		entry->path_size = result > 0 ? (uint32_t)result : 0;
		entry->path[entry->path_size] = 0;
		return;
	}
	if (*name != '/' && strchr(name, '/')) { /* from where we are now */
		result = RT_CALL2(SYS_getcwd, entry->path, room - 1);
		if (result > 1) {
			used = (size_t)result - 1;
			entry->path[used++] = '/';
		}
		if (!strncmp(name, "./", 2)) {
			name += 2;
			size -= 2;
		}
	}
	if (size > room - used)
		size = room - used;
	memcpy(entry->path + used, name, size);
	entry->path_size = (uint32_t)(used + size);
	entry->path[entry->path_size] = 0;
}

static void set_build_id(struct shared_module *entry, const char *note, size_t size)
{
	const Elf64_Nhdr *header;
	size_t name_size, whole;

	while (size >= sizeof(*header)) {
		header = (const Elf64_Nhdr *)note;
		name_size = (header->n_namesz + (size_t)3) & ~(size_t)3;
		whole = sizeof(*header) + name_size + ((header->n_descsz + (size_t)3) & ~(size_t)3);
		if (whole > size)
			return;
		if (header->n_type == NT_GNU_BUILD_ID && header->n_namesz == 4 &&
		    !memcmp(note + sizeof(*header), "GNU", 4) &&
		    header->n_descsz <= sizeof(entry->build_id)) {
			memcpy(entry->build_id, note + sizeof(*header) + name_size,
			       header->n_descsz);
			entry->build_id_size = header->n_descsz;
			return;
		}
		note += whole;
		size -= whole;
	}
}

static void log_load(const struct dl_phdr_info *info, const struct known *module)
{
	uint64_t number;
	struct shared_module *entry = rt_log_begin(&number);

	if (!entry)
		return;
	entry->news = MODULE_LOADED;
	entry->base = module->base;
	entry->low = module->low;
	entry->high = module->high;
	for (int i = 0; i < info->dlpi_phnum && !entry->build_id_size; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			set_build_id(entry,
				     (const char *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr,
				     info->dlpi_phdr[i].p_memsz);
	set_path(entry, info->dlpi_name);
	rt_log_end(entry, number);
}

static void log_unload(const struct known *module)
{
	uint64_t number;
	struct shared_module *entry = rt_log_begin(&number);

	if (!entry)
		return;
	entry->news = MODULE_UNLOADED;
	entry->base = module->base;
	rt_log_end(entry, number);
}

void rt_log_unpatched(uint64_t base, uint32_t too_short, uint32_t not_writable)
{
	uint64_t number;
	struct shared_module *entry = rt_log_begin(&number);

	if (!entry)
		return;
	entry->news = MODULE_UNPATCHED;
	entry->base = base;
	entry->entries_too_short = too_short;
	entry->entries_not_writable = not_writable;
	rt_log_end(entry, number);
}

/* ---- scanning ---- */

/* False: it has no code, or it is the kernel's own. */
static bool measure(const struct dl_phdr_info *info, struct known *module)
{
	const Elf64_Phdr *segment;
	uint64_t low, high;

	*module = (struct known){ .base = info->dlpi_addr, .low = UINT64_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		segment = &info->dlpi_phdr[i];
		if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
			continue;
		low = info->dlpi_addr + segment->p_vaddr;
		high = low + segment->p_memsz;
		if (low < module->low)
			module->low = low;
		if (high > module->high)
			module->high = high;
	}
	module->name = hash_name(info->dlpi_name);
	return module->high && info->dlpi_addr != getauxval(AT_SYSINFO_EHDR);
}

static int look_at(struct dl_phdr_info *info, size_t size, void *context)
{
	struct known module;

	(void)size;
	(void)context;
	last_adds = info->dlpi_adds;
	last_subs = info->dlpi_subs;
	if (!measure(info, &module))
		return 0;
	for (size_t i = 0; i < known_count; i++)
		if (known[i].base == module.base && known[i].low == module.low &&
		    known[i].high == module.high && known[i].name == module.name) {
			known[i].seen = scan_number;
			return 0;
		}
	if (known_count == MODULES_MAX)
		return 0;
	module.seen = scan_number;
	known[known_count++] = module;
	log_load(info, &module);
	return 0;
}

/* Stops at the first module: nothing changed. */
static int look_for_change(struct dl_phdr_info *info, size_t size, void *changed)
{
	(void)size;
	*(bool *)changed = info->dlpi_adds != last_adds || info->dlpi_subs != last_subs;
	return 1;
}

void rt_load_scan(void)
{
	bool changed = false, expected = false;
	int saved_errno = errno;
	uint64_t mask = rt_block_signals();

	if (atomic_compare_exchange_strong(&scanning, &expected, true)) {
		dl_iterate_phdr(look_for_change, &changed);
		if (changed) {
			scan_number++;
			dl_iterate_phdr(look_at, NULL);
			for (size_t i = 0; i < known_count;) {
				if (known[i].seen == scan_number) {
					i++;
					continue;
				}
				log_unload(&known[i]);
				known[i] = known[--known_count];
			}
		}
		scanning = false;
	}
	rt_restore_signals(mask);
	errno = saved_errno;
}

/* ---- dlopen ---- */

void rt_load_begun(uint64_t stack, uint64_t return_address)
{
	if (rt_thread.loading) { /* inside of another one, or that was not seen to end */
		if (stack < rt_thread.loading)
			return;
	} else {
		rt_process->loading++;
	}
	rt_thread.loading = stack;
	rt_thread.loading_return = return_address;
	rt_set_ready();
}

/* Whether the launcher was told where a function lies; 0 is none. */
static bool is_known(uint64_t function)
{
	static size_t recent; /* where the last one was found; only ever a hint */

	if (!function || (recent < known_count &&
			  function - known[recent].low < known[recent].high - known[recent].low))
		return true;
	for (size_t i = 0; i < known_count; i++)
		if (function - known[i].low < known[i].high - known[i].low) {
			recent = i;
			return true;
		}
	return false;
}

/*
 * Constructors run inside the call: what they belong to is told at their first hook. The call is
 * over when its caller, or a caller of that, calls something: a hook lies above it on
 * the stack, or another call has overwritten its return address.
 */
void rt_load_check(uint64_t stack, uint64_t function)
{
	uint64_t slot = rt_thread.loading - sizeof(uint64_t), low, high;

	rt_stack_bounds(&low, &high);
	if (stack < rt_thread.loading && slot >= low && slot < high &&
	    *(const uint64_t *)slot == rt_thread.loading_return) {
		if (!is_known(function))
			rt_load_scan();
		return;
	}
	rt_thread.loading = 0;
	rt_process->loading--;
	rt_set_ready();
	rt_load_scan();
	rt_patch_start();
}

/* Other threads may have been scanning; they are not in the child. */
void rt_load_forked(void)
{
	scanning = false;
}
