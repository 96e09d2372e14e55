/* SPDX-License-Identifier: Apache-2.0 */
/* `sonde cflags`: the words that make a compiler build a program that can be recorded. */
#include <string.h>

#include "cli/commands.h"
#include "cli/runtime_path.h"

struct cflags_options {
	struct cli_common common;
	bool patchable;
	bool after_inlining;
	bool libs;
	bool static_libs;
	bool annotate;
};

static const struct cli_option cflags_own_options[] = {
	{ .name = "patchable",
	  .kind = CLI_FLAG,
	  .help = "leave room at the entry of every function instead of calling a hook: what is not "
		  "selected costs next to nothing, and arguments and results can be recorded",
	  .offset = offsetof(struct cflags_options, patchable) },
	{ .name = "after-inlining",
	  .kind = CLI_FLAG,
	  .help = "hooks only in functions that were not inlined; clang knows this, gcc does not",
	  .offset = offsetof(struct cflags_options, after_inlining) },
	{ .name = "libs",
	  .kind = CLI_FLAG,
	  .help = "print instead what links a program that uses <sonde/record.h>",
	  .offset = offsetof(struct cflags_options, libs) },
	{ .name = "annotate",
	  .kind = CLI_FLAG,
	  .help = "print instead what compiles and links a program that has annotations "
		  "(<sonde/annotate.h>) and no other instrumentation",
	  .offset = offsetof(struct cflags_options, annotate) },
	{ .name = "static",
	  .kind = CLI_FLAG,
	  .help = "print instead what links the runtime into a static program",
	  .offset = offsetof(struct cflags_options, static_libs) },
	{ 0 },
};

/* A word as a shell's $(...) hands it on: there is no way to quote, so odd paths are told. */
static void warn_of_spaces(struct cli *cli, const char *path)
{
	if (strpbrk(path, " \t\n*?["))
		cli_warning(cli, "the path '%s' does not survive $(sonde cflags): write it out",
			    path);
}

/* Whether linker and loader look there by themselves. */
static bool is_system_folder(const char *folder)
{
	return !strncmp(folder, "/lib", 4) || !strncmp(folder, "/usr/lib", 8);
}

static int put_libs(struct cli *cli)
{
	struct sonde_buffer *out = &cli->out;
	char *include = cli_runtime_include();
	char *library = cli_runtime_find(cli, CLI_RUNTIME_SHARED);

	if (include)
		sonde_buffer_put_format(out, "-I%s ", include);
	free(include);
	if (!library) {
		sonde_buffer_clear(out);
		return CLI_FAILED;
	}
	*strrchr(library, '/') = '\0';
	warn_of_spaces(cli, library);
	if (!is_system_folder(library))
		sonde_buffer_put_format(out, "-L%s -Wl,-rpath,%s ", library, library);
	sonde_buffer_put_text(out, "-lsonde-rt\n");
	free(library);
	return CLI_OK;
}

/* All of it: a program with patchable entries refers to nothing of the archive by name. */
static int put_static(struct cli *cli)
{
	char *include = cli_runtime_include();
	char *library = cli_runtime_find(cli, CLI_RUNTIME_STATIC);
	int code = library ? CLI_OK : CLI_FAILED;

	if (library) {
		warn_of_spaces(cli, library);
		if (include)
			sonde_buffer_put_format(&cli->out, "-I%s ", include);
		sonde_buffer_put_format(&cli->out,
					"-Wl,--whole-archive %s -Wl,--no-whole-archive -lpthread\n",
					library);
	}
	free(include);
	free(library);
	return code;
}

static int run(struct cli *cli, const void *options)
{
	const struct cflags_options *cflags = options;

	if (cflags->patchable + cflags->after_inlining +
		    (cflags->libs || cflags->static_libs || cflags->annotate) >
	    1)
		return cli_usage(cli,
				 "--patchable, --after-inlining and --libs, --annotate or --static "
				 "exclude each other");
	if (cflags->static_libs)
		return put_static(cli);
	if (cflags->libs || cflags->annotate)
		return put_libs(cli);
	sonde_buffer_put_text(
		&cli->out, cflags->patchable	  ? "-fpatchable-function-entry=5 -g\n" :
			   cflags->after_inlining ? "-finstrument-functions-after-inlining -g\n" :
						    "-finstrument-functions -g\n");
	return CLI_OK;
}

const struct cli_command cmd_cflags = {
	.name = "cflags",
	.summary = "print the compiler flags for programs to be recorded",
	.usage = "sonde cflags [OPTIONS]",
	.description =
		"Prints one line for the command line of gcc or clang (also g++ and clang++). Give "
		"it when compiling; linking needs nothing, and a program built so runs as ever "
		"without a recorder:\n"
		"\n"
		"  cc $(sonde cflags) app.c -o app && sonde record ./app\n"
		"\n"
		"A program that calls <sonde/record.h>, to pause, resume and mark, or has "
		"annotations, also needs the library behind its sources (annotations alone are "
		"enough to be recorded); a static one needs it inside:\n"
		"\n"
		"  cc $(sonde cflags) app.c $(sonde cflags --libs) -o app\n"
		"  cc app.c $(sonde cflags --annotate) -o app\n"
		"  cc $(sonde cflags) -static app.c $(sonde cflags --static) -o app\n"
		"\n"
		"With --patchable ld may refuse C++ that g++ before version 13 compiled: 'defined in "
		"discarded section'. Link it with -Wl,--noinhibit-exec, or use clang++.",
	.section = CLI_SECTION_RECORD,
	.options =
		(const struct cli_option_group[]){
			{ .title = "Options", .options = cflags_own_options },
			CLI_COMMON_GROUP,
			{ 0 },
		},
	.examples =
		(const struct cli_example[]){
			{ "cc $(sonde cflags) app.c -o app", "a program whose calls are recorded" },
			{ "cc -O2 $(sonde cflags --patchable) app.c -o app",
			  "one that costs nothing until functions are selected" },
			{ 0 },
		},
	.options_size = sizeof(struct cflags_options),
	.run = run,
};
