/* How the files func_<area>.c write their tables, and what their bodies share.
 */
#ifndef EXPR_FUNC_INT_H
#define EXPR_FUNC_INT_H

#include "expr/expr_int.h"

/* One area's table. */
struct ex_funcs {
	const struct ex_func *p;
	size_t n;
};
#define EX_FUNCS(name)                                                         \
	const struct ex_funcs name = {funcs, sizeof funcs / sizeof *funcs}

extern const struct ex_funcs ex_funcs_bytea;
extern const struct ex_funcs ex_funcs_cast;
extern const struct ex_funcs ex_funcs_compare;
extern const struct ex_funcs ex_funcs_datetime;
extern const struct ex_funcs ex_funcs_extract;
extern const struct ex_funcs ex_funcs_float;
extern const struct ex_funcs ex_funcs_format;
extern const struct ex_funcs ex_funcs_int;
extern const struct ex_funcs ex_funcs_json;
extern const struct ex_funcs ex_funcs_json_make;
extern const struct ex_funcs ex_funcs_match;
extern const struct ex_funcs ex_funcs_misc;
extern const struct ex_funcs ex_funcs_numeric;
extern const struct ex_funcs ex_funcs_sequence;
extern const struct ex_funcs ex_funcs_system;
extern const struct ex_funcs ex_funcs_text;
extern const struct ex_funcs ex_funcs_tochar_num;
extern const struct ex_funcs ex_funcs_tochar_time;
extern const struct ex_funcs ex_funcs_totime;

#define EX_N_ARGS(...)                                                         \
	((uint8_t)(sizeof((uint32_t[]){0, ##__VA_ARGS__}) / sizeof(uint32_t) - \
		   1))
/* Table lines: id, name, body, result, arguments. Strict and immutable, */
#define FN(id, name, body, ret, ...)                                           \
	{                                                                      \
		id, name, ret, EX_N_ARGS(__VA_ARGS__), false, true,            \
		    EX_IMMUTABLE, {__VA_ARGS__}, body, 0                       \
	}
/* stable, volatile, */
#define FN_STABLE(id, name, body, ret, ...)                                    \
	{                                                                      \
		id, name, ret, EX_N_ARGS(__VA_ARGS__), false, true, EX_STABLE, \
		    {__VA_ARGS__}, body, 0                                     \
	}
#define FN_VOLATILE(id, name, body, ret, ...)                                  \
	{                                                                      \
		id, name, ret, EX_N_ARGS(__VA_ARGS__), false, true,            \
		    EX_VOLATILE, {__VA_ARGS__}, body, 0                        \
	}
/* called on NULLs too with the last argument repeated, */
#define FN_VARIADIC(id, name, body, vol, ret, ...)                             \
	{                                                                      \
		id, name, ret, EX_N_ARGS(__VA_ARGS__), true, false, vol,       \
		    {__VA_ARGS__}, body, 0                                     \
	}
/* called on NULLs too, and with the last n_opt arguments optional. */
#define FN_NULLS(id, name, body, vol, ret, ...)                                \
	{                                                                      \
		id, name, ret, EX_N_ARGS(__VA_ARGS__), false, false, vol,      \
		    {__VA_ARGS__}, body, 0                                     \
	}
#define FN_OPT(id, name, body, n_opt, ret, ...)                                \
	{                                                                      \
		id, name, ret, EX_N_ARGS(__VA_ARGS__), false, true,            \
		    EX_IMMUTABLE, {__VA_ARGS__}, body, n_opt                   \
	}

/* The head of every body. */
#define BODY(fname)                                                            \
	static struct err *fname(const struct ex_ctx *ctx,                     \
	    const struct val *args, uint32_t n, struct val *out)
#define UNUSED(x) ((void)(x))

/* Longest value a function makes; more is 54000, as PostgreSQL's 1 GB is. */
#define EX_VALUE_MAX ((size_t)64 << 20)
/* Before making a value of `len` bytes: 54000, or 53200 from the arena. */
struct err *ex_room(const struct ex_ctx *ctx, size_t len);

static inline void
ex_set_bool(struct val *out, bool b)
{
	*out = val_bool(b);
}

static inline void
ex_set_int(struct val *out, int64_t i)
{
	out->null = false;
	out->u.i = i;
}

static inline void
ex_set_double(struct val *out, double d)
{
	out->null = false;
	out->u.d = d;
}

static inline void
ex_set_str(struct val *out, struct str s)
{
	out->null = false;
	out->u.s = s;
}

static inline void
ex_set_interval(struct val *out, struct ex_interval iv)
{
	out->null = false;
	out->u.iv = iv;
}

#endif
