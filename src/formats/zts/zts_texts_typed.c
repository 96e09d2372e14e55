/* SPDX-License-Identifier: Apache-2.0 */
/* Typed texts: taken apart, and as names for people. */
#include "formats/zts/zts_texts.h"
#include "formats/zts/zts_wal.h"

/* How many ids a kind holds; 0: none, or a list. */
static size_t field_count(enum zts_text_kind kind)
{
	switch (kind) {
	case ZTS_TEXT_KEY_VALUE:
		return 2;
	case ZTS_TEXT_METHOD:
		return 3;
	case ZTS_TEXT_EXCEPTION:
	case ZTS_TEXT_FRAME:
		return 4;
	default:
		return 0;
	}
}

/* An id and the marker behind it; false where there is none. Steps over both. */
static bool take_id(const char **text, size_t *size, char marker, uint32_t *id)
{
	const char *end = *size ? memchr(*text, marker, *size) : NULL;
	size_t length;

	if (!end)
		return false;
	length = (size_t)(end - *text);
	if (!zts_id_parse((const uint8_t *)*text, length, id))
		return false;
	*text += length + 1;
	*size -= length + 1;
	return true;
}

/* The rest behind the first marker, by kind. */
static bool parse_fields(struct zts_typed_text *typed, const char *text, size_t size)
{
	char marker = (char)typed->kind;
	size_t count = field_count(typed->kind);

	if (typed->kind == ZTS_TEXT_KEY_LITERAL &&
	    !take_id(&text, &size, marker, &typed->fields[0]))
		return false;
	if (typed->kind == ZTS_TEXT_STACK) {
		struct zts_typed_text rest = { .list = text, .list_size = size ? size - 1 : 0 };
		uint32_t frame;

		if (!size || text[size - 1] != marker)
			return false;
		typed->list = rest.list;
		typed->list_size = rest.list_size;
		while (zts_text_next_frame(&rest, &frame))
			;
		return !rest.list_size;
	}
	for (size_t i = 0; i < count; i++)
		if (!take_id(&text, &size, marker, &typed->fields[i]))
			return false;
	if (count)
		return !size;
	typed->text = text;
	typed->size = size ? size - 1 : 0;
	return size && text[size - 1] == marker;
}

enum sonde_status zts_text_parse(const char *text, size_t size, struct zts_typed_text *typed,
				 struct sonde_error *err)
{
	*typed = (struct zts_typed_text){ .kind = ZTS_TEXT_STRING, .text = text, .size = size };
	if (!size || text[0] < ZTS_TEXT_KEYWORD || text[0] > ZTS_TEXT_AGENT)
		return SONDE_OK;
	typed->kind = (enum zts_text_kind)text[0];
	typed->text = "";
	typed->size = 0;
	if (parse_fields(typed, text + 1, size - 1))
		return SONDE_OK;
	*typed = (struct zts_typed_text){ .kind = ZTS_TEXT_STRING, .text = text, .size = size };
	return sonde_fail(err, SONDE_CORRUPT, SONDE_NO_OFFSET,
			  "expected what belongs behind the marker %02x, found other bytes",
			  (unsigned int)text[0]);
}

enum sonde_status zts_texts_typed(struct zts_texts *texts, uint32_t id,
				  struct zts_typed_text *typed, struct sonde_error *err)
{
	const char *text;
	size_t size;
	enum sonde_status status = zts_texts_get(texts, id, &text, &size, err);

	*typed = (struct zts_typed_text){ .text = "" };
	return status == SONDE_OK ? zts_text_parse(text, size, typed, err) : status;
}

bool zts_text_next_frame(struct zts_typed_text *stack, uint32_t *frame)
{
	const char *end;
	size_t length;

	if (!stack->list_size)
		return false;
	end = memchr(stack->list, ZTS_TEXT_STACK, stack->list_size);
	length = end ? (size_t)(end - stack->list) : stack->list_size;
	if (!zts_id_parse((const uint8_t *)stack->list, length, frame))
		return false;
	stack->list += end ? length + 1 : length;
	stack->list_size -= end ? length + 1 : length;
	return true;
}

