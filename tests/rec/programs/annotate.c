/* SPDX-License-Identifier: Apache-2.0 */
/* Annotations of every kind; the first argument says which. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sonde/annotate.h>
#include <sonde/record.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "rec.h"

struct point {
	int x;
};

/* ---- scopes among functions ---- */

FN static void leaf(int i)
{
	SONDE_SCOPE("leaf scope", SONDE_ARG(i));
	SONDE_EVENT("leaf event", SONDE_U32_AS("twice", 2 * i));
}

FN static void middle(int count)
{
	SONDE_EVENT("before");
	for (int i = 0; i < count; i++) {
		SONDE_SCOPE("loop", SONDE_ARG(i));
		leaf(i);
	}
	SONDE_EVENT("last act");
}

FN static int nest(void)
{
	SONDE_SCOPE("outer");
	{
		SONDE_SCOPE("inner");
		middle(2);
	}
	SONDE_EVENT("after inner");
	return 0;
}

/* ---- values ---- */

FN static int types(void)
{
	struct point point = { -7 }, *p = &point;
	const char *null = NULL;
	char text[] = "text";
	const bool bools[] = { true, false, true };
	const int8_t i8s[] = { -128, 127, 0 };
	const uint8_t u8s[] = { 1, 2, 3, 255, 5 };
	const int16_t i16s[] = { -32768, 1, 2 };
	const uint16_t u16s[] = { 65535 };
	const int32_t i32s[] = { INT32_MIN, 3 };
	const uint32_t u32s[] = { UINT32_MAX, 4 };
	const int64_t i64s[] = { INT64_MIN, 5, 6 };
	const uint64_t u64s[] = { UINT64_MAX };
	const float f32s[] = { 0.5f, -1e30f };
	const double f64s[] = { 1e300, -0.1 };

	SONDE_EVENT("numbers", SONDE_BOOL_AS("truth", p->x), SONDE_I8_AS("i8", -128),
		    SONDE_U8_AS("u8", 255), SONDE_I16_AS("i16", -32768), SONDE_U16_AS("u16", 65535),
		    SONDE_I32_AS("i32", INT32_MIN), SONDE_U32_AS("u32", UINT32_MAX),
		    SONDE_ARG(p->x));
	SONDE_EVENT("wide", SONDE_I64_AS("i64", INT64_MIN), SONDE_U8_AS("between", 3),
		    SONDE_U64_AS("u64", UINT64_MAX), SONDE_F32_AS("f32", 1.5f),
		    SONDE_F64_AS("f64", -1e300));
	SONDE_EVENT("texts", SONDE_STR(text), SONDE_STR(null), SONDE_STR_AS("empty", ""),
		    SONDE_STR_AS("one", "a"), SONDE_STR_AS("seven", "1234567"),
		    SONDE_STR_AS("eight", "12345678"), SONDE_STR_AS("utf8", "gr\xc3\xbc\xc3\x9f"),
		    SONDE_STR_AS("many", "a text that goes on behind the first unit of a record"));
	SONDE_EVENT("arrays", SONDE_BOOL_ARRAY(bools, 3), SONDE_I8_ARRAY(i8s, 3),
		    SONDE_U8_ARRAY(u8s, 5), SONDE_I16_ARRAY(i16s, 3), SONDE_U16_ARRAY(u16s, 1),
		    SONDE_I32_ARRAY(i32s, 2), SONDE_U32_ARRAY(u32s, 2));
	SONDE_EVENT("wide arrays", SONDE_I64_ARRAY(i64s, 3), SONDE_U64_ARRAY(u64s, 1),
		    SONDE_F32_ARRAY(f32s, 2), SONDE_F64_ARRAY(f64s, 2),
		    SONDE_F64_ARRAY_AS("none", NULL, 3), SONDE_U8_ARRAY_AS("empty", u8s, 0));
	{
		bool b = true;
		char c = 'c';
		short s = -2;
		unsigned long ul = 1ul << 63;
		long long ll = -3;
		float f = 0.25f;
		double d = 0.1;

		SONDE_SCOPE("generic", SONDE_ARG(b), SONDE_ARG(c), SONDE_ARG(s), SONDE_ARG(ul),
			    SONDE_ARG(ll), SONDE_ARG(f), SONDE_ARG(d), SONDE_ARG(text));
		SONDE_EVENT("generic arrays", SONDE_ARRAY(f32s, 2),
			    SONDE_ARRAY_AS("shorts", i16s, 2));
	}
	SONDE_FLOW_BEGIN(7, "flow");
	SONDE_FLOW_STEP(7, "step");
	SONDE_FLOW_END(7);
	SONDE_RANGE_BEGIN(9, "range");
	SONDE_RANGE_END(9);
	SONDE_FRAME_BEGIN(1);
	SONDE_FRAME_END(1);
	SONDE_COUNTER("queue", 3);
	SONDE_COUNTER("queue", -2.5);
	SONDE_MARK("mark");
	SONDE_MARK("valued", "{\"a\":1}");
	sonde_record_mark("api");
	return 0;
}

