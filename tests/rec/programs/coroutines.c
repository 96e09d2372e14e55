/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three generators on stacks of their own, by swapcontext() or by a few lines of assembly, on
 * stacks from malloc() or mmap(). They are resumed in turn, a thousand switches in all, always
 * from within two open calls; then they end.
 */
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "rec.h"

enum { COROUTINES = 3, YIELDS = 167, STACK = 65536, GUARD = 4096 };

struct coroutine {
	ucontext_t context;
	void *stack_pointer;
	int value;
	int ended;
};

static struct coroutine coroutines[COROUTINES];
static ucontext_t main_context;
static void *main_stack_pointer;
static int by_hand;
static volatile int switches;

/* Saves what a call must keep on the present stack, and goes on with what another one saved. */
void switch_stack(void **save, void *load);
__asm__(".text\n"
	".globl switch_stack\n"
	".type switch_stack, @function\n"
	"switch_stack:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size switch_stack, . - switch_stack\n");

FN static void to_main(struct coroutine *coroutine)
{
	switches++;
	if (by_hand)
		switch_stack(&coroutine->stack_pointer, main_stack_pointer);
	else
		swapcontext(&coroutine->context, &main_context);
	TOUCH();
}

FN static void to_coroutine(struct coroutine *coroutine)
{
	switches++;
	if (by_hand)
		switch_stack(&main_stack_pointer, coroutine->stack_pointer);
	else
		swapcontext(&main_context, &coroutine->context);
	TOUCH();
}

FN static int produce(int value)
{
	TOUCH();
	return value + 1;
}

/* Yields from a depth that changes. */
FN static void yield_deep(struct coroutine *coroutine, int depth)
{
	TOUCH();
	if (depth > 0)
		yield_deep(coroutine, depth - 1);
	else
		to_main(coroutine);
	TOUCH();
}

FN static void body(struct coroutine *coroutine)
{
	for (int i = 0; i < YIELDS - 1; i++) {
		coroutine->value = produce(coroutine->value);
		yield_deep(coroutine, i % 5);
	}
	TOUCH();
}

FN static void entry(int number)
{
	body(&coroutines[number]);
	coroutines[number].ended = 1;
	TOUCH();
}

/* Without hooks: it never returns, so it must not count as an open call. */
QUIET static void entry_by_hand(void)
{
	int number = 0;

	while (coroutines[number].ended || !coroutines[number].stack_pointer ||
	       coroutines[number].value != -1)
		number++;
	coroutines[number].value = number * 1000;
	entry(number);
	switches++;
	switch_stack(&coroutines[number].stack_pointer, main_stack_pointer);
	abort();
}

QUIET static char *make_stack(int mapped)
{
	char *stack;

	if (!mapped) {
		stack = malloc(STACK);
		if (!stack)
			exit(9);
		return stack;
	}
	/* with a guard page below, as is usual: mappings that touch are one to the kernel */
	stack = mmap(NULL, GUARD + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (stack == MAP_FAILED || mprotect(stack, GUARD, PROT_NONE))
		exit(9);
	return stack + GUARD;
}

QUIET static void prepare(int number, int mapped)
{
	struct coroutine *coroutine = &coroutines[number];
	char *stack = make_stack(mapped);

	if (by_hand) {
		void **top = (void **)(stack + STACK - 64);

		memset(top - 8, 0, 64);
		top[-1] = 0;
		top[-2] = (void *)entry_by_hand;
		coroutine->stack_pointer = top - 8;
		coroutine->value = -1;
		return;
	}
	coroutine->value = number * 1000;
	getcontext(&coroutine->context);
	coroutine->context.uc_stack.ss_sp = stack;
	coroutine->context.uc_stack.ss_size = STACK;
	coroutine->context.uc_link = &main_context;
	makecontext(&coroutine->context, (void (*)(void))entry, 1, number);
}

FN static int take(int number)
{
	to_coroutine(&coroutines[number]);
	TOUCH();
	return coroutines[number].value;
}

int main(int argc, char **argv)
{
	long sum = 0;

	by_hand = argc > 1 && strcmp(argv[1], "hand") == 0;
	for (int i = 0; i < COROUTINES; i++)
		prepare(i, argc > 2 && strcmp(argv[2], "mmap") == 0);
	for (int i = 0; i < YIELDS; i++)
		for (int k = 0; k < COROUTINES; k++)
			sum += take(k);
	for (int k = 0; k < COROUTINES; k++)
		printf("%d ", coroutines[k].ended);
	printf("sum %ld\n", sum);
	return 0;
}
