/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads .hpcstruct files: XML of load modules (LM), files (F), functions (P), inlined calls (A in A),
 * loops (L) and statements (S, C) with their addresses. The XML is expat's work, in one pass; what
 * an element means is decided here.
 */
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/structure_detail.h"
#include "base/file.h"

enum {
	DEPTH_MAX = 1000, /* of elements; loops in inlined functions in loops come to some dozens */
	/* Each one costs time for each element; the files' own DTD declares 28. */
	DECLARATION_MAX = 1000,
};
#define CHUNK_SIZE ((size_t)1 << 20) /* fed to expat at once */
#define TAG_MAX ((uint64_t)64 << 20)

enum element_kind {
	ELEMENT_ROOT,
	ELEMENT_MODULE,
	ELEMENT_FILE,
	ELEMENT_FUNCTION,
	ELEMENT_LOOP,
	ELEMENT_CALL_SITE, /* an A: where the function inlined within it is called */
	ELEMENT_INLINED,   /* an A directly within that one */
	ELEMENT_STATEMENT,
};

/* An open element, and what holds for those within it. */
struct element {
	enum element_kind kind;
	uint32_t node;	  /* the innermost one here; SONDE_NONE outside of functions */
	const char *file; /* NULL: none was named */
	uint32_t line;	  /* of a call site */
	uint32_t site;	  /* its node, made when it is needed; SONDE_NONE before */
};

struct module {
	char *path;
	struct sonde_structure *structure; /* NULL: taken */
};

struct sonde_structure_file {
	SONDE_VEC(struct module) modules;
};

struct reader {
	XML_Parser xml;
	struct sonde_structure_file *file;
	struct sonde_structure *structure; /* of the module that is open; NULL between modules */
	SONDE_VEC(struct element) open;
	size_t skipped;	     /* open elements that nobody here knows, and all within them */
	size_t declarations; /* of attributes, in the DTD */
	bool has_root;
	uint32_t ranks; /* the next range's: those that come first count */
	enum sonde_status status;
	struct sonde_error *err;
};

static void stop(struct reader *reader, enum sonde_status status)
{
	if (reader->status != SONDE_OK)
		return;
	reader->status = status;
	XML_StopParser(reader->xml, XML_FALSE);
}

static void out_of_memory(struct reader *reader)
{
	if (reader->status == SONDE_OK)
		stop(reader, sonde_fail_nomem(reader->err));
}

static unsigned long long line_now(const struct reader *reader)
{
	return (unsigned long long)XML_GetCurrentLineNumber(reader->xml);
}

static uint64_t offset_now(const struct reader *reader)
{
	XML_Index index = XML_GetCurrentByteIndex(reader->xml);

	return index < 0 ? SONDE_NO_OFFSET : (uint64_t)index;
}

#define wrong(reader, status_, format, ...)                                                        \
	stop(reader, sonde_fail((reader)->err, status_, offset_now(reader), "line %llu: " format,  \
				line_now(reader), __VA_ARGS__))