/* ---- long ones ---- */

FN static int lengths(void)
{
	static char text[200001];
	static uint32_t items[40000];

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)('a' + i % 26);
	for (uint32_t i = 0; i < 40000; i++)
		items[i] = i;
	for (size_t length = 0; length <= 4200; length += 7) {
		char kept = text[length];

		text[length] = '\0';
		SONDE_EVENT("text", SONDE_U32(length), SONDE_STR(text));
		text[length] = kept;
	}
	text[65536] = '\0';
	SONDE_EVENT("64K", SONDE_STR(text), SONDE_U32_AS("behind", 5));
	text[65536] = 'x';
	SONDE_EVENT("cut", SONDE_STR(text), SONDE_ARRAY(items, 40000));
	SONDE_EVENT("bounded", SONDE_STR_AS("a", text), SONDE_STR_AS("b", text),
		    SONDE_STR_AS("c", text), SONDE_STR_AS("d", text), SONDE_STR_AS("e", text));
	SONDE_RESOURCE("small", "abc", 3);
	SONDE_RESOURCE("large", text, sizeof(text) - 1);
	SONDE_RESOURCE("empty", "", 0);
	return 0;
}

/* Texts and arrays of all short lengths that end where memory ends, behind one number or two. */
FN static int edges(void)
{
	char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *end = pages + 4096;

	if (pages == MAP_FAILED || mprotect(end, 4096, PROT_NONE))
		return 9;
	for (int i = 0; i < 4095; i++)
		pages[i] = (char)('a' + i % 26);
	for (uint32_t length = 0; length <= 300; length++) {
		const char *text = end - 1 - length;
		const uint8_t *bytes = (const uint8_t *)text;

		SONDE_EVENT("edge", SONDE_U32(length), SONDE_STR(text), SONDE_STR_AS("again", text),
			    SONDE_U64_AS("behind", length));
		SONDE_EVENT("wide edge", SONDE_U64(length), SONDE_STR(text),
			    SONDE_ARRAY(bytes, length + 1), SONDE_I8_AS("behind", -1));
	}
	return 0;
}

/* ---- leaving ---- */

static jmp_buf buffer;
static volatile int leaving;

FN static void jump(int depth)
{
	SONDE_SCOPE("jumper", SONDE_ARG(depth));
	if (depth)
		jump(depth - 1);
	else if (!leaving)
		longjmp(buffer, 1);
	TOUCH();
}

FN static void one_jump(void)
{
	SONDE_SCOPE("around");
	if (!setjmp(buffer))
		jump(3);
	SONDE_EVENT("landed");
}

FN static int jumps(void)
{
	for (int i = 0; i < 3; i++)
		one_jump();
	for (int i = 0; i < 5; i++) {
		SONDE_SCOPE("left early", SONDE_ARG(i));
		if (i % 2)
			continue;
		SONDE_EVENT("even", SONDE_ARG(i));
	}
	return 0;
}

/* ---- zones ---- */

FN static void zone_jump(void)
{
	SONDE_ZONE("two");
	leaf(4);
	jump(1);
}

FN static int zones(void)
{
	leaf(0);
	{
		SONDE_ZONE("one");
		SONDE_SCOPE("in one");
		leaf(1);
		{
			SONDE_ZONE("two");
			leaf(2);
		}
		leaf(3);
		if (!setjmp(buffer))
			zone_jump();
		leaf(5);
	}
	leaf(6);
	return 0;
}

/* ---- threads, processes, signals ---- */

