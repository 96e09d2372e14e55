/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees of contexts in the user's cache. There is one for each recording and each thing that was asked of it:
 * what was selected, and whose spread. Whatever is wrong with an entry, it is as if there were none.
 */
#include <inttypes.h>

#include "analyse/cct_archive.h"
#include "base/cache.h"
#include "base/hash.h"
#include "formats/format.h"
#include "model/recording.h"

/* What was asked for, as text: two that differ say something else. */
static const char *put_subject(struct sonde_buffer *text, const struct sonde_recording *recording,
			       const struct cct_options *options, bool of_calls)
{
	const struct sonde_selection_spec *spec = options->selection;

	sonde_buffer_put_format(text, "%s from %" PRIu64 " to %" PRIu64 " kinds %x depths %u %u",
				recording->format->info.name, spec->from_ns, spec->to_ns,
				spec->kinds, spec->min_depth, spec->max_depth);
	sonde_buffer_put_text(text, " tracks");
	for (size_t i = 0; i < spec->track_count; i++)
		sonde_buffer_put_format(text, " %u", spec->tracks[i]);
	sonde_buffer_put_text(text, " functions");
	for (size_t i = 0; i < spec->function_count; i++)
		sonde_buffer_put_format(text, " %zu:%s", strlen(spec->functions[i]),
					spec->functions[i]);
	/* of calls the spread is always there */
	if (of_calls || options->spread)
		sonde_buffer_put_format(text, " spread of %s",
					options->metric ? options->metric : "the first");
	return sonde_buffer_text(text);
}

static bool make_key(struct sonde_cache_key *key, const struct sonde_recording *recording,
		     const char *subject)
{
	uint64_t variant = sonde_hash_bytes(SONDE_HASH_START, subject, strlen(subject));

	/* what is open must be what the key is of */
	return sonde_cache_key_of_path(key, CCT_ARCHIVE_KIND, recording->path,
				       variant ? variant : 1) &&
	       sonde_cache_key_is_settled(key, recording->opened_ns);
}

struct cct_body *cct_cache_load(struct sonde_recording *recording,
				const struct cct_options *options, bool of_calls)
{
	struct sonde_buffer text = { 0 };
	const char *subject = put_subject(&text, recording, options, of_calls);
	struct sonde_cache_entry entry;
	struct sonde_cache_key key;
	struct cct_body *body = NULL;

	if (subject && make_key(&key, recording, subject) && sonde_cache_load(&key, &entry)) {
		body = cct_archive_read(entry.data, entry.size, subject);
		sonde_cache_entry_release(&entry);
		if (body)
			body->cct.cached = true;
		else
			sonde_cache_drop(&key);
	}
	sonde_buffer_release(&text);
	return body;
}

void cct_cache_store(struct sonde_recording *recording, const struct cct_options *options,
		     bool of_calls, const struct cct_body *body)
{
	struct sonde_buffer text = { 0 }, bytes = { 0 };
	const char *subject = put_subject(&text, recording, options, of_calls);
	struct sonde_cache_key key;

	if (subject && make_key(&key, recording, subject) &&
	    cct_archive_write(body, subject, &bytes))
		sonde_cache_store(&key, recording->path, bytes.data, bytes.size);
	sonde_buffer_release(&bytes);
	sonde_buffer_release(&text);
}
