#include "base/err.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void
assert_failed(const char *what, const char *file, int line)
{
	fprintf(stderr, "assertion failed: %s at %s:%d\n", what, file, line);
	fflush(stderr);
	abort();
}

struct err *
err_make(struct arena *a, const char *file, int line, const char *sqlstate,
    const char *fmt, ...)
{
	struct err *e = NEW(a, struct err);
	va_list ap;

	ASSERT(strlen(sqlstate) == 5);
	e->arena = a;
	e->severity = ERR_ERROR;
	memcpy(e->sqlstate, sqlstate, sizeof e->sqlstate);
	e->file = file;
	e->line = line;
	va_start(ap, fmt);
	e->message = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return e;
}

struct err *
err_detail(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	e->detail = arena_vprintf(e->arena, fmt, ap);
	va_end(ap);
	return e;
}

struct err *
err_hint(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	e->hint = arena_vprintf(e->arena, fmt, ap);
	va_end(ap);
	return e;
}

struct err *
err_context(struct err *e, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	e->context = arena_vprintf(e->arena, fmt, ap);
	va_end(ap);
	return e;
}

struct err *
err_at(struct err *e, int position)
{
	if (e->position == 0)
		e->position = position;
	return e;
}

static const char *
copy_text(struct arena *a, const char *s)
{
	return s ? arena_strdup(a, s) : NULL;
}

struct err *
err_copy(struct arena *a, const struct err *e)
{
	struct err *c;

	if (!e)
		return NULL;
	c = NEW(a, struct err);
	*c = *e;
	c->arena = a;
	c->message = copy_text(a, e->message);
	c->detail = copy_text(a, e->detail);
	c->hint = copy_text(a, e->hint);
	c->context = copy_text(a, e->context);
	c->schema = copy_text(a, e->schema);
	c->table = copy_text(a, e->table);
	c->column = copy_text(a, e->column);
	c->datatype = copy_text(a, e->datatype);
	c->constraint = copy_text(a, e->constraint);
	c->cause = err_copy(a, e->cause);
	return c;
}

bool
err_is(const struct err *e, const char *sqlstate)
{
	return e && strcmp(e->sqlstate, sqlstate) == 0;
}
