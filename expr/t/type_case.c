#include "expr/t/type_case.h"

#include <stdio.h>
#include <stdlib.h>

#include "expr/datetime.h"
#include "regress/lib/cu.h"

static bool
starts(const char *s, const char *what)
{
	return strncmp(s, what, strlen(what)) == 0;
}

static void
set_datestyle(struct ex_env *env, const char *v)
{
	env->datestyle = starts(v, "ISO")      ? EX_ISO
			 : starts(v, "SQL")    ? EX_SQL
			 : starts(v, "German") ? EX_GERMAN
					       : EX_POSTGRES;
	env->dateorder = strstr(v, "DMY") || starts(v, "German") ? EX_DMY
			 : strstr(v, "YMD")                      ? EX_YMD
								 : EX_MDY;
}

static void
set_one(struct ex_env *env, const char *name, const char *v)
{
	if (strcmp(name, "datestyle") == 0) {
		set_datestyle(env, v);
	} else if (strcmp(name, "intervalstyle") == 0) {
		env->intervalstyle =
		    strcmp(v, "postgres") == 0           ? EX_IV_POSTGRES
		    : strcmp(v, "postgres_verbose") == 0 ? EX_IV_VERBOSE
		    : strcmp(v, "sql_standard") == 0     ? EX_IV_SQL
							 : EX_IV_ISO;
	} else if (strcmp(name, "timezone") == 0) {
		env->timezone = v;
	} else if (strcmp(name, "extra_float_digits") == 0) {
		env->extra_float_digits = atoi(v);
	} else if (strcmp(name, "bytea_output") == 0) {
		env->bytea_escape = strcmp(v, "escape") == 0;
	} else {
		UNREACHABLE();
	}
}

void
case_env(struct ex_env *env, struct arena *a, const char *set)
{
	char *copy = arena_strdup(a, set), *save, *eq;

	*env = ex_env_default;
	env->now_us = dt_days(2024, 2, 29) * DT_DAY + 12 * DT_HOUR +
		      34 * DT_MIN + 56789 * INT64_C(1000);
	for (char *p = strtok_r(copy, " ", &save); p;
	     p = strtok_r(NULL, " ", &save)) {
		eq = strchr(p, '=');
		ASSERT(eq);
		*eq = '\0';
		set_one(env, p, eq + 1);
	}
}

/* "numeric(10,2)" to type and typmod. */
static struct err *
type_of(struct arena *a, const char *name, const struct ex_type **t,
    int32_t *typmod)
{
	const char *paren = strchr(name, '(');
	size_t len = paren ? (size_t)(paren - name) : strlen(name), n = 0;
	int32_t args[2];
	char *end;

	*typmod = -1;
	*t = ex_type_by_name(str_of(name, len));
	ASSERT(*t);
	while (paren && *paren != ')' && n < 2) {
		args[n++] = (int32_t)strtol(paren + 1, &end, 10);
		paren = end;
	}
	if (!n)
		return NULL;
	if ((*t)->oid == EX_INTERVAL && n == 1) {
		args[1] = args[0];
		args[0] = 0x7fff;
		n = 2;
	}
	return ex_typmod_in(a, *t, args, n, typmod);
}

struct err *
case_in(struct arena *a, const struct ex_env *env, const char *type,
    struct str text, struct val *out)
{
	const struct ex_type *t;
	int32_t typmod;

	TRY(type_of(a, type, &t, &typmod));
	return ex_in(a, env, t->oid, typmod, text, out);
}

static char *
hex(struct arena *a, struct str s)
{
	struct buf b;

	buf_init(&b, a);
	for (size_t i = 0; i < s.len; i++)
		buf_printf(&b, "%02x", (unsigned)(uint8_t)s.p[i]);
	return buf_cstr(&b);
}

static bool
differ(const char *got, const char *want)
{
	if (!got || !want)
		return (got && *got) || (want && *want);
	return strcmp(got, want) != 0;
}

static int
complain(const struct type_case *c, const char *what, const char *got,
    const char *want)
{
	if (!differ(got, want))
		return 0;
	printf("\n  [%s] %s '%s': %s is <%s>, PostgreSQL has <%s>", c->set,
	    c->type, c->in, what, got ? got : "", want ? want : "");
	return 1;
}

static int
check_error(const struct type_case *c, const struct err *e)
{
	if (!e)
		return complain(c, "error", "none", c->message);
	return complain(c, "sqlstate", e->sqlstate, c->sqlstate) |
	       complain(c, "message", e->message, c->message) |
	       complain(c, "detail", e->detail, c->detail) |
	       complain(c, "hint", e->hint, c->hint);
}

static char *
out_of(struct arena *a, const struct ex_env *env, struct val v)
{
	struct buf b;

	buf_init(&b, a);
	ex_out(&b, env, v);
	return buf_cstr(&b);
}

