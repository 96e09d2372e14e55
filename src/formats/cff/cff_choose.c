/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which chunks a damaged file has can be taken in two ways: those that look like chunks, or those
 * that one comes to by the lengths they give, as readers do. Either may be led astray where the
 * other is not, by bytes that look like a chunk or by a length that is wrong. The one with more
 * events is right.
 */
#include <inttypes.h>

#include "formats/cff/cff_findings.h"
#include "formats/cff/cff_read.h"
#include "formats/cff/cff_resync.h"

static bool is_same(const struct cff_image *one, const struct cff_image *two)
{
	if (one->chunks.count != two->chunks.count)
		return false;
	for (size_t i = 0; i < one->chunks.count; i++) {
		if (one->chunks.items[i].offset != two->chunks.items[i].offset ||
		    one->chunks.items[i].length != two->chunks.items[i].length)
			return false;
	}
	return true;
}

/* The events of an image, which stays as it is. */
static enum sonde_status count_events(const struct cff_image *image,
				      struct sonde_diagnostics *findings, uint64_t *count,
				      struct sonde_error *err)
{
	struct cff_recording file = { .image = *image, .scan = { .is_check = true } };
	struct sonde_definitions *definitions = sonde_definitions_new();
	enum sonde_status status;

	*count = 0;
	if (!definitions)
		return sonde_fail_nomem(err);
	status = cff_recording_scan(&file, definitions, findings, err);
	for (size_t i = 0; i < file.scan.zones.count; i++)
		*count += file.scan.zones.items[i]->count;
	cff_scan_release(&file.scan);
	cff_header_release(&file.header);
	sonde_definitions_free(definitions);
	return status;
}

static void count_gaps(const struct cff_image *image, uint64_t *dropped)
{
	*dropped = image->size - CFF_FILE_SIZE;
	for (size_t i = 0; i < image->chunks.count; i++)
		*dropped -= image->chunks.items[i].length;
	if (*dropped)
		CFF_FIND(image->findings, RECOVER_GAP, image->path, SONDE_NO_OFFSET,
			 "chunks\t%" PRIu64 " bytes that are none", *dropped);
}

/* Whether following lengths, which gave `followed`, leads to more events. */
static enum sonde_status is_better(const struct cff_image *followed, const struct cff_image *found,
				   struct sonde_diagnostics *findings, bool *better,
				   struct sonde_error *err)
{
	uint64_t one = 0, two = 0;
	enum sonde_status status = SONDE_OK;

	if (!is_same(followed, found))
		status = count_events(followed, findings, &one, err);
	if (status == SONDE_OK && one)
		status = count_events(found, findings, &two, err);
	*better = one > two;
	return status;
}

/* Does the work with findings that nobody wants; *better: take the chunks of `followed`. */
static enum sonde_status compare(struct cff_image *image, struct cff_image *followed,
				 uint64_t *dropped, bool *better, struct sonde_error *err)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new(), *own = image->findings;
	enum sonde_status status;

	*better = false;
	if (!findings)
		return sonde_fail_nomem(err);
	image->findings = findings;
	status = cff_resync(image, dropped, err);
	if (status == SONDE_OK)
		status = cff_image_open(followed, image->path, findings, err);
	if (status == SONDE_OK)
		status = is_better(followed, image, findings, better, err);
	else if (status != SONDE_NOMEM && status != SONDE_IO)
		status = SONDE_OK; /* its head is damaged */
	image->findings = own;
	sonde_diagnostics_free(findings);
	return status;
}

enum sonde_status cff_choose_chunks(struct cff_image *image, uint64_t *dropped,
				    struct sonde_error *err)
{
	struct cff_image followed = { 0 };
	bool is_followed;
	enum sonde_status status = compare(image, &followed, dropped, &is_followed, err);

	if (status == SONDE_OK && is_followed) {
		sonde_vec_release(&image->chunks);
		image->chunks.items = followed.chunks.items;
		image->chunks.count = followed.chunks.count;
		image->chunks.capacity = followed.chunks.capacity;
		followed.chunks.items = NULL;
		count_gaps(image, dropped);
	} else if (status == SONDE_OK && *dropped) {
		image->chunks.count = 0;
		status = cff_resync(image, dropped, err);
	}
	cff_image_release(&followed);
	return status;
}