static const char *attribute(const XML_Char **attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

/* Digits, in base 10 or 16, at least one; false where they are too many. */
static bool take_number(const char **text, unsigned int base, uint64_t limit, uint64_t *number)
{
	const char *at = *text;

	for (*number = 0;; at++) {
		unsigned int digit;

		if (*at >= '0' && *at <= '9')
			digit = (unsigned int)(*at - '0');
		else if (base == 16 && (*at | 0x20) >= 'a' && (*at | 0x20) <= 'f')
			digit = (unsigned int)((*at | 0x20) - 'a') + 10;
		else
			break;
		if (*number > (limit - digit) / base)
			return false;
		*number = *number * base + digit;
	}
	if (at == *text)
		return false;
	*text = at;
	return true;
}

/* The attribute l, "12" or "12-15", of which the first line is taken. */
static bool read_line(struct reader *reader, const XML_Char **attributes, bool required,
		      uint32_t *line)
{
	const char *value = attribute(attributes, "l"), *at = value;
	uint64_t first, last;

	*line = 0;
	if (!value && !required)
		return true;
	if (at && take_number(&at, 10, UINT32_MAX, &first) &&
	    (*at != '-' || (at++, take_number(&at, 10, UINT32_MAX, &last))) && !*at) {
		*line = (uint32_t)first;
		return true;
	}
	wrong(reader, SONDE_CORRUPT, "expected l=\"NUMBER\", found %s%.60s%s", value ? "\"" : "",
	      value ? value : "none", value ? "\"" : "");
	return false;
}

static bool take_address(const char **text, uint64_t *address)
{
	if ((*text)[0] != '0' || (*text)[1] != 'x')
		return false;
	*text += 2;
	return take_number(text, 16, UINT64_MAX, address);
}

/* The next "[0x10-0x20)" of a list, after spaces or a comma; false at what is no such range. */
static bool take_range(const char **text, uint64_t *start, uint64_t *end)
{
	const char *at = *text + strspn(*text, " ,\t\n");

	if (*at++ != '[' || !take_address(&at, start) || *at++ != '-' || !take_address(&at, end) ||
	    *at++ != ')' || *end < *start)
		return false;
	*text = at;
	return true;
}

/*
 * Goes through the attribute v, "{[0x10-0x20) [0x30-0x38)}". Where `owner` is not SONDE_NONE the ranges
 * become its own. *first is the first address, 0 where there is none.
 */
static bool read_ranges(struct reader *reader, const XML_Char **attributes, uint32_t owner,
			uint64_t *first)
{
	const char *value = attribute(attributes, "v"), *at = value;
	uint64_t start, end;
	bool any = false;

	*first = 0;
	if (!value)
		return true;
	if (*at == '{') {
		for (at++; take_range(&at, &start, &end); any = true) {
			if (!any)
				*first = start;
			if (owner == SONDE_NONE)
				continue;
			if (!structure_ranges_add(&reader->structure->ranges, start, end, owner,
						  reader->ranks--)) {
				out_of_memory(reader);
				return false;
			}
		}
		at += strspn(at, " ");
		if (strcmp(at, "}") == 0)
			return true;
	}
	wrong(reader, SONDE_CORRUPT, "expected v=\"{[0xSTART-0xEND) ...}\", found \"%.60s\" at %zu",
	      value, (size_t)(at - value));
	return false;
}

/* A text of an attribute, NULL in *text where it is absent or empty; false where memory is out. */
static bool read_text(struct reader *reader, const XML_Char **attributes, const char *name,
		      const char **text)
{
	const char *value = attribute(attributes, name);

	*text = NULL;
	if (!value || !*value)
		return true;
	*text = structure_text(reader->structure, value, strlen(value));
	if (!*text)
		out_of_memory(reader);
	return *text != NULL;
}

static uint32_t add_node(struct reader *reader, struct sonde_structure_node node)
{
	uint32_t number = structure_add_node(reader->structure, &node);

	if (number == SONDE_NONE)
		out_of_memory(reader);
	return number;
}

static uint32_t add_function(struct reader *reader, uint32_t parent, uint8_t relation,
			     struct sonde_structure_function function)
{
	uint32_t number = structure_add_function(reader->structure, &function);

	if (number == SONDE_NONE) {
		out_of_memory(reader);
		return SONDE_NONE;
	}
	return add_node(reader, (struct sonde_structure_node){
					.parent = parent,
					.kind = SONDE_CONTEXT_FUNCTION,
					.relation = relation,
					.function = number,
				});
}

static uint32_t add_line(struct reader *reader, uint32_t parent, const char *file, uint32_t line)
{
	return add_node(reader, (struct sonde_structure_node){
					.parent = parent,
					.kind = SONDE_CONTEXT_LINE,
					.relation = SONDE_CONTEXT_ENCLOSED,
					.function = SONDE_NONE,
					.file = file,
					.line = line,
				});
}

static void start_module(struct reader *reader, const XML_Char **attributes)
{
	const char *path = attribute(attributes, "n");
	struct module *module;

	if (!path) {
		wrong(reader, SONDE_CORRUPT, "%s", "a load module (LM) without its path (n)");
		return;
	}
	module = sonde_vec_push(&reader->file->modules);
	if (!module) {
		out_of_memory(reader);
		return;
	}
	*module = (struct module){ .path = strdup(path),
				   .structure = structure_new(SONDE_STRUCTURE_FILE) };
	reader->structure = module->structure;
	reader->ranks = UINT32_MAX;
	if (!module->path || !module->structure)
		out_of_memory(reader);
}

static void start_function(struct reader *reader, const XML_Char **attributes,
			   struct element *element)
{
	struct sonde_structure_function function = { .file = element->file };

	if (!read_text(reader, attributes, "n", &function.name) ||
	    !read_line(reader, attributes, false, &function.line) ||
	    !read_ranges(reader, attributes, SONDE_NONE, &function.address))
		return;
	element->node = add_function(reader, SONDE_NONE, SONDE_CONTEXT_CALLED, function);
}

/* Without a file there is no telling where the loop is; what lies in it belongs to what is around. */
static void start_loop(struct reader *reader, const XML_Char **attributes, struct element *element)
{
	struct sonde_structure_node node = {
		.parent = element->node,
		.kind = SONDE_CONTEXT_LOOP,
		.relation = SONDE_CONTEXT_ENCLOSED,
		.function = SONDE_NONE,
	};
	const char *file;

	if (!read_text(reader, attributes, "f", &file) ||
	    !read_line(reader, attributes, true, &node.line) ||
	    !read_ranges(reader, attributes, SONDE_NONE, &node.address))
		return;
	if (file)
		element->file = file;
	if (element->node == SONDE_NONE || !element->file)
		return;
	node.file = element->file;
	element->node = add_node(reader, node);
}

static void start_call_site(struct reader *reader, const XML_Char **attributes,
			    struct element *element)
{
	const char *file;

	if (!read_text(reader, attributes, "f", &file) ||
	    !read_line(reader, attributes, false, &element->line))
		return;
	if (file)
		element->file = file;
}

/* `parent` is the call site. */
static void start_inlined(struct reader *reader, const XML_Char **attributes,
			  struct element *parent, struct element *element)
{
	struct sonde_structure_function function = { 0 };

	if (!read_text(reader, attributes, "n", &function.name) ||
	    !read_text(reader, attributes, "f", &function.file) ||
	    !read_line(reader, attributes, false, &function.line))
		return;
	if (function.file)
		element->file = function.file;
	function.file = element->file;
	if (element->node == SONDE_NONE)
		return;
	if (parent->site == SONDE_NONE && parent->file) {
		parent->site = add_line(reader, parent->node, parent->file, parent->line);
		if (parent->site == SONDE_NONE)
			return;
	}
	element->node = add_function(reader,
				     parent->site == SONDE_NONE ? parent->node : parent->site,
				     SONDE_CONTEXT_INLINED, function);
}

/* Statements outside of functions tell nothing; without a file they are the function's own. */
static void add_statement(struct reader *reader, const XML_Char **attributes,
			  const struct element *element)
{
	uint32_t owner = element->node, line;
	uint64_t first;

	if (!read_line(reader, attributes, true, &line))
		return;
	if (owner != SONDE_NONE && element->file) {
		owner = add_line(reader, owner, element->file, line);
		if (owner == SONDE_NONE)
			return;
	}
	read_ranges(reader, attributes, owner, &first);
}

/* What an element is within another; false: it is not known there. */
static bool classify(const char *name, enum element_kind parent, enum element_kind *kind)
{
	if (parent == ELEMENT_ROOT) {
		*kind = ELEMENT_MODULE;
		return strcmp(name, "LM") == 0;
	}
	if (!name[0] || name[1])
		return false;
	switch (name[0]) {
	case 'F':
		*kind = ELEMENT_FILE;
		return parent == ELEMENT_MODULE;
	case 'P':
		*kind = ELEMENT_FUNCTION;
		return true;
	case 'L':
		*kind = ELEMENT_LOOP;
		return true;
	case 'A':
		*kind = parent == ELEMENT_CALL_SITE ? ELEMENT_INLINED : ELEMENT_CALL_SITE;
		return true;
	case 'S':
	case 'C':
		*kind = ELEMENT_STATEMENT;
		return true;
	default:
		return false;
	}
}

static void start_known(struct reader *reader, enum element_kind kind, const XML_Char **attributes)
{
	struct element *parent, *element;

	if (!sonde_vec_reserve(&reader->open, 1)) {
		out_of_memory(reader);
		return;
	}
	parent = &reader->open.items[reader->open.count - 1];
	element = parent + 1;
	*element = *parent;
	element->kind = kind;
	element->site = SONDE_NONE;
	reader->open.count++;
	switch (kind) {
	case ELEMENT_ROOT:
		break;
	case ELEMENT_MODULE:
		start_module(reader, attributes);
		break;
	case ELEMENT_FILE:
		read_text(reader, attributes, "n", &element->file);
		break;
	case ELEMENT_FUNCTION:
		start_function(reader, attributes, element);
		break;
	case ELEMENT_LOOP:
		start_loop(reader, attributes, element);
		break;
	case ELEMENT_CALL_SITE:
		start_call_site(reader, attributes, element);
		break;
	case ELEMENT_INLINED:
		start_inlined(reader, attributes, parent, element);
		break;
	case ELEMENT_STATEMENT:
		add_statement(reader, attributes, element);
		break;
	}
}

static void start_root(struct reader *reader, const char *name)
{
	struct element *root;

	if (strcmp(name, "HPCToolkitStructure") != 0) {
		wrong(reader, SONDE_FORMAT,
		      "no .hpcstruct file: expected the element HPCToolkitStructure, found %.60s",
		      name);
		return;
	}
	reader->has_root = true;
	root = sonde_vec_push(&reader->open);
	if (!root)
		out_of_memory(reader);
	else
		*root = (struct element){ .kind = ELEMENT_ROOT,
					  .node = SONDE_NONE,
					  .site = SONDE_NONE };
}

static void on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
	struct reader *reader = user;
	enum element_kind kind;

	if (reader->status != SONDE_OK)
		return;
	if (!reader->open.count) {
		start_root(reader, name);
		return;
	}
	if (reader->open.count + reader->skipped >= DEPTH_MAX) {
		wrong(reader, SONDE_LIMIT, "more than %d elements within each other", DEPTH_MAX);
		return;
	}
	if (reader->skipped ||
	    !classify(name, reader->open.items[reader->open.count - 1].kind, &kind)) {
		reader->skipped++;
		return;
	}
	start_known(reader, kind, attributes);
}

