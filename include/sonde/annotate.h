/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Annotations: what a C11 or C++17 program says about itself to whoever records it. Link with
 * -lsonde-rt (`sonde cflags --annotate`); without a recorder an annotation is one test of a
 * variable. With SONDE_NO_ANNOTATIONS defined before this is included, nothing is left of them.
 *
 *	SONDE_SCOPE("decode", SONDE_ARG(width), SONDE_STR(path));
 *
 *	SONDE_SCOPE(name, arguments...)	until the end of the block, however it is left
 *	SONDE_EVENT(name, arguments...)	a moment
 *	SONDE_MARK(name), SONDE_MARK(name, json)
 *	SONDE_FLOW_BEGIN(id, name), SONDE_FLOW_STEP(id, name), SONDE_FLOW_END(id)
 *	SONDE_RANGE_BEGIN(id, name), SONDE_RANGE_END(id)
 *	SONDE_FRAME_BEGIN(number), SONDE_FRAME_END(number)
 *	SONDE_COUNTER(name, value)
 *	SONDE_ZONE(name)		what this thread does until the end of the block has a
 *					track of its own
 *	SONDE_RESOURCE(name, data, size) bytes to be kept in the recording
 *
 * Up to 8 arguments, named after their expression, or as the forms with _AS say:
 *
 *	SONDE_ARG(x), SONDE_ARRAY(pointer, count)	the type of x, or of what is pointed to
 *	SONDE_BOOL(x), SONDE_I8(x) ... SONDE_I64(x), SONDE_U8(x) ... SONDE_U64(x), SONDE_F32(x),
 *	SONDE_F64(x), SONDE_STR(text)			NULL is fine
 *	SONDE_I8_ARRAY(pointer, count) ... SONDE_F64_ARRAY(pointer, count)
 *	SONDE_ARG_AS("name", x), SONDE_U32_AS("name", x), SONDE_F32_ARRAY_AS("name", pointer, count)
 *
 * Names are string literals. All of it may be used in signal handlers, in any thread and in forked
 * children. Nothing is recorded while sonde_record_pause() holds; arguments may then not be
 * evaluated, so they must have no effects. Of a text or an array at most 64 KB are kept.
 */
#ifndef SONDE_ANNOTATE_H
#define SONDE_ANNOTATE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#include <type_traits>
extern "C" {
#else
#include <stdbool.h>
#endif

/* ---- what the macros below hand to libsonde-rt ---- */

/* Numbered as enum sonde_argument_type. */
enum sonde_annotate_type {
	SONDE_ANNOTATE_BOOL = 0,
	SONDE_ANNOTATE_I8 = 1,
	SONDE_ANNOTATE_U8 = 2,
	SONDE_ANNOTATE_CHAR = 3,
	SONDE_ANNOTATE_I16 = 4,
	SONDE_ANNOTATE_U16 = 5,
	SONDE_ANNOTATE_I32 = 7,
	SONDE_ANNOTATE_U32 = 8,
	SONDE_ANNOTATE_I64 = 9,
	SONDE_ANNOTATE_U64 = 10,
	SONDE_ANNOTATE_F32 = 11,
	SONDE_ANNOTATE_F64 = 12,
	SONDE_ANNOTATE_STR = 16,
	SONDE_ANNOTATE_JSON = 17,
	SONDE_ANNOTATE_ARRAY = 0x80 /* added to a number type */
};

enum sonde_annotate_kind {
	SONDE_ANNOTATE_SCOPE = 1,
	SONDE_ANNOTATE_EVENT,
	SONDE_ANNOTATE_MARK,
	SONDE_ANNOTATE_FLOW_BEGIN,
	SONDE_ANNOTATE_FLOW_STEP,
	SONDE_ANNOTATE_FLOW_END,
	SONDE_ANNOTATE_RANGE_BEGIN,
	SONDE_ANNOTATE_RANGE_END,
	SONDE_ANNOTATE_FRAME_BEGIN,
	SONDE_ANNOTATE_FRAME_END,
	SONDE_ANNOTATE_COUNTER,
	SONDE_ANNOTATE_ZONE,
	SONDE_ANNOTATE_RESOURCE
};

struct sonde_annotate_parameter {
	const char *name;
	unsigned int type; /* enum sonde_annotate_type */
};

/* A place in the program where something is annotated. */
struct sonde_annotate_site {
	const char *name;
	const struct sonde_annotate_parameter *parameters;
	const char *file;
	uint32_t line;
	uint16_t kind;	/* enum sonde_annotate_kind */
	uint16_t count; /* of parameters */
	uint32_t state; /* of the runtime: the process that has told of this site, */
	uint32_t shape; /* and how its arguments are packed */
};

/* The value of an argument: a number's bits, or bytes and the count of items. */
struct sonde_annotate_value {
	uint64_t number;
	const void *bytes;
};

extern uint32_t sonde_annotate_on; /* 0: nothing is recorded in this process */

/* True where it was recorded: then end() must follow, with the address of the same object. */
bool sonde_annotate_begin(struct sonde_annotate_site *site,
			  const struct sonde_annotate_value *values, uintptr_t object)
	__attribute__((nothrow));
void sonde_annotate_end(struct sonde_annotate_site *site, uintptr_t object)
	__attribute__((nothrow));
void sonde_annotate_event(struct sonde_annotate_site *site,
			  const struct sonde_annotate_value *values, uint64_t number)
	__attribute__((nothrow));
void sonde_annotate_resource(struct sonde_annotate_site *site, const void *data, size_t size)
	__attribute__((nothrow));

#ifdef __cplusplus
}
#endif

