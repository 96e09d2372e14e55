/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is done to a file that is made into a wtf-trace image: the image must be sound, and written
 * as JSON and read again it must be the same, unless something was counted as lost.
 */
#ifndef SONDE_FUZZ_CFF_MADE_H
#define SONDE_FUZZ_CFF_MADE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <sonde/sonde.h>

#include "formats/cff/cff_image.h"
#include "require.h"

typedef enum sonde_status maker_function(const struct cff_maker *maker, struct sonde_error *err);

/* A file in memory, and its path. */
static int memory_file(const void *data, size_t size, char path[32])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, 32, "/proc/self/fd/%d", fd);
	return fd;
}

static void make_again(const char *path, const struct sonde_mapped_file *image)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_error err = { 0 };
	struct cff_image again;

	REQUIRE(cff_image_open(&again, path, findings, &err) == SONDE_OK);
	REQUIRE(again.size == image->size && !memcmp(again.data, image->data, image->size));
	cff_image_release(&again);
	sonde_diagnostics_free(findings);
}

static void write_and_read(const struct sonde_mapped_file *image, unsigned int style)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_loss *loss = sonde_loss_new();
	struct sonde_error err = { 0 };
	char path[32], json_path[32];
	int fd = memory_file(image->data, image->size, path);
	int json = memory_file("", 0, json_path);
	struct sonde_output out;
	struct cff_image opened;
	bool is_whole = true;

	REQUIRE(cff_image_open(&opened, path, findings, &err) == SONDE_OK);
	REQUIRE(opened.whole == opened.size);
	REQUIRE(sonde_output_open(&out, json_path, &err) == SONDE_OK);
	REQUIRE(cff_image_write_json(&opened, style, &out, loss, &err) == SONDE_OK);
	REQUIRE(sonde_output_close(&out, &err) == SONDE_OK);
	for (size_t i = 0; sonde_loss_at(loss, i); i++)
		is_whole = is_whole && sonde_loss_at(loss, i)->only_elsewhere;
	if (is_whole)
		make_again(json_path, image);
	cff_image_release(&opened);
	sonde_loss_free(loss);
	sonde_diagnostics_free(findings);
	close(fd);
	close(json);
}

static void fuzz_maker(maker_function *function, const uint8_t *data, size_t size)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct sonde_error err = { 0 };
	struct sonde_mapped_file image = { 0 };
	struct sonde_output out;
	struct cff_maker maker = {
		.file = &(struct sonde_mapped_file){ .is_copy = true },
		.input = data,
		.size = size,
		.path = "fuzz",
		.findings = findings,
		.out = &out,
	};
	enum sonde_status status;

	REQUIRE(sonde_output_open_unnamed(&out, &err) == SONDE_OK);
	status = function(&maker, &err);
	REQUIRE(status == SONDE_OK || status == SONDE_UNSUPPORTED);
	if (status == SONDE_OK)
		REQUIRE(sonde_output_map(&out, &image, &err) == SONDE_OK);
	sonde_output_release(&out);
	if (image.size)
		write_and_read(&image, (unsigned int)size % 8);
	sonde_mapped_file_release(&image);
	sonde_diagnostics_free(findings);
}

#endif
