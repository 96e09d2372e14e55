/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes jumps into the selected functions of a program with patchable entries, and takes them out
 * while it pauses. Other threads may run the same code meanwhile: a place is one 5-byte
 * instruction, NOP or jump, from the first time on, and changes by one store within a cache line.
 */
#include <linux/membarrier.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "runtime/patch.h"
#include "runtime/system.h"

#define THUNK_SIZE 32
#define MODULES_MAX 64
#define ANSWER_WAITS 2000 /* of 1 ms */

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

static struct patch_module modules[MODULES_MAX];
_Atomic bool rt_patch_is_off;
static _Atomic uint32_t locked_by; /* process: a fork may leave it locked */

static const uint8_t nop5[PATCH_SIZE] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

/* Blocks signals, too: their handlers may come here. */
static uint64_t lock(void)
{
	uint64_t signals = rt_block_signals();
	uint32_t process = (uint32_t)RT_CALL0(SYS_getpid), holder = 0;

	while (!atomic_compare_exchange_strong(&locked_by, &holder, process)) {
		if (holder != process)
			continue; /* of a parent's: take it over */
		holder = 0;
		RT_CALL0(SYS_sched_yield);
	}
	return signals;
}

static void unlock(uint64_t signals)
{
	atomic_store(&locked_by, 0);
	rt_restore_signals(signals);
}

static void *memory_at(uint64_t address, size_t size)
{
	long got = rt_call(SYS_mmap, (long)address, (long)size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (got < 0 && got > -4096)
		return NULL;
	if ((uint64_t)got != address) { /* a kernel that does not know the flag */
		RT_CALL2(SYS_munmap, got, size);
		return NULL;
	}
	return (void *)got;
}

/* Memory that a jump from all of [low, high) reaches; rather below, where no heap wants to grow. */
static void *memory_near(uint64_t low, uint64_t high, size_t size)
{
	uint64_t reach = UINT64_C(0x7ff00000) - (high - low) - size;
	uint64_t step = 65536;
	void *got;

	if (high - low + size > UINT64_C(0x70000000))
		return NULL;
	for (uint64_t away = 0; away < reach; away += step, step += step / 8) {
		uint64_t below = (low - size - away) & ~UINT64_C(4095);

		if (below < low && below >= 65536) {
			got = memory_at(below, size);
			if (got)
				return got;
		}
	}
	step = UINT64_C(1) << 26;
	for (uint64_t away = reach - reach % step; away > 0; away -= step) {
		got = memory_at((high + away) & ~UINT64_C(4095), size);
		if (got)
			return got;
	}
	return NULL;
}

/* The pages of all places of a segment; false: there are none. */
static bool pages_of(const struct patch_module *module, const struct patch_segment *segment,
		     uint64_t *low, uint64_t *size)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < module->site_count; i++) {
		const struct patch_site *site = &module->sites[i];

		if (site->address < segment->low || site->address >= segment->high)
			continue;
		if (site->address < first)
			first = site->address;
		if (site->address + site->nops > last)
			last = site->address + site->nops;
	}
	*low = first & ~UINT64_C(4095);
	*size = ((last + 4095) & ~UINT64_C(4095)) - *low;
	return last > 0;
}

/* Other threads go on running this code, so it stays executable. */
static bool text_protect(const struct patch_module *module, bool writable)
{
	uint64_t low, size;

	for (size_t i = 0; i < module->segment_count; i++) {
		const struct patch_segment *segment = &module->segments[i];
		int protection = segment->protection | (writable ? PROT_WRITE : 0);

		if (pages_of(module, segment, &low, &size) &&
		    RT_CALL3(SYS_mprotect, low, size, protection) < 0)
			return false;
	}
	return true;
}

/* Every thread's processor forgets what it has decoded. */
static void text_changed(void)
{
	int command = MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE;

	if (RT_CALL2(SYS_membarrier, command, 0) >= 0)
		return;
	RT_CALL2(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE, 0);
	RT_CALL2(SYS_membarrier, command, 0);
}

static void jump_make(uint8_t *code, const struct patch_site *site)
{
	int32_t distance = (int32_t)(site->thunk - (site->address + PATCH_SIZE));

	code[0] = 0xe9;
	memcpy(code + 1, &distance, sizeof(distance));
}

/* For places within a cache line. */
static void site_write(const struct patch_site *site, const uint8_t *code)
{
	uint64_t from = site->address % 64 > 56 ? (site->address & ~UINT64_C(63)) + 56 :
						  site->address;
	uint8_t bytes[8];
	uint64_t word;

	memcpy(bytes, (const void *)from, sizeof(bytes));
	memcpy(bytes + (site->address - from), code, PATCH_SIZE);
	memcpy(&word, bytes, sizeof(word));
	__asm__ volatile("movq %1, %0" : "=m"(*(uint64_t *)from) : "r"(word) : "memory");
}