/* Through the wire, a row and (where it is exact) a key, back to its text. */
static int
check_trips(struct arena *a, const struct ex_env *env,
    const struct type_case *c, struct val v)
{
	const struct ex_type *t = ex_type(v.type);
	struct val back = {.type = v.type};
	struct buf wire, row, key;
	struct err *e;
	int bad = 0;

	buf_init(&wire, a);
	ex_send(&wire, v);
	bad |= complain(c, "wire form", hex(a, buf_view(&wire)), c->wire);
	e = ex_recv(a, v.type, -1, buf_view(&wire), &back);
	bad |= complain(c, "text after the wire",
	    e ? e->message : out_of(a, env, back), c->out);
	buf_init(&row, a);
	t->row_enc(&row, v);
	back = (struct val){.type = v.type};
	bad |= complain(c, "text after a row",
	    t->row_dec(a, buf_view(&row), &back) ? out_of(a, env, back)
						 : "malformed",
	    c->out);
	if (!t->key_enc)
		return bad;
	for (int i = 0; i < 4; i++) {
		struct cl_key_order o = {i & 1, i & 2};
		struct cur cur;

		buf_init(&key, a);
		ex_key_put(&key, CL_TAG_NONE, o, v);
		cur = cur_of(buf_view(&key));
		if (!ex_key_get(&cur, o, a, v.type, &back) || !cur_done(&cur) ||
		    (t->cmp && t->cmp(v, back)))
			bad |= complain(c, "key", "malformed", "a key");
		else if (t->key_exact)
			bad |= complain(c, "text after a key",
			    out_of(a, env, back), c->out);
	}
	return bad;
}

int
case_run(const struct type_case *cases, size_t n)
{
	int failed = 0;

	for (size_t i = 0; i < n; i++) {
		struct arena *a = arena_new(NULL, "case");
		const struct type_case *c = &cases[i];
		struct ex_env env;
		struct val v;
		struct err *e;

		case_env(&env, a, c->set);
		e = case_in(a, &env, c->type, str_c(c->in), &v);
		if (!c->out)
			failed += check_error(c, e);
		else if (e)
			failed += complain(c, "error", e->message, "none");
		else
			failed +=
			    complain(c, "text", out_of(a, &env, v), c->out) |
			    check_trips(a, &env, c, v);
		arena_free(a);
	}
	if (failed)
		printf("\n");
	return failed;
}

static int
keys_of_order(const struct val *v, size_t n, struct cl_key_order o)
{
	struct arena *a = arena_new(NULL, "keys");
	struct str *keys = NEW_N(a, struct str, n);
	int failed = 0;

	for (size_t i = 0; i < n; i++) {
		struct buf b;

		buf_init(&b, a);
		ex_key_put(&b, CL_TAG_NONE, o, v[i]);
		keys[i] = buf_view(&b);
	}
	for (size_t i = 0; i < n * n; i++) {
		struct val x = v[i / n], y = v[i % n];
		int want = ex_type(x.type)->cmp(x, y);
		int got = str_cmp(keys[i / n], keys[i % n]);

		if (got == (o.desc ? -want : want))
			continue;
		failed++;
		printf("\n  %s and %s: cmp %d, keys %d (desc %d)",
		    out_of(a, &ex_env_default, x),
		    out_of(a, &ex_env_default, y), want, got, o.desc);
	}
	arena_free(a);
	return failed;
}

int
case_keys(const struct val *v, size_t n)
{
	int failed = 0;

	for (int i = 0; i < 4; i++)
		failed +=
		    keys_of_order(v, n, (struct cl_key_order){i & 1, i & 2});
	if (failed)
		printf("\n");
	return failed;
}

int
case_order(uint32_t type, const struct case_rank *r, size_t n)
{
	struct arena *a = arena_new(NULL, "order");
	struct val *v = NEW_N(a, struct val, n);
	int failed = 0;

	for (size_t i = 0; i < n; i++)
		MUST(!ex_in(
		    a, &ex_env_default, type, -1, str_c(r[i].text), &v[i]));
	for (size_t i = 0; i < n * n; i++) {
		int x = r[i / n].rank, y = r[i % n].rank;

		failed +=
		    ex_type(type)->cmp(v[i / n], v[i % n]) != (x > y) - (x < y);
	}
	failed += case_keys(v, n);
	arena_free(a);
	return failed;
}

/* SplitMix64. */
uint64_t
case_random(void)
{
	static uint64_t state;
	uint64_t z;

	if (!state)
		state = cu_seed() | 1;
	z = state += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

struct str
case_bytes(struct arena *a, size_t n, unsigned spread)
{
	char *p = arena_alloc(a, n + 1);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)((spread < 26 ? 'a' : 0) +
			      (int)(case_random() % spread));
	return str_of(p, n);
}