static void on_end(void *user, const XML_Char *name)
{
	struct reader *reader = user;

	(void)name;
	if (reader->status != SONDE_OK)
		return;
	if (reader->skipped) {
		reader->skipped--;
		return;
	}
	reader->open.count--;
	if (reader->open.items[reader->open.count].kind != ELEMENT_MODULE)
		return;
	if (!structure_ranges_settle(&reader->structure->ranges))
		out_of_memory(reader);
	reader->structure = NULL;
}

/* These files need no entities, and what entities expand to has no bounds. */
static void on_entity(void *user, const XML_Char *name, int is_parameter, const XML_Char *value,
		      int value_length, const XML_Char *base, const XML_Char *system_id,
		      const XML_Char *public_id, const XML_Char *notation)
{
	struct reader *reader = user;

	(void)is_parameter, (void)value, (void)value_length, (void)base;
	(void)system_id, (void)public_id, (void)notation;
	if (reader->status == SONDE_OK)
		wrong(reader, SONDE_CORRUPT,
		      "the entity %.60s is declared, which no .hpcstruct file does", name);
}

/* Values that are added to elements by a declaration would make small files large. */
static void on_attributes(void *user, const XML_Char *element, const XML_Char *name,
			  const XML_Char *type, const XML_Char *value, int is_required)
{
	struct reader *reader = user;

	(void)name, (void)type, (void)is_required;
	if (reader->status != SONDE_OK)
		return;
	if (value)
		wrong(reader, SONDE_CORRUPT,
		      "an attribute of %.60s is declared with a value, which no .hpcstruct file does",
		      element);
	else if (++reader->declarations > DECLARATION_MAX)
		wrong(reader, SONDE_LIMIT, "more than %d attributes are declared", DECLARATION_MAX);
}