/* Is what we wrote there? The module may have been unloaded. */
static bool site_is_ours(const struct patch_site *site)
{
	uint8_t code[PATCH_SIZE], jump[PATCH_SIZE];
	struct iovec to = { code, sizeof(code) };
	struct iovec from = { (void *)site->address, sizeof(code) };
	long got = rt_call(SYS_process_vm_readv, RT_CALL0(SYS_getpid), (long)&to, 1, (long)&from, 1,
			   0);

	jump_make(jump, site);
	return got == PATCH_SIZE &&
	       (memcmp(code, jump, sizeof(code)) == 0 || memcmp(code, nop5, sizeof(code)) == 0);
}

static bool module_is_ours(const struct patch_module *module)
{
	return site_is_ours(&module->sites[0]) &&
	       site_is_ours(&module->sites[module->site_count - 1]);
}

static size_t listed_count(const struct patch_module *module)
{
	return (module->high - module->low) / sizeof(uint64_t);
}

static size_t sites_size(const struct patch_module *module)
{
	return (module->frame_count + listed_count(module)) * sizeof(struct patch_site);
}

/* Nobody can be in the thunks of a module that is gone: exits do not lead through them. */
static void module_forget(struct patch_module *module)
{
	if (module->sites)
		RT_CALL2(SYS_munmap, module->sites, sites_size(module));
	if (module->thunks)
		RT_CALL2(SYS_munmap, module->thunks, module->thunks_size);
	*module = (struct patch_module){ .low = 0 };
}

static void take_next(struct patch_module *module, uint32_t action)
{
	struct patch_site *site = &module->sites[module->site_count++];

	site->trigger = action != FILTER_RECORD;
	if (site->trigger)
		site->word |= THUNK_TRIGGER;
}

/*
 * All places that the filter wants, each once: a list from which functions were dropped may have
 * those that stand for them twice. False: there is no memory for them.
 */
static bool module_select(struct patch_module *module)
{
	const uint64_t *listed = (const uint64_t *)module->low;

	module->sites = rt_map(sites_size(module));
	if (!module->sites)
		return false;
	for (size_t i = 0; i < module->frame_count; i++) {
		uint64_t function = patch_find_function(module, i);
		uint32_t action = rt_filter(function);

		if (action &&
		    patch_find_framed(module, function, &module->sites[module->site_count]))
			take_next(module, action);
	}
	for (size_t i = 0; i < listed_count(module); i++) {
		struct patch_site *site = &module->sites[module->site_count];
		uint32_t action;

		if (!patch_find_site(module, listed[i], site) || patch_is_framed(module, site))
			continue;
		action = rt_filter(site->word & UNIT_FUNCTION_MASK);
		if (action && site->nops < PATCH_SIZE)
			module->too_short++;
		else if (action)
			take_next(module, action);
	}
	return true;
}

/*
 * A thunk pushes its word and jumps to rt_entry, by the address at the start of the area:
 *   0: push 10(%rip)    6: jmp *area(%rip)    16: word
 */
static bool thunks_make(struct patch_module *module)
{
	uint64_t low = UINT64_MAX, high = 0, entry = (uint64_t)rt_entry;
	size_t size = (THUNK_SIZE * (module->site_count + 1) + 4095) & ~(size_t)4095;

	for (size_t i = 0; i < module->segment_count; i++) {
		if (module->segments[i].low < low)
			low = module->segments[i].low;
		if (module->segments[i].high > high)
			high = module->segments[i].high;
	}
	module->thunks = memory_near(low, high, size);
	if (!module->thunks)
		return false;
	module->thunks_size = size;
	memcpy(module->thunks, &entry, sizeof(entry));
	for (size_t i = 0; i < module->site_count; i++) {
		static const uint8_t code[12] = { 0xff, 0x35, 10, 0, 0, 0, 0xff, 0x25 };
		size_t at = THUNK_SIZE * (i + 1);
		char *thunk = module->thunks + at;
		int32_t distance = -(int32_t)(at + sizeof(code));

		memcpy(thunk, code, sizeof(code));
		memcpy(thunk + 8, &distance, sizeof(distance));
		memcpy(thunk + 16, &module->sites[i].word, sizeof(module->sites[i].word));
		module->sites[i].thunk = (uint64_t)thunk;
	}
	return RT_CALL3(SYS_mprotect, module->thunks, size, PROT_READ | PROT_EXEC) >= 0;
}

/*
 * The first time: what was several NOPs becomes one, and each jump is written. The module has just
 * been loaded.
 */
