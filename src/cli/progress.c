/* SPDX-License-Identifier: Apache-2.0 */
/* The progress bar, and the signals that end long work. */
#include "cli/progress.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/now.h"
#include "cli/human.h"

#define SHOW_AFTER_NS UINT64_C(500000000)
#define REDRAW_NS UINT64_C(100000000)
#define BAR_WIDTH 24

static volatile sig_atomic_t interrupted_by;

static void on_signal(int number)
{
	interrupted_by = number;
}

int cli_interrupted_by(void)
{
	return interrupted_by;
}

static void handle_signals(void (*handler)(int))
{
	/* Once only: a second Ctrl-C ends the program on the spot. */
	struct sigaction action = { .sa_handler = handler, .sa_flags = (int)SA_RESETHAND };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static void show(const struct sonde_buffer *line)
{
	ssize_t ignored = write(STDERR_FILENO, line->data, line->size);

	(void)ignored;
}

static void put_bar(struct sonde_buffer *line, double share)
{
	unsigned int filled = (unsigned int)(share * BAR_WIDTH), i;

	sonde_buffer_put_format(line, " %3u%% [", (unsigned int)(share * 100));
	for (i = 0; i < BAR_WIDTH; i++)
		sonde_buffer_put_char(line, i < filled ? '#' : '.');
	sonde_buffer_put_char(line, ']');
}

static void put_rate(struct sonde_buffer *line, const struct cli_progress *progress, double rate)
{
	sonde_buffer_put_text(line, "  ");
	if (progress->unit)
		cli_put_counted(line, (uint64_t)rate, progress->unit);
	else
		cli_put_size(line, (uint64_t)rate);
	sonde_buffer_put_text(line, "/s");
}

static unsigned int terminal_width(void)
{
	struct winsize size;

	return !ioctl(STDERR_FILENO, TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

static void draw(struct cli_progress *progress, uint64_t done, uint64_t total, uint64_t now)
{
	double seconds = (double)(now - progress->start_ns) / (double)CLI_NS_PER_S;
	double rate = (double)done / seconds;
	struct sonde_buffer line = { 0 };
	size_t width = terminal_width();

	sonde_buffer_put_text(&line, progress->what);
	if (total && done <= total)
		put_bar(&line, (double)done / (double)total);
	put_rate(&line, progress, rate);
	if (total > done && done)
		sonde_buffer_put_format(&line, "  %.0f s left", (double)(total - done) / rate);
	if (line.size > width - 1)
		line.size = width - 1;
	sonde_buffer_put_text(&line, "\033[K\r");
	show(&line);
	sonde_buffer_release(&line);
	progress->drawn = true;
	progress->drawn_ns = now;
}

static bool report(void *user, uint64_t done, uint64_t total)
{
	struct cli_progress *progress = user;

	if (progress->visible) {
		uint64_t now = sonde_now_ns(CLOCK_MONOTONIC);

		if (now - progress->start_ns >= SHOW_AFTER_NS &&
		    now - progress->drawn_ns >= REDRAW_NS)
			draw(progress, done, total, now);
	}
	return !interrupted_by;
}

void cli_progress_begin(struct cli *cli, struct cli_progress *progress, const char *what,
			const char *unit)
{
	*progress = (struct cli_progress){
		.progress = { .report = report, .user = progress },
		.what = what,
		.unit = unit,
		.visible = !cli->common.quiet && !cli_is_silent(cli) && isatty(STDERR_FILENO),
		.start_ns = sonde_now_ns(CLOCK_MONOTONIC),
	};
	handle_signals(on_signal);
}

void cli_progress_end(struct cli_progress *progress)
{
	struct sonde_buffer line = { 0 };

	handle_signals(SIG_DFL);
	if (!progress->drawn)
		return;
	sonde_buffer_put_text(&line, "\r\033[K");
	show(&line);
	sonde_buffer_release(&line);
}