static void fail_by_expat(struct reader *reader)
{
	enum XML_Error code = XML_GetErrorCode(reader->xml);

	if (reader->status != SONDE_OK)
		return; /* it was stopped here, and the reason is known */
	if (code == XML_ERROR_NO_MEMORY)
		out_of_memory(reader);
	else if (!reader->has_root)
		wrong(reader, SONDE_FORMAT, "no .hpcstruct file: expected XML, found: %s",
		      XML_ErrorString(code));
	else
		wrong(reader, SONDE_CORRUPT, "damaged XML: %s; make the file anew",
		      XML_ErrorString(code));
}

/*
 * A tag must be whole before expat hands it out, and is looked at from its start with each chunk until
 * then: chunks double as long as one goes on.
 */
static void feed(struct reader *reader, const uint8_t *bytes, size_t size)
{
	uint64_t fed = 0, reached = 0;
	size_t chunk_size = CHUNK_SIZE;

	do {
		size_t chunk = size - fed < chunk_size ? size - fed : chunk_size;
		uint64_t now;

		if (XML_Parse(reader->xml, chunk ? (const char *)bytes + fed : "", (int)chunk,
			      fed + chunk == size) != XML_STATUS_OK) {
			fail_by_expat(reader);
			return;
		}
		fed += chunk;
		now = offset_now(reader);
		if (now < fed && fed - now > TAG_MAX)
			wrong(reader, SONDE_LIMIT, "a tag of more than %llu bytes",
			      (unsigned long long)TAG_MAX);
		chunk_size = now == reached ? chunk_size * 2 : CHUNK_SIZE;
		reached = now;
	} while (reader->status == SONDE_OK && fed < size);
}

