# shellcheck shell=sh disable=SC2034,SC2154
# SPDX-License-Identifier: Apache-2.0
# For tests that record: builds a program to be recorded, and reads what was recorded. Sourced
# after tap.sh, whose variables it uses.

CC=${CC:-cc}
# The sanitizers of the tests are not for programs built here.
unset LD_PRELOAD

need_recorder() {
	have "$CC" || {
		skip "recording" "no C compiler"
		finish
		exit 0
	}
	[ "$(uname -m)" = x86_64 ] || {
		skip "recording" "only for x86_64 so far"
		finish
		exit 0
	}
}

# build_with NAME [FLAGS]: app.c as a program of that name; patchable where it is called so.
build_with() {
	name=$1
	shift
	case $name in
	patchable) flags=$("$SONDE" cflags --patchable) ;;
	*) flags=$("$SONDE" cflags) ;;
	esac
	# shellcheck disable=SC2086 # words
	"$CC" -O0 $flags "$@" app.c -o "$name" -lpthread
}

# `count N` has N calls of add, and one of main, count and finish each.
build_program() {
	cat >app.c <<'END'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int add(int a, int b)
{
	return a + b;
}

static int count(int n)
{
	int sum = 0, i;

	for (i = 1; i <= n; i++)
		sum = add(sum, i);
	return sum;
}

static void finish(void)
{
}

static void slow(void)
{
	usleep(30000);
	add(1, 2);
}

static void crash(void)
{
	*(volatile int *)8 = 1;
}

static void *thread(void *argument)
{
	count(10);
	return argument;
}

static void run_threads(int n)
{
	pthread_t threads[64];
	int i;

	for (i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void run_child(void)
{
	if (!fork())
		exit(count(10) != 55);
	wait(NULL);
}

static void show_environment(void)
{
	const char *test = getenv("SONDE_TEST"), *gone = getenv("SONDE_GONE");
	char folder[4096];

	printf("%s %s %s\n", test ? test : "-", gone ? gone : "-", getcwd(folder, sizeof(folder)));
}

static void show_files(void)
{
	char text[] = "000\n";
	int file, i;

	for (i = 0; i < 3; i++)
		text[i] = fcntl(i, F_GETFD) < 0 ? 'c' : 'o';
	file = open("files.txt", O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (write(file, text, 4) != 4)
		exit(1);
}

static volatile int caught;

static void on_signal(int number)
{
	caught += number == SIGINT;
}

static void handle(void)
{
	signal(SIGINT, on_signal);
	puts("ready");
	fflush(stdout);
	while (!caught)
		usleep(1000);
	usleep(200000);
	printf("caught %d\n", caught);
	exit(5);
}

static void run_forever(void)
{
	puts("ready");
	fflush(stdout);
	for (;;) {
		count(10);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 0, c;

	if (!strcmp(mode, "count"))
		printf("counted %d\n", count(n));
	else if (!strcmp(mode, "exit"))
		return n;
	else if (!strcmp(mode, "crash"))
		crash();
	else if (!strcmp(mode, "kill"))
		return count(1000) + kill(getpid(), SIGKILL) + pause();
	else if (!strcmp(mode, "abort"))
		abort();
	else if (!strcmp(mode, "slow"))
		slow();
	else if (!strcmp(mode, "wait"))
		usleep(900000);
	else if (!strcmp(mode, "threads"))
		run_threads(n);
	else if (!strcmp(mode, "fork"))
		run_child();
	else if (!strcmp(mode, "env"))
		show_environment();
	else if (!strcmp(mode, "files"))
		show_files();
	else if (!strcmp(mode, "handler"))
		handle();
	else if (!strcmp(mode, "forever"))
		run_forever();
	else if (!strcmp(mode, "cat"))
		while ((c = getchar()) != EOF)
			putchar(c);
	finish();
	return 0;
}
END
	build_with "$1"
}

# record_into DIR MODE [N] [OPTIONS]: runs ./app with that mode, recorded.
record_into() {
	folder=$1 mode=$2
	shift 2
	case ${1:--} in
	-*) run record -o "$folder" "$@" "$(pwd)/app" "$mode" ;;
	*)
		number=$1
		shift
		run record -o "$folder" "$@" "$(pwd)/app" "$mode" "$number"
		;;
	esac
}

events() {
	"$SONDE" dump -q --csv "$1" 2>/dev/null | tail -n +2 | wc -l | tr -d ' '
}

calls_of() {
	"$SONDE" dump -q --kind call --function "$2" "$1" | wc -l | tr -d ' '
}

details() {
	"$SONDE" dump -q --detail "$1" | grep -c 'detail type'
}

line_of() {
	"$SONDE" info --json "$1" | tr -d '\n' | grep -Eo "\"name\": *\"$2\"[^}]*" |
		sed -n 's/.*"file": *"\([^"]*\/\)*\([^"\/]*\)".*"line": *\([0-9]*\).*/\2:\3/p'
}

# wait_for TEXT FILE: until it is there, or half a minute has passed.
wait_for() {
	tries=0
	until grep -q "$1" "$2" || [ $tries -ge 300 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
}

# clean DIR: `check` finds nothing.
clean() {
	"$SONDE" check "$1" >"$work/checked" 2>&1
	ok $? "$1: check finds nothing" || explain "$work/checked"
}

# Runs a command in a terminal of its own and presses Ctrl-C when it is ready; all that is shown
# goes to $out, the exit code (negative: the signal) to $code.
terminal() {
	code=$(python3 - "$out" "$@" <<'END'
import os, pty, sys, subprocess, select, time
shown, press, command = sys.argv[1], sys.argv[2] == "press", sys.argv[3:]
pid, leader = pty.fork()
if pid == 0:
    if not press:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
    os.execv(command[0], command)
data, pressed, end = b"", False, time.monotonic() + 30
while time.monotonic() < end:
    if select.select([leader], [], [], 0.1)[0]:
        try:
            part = os.read(leader, 65536)
        except OSError:
            break
        if not part:
            break
        data += part
    if press and not pressed and b"ready" in data:
        os.write(leader, b"\x03")
        pressed = True
else:
    os.kill(pid, 9)
_, status = os.waitpid(pid, 0)
with open(shown, "wb") as file:
    file.write(data.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
print(os.waitstatus_to_exitcode(status))
END
	)
}

keys() {
	folder=$1
	shift
	terminal press "$SONDE" record -o "$folder" "$@"
}

on_terminal() {
	folder=$1
	shift
	terminal look "$SONDE" record -o "$folder" "$@"
}