#ifdef SONDE_NO_ANNOTATIONS

/* Never called: what would have been annotated counts as used. */
static inline int sonde_annotate_ignore(const char *name, ...)
{
	return !name;
}

#define SONDE_IGNORE_(...) ((void)sizeof(sonde_annotate_ignore(__VA_ARGS__)))

#define SONDE_SCOPE(...) SONDE_IGNORE_(__VA_ARGS__)
#define SONDE_EVENT(...) SONDE_IGNORE_(__VA_ARGS__)
#define SONDE_MARK(...) SONDE_IGNORE_(__VA_ARGS__)
#define SONDE_FLOW_BEGIN(id, name) SONDE_IGNORE_(name, id)
#define SONDE_FLOW_STEP(id, name) SONDE_IGNORE_(name, id)
#define SONDE_FLOW_END(id) SONDE_IGNORE_("", id)
#define SONDE_RANGE_BEGIN(id, name) SONDE_IGNORE_(name, id)
#define SONDE_RANGE_END(id) SONDE_IGNORE_("", id)
#define SONDE_FRAME_BEGIN(number) SONDE_IGNORE_("", number)
#define SONDE_FRAME_END(number) SONDE_IGNORE_("", number)
#define SONDE_COUNTER(name, value) SONDE_IGNORE_(name, value)
#define SONDE_ZONE(name) SONDE_IGNORE_(name)
#define SONDE_RESOURCE(name, data, size) SONDE_IGNORE_(name, data, size)

#define SONDE_ONE_(type, name, value) (value)
#define SONDE_MANY_(type, name, pointer, count) (pointer), (count)
#define SONDE_ARG_AS(name, x) (x)
#define SONDE_ARRAY_AS(name, pointer, count) (pointer), (count)

#else

#define SONDE_INLINE_ static inline __attribute__((always_inline, no_instrument_function))

#define SONDE_IS_ON_() __builtin_expect(__atomic_load_n(&sonde_annotate_on, __ATOMIC_RELAXED), 0)