enum sonde_status sonde_structure_file_parse(const void *bytes, size_t size,
					     struct sonde_structure_file **file,
					     struct sonde_error *err)
{
	/* Named here so that tests can let them fail. */
	const XML_Memory_Handling_Suite memory = { malloc, realloc, free };
	struct reader reader = { .status = SONDE_OK, .err = err };

	*file = NULL;
	reader.file = calloc(1, sizeof(*reader.file));
	reader.xml = XML_ParserCreate_MM(NULL, &memory, NULL);
	if (!reader.file || !reader.xml) {
		reader.status = sonde_fail_nomem(err);
	} else {
		XML_SetUserData(reader.xml, &reader);
		XML_SetElementHandler(reader.xml, on_start, on_end);
		XML_SetEntityDeclHandler(reader.xml, on_entity);
		XML_SetAttlistDeclHandler(reader.xml, on_attributes);
		feed(&reader, bytes, size);
	}
	if (reader.xml)
		XML_ParserFree(reader.xml);
	sonde_vec_release(&reader.open);
	if (reader.status != SONDE_OK)
		sonde_structure_file_free(reader.file);
	else
		*file = reader.file;
	return reader.status;
}

enum sonde_status sonde_structure_file_read(const char *path, struct sonde_structure_file **file,
					    struct sonde_error *err)
{
	struct sonde_mapped_file mapped;
	enum sonde_status status = sonde_mapped_file_open(&mapped, path, err);

	*file = NULL;
	if (status != SONDE_OK)
		return status;
	status = sonde_structure_file_parse(mapped.data, mapped.size, file, err);
	sonde_mapped_file_release(&mapped);
	if (status != SONDE_OK)
		sonde_error_set_file(err, path);
	return status;
}

size_t sonde_structure_file_count(const struct sonde_structure_file *file)
{
	return file->modules.count;
}

const char *sonde_structure_file_module(const struct sonde_structure_file *file, size_t number)
{
	return number < file->modules.count ? file->modules.items[number].path : NULL;
}

struct sonde_structure *sonde_structure_file_take(struct sonde_structure_file *file, size_t number)
{
	struct sonde_structure *structure;

	if (number >= file->modules.count)
		return NULL;
	structure = file->modules.items[number].structure;
	file->modules.items[number].structure = NULL;
	return structure;
}

void sonde_structure_file_free(struct sonde_structure_file *file)
{
	if (!file)
		return;
	for (size_t i = 0; i < file->modules.count; i++) {
		free(file->modules.items[i].path);
		sonde_structure_free(file->modules.items[i].structure);
	}
	sonde_vec_release(&file->modules);
	free(file);
}