static bool module_patch_first(struct patch_module *module)
{
	uint8_t code[PATCH_SIZE];

	rt_vectors_start();
	if (!text_protect(module, true)) {
		text_protect(module, false);
		return false;
	}
	for (size_t i = 0; i < module->site_count; i++) {
		struct patch_site *site = &module->sites[i];
		uint8_t *place = (uint8_t *)site->address;

		if (site->nops > PATCH_SIZE)
			memset(place + PATCH_SIZE, 0x90, site->nops - PATCH_SIZE);
		jump_make(code, site);
		if (site->fixed)
			memcpy(place, code, sizeof(code));
		else
			site_write(site, rt_patch_is_off && !site->trigger ? nop5 : code);
	}
	text_protect(module, false);
	module->on = !rt_patch_is_off;
	return true;
}

static void module_add(struct patch_module *module, uint64_t low, uint64_t high)
{
	size_t not_writable = 0;

	if (!patch_find_module(module, low, high))
		return;
	if (!module_select(module))
		not_writable = listed_count(module);
	else if (module->site_count && (!thunks_make(module) || !module_patch_first(module)))
		not_writable = module->site_count;
	if (module->too_short || not_writable)
		rt_log_unpatched(module->base, module->too_short, (uint32_t)not_writable);
	if (not_writable || !module->site_count)
		module_forget(module);
	else
		text_changed();
}

static bool module_known(uint64_t low)
{
	for (size_t i = 0; i < MODULES_MAX; i++) {
		if (modules[i].site_count && modules[i].low == low)
			return true;
	}
	return false;
}

/* The launcher knows the entries of a module once it has read of it in the log. */
static void wait_for_launcher(void)
{
	struct timespec pause = { .tv_nsec = 1000000 };
	uint64_t begun = rt_control->modules_begun;

	for (int i = 0; i < ANSWER_WAITS && rt_control->modules_read < begun; i++) {
		rt_wake_launcher();
		if (!rt_launcher_lives())
			return;
		RT_CALL2(SYS_nanosleep, &pause, NULL);
	}
}

/* rt_slot() is a copy; takes over what the launcher has added since. Hooks may be reading it. */
static void answer_refresh(struct shared_process *answer)
{
	const struct shared_process *told = rt_shared(rt_control->processes);

	told += rt_process->slot;
	if (told->pid_inside != (uint32_t)RT_CALL0(SYS_getpid) || told->state != PROCESS_RUNNING ||
	    !rt_open_filter(told))
		return;
	answer->filter_default = told->filter_default;
	answer->filter = told->filter; /* tables only grow: an old mask does for a new table */
	atomic_signal_fence(memory_order_seq_cst);
	answer->filter_mask = told->filter_mask;
	answer->patch_count = told->patch_count;
	memcpy(answer->patch, told->patch, sizeof(answer->patch));
}

void rt_patch_start(void)
{
	struct shared_process *process = rt_slot();
	uint64_t signals;

	wait_for_launcher();
	signals = lock();
	answer_refresh(process);
	for (size_t i = 0; i < MODULES_MAX; i++) {
		if (modules[i].site_count && !module_is_ours(&modules[i]))
			module_forget(&modules[i]);
	}
	for (size_t i = 0; i < process->patch_count; i++) {
		struct patch_module *module = modules;

		if (module_known(process->patch[i].low))
			continue;
		while (module < modules + MODULES_MAX && module->site_count)
			module++;
		if (module < modules + MODULES_MAX)
			module_add(module, process->patch[i].low, process->patch[i].high);
	}
	unlock(signals);
}

static void module_set(struct patch_module *module, bool on)
{
	uint8_t code[PATCH_SIZE];

	if (module->on == on || !module_is_ours(module))
		return;
	if (!text_protect(module, true)) {
		text_protect(module, false);
		if (on)
			rt_log_unpatched(module->base, module->too_short,
					 (uint32_t)module->site_count);
		return;
	}
	for (size_t i = 0; i < module->site_count; i++) {
		const struct patch_site *site = &module->sites[i];

		if (site->fixed || site->trigger)
			continue;
		jump_make(code, site);
		site_write(site, on ? code : nop5);
	}
	text_protect(module, false);
	module->on = on;
	text_changed();
}

/* Under the lock. */
static void set_all(bool on)
{
	rt_patch_is_off = !on;
	for (size_t i = 0; i < MODULES_MAX; i++) {
		if (modules[i].site_count)
			module_set(&modules[i], on);
	}
}

void rt_patch_set(bool on)
{
	uint64_t signals = lock();

	set_all(on);
	unlock(signals);
}

void rt_patch_leave(void)
{
	uint64_t signals = lock();
	bool was_off = rt_patch_is_off;

	rt_patch_is_off = true; /* first: who ends a pause after our look sees it */
	if (rt_patch_is_needless())
		set_all(false);
	else
		rt_patch_is_off = was_off;
	unlock(signals);
}
