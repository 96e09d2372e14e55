/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that every database has for people who look into its folder. */
#include "formats/hpcdb/hpcdb_write_private.h"

static const char formats_text[] =
	"# What is in this folder\n"
	"\n"
	"A database of performance measurements in the HPCToolkit format, version 4.0, written by\n"
	"sonde. Numbers are little-endian; every `.db` file begins with `HPCTOOLKIT`, four letters\n"
	"that name it, its version, and the size and place of its sections, and ends with eight\n"
	"letters that show that it is whole.\n"
	"\n"
	"| File | What it has |\n"
	"| --- | --- |\n"
	"| `meta.db` | title, metrics, and the tree of calling contexts with functions, files, "
	"modules |\n"
	"| `profile.db` | values by thread, then context, then metric; profile 0 has the "
	"statistics over all threads |\n"
	"| `cct.db` | the same values by context, then metric, then thread |\n"
	"| `trace.db` | in which context each thread was at which time; absent where nothing was "
	"traced |\n"
	"| `metrics/default.yaml` | which metrics a viewer shows, and how |\n"
	"| `src/` | copies of source files; absent where none was copied |\n"
	"\n"
	"Values come in up to four scopes. *point* is what was measured in a context itself.\n"
	"*function* adds what lies in it without a call. *lex_aware* is the same, but a loop is\n"
	"counted without the loops in it. *execution* adds everything below, calls too. A value that\n"
	"is not there is 0.\n"
	"\n"
	"Contexts may have values without being in the tree of `meta.db`: single instructions of a\n"
	"line. What they call is found below that line.\n"
	"\n"
	"The format is described by the HPCToolkit project. `sonde info`, `sonde dump` and\n"
	"`sonde check` read this folder.\n";

static const char metrics_text[] =
	"# How default.yaml, and other files of this folder, say what a viewer shows.\n"
	"version: 0\n"
	"# Values of meta.db, each with an anchor: the name of a metric, one of its scopes, and the\n"
	"# statistic over all threads, which is what `combine` (sum, min, max) makes of `formula` of\n"
	"# each value ($$).\n"
	"inputs:\n"
	"  - &time-sum\n"
	"    metric: CPUTIME (sec)\n"
	"    scope: execution\n"
	"    formula: $$\n"
	"    combine: sum\n"
	"  - &time-count\n"
	"    metric: CPUTIME (sec)\n"
	"    scope: execution\n"
	"    formula: 1\n"
	"    combine: sum\n"
	"# What is shown. `inclusive` is for a context and all below it, `exclusive` for itself;\n"
	"# `custom` goes before `standard` where both are there. A formula is an input, a number, or an\n"
	"# operation with its operands.\n"
	"roots:\n"
	"  - name: CPUTIME (sec)\n"
	"    description: Time on a processor\n"
	"    visible by default: true\n"
	"    variants:\n"
	"      Sum:\n"
	"        render: [number, percent]\n"
	"        formula:\n"
	"          inclusive:\n"
	"            standard: *time-sum\n"
	"      Mean:\n"
	"        render: [number]\n"
	"        formula:\n"
	"          inclusive:\n"
	"            standard: {/: [*time-sum, *time-count]}\n";

static enum sonde_status put(const struct hpcdb_job *job, const char *name, const char *text,
			     struct sonde_error *err)
{
	struct sonde_buffer out = { 0 };
	enum sonde_status status;

	sonde_buffer_put_text(&out, text);
	status = hpcdb_put_file(job, name, &out, err);
	sonde_buffer_release(&out);
	return status;
}

enum sonde_status hpcdb_write_texts(struct hpcdb_job *job, struct sonde_error *err)
{
	enum sonde_status status = put(job, "FORMATS.md", formats_text, err);

	return status < 0 ? status : put(job, "metrics/METRICS.yaml.ex", metrics_text, err);
}