static void put_lost(struct sonde_buffer *out, uint32_t id)
{
	sonde_buffer_put_char(out, '#');
	sonde_buffer_put_u64(out, id);
}

/* A text that holds no ids. Composed ones, where they do not belong, are shown by number. */
static void put_plain(struct zts_texts *texts, uint32_t id, struct sonde_buffer *out)
{
	struct zts_typed_text typed;
	enum sonde_status status = zts_texts_typed(texts, id, &typed, NULL);

	if (!id)
		return;
	if ((status != SONDE_OK && status != SONDE_CORRUPT) ||
	    (typed.kind >= ZTS_TEXT_KEY_LITERAL && typed.kind <= ZTS_TEXT_FRAME))
		put_lost(out, id);
	else
		sonde_buffer_put_utf8(out, typed.text, typed.size);
}

static const char *primitive_name(char letter)
{
	switch (letter) {
	case 'B':
		return "byte";
	case 'C':
		return "char";
	case 'D':
		return "double";
	case 'F':
		return "float";
	case 'I':
		return "int";
	case 'J':
		return "long";
	case 'S':
		return "short";
	case 'V':
		return "void";
	case 'Z':
		return "boolean";
	default:
		return NULL;
	}
}

/* One type of a signature, appended to `out` (may be NULL); its size, 0 where there is none. */
static size_t put_type(const char *type, size_t size, struct sonde_buffer *out)
{
	size_t arrays = 0, used, start;

	while (arrays < size && type[arrays] == '[')
		arrays++;
	if (arrays == size)
		return 0;
	if (type[arrays] == 'L') {
		const char *end = memchr(type + arrays, ';', size - arrays);

		if (!end)
			return 0;
		used = (size_t)(end - type) + 1;
		start = used - 1;
		while (start > arrays + 1 && type[start - 1] != '/' && type[start - 1] != '.')
			start--;
		if (out)
			sonde_buffer_put_utf8(out, type + start, used - 1 - start);
	} else {
		const char *name = primitive_name(type[arrays]);

		if (!name)
			return 0;
		used = arrays + 1;
		if (out)
			sonde_buffer_put_text(out, name);
	}
	while (out && arrays--)
		sonde_buffer_put_text(out, "[]");
	return used;
}

/* "(ILjava/lang/String;)V": where the return type begins; 0 where it is no signature of Java. */
static size_t return_type(const char *signature, size_t size)
{
	size_t place = 1, used;

	if (size < 3 || signature[0] != '(')
		return 0;
	while (place < size && signature[place] != ')') {
		used = put_type(signature + place, size - place, NULL);
		if (!used)
			return 0;
		place += used;
	}
	if (place >= size)
		return 0;
	place++;
	used = put_type(signature + place, size - place, NULL);
	return used && place + used == size ? place : 0;
}

static void put_arguments(const char *signature, size_t size, struct sonde_buffer *out)
{
	size_t place = 1;

	sonde_buffer_put_char(out, '(');
	while (signature[place] != ')') {
		if (place > 1)
			sonde_buffer_put_text(out, ", ");
		place += put_type(signature + place, size - place, out);
	}
	sonde_buffer_put_char(out, ')');
}

static void put_class_and_name(struct zts_texts *texts, uint32_t class_id, uint32_t name,
			       struct sonde_buffer *out)
{
	put_plain(texts, class_id, out);
	if (class_id && name)
		sonde_buffer_put_char(out, '.');
	put_plain(texts, name, out);
}

static void put_method(struct zts_texts *texts, const struct zts_typed_text *method,
		       struct sonde_buffer *out)
{
	struct zts_typed_text signature = { .text = "" };
	size_t type = 0;

