/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources that are wtf-trace files themselves are written chunk by chunk, and JSON is made of the
 * binary form: both need nothing of the events.
 */
#include "formats/cff/cff.h"
#include "formats/cff/cff_write.h"

/* Bytes that are copied at a time, so that a large file does not pass through memory at once. */
#define PIECE ((size_t)1 << 22)

/* Makes JSON of an image at the place where the file is put together. */
static enum sonde_status write_json(struct cff_writer *writer, const struct cff_image *image,
				    struct sonde_error *err)
{
	struct sonde_output output = { .fd = -1 };
	enum sonde_status status = sonde_output_open(&output, writer->staged.work, err);

	if (status == SONDE_OK)
		status = cff_image_write_json(image, writer->style, &output, writer->loss, err);
	if (status == SONDE_OK)
		status = sonde_output_close(&output, err);
	sonde_output_release(&output);
	return status;
}

enum sonde_status cff_writer_make_json(struct cff_writer *writer, struct sonde_error *err)
{
	struct sonde_diagnostics *findings = sonde_diagnostics_new();
	struct cff_image image = { 0 };
	enum sonde_status status;

	if (!findings)
		return sonde_fail_nomem(err);
	status = cff_image_open(&image, writer->bytes.work, findings, err);
	if (status == SONDE_OK) {
		status = write_json(writer, &image, err);
		cff_image_release(&image);
	}
	sonde_diagnostics_free(findings);
	return status;
}

static enum sonde_status write_bytes(struct cff_writer *writer, const struct cff_image *image,
				     struct sonde_error *err)
{
	struct sonde_trail trail = { 0 };
	enum sonde_status status = SONDE_OK;

	for (size_t done = 0; done < image->size && status == SONDE_OK;) {
		size_t size = image->size - done < PIECE ? image->size - done : PIECE;

		status = sonde_output_write(&writer->output, image->data + done, size, err);
		sonde_mapped_file_leave(cff_image_mapping(image), &trail, done, done + size);
		done += size;
	}
	return status < 0 ? status : sonde_output_close(&writer->output, err);
}

static void fill_result(const struct sonde_recording *source, struct sonde_run_result *result)
{
	uint32_t count = sonde_definitions_track_count(source->definitions);

	*result = (struct sonde_run_result){
		.events_read = sonde_recording_event_count(source),
		.events_written = sonde_recording_event_count(source),
	};
	for (uint32_t i = 0; i < count; i++)
		result->details_written +=
			sonde_definitions_track(source->definitions, i)->detail_count;
}

enum sonde_status cff_writer_whole(struct sonde_sink *sink, struct sonde_recording *source,
				   struct sonde_run_result *result, struct sonde_error *err)
{
	struct cff_writer *writer = (struct cff_writer *)sink;
	const struct cff_image *image;
	enum sonde_status status;

	if (!cff_recording_is_cff(source))
		return SONDE_END;
	image = cff_recording_image(source);
	/* damaged: what can be read of it is written anew; JSON tells what it leaves out */
	if (!image || image->whole != image->size ||
	    (!writer->is_json && sonde_diagnostics_count(source->diagnostics, SONDE_ERROR)))
		return SONDE_END;
	status = writer->is_json ? write_json(writer, image, err) : write_bytes(writer, image, err);
	writer->is_whole = status == SONDE_OK;
	if (status == SONDE_OK && result)
		fill_result(source, result);
	return status;
}