/* An argument is (type, name, value). */
#define SONDE_ONE_(type, name, value)                                                              \
	(SONDE_ANNOTATE_##type, name, sonde_annotate_value_##type(value))
#define SONDE_MANY_(type, name, pointer, count)                                                    \
	(SONDE_ANNOTATE_##type | SONDE_ANNOTATE_ARRAY, name,                                       \
	 sonde_annotate_array_##type(pointer, count))

#define SONDE_NUMBER_(name, type)                                                                  \
	SONDE_INLINE_ struct sonde_annotate_value sonde_annotate_value_##name(type value)          \
	{                                                                                          \
		struct sonde_annotate_value result = { 0, NULL };                                  \
                                                                                                   \
		__builtin_memcpy(&result.number, &value, sizeof(value));                           \
		return result;                                                                     \
	}                                                                                          \
	SONDE_INLINE_ struct sonde_annotate_value sonde_annotate_array_##name(const type *items,   \
									      size_t count)        \
	{                                                                                          \
		struct sonde_annotate_value result = { 0, NULL };                                  \
                                                                                                   \
		result.number = count;                                                             \
		result.bytes = items;                                                              \
		return result;                                                                     \
	}

SONDE_NUMBER_(BOOL, bool)
SONDE_NUMBER_(CHAR, char)
SONDE_NUMBER_(I8, int8_t)
SONDE_NUMBER_(U8, uint8_t)
SONDE_NUMBER_(I16, int16_t)
SONDE_NUMBER_(U16, uint16_t)
SONDE_NUMBER_(I32, int32_t)
SONDE_NUMBER_(U32, uint32_t)
SONDE_NUMBER_(I64, int64_t)
SONDE_NUMBER_(U64, uint64_t)
SONDE_NUMBER_(F32, float)
SONDE_NUMBER_(F64, double)
#undef SONDE_NUMBER_

SONDE_INLINE_ struct sonde_annotate_value sonde_annotate_value_STR(const char *text)
{
	struct sonde_annotate_value result = { 0, NULL };

	result.bytes = text;
	return result;
}

#define SONDE_JOIN_(a, b) SONDE_JOIN_NOW_(a, b)
#define SONDE_JOIN_NOW_(a, b) a##b

/* How many arguments follow the first. */
#define SONDE_COUNT_(...) SONDE_TENTH_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0)
#define SONDE_TENTH_(name, a, b, c, d, e, f, g, h, count, ...) count
#define SONDE_FIRST_(...) SONDE_FIRST_NOW_(__VA_ARGS__, 0)
#define SONDE_FIRST_NOW_(first, ...) first

/* `macro` with each argument behind the first, and a comma after each. */
#define SONDE_EACH_(macro, ...)                                                                    \
	SONDE_JOIN_(SONDE_EACH_, SONDE_COUNT_(__VA_ARGS__))(macro, __VA_ARGS__)
#define SONDE_EACH_0(m, name)
#define SONDE_EACH_1(m, name, a) m a,
#define SONDE_EACH_2(m, name, a, b) m a, m b,
#define SONDE_EACH_3(m, name, a, b, c) m a, m b, m c,
#define SONDE_EACH_4(m, name, a, b, c, d) m a, m b, m c, m d,
#define SONDE_EACH_5(m, name, a, b, c, d, e) m a, m b, m c, m d, m e,
#define SONDE_EACH_6(m, name, a, b, c, d, e, f) m a, m b, m c, m d, m e, m f,
#define SONDE_EACH_7(m, name, a, b, c, d, e, f, g) m a, m b, m c, m d, m e, m f, m g,
#define SONDE_EACH_8(m, name, a, b, c, d, e, f, g, h) m a, m b, m c, m d, m e, m f, m g, m h,

#define SONDE_PARAMETER_(type, name, value)                                                        \
	{                                                                                          \
		name, type                                                                         \
	}
#define SONDE_VALUE_(type, name, value) value

/* The site of one annotation; `id` makes its name. */
#define SONDE_SITE_(id, kind, ...)                                                                 \
	static const struct sonde_annotate_parameter SONDE_JOIN_(sonde_parameters_, id)[] = {      \
		SONDE_EACH_(SONDE_PARAMETER_, __VA_ARGS__){ NULL, 0 }                              \
	};                                                                                         \
	static struct sonde_annotate_site SONDE_JOIN_(sonde_site_,                                 \
						      id) = { SONDE_FIRST_(__VA_ARGS__),           \
							      SONDE_JOIN_(sonde_parameters_, id),  \
							      __FILE__,                            \
							      __LINE__,                            \
							      kind,                                \
							      SONDE_COUNT_(__VA_ARGS__),           \
							      0,                                   \
							      0 }

#ifdef __cplusplus

namespace sonde_annotate
{

#define SONDE_INLINE_MEMBER_ inline __attribute__((always_inline, no_instrument_function))

template <class T> struct type_of;
#define SONDE_TYPE_(cpp, name)                                                                     \
	template <> struct type_of<cpp> {                                                          \
		static constexpr unsigned int value = SONDE_ANNOTATE_##name;                       \
	}
SONDE_TYPE_(bool, BOOL);
SONDE_TYPE_(char, CHAR);
SONDE_TYPE_(signed char, I8);
SONDE_TYPE_(unsigned char, U8);
SONDE_TYPE_(short, I16);
SONDE_TYPE_(unsigned short, U16);
SONDE_TYPE_(int, I32);
SONDE_TYPE_(unsigned int, U32);
SONDE_TYPE_(long, I64);
SONDE_TYPE_(unsigned long, U64);
SONDE_TYPE_(long long, I64);
SONDE_TYPE_(unsigned long long, U64);
SONDE_TYPE_(float, F32);
SONDE_TYPE_(double, F64);
SONDE_TYPE_(char *, STR);
SONDE_TYPE_(const char *, STR);
SONDE_TYPE_(std::nullptr_t, STR);
#undef SONDE_TYPE_

/* The type of an expression as an argument: enumerations are their integers. */
template <class T, bool = std::is_enum<T>::value> struct plain {
	using type = T;
};
template <class T> struct plain<T, true> {
	using type = typename std::underlying_type<T>::type;
};
template <class T> using plain_t = typename plain<typename std::decay<T>::type>::type;

template <class T> constexpr unsigned int type()
{
	return type_of<plain_t<T>>::value;
}

template <class T> SONDE_INLINE_MEMBER_ sonde_annotate_value value(T from)
{
	const plain_t<T> number = static_cast<plain_t<T>>(from);
	sonde_annotate_value result = { 0, nullptr };

	if constexpr (std::is_same<plain_t<T>, std::nullptr_t>::value)
		return result;
	else if constexpr (std::is_pointer<plain_t<T>>::value)
		result.bytes = number;
	else
		__builtin_memcpy(&result.number, &number, sizeof(number));
	return result;
}

template <class T> SONDE_INLINE_MEMBER_ sonde_annotate_value array(const T *items, size_t count)
{
	return { count, items };
}

/* Lives as long as the block that a scope or a zone is for. */
class scope
{
      public:
	SONDE_INLINE_MEMBER_ scope() : begun(nullptr)
	{
	}
	template <size_t count>
	SONDE_INLINE_MEMBER_ scope(sonde_annotate_site &site,
				   const sonde_annotate_value (&values)[count])
	    : begun(sonde_annotate_begin(&site, values, address()) ? &site : nullptr)
	{
	}
	SONDE_INLINE_MEMBER_ ~scope()
	{
		if (begun)
			sonde_annotate_end(begun, address());
	}
	scope(const scope &) = delete;
	scope &operator=(const scope &) = delete;

      private:
	SONDE_INLINE_MEMBER_ uintptr_t address() const
	{
		return reinterpret_cast<uintptr_t>(this);
	}

	sonde_annotate_site *begun;
};

template <size_t count>
SONDE_INLINE_MEMBER_ void event(sonde_annotate_site &site, uint64_t number,
				const sonde_annotate_value (&values)[count])
{
	sonde_annotate_event(&site, values, number);
}

#undef SONDE_INLINE_MEMBER_

} // namespace sonde_annotate

/* Both are made in place, so that arguments are evaluated only where they are wanted. */
#define SONDE_SCOPED_(id, kind, ...)                                                               \
	SONDE_SITE_(id, kind, __VA_ARGS__);                                                        \
	const ::sonde_annotate::scope SONDE_JOIN_(sonde_scope_, id) =                              \
		SONDE_IS_ON_() ? ::sonde_annotate::scope(                                          \
					 SONDE_JOIN_(sonde_site_, id),                             \
					 { SONDE_EACH_(SONDE_VALUE_, __VA_ARGS__){ 0, NULL } }) :  \
				 ::sonde_annotate::scope()
#define SONDE_CALL_(number, ...)                                                                   \
	::sonde_annotate::event(sonde_site_here, number,                                           \
				{ SONDE_EACH_(SONDE_VALUE_, __VA_ARGS__){ 0, NULL } })

#define SONDE_ARG_AS(name, x)                                                                      \
	(::sonde_annotate::type<decltype(x)>(), name, ::sonde_annotate::value(x))
#define SONDE_ARRAY_AS(name, pointer, count)                                                       \
	(::sonde_annotate::type<decltype((pointer)[0])>() | SONDE_ANNOTATE_ARRAY, name,            \
	 ::sonde_annotate::array(pointer, count))

#else /* C */

struct sonde_annotate_scope {
	struct sonde_annotate_site *begun;
};

SONDE_INLINE_ struct sonde_annotate_scope
sonde_annotate_scope_begin(struct sonde_annotate_site *site,
			   const struct sonde_annotate_value *values, uintptr_t object)
{
	struct sonde_annotate_scope scope = { NULL };

	if (sonde_annotate_begin(site, values, object))
		scope.begun = site;
	return scope;
}

SONDE_INLINE_ void sonde_annotate_scope_end(const struct sonde_annotate_scope *scope)
{
	if (scope->begun)
		sonde_annotate_end(scope->begun, (uintptr_t)scope);
}

#define SONDE_VALUES_(...) SONDE_JOIN_(SONDE_VALUES_, SONDE_SOME_(__VA_ARGS__))(__VA_ARGS__)
#define SONDE_SOME_(...) SONDE_TENTH_(__VA_ARGS__, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0)
#define SONDE_VALUES_0(...) NULL
#define SONDE_VALUES_1(...)                                                                        \
	(const struct sonde_annotate_value[])                                                      \
	{                                                                                          \
		SONDE_EACH_(SONDE_VALUE_, __VA_ARGS__)                                             \
	}

#define SONDE_SCOPED_(id, kind, ...)                                                               \
	SONDE_SITE_(id, kind, __VA_ARGS__);                                                        \
	const struct sonde_annotate_scope SONDE_JOIN_(sonde_scope_, id)                            \
		__attribute__((cleanup(sonde_annotate_scope_end), unused)) = __extension__({       \
			struct sonde_annotate_scope sonde_scope_begun = { NULL };                  \
			if (SONDE_IS_ON_())                                                        \
				sonde_scope_begun = sonde_annotate_scope_begin(                    \
					&SONDE_JOIN_(sonde_site_, id), SONDE_VALUES_(__VA_ARGS__), \
					(uintptr_t)&SONDE_JOIN_(sonde_scope_, id));                \
			sonde_scope_begun;                                                         \
		})
#define SONDE_CALL_(number, ...)                                                                   \
	sonde_annotate_event(&sonde_site_here, SONDE_VALUES_(__VA_ARGS__), number)

/* Of the type of an expression. */
/* clang-format off */
#define SONDE_GENERIC_(x, prefix)                                                                  \
	_Generic((x), _Bool: prefix##BOOL, char: prefix##CHAR, signed char: prefix##I8,            \
		unsigned char: prefix##U8, short: prefix##I16, unsigned short: prefix##U16,        \
		int: prefix##I32, unsigned int: prefix##U32, long: prefix##I64,                    \
		unsigned long: prefix##U64, long long: prefix##I64,                                \
		unsigned long long: prefix##U64, float: prefix##F32, double: prefix##F64,          \
		char *: prefix##STR, const char *: prefix##STR)
#define SONDE_GENERIC_ITEM_(x)                                                                     \
	_Generic((x), _Bool: SONDE_ANNOTATE_BOOL, char: SONDE_ANNOTATE_CHAR,                       \
		signed char: SONDE_ANNOTATE_I8, unsigned char: SONDE_ANNOTATE_U8,                  \
		short: SONDE_ANNOTATE_I16, unsigned short: SONDE_ANNOTATE_U16,                     \
		int: SONDE_ANNOTATE_I32, unsigned int: SONDE_ANNOTATE_U32,                         \
		long: SONDE_ANNOTATE_I64, unsigned long: SONDE_ANNOTATE_U64,                       \
		long long: SONDE_ANNOTATE_I64, unsigned long long: SONDE_ANNOTATE_U64,             \
		float: SONDE_ANNOTATE_F32, double: SONDE_ANNOTATE_F64)
/* clang-format on */

SONDE_INLINE_ struct sonde_annotate_value sonde_annotate_items(const void *items, size_t count)
{
	struct sonde_annotate_value result = { count, items };

	return result;
}

#define SONDE_ARG_AS(name, x)                                                                      \
	(SONDE_GENERIC_(x, SONDE_ANNOTATE_), name, SONDE_GENERIC_(x, sonde_annotate_value_)(x))
#define SONDE_ARRAY_AS(name, pointer, count)                                                       \
	(SONDE_GENERIC_ITEM_((pointer)[0]) | SONDE_ANNOTATE_ARRAY, name,                           \
	 sonde_annotate_items(pointer, count))

#endif /* C */

/* The empty assembly keeps the call from becoming a jump, without the function's frame. */
#define SONDE_MOMENT_(kind, number, ...)                                                           \
	do {                                                                                       \
		if (SONDE_IS_ON_()) {                                                              \
			SONDE_SITE_(here, kind, __VA_ARGS__);                                      \
			SONDE_CALL_(number, __VA_ARGS__);                                          \
			__asm__ volatile("");                                                      \
		}                                                                                  \
	} while (0)

#define SONDE_SCOPE(...) SONDE_SCOPED_(__COUNTER__, SONDE_ANNOTATE_SCOPE, __VA_ARGS__)
#define SONDE_ZONE(name) SONDE_SCOPED_(__COUNTER__, SONDE_ANNOTATE_ZONE, name)
#define SONDE_EVENT(...) SONDE_MOMENT_(SONDE_ANNOTATE_EVENT, 0, __VA_ARGS__)
#define SONDE_MARK(...)                                                                            \
	SONDE_JOIN_(SONDE_MARK_, SONDE_SOME_MARK_(__VA_ARGS__, 1, 0, 0))(__VA_ARGS__)
#define SONDE_SOME_MARK_(name, value, some, ...) some
#define SONDE_MARK_0(name) SONDE_MOMENT_(SONDE_ANNOTATE_MARK, 0, name)
#define SONDE_MARK_1(name, json)                                                                   \
	SONDE_MOMENT_(SONDE_ANNOTATE_MARK, 0, name,                                                \
		      (SONDE_ANNOTATE_JSON, "value", sonde_annotate_value_STR(json)))
#define SONDE_FLOW_BEGIN(id, name) SONDE_MOMENT_(SONDE_ANNOTATE_FLOW_BEGIN, (uint32_t)(id), name)
#define SONDE_FLOW_STEP(id, name) SONDE_MOMENT_(SONDE_ANNOTATE_FLOW_STEP, (uint32_t)(id), name)
#define SONDE_FLOW_END(id) SONDE_MOMENT_(SONDE_ANNOTATE_FLOW_END, (uint32_t)(id), "")
#define SONDE_RANGE_BEGIN(id, name) SONDE_MOMENT_(SONDE_ANNOTATE_RANGE_BEGIN, (uint32_t)(id), name)
#define SONDE_RANGE_END(id) SONDE_MOMENT_(SONDE_ANNOTATE_RANGE_END, (uint32_t)(id), "")
#define SONDE_FRAME_BEGIN(number) SONDE_MOMENT_(SONDE_ANNOTATE_FRAME_BEGIN, (uint32_t)(number), "")
#define SONDE_FRAME_END(number) SONDE_MOMENT_(SONDE_ANNOTATE_FRAME_END, (uint32_t)(number), "")
#define SONDE_COUNTER(name, value)                                                                 \
	SONDE_MOMENT_(SONDE_ANNOTATE_COUNTER, sonde_annotate_value_F64((double)(value)).number,    \
		      name)
#define SONDE_RESOURCE(name, data, size)                                                           \
	do {                                                                                       \
		if (SONDE_IS_ON_()) {                                                              \
			SONDE_SITE_(here, SONDE_ANNOTATE_RESOURCE, name);                          \
			sonde_annotate_resource(&sonde_site_here, data, size);                     \
			__asm__ volatile("");                                                      \
		}                                                                                  \
	} while (0)

#endif /* SONDE_NO_ANNOTATIONS */

#define SONDE_ARG(x) SONDE_ARG_AS(#x, x)
#define SONDE_ARRAY(pointer, count) SONDE_ARRAY_AS(#pointer, pointer, count)

#define SONDE_BOOL_AS(name, x) SONDE_ONE_(BOOL, name, x)
#define SONDE_I8_AS(name, x) SONDE_ONE_(I8, name, x)
#define SONDE_U8_AS(name, x) SONDE_ONE_(U8, name, x)
#define SONDE_I16_AS(name, x) SONDE_ONE_(I16, name, x)
#define SONDE_U16_AS(name, x) SONDE_ONE_(U16, name, x)
#define SONDE_I32_AS(name, x) SONDE_ONE_(I32, name, x)
#define SONDE_U32_AS(name, x) SONDE_ONE_(U32, name, x)
#define SONDE_I64_AS(name, x) SONDE_ONE_(I64, name, x)
#define SONDE_U64_AS(name, x) SONDE_ONE_(U64, name, x)
#define SONDE_F32_AS(name, x) SONDE_ONE_(F32, name, x)
#define SONDE_F64_AS(name, x) SONDE_ONE_(F64, name, x)
#define SONDE_STR_AS(name, x) SONDE_ONE_(STR, name, x)

#define SONDE_BOOL(x) SONDE_ONE_(BOOL, #x, x)
#define SONDE_I8(x) SONDE_ONE_(I8, #x, x)
#define SONDE_U8(x) SONDE_ONE_(U8, #x, x)
#define SONDE_I16(x) SONDE_ONE_(I16, #x, x)
#define SONDE_U16(x) SONDE_ONE_(U16, #x, x)
#define SONDE_I32(x) SONDE_ONE_(I32, #x, x)
#define SONDE_U32(x) SONDE_ONE_(U32, #x, x)
#define SONDE_I64(x) SONDE_ONE_(I64, #x, x)
#define SONDE_U64(x) SONDE_ONE_(U64, #x, x)
#define SONDE_F32(x) SONDE_ONE_(F32, #x, x)
#define SONDE_F64(x) SONDE_ONE_(F64, #x, x)
#define SONDE_STR(x) SONDE_ONE_(STR, #x, x)

#define SONDE_BOOL_ARRAY_AS(name, pointer, count) SONDE_MANY_(BOOL, name, pointer, count)
#define SONDE_I8_ARRAY_AS(name, pointer, count) SONDE_MANY_(I8, name, pointer, count)
#define SONDE_U8_ARRAY_AS(name, pointer, count) SONDE_MANY_(U8, name, pointer, count)
#define SONDE_I16_ARRAY_AS(name, pointer, count) SONDE_MANY_(I16, name, pointer, count)
#define SONDE_U16_ARRAY_AS(name, pointer, count) SONDE_MANY_(U16, name, pointer, count)
#define SONDE_I32_ARRAY_AS(name, pointer, count) SONDE_MANY_(I32, name, pointer, count)
#define SONDE_U32_ARRAY_AS(name, pointer, count) SONDE_MANY_(U32, name, pointer, count)
#define SONDE_I64_ARRAY_AS(name, pointer, count) SONDE_MANY_(I64, name, pointer, count)
#define SONDE_U64_ARRAY_AS(name, pointer, count) SONDE_MANY_(U64, name, pointer, count)
#define SONDE_F32_ARRAY_AS(name, pointer, count) SONDE_MANY_(F32, name, pointer, count)
#define SONDE_F64_ARRAY_AS(name, pointer, count) SONDE_MANY_(F64, name, pointer, count)

#define SONDE_BOOL_ARRAY(pointer, count) SONDE_MANY_(BOOL, #pointer, pointer, count)
#define SONDE_I8_ARRAY(pointer, count) SONDE_MANY_(I8, #pointer, pointer, count)
#define SONDE_U8_ARRAY(pointer, count) SONDE_MANY_(U8, #pointer, pointer, count)
#define SONDE_I16_ARRAY(pointer, count) SONDE_MANY_(I16, #pointer, pointer, count)
#define SONDE_U16_ARRAY(pointer, count) SONDE_MANY_(U16, #pointer, pointer, count)
#define SONDE_I32_ARRAY(pointer, count) SONDE_MANY_(I32, #pointer, pointer, count)
#define SONDE_U32_ARRAY(pointer, count) SONDE_MANY_(U32, #pointer, pointer, count)
#define SONDE_I64_ARRAY(pointer, count) SONDE_MANY_(I64, #pointer, pointer, count)
#define SONDE_U64_ARRAY(pointer, count) SONDE_MANY_(U64, #pointer, pointer, count)
#define SONDE_F32_ARRAY(pointer, count) SONDE_MANY_(F32, #pointer, pointer, count)
#define SONDE_F64_ARRAY(pointer, count) SONDE_MANY_(F64, #pointer, pointer, count)

#endif