	if (method->fields[2] &&
	    zts_texts_typed(texts, method->fields[2], &signature, NULL) == SONDE_OK)
		type = return_type(signature.text, signature.size);
	if (type) {
		put_type(signature.text + type, signature.size - type, out);
		sonde_buffer_put_char(out, ' ');
	}
	put_class_and_name(texts, method->fields[0], method->fields[1], out);
	if (type)
		put_arguments(signature.text, signature.size, out);
}

static void put_frame(struct zts_texts *texts, const struct zts_typed_text *frame,
		      struct sonde_buffer *out)
{
	put_class_and_name(texts, frame->fields[0], frame->fields[1], out);
	if (!frame->fields[2] && !frame->fields[3])
		return;
	sonde_buffer_put_char(out, '(');
	put_plain(texts, frame->fields[2], out);
	if (frame->fields[3]) {
		sonde_buffer_put_char(out, ':');
		sonde_buffer_put_u64(out, frame->fields[3]);
	}
	sonde_buffer_put_char(out, ')');
}

/* The innermost frame, and how many there are beside it. */
static void put_stack(struct zts_texts *texts, struct zts_typed_text *stack,
		      struct sonde_buffer *out)
{
	struct zts_typed_text first;
	uint32_t frame, more = 0, other;

	if (!zts_text_next_frame(stack, &frame))
		return;
	if (zts_texts_typed(texts, frame, &first, NULL) == SONDE_OK && first.kind == ZTS_TEXT_FRAME)
		put_frame(texts, &first, out);
	else
		put_lost(out, frame);
	while (zts_text_next_frame(stack, &other))
		more++;
	if (more)
		sonde_buffer_put_format(out, " and %u more", more);
}

static void put_name(struct zts_texts *texts, uint32_t id, struct sonde_buffer *out)
{
	struct zts_typed_text typed;
	enum sonde_status status = zts_texts_typed(texts, id, &typed, NULL);

	if (status != SONDE_OK || typed.kind < ZTS_TEXT_KEY_LITERAL ||
	    typed.kind == ZTS_TEXT_AGENT) {
		put_plain(texts, id, out);
		return;
	}
	switch (typed.kind) {
	case ZTS_TEXT_METHOD:
		put_method(texts, &typed, out);
		break;
	case ZTS_TEXT_FRAME:
		put_frame(texts, &typed, out);
		break;
	case ZTS_TEXT_STACK:
		put_stack(texts, &typed, out);
		break;
	case ZTS_TEXT_EXCEPTION:
		put_plain(texts, typed.fields[0], out);
		if (typed.fields[0] && typed.fields[1])
			sonde_buffer_put_text(out, ": ");
		put_plain(texts, typed.fields[1], out);
		break;
	case ZTS_TEXT_KEY_LITERAL:
		put_plain(texts, typed.fields[0], out);
		sonde_buffer_put_char(out, '=');
		sonde_buffer_put_utf8(out, typed.text, typed.size);
		break;
	default: /* key and value */
		put_plain(texts, typed.fields[0], out);
		sonde_buffer_put_char(out, '=');
		put_plain(texts, typed.fields[1], out);
		break;
	}
}

void zts_texts_plain(struct zts_texts *texts, uint32_t id, struct sonde_buffer *space,
		     const char **text, size_t *size)
{
	*text = "";
	*size = 0;
	if (!id)
		return;
	/* Without a marker in front it is what it is. */
	if (zts_texts_get(texts, id, text, size, NULL) == SONDE_OK &&
	    (!*size || (unsigned char)**text < ZTS_TEXT_KEYWORD ||
	     (unsigned char)**text > ZTS_TEXT_AGENT))
		return;
	sonde_buffer_clear(space);
	zts_texts_put_name(texts, id, space);
	*text = space->size ? space->data : "";
	*size = space->size;
}

void zts_texts_put_name(struct zts_texts *texts, uint32_t id, struct sonde_buffer *out)
{
	put_name(texts, id, out);
	/* `out` may be cleared before anybody looks */
	if (out->failed)
		zts_texts_set_failed(texts);
}
