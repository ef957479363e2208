/* Errors as PostgreSQL clients see them.
 *
 * Three kinds are never mixed: a bug is an ASSERT; a refusal is a struct err;
 * an unknown outcome is its own result (ERRCODE_STATEMENT_COMPLETION_UNKNOWN
 * and ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN are said only by who knows that it
 * does not know).
 *
 * Fallible functions return `struct err *`, NULL meaning fine.  An error lives
 * in the arena that was passed for it. */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include "base/arena.h"
#include "base/errcodes.h"

enum err_severity { ERR_ERROR, ERR_FATAL, ERR_WARNING, ERR_NOTICE, ERR_INFO };

struct err {
	struct arena *arena;
	enum err_severity severity;
	char sqlstate[6];
	const char *message;
	const char *detail; /* may be NULL, as all below */
	const char *hint;
	const char *context; /* where: "COPY t, line 3" */
	int position;        /* 1-based, in characters; 0 is none */
	const char *schema;
	const char *table;
	const char *column;
	const char *datatype;
	const char *constraint;
	const char *file;
	int line;
	struct err *cause;
};

#define MUST_USE __attribute__((warn_unused_result))

struct err *err_make(struct arena *a, const char *file, int line,
    const char *sqlstate, const char *fmt, ...)
    __attribute__((format(printf, 5, 6))) MUST_USE;
#define ERR(a, sqlstate, ...)                                                  \
	err_make((a), __FILE__, __LINE__, (sqlstate), __VA_ARGS__)

/* Each returns its argument, for chaining; texts are copied. */
struct err *err_detail(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct err *err_hint(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
struct err *err_context(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Sets the position unless one is set (the innermost wins). */
struct err *err_at(struct err *e, int position);
struct err *err_copy(struct arena *a, const struct err *e);
bool err_is(const struct err *e, const char *sqlstate);

#define TRY(call)                                                              \
	do {                                                                   \
		struct err *try_e_ = (call);                                   \
		if (try_e_)                                                    \
			return try_e_;                                         \
	} while (0)

/* For functions with one cleanup label at the foot. */
#define TRY_TO(out, e, call)                                                   \
	do {                                                                   \
		(e) = (call);                                                  \
		if (e)                                                         \
			goto out;                                              \
	} while (0)

/* A bug: says where, and aborts. On in release builds. */
_Noreturn void assert_failed(const char *what, const char *file, int line);
#define ASSERT(cond)                                                           \
	do {                                                                   \
		if (__builtin_expect(!(cond), 0))                              \
			assert_failed(#cond, __FILE__, __LINE__);              \
	} while (0)
#define UNREACHABLE() assert_failed("unreachable", __FILE__, __LINE__)

/* container-of through void *, for -Wcast-align=strict. */
#define CONTAINER(ptr, type, member)                                           \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Long-lived structs start with `uint32_t magic`; what comes back as void *
 * passes TAKE, which checks it. */
#define TAKE(type, ptr, magic_value)                                           \
	({                                                                     \
		type *take_p_ = (type *)(ptr);                                 \
		ASSERT(take_p_ && take_p_->magic == (magic_value));            \
		take_p_;                                                       \
	})

#endif