FN static void *worker(void *argument)
{
	int number = (int)(intptr_t)argument;

	for (int i = 0; i < 20000; i++) {
		SONDE_SCOPE("job", SONDE_ARG(number), SONDE_ARG(i));
		SONDE_COUNTER("jobs", i);
	}
	return NULL;
}

FN static int threads(void)
{
	pthread_t all[4];

	for (intptr_t i = 0; i < 4; i++)
		pthread_create(&all[i], NULL, worker, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(all[i], NULL);
	return 0;
}

FN static int forks(void)
{
	int status = 0;

	SONDE_SCOPE("parent");
	SONDE_EVENT("shared", SONDE_I32_AS("where", 0));
	for (int i = 1; i <= 3; i++) {
		pid_t child = fork();

		if (!child) {
			for (int j = 0; j < 3; j++)
				SONDE_EVENT("shared", SONDE_I32_AS("where", i));
			leaf(i);
			return 0;
		}
		waitpid(child, &status, 0);
		SONDE_EVENT("reaped", SONDE_ARG(i));
	}
	return 0;
}

static volatile unsigned long handled;

static void handler(int number)
{
	char text[3000];

	memset(text, 'h', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	SONDE_SCOPE("handler", SONDE_ARG(number));
	SONDE_EVENT("handled", SONDE_STR(text));
	handled++;
}

FN static int signals(bool alternate)
{
	static char stack[65536], text[2500];
	struct itimerval timer = { { 0, 200 }, { 0, 200 } };
	struct sigaction action = { .sa_handler = handler,
				    .sa_flags = SA_RESTART | (alternate ? SA_ONSTACK : 0) };
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	unsigned long count = 0;

	memset(text, 't', sizeof(text) - 1);
	if (alternate)
		sigaltstack(&other, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (handled < 300) {
		SONDE_SCOPE("interrupted", SONDE_U64(count));
		SONDE_EVENT("long", SONDE_STR(text));
		count++;
	}
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	side_put("count", count);
	side_put("handled", handled);
	return 0;
}

static ucontext_t main_context, contexts[2];

static void coroutine(int number)
{
	for (int i = 0; i < 3; i++) {
		SONDE_SCOPE("turn", SONDE_ARG(number), SONDE_ARG(i));
		swapcontext(&contexts[number], &main_context);
	}
}

FN static int coroutines(void)
{
	static char stacks[2][65536];

	for (int i = 0; i < 2; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = sizeof(stacks[i]);
		contexts[i].uc_link = &main_context;
		makecontext(&contexts[i], (void (*)(void))coroutine, 1, i);
	}
	for (int turn = 0; turn < 4; turn++)
		for (int i = 0; i < 2; i++)
			swapcontext(&main_context, &contexts[i]);
	return 0;
}

FN static int pauses(void)
{
	SONDE_EVENT("seen");
	sonde_record_pause();
	SONDE_EVENT("unseen");
	leaf(1);
	sonde_record_resume();
	SONDE_EVENT("seen");
	return 0;
}

/* Counts each event after it was annotated, until it is killed. */
FN static int killed(void)
{
	const char *path = getenv("REC_BOARD");
	int fd = path ? open(path, O_RDWR) : -1;
	volatile uint64_t *board;

	if (fd < 0)
		return 9;
	board = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (board == MAP_FAILED)
		return 9;
	close(fd);
	board[0] = (uint64_t)getpid();
	for (uint64_t i = 0;; i++) {
		SONDE_EVENT("tick", SONDE_U64(i));
		board[8] = i + 1;
	}
}

FN static int nothing(void)
{
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} modes[] = {
		{ "nest", nest },     { "types", types },	    { "lengths", lengths },
		{ "jumps", jumps },   { "zones", zones },	    { "threads", threads },
		{ "forks", forks },   { "coroutines", coroutines }, { "pauses", pauses },
		{ "killed", killed }, { "nothing", nothing },	    { "edges", edges },
	};

	if (argc > 1 && !strcmp(argv[1], "signals"))
		return signals(false);
	if (argc > 1 && !strcmp(argv[1], "alternate"))
		return signals(true);
	for (size_t i = 0; argc > 1 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (!strcmp(argv[1], modes[i].name))
			return modes[i].run();
	return 9;
}
