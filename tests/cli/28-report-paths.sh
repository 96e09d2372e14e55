#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Derived metrics, the critical path and exceptions as `sonde report` has them: on files whose answer is known,
# and on a program that is recorded here.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/tap.sh"
# shellcheck source=tests/cli/record_programs.sh
. "$root/tests/cli/record_programs.sh"
have python3 || skip_all "no python3"
export XDG_CACHE_HOME="$work/cache"
session normal trace
hpcdb=${golden%/atf}/hpcdb/small

# json EXPRESSION NAME: over `rows` of the last run.
json() {
	python3 -c "import json, sys
report = json.load(open(sys.argv[1], encoding='utf-8'))
rows = report['rows']
assert $1, report" "$out" 2>"$work/why"
	ok $? "$2" || explain "$work/why"
}

# --derive
run report --json trace
cp "$out" plain.json
run report --json --derive 'percall = realtime / calls' --derive 'twice = percall * 2' trace
exits 0 "--derive"
python3 - plain.json "$out" <<'END'
import json, sys
plain, derived = (json.load(open(path, encoding="utf-8"))["rows"] for path in sys.argv[1:])
calls = {row["name"]: row for row in plain}
assert len(derived) == len(plain)
for row in derived:
    expected = calls[row["name"]]["self_ns"] / calls[row["name"]]["calls"]
    values = {key: value for key, value in row.items() if key.startswith(("percall", "twice"))}
    assert values, row
    own = [value for key, value in values.items() if key.startswith("percall.self")][0]
    double = [value for key, value in values.items() if key.startswith("twice.self")][0]
    assert abs(own - expected) <= 1 and abs(double - 2 * expected) <= 1, (row, expected)
END
ok $? "a derived metric of functions is worked out of their sums"
run report --derive 'x = realtime / cows' trace
exits 2 "a metric that is not there"
err_has '"cows"; metrics are: "REALTIME \(sec\)", CALLS' "it says what is there"
err_has '^ {17}\^$' "and points at the place"
run report --derive 'calls + 1' trace
exits 2 "a formula without a name"
cat >metrics.yaml <<'END'
version: 0
inputs:
  - &time
    metric: REALTIME (sec)
    scope: execution
    formula: $$
    combine: sum
  - &calls {metric: CALLS, scope: execution, formula: $$, combine: sum}
roots:
  - name: EACH (sec)
    description: how long a call takes
    variants:
      Sum: {render: number, formula: {inclusive: {/: [*time, *calls]}}}
END
run report --tree --json --derive @metrics.yaml --metric each trace
exits 0 "metrics of a YAML file"
json "rows and all(key in rows[0] for key in ('total_ns', 'name'))" "its metric is a time"
run report --derive @nothing.yaml trace
exits 3 "a file that is not there"
echo 'roots: [' >broken.yaml
run report --derive @broken.yaml trace
exits 3 "a file that is no YAML"
err_has 'broken.yaml' "it is named"
run report --derive 'half = cputime / 2' --json "$hpcdb"
exits 0 "--derive on a database"

# --critical-path
run report --critical-path trace
exits 0 "--critical-path"
out_has 'Nothing ties tracks together here' "where nothing ties tracks that is said"
run report --critical-path --json trace
json "abs(sum(row['path_share'] for row in rows) - 1) < 1e-9" "shares add up"
run report --critical-path "$hpcdb"
exits 0 "a profile"
err_has 'made of events' "it has no path"
run report --parts trace
exits 2 "--parts alone"
run report --critical-path trace trace
exits 2 "two recordings"
run report --critical-path --tree trace
exits 2 "two views"
run report --critical-path --parts --csv trace
is "$(head -n 1 "$out" | tr -d '\r')" \
	"from_ns,to_ns,at_ns,duration_ns,share,track,track_name,reason,certainty,by,waited_ns,name_ns,name" \
	"columns of parts"

# two threads that take turns, by flows
need_recorder
cat >app.c <<'END'
#include <pthread.h>
#include <sonde/annotate.h>
#include <unistd.h>

static int to_worker[2], to_main[2];

static void take_time(void)
{
	usleep(3000);
}

static void handle(int number)
{
	SONDE_FLOW_END(number);
	take_time();
	SONDE_FLOW_BEGIN(number + 100, "answer");
}

static void *worker(void *unused)
{
	char byte;

	for (int i = 0; i < 3; i++) {
		if (read(to_worker[0], &byte, 1) != 1)
			break;
		handle(i + 1);
		if (write(to_main[1], "x", 1) != 1)
			break;
	}
	return unused;
}

static void take_answer(int number)
{
	SONDE_FLOW_END(number + 100);
}

int main(void)
{
	pthread_t thread;
	char byte;

	if (pipe(to_worker) || pipe(to_main))
		return 1;
	pthread_create(&thread, NULL, worker, NULL);
	for (int i = 0; i < 3; i++) {
		take_time();
		SONDE_FLOW_BEGIN(i + 1, "request");
		if (write(to_worker[1], "x", 1) != 1 || read(to_main[0], &byte, 1) != 1)
			return 1;
		take_answer(i + 1);
	}
	pthread_join(thread, NULL);
	return 0;
}
END
# shellcheck disable=SC2046 # words
"$CC" -O0 $("$SONDE" cflags) -I"$root/include" app.c $("$SONDE" cflags --annotate) -o app -lpthread &&
	"$SONDE" record -q -o flows ./app
ok $? "a program with flows is recorded"
run report --critical-path --parts --json flows
exits 0 "its path"
json "[row['track'] for row in rows] == [0, 1, 0, 1, 0, 1, 0]" "goes to and fro"
json "[row['reason'] for row in rows] == ['start'] + ['flow'] * 6" "by flows"
json "all(a['to_ns'] == b['from_ns'] for a, b in zip(rows, rows[1:]))" "without gaps"
run report --critical-path --json flows
json "[row for row in rows if row['name'] == 'take_time'][0]['path_ns'] >= 6 * 3000000" "by functions"
run report --critical-path flows
out_has 'in 7 parts that follow by flow 6 \(exact\)' "and says how sure it is"

# and by a function that is known to wait
cat >app.c <<'END'
#include <pthread.h>
#include <unistd.h>

static pthread_barrier_t barrier;
static int ready[2];

void MPI_Barrier(void)
{
	pthread_barrier_wait(&barrier);
}

static void come_late(void)
{
	usleep(20000);
}

static void *worker(void *unused)
{
	char byte;

	if (read(ready[0], &byte, 1) == 1)
		come_late();
	MPI_Barrier();
	return unused;
}

static void end_late(void)
{
	usleep(20000);
}

int main(void)
{
	pthread_t thread;

	pthread_barrier_init(&barrier, NULL, 2);
	if (pipe(ready))
		return 1;
	pthread_create(&thread, NULL, worker, NULL);
	if (write(ready[1], "x", 1) != 1)
		return 1;
	MPI_Barrier();
	end_late();
	pthread_join(thread, NULL);
	return 0;
}
END
build_with app && "$SONDE" record -q -o waits ./app
ok $? "a program with a barrier is recorded"
run report --critical-path --parts --json waits
json "[(row['track'], row['reason'], row['certainty']) for row in rows][-2:] == [
    (1, 'present', 'guess'), (0, 'barrier', 'likely')]" "the last to come to the barrier is on the path"
run report --critical-path --json waits
json "{'come_late', 'end_late'} <= {row['name'] for row in rows if row['path_ns']}" "with what it did"

finish
