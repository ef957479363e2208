#include "wire/msg.h"

#include "regress/lib/cu.h"

static struct arena *a;

static void
setup(void)
{
	a = arena_new(NULL, "test");
}

static void
pair(struct buf *b, const char *name, const char *value)
{
	buf_put(b, name, strlen(name) + 1);
	buf_put(b, value, strlen(value) + 1);
}

static void
startup_takes_user_database_and_settings(void)
{
	struct wire_startup s;
	struct buf b;

	setup();
	buf_init(&b, a);
	buf_be32(&b, WIRE_PROTOCOL_3);
	pair(&b, "user", "ann");
	pair(&b, "application_name", "x");
	pair(&b, "_pq_.fancy", "1");
	buf_u8(&b, 0);
	CHECK(wire_startup_read(a, buf_view(&b), &s) == NULL);
	CHECK(str_eq(s.user, STR("ann")) && str_eq(s.database, STR("ann")));
	CHECK(s.n_params == 1 && s.n_unknown == 1);
	arena_free(a);
}

static void
startup_refuses_what_it_cannot_serve(void)
{
	struct wire_startup s;
	struct buf b;
	struct err *e;

	setup();
	buf_init(&b, a);
	buf_be32(&b, 2u << 16);
	e = wire_startup_read(a, buf_view(&b), &s);
	CHECK(err_is(e, ERRCODE_FEATURE_NOT_SUPPORTED));
	buf_init(&b, a);
	buf_be32(&b, WIRE_PROTOCOL_3);
	buf_u8(&b, 0);
	e = wire_startup_read(a, buf_view(&b), &s);
	CHECK(err_is(e, ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION));
	e = wire_startup_read(a, STR("garbage in the first packet"), &s);
	CHECK(e != NULL);
	arena_free(a);
}

/* A Bind with two parameters and mixed formats, as golden bytes. */
static struct str
golden_bind(void)
{
	return STR("p\0s\0\0\2\0\0\0\1\0\2\0\0\0\2ab\377\377\377\377\0\1\0\1");
}

static void
bind_reads_formats_values_and_nulls(void)
{
	struct wire_bind m;

	setup();
	MUST(wire_bind_read(a, golden_bind(), &m) == NULL);
	CHECK(str_eq(m.portal, STR("p")) && str_eq(m.statement, STR("s")));
	CHECK(m.n_params == 2 && str_eq(m.params[0].bytes, STR("ab")));
	CHECK(m.params[1].null && !m.params[0].null);
	CHECK(wire_format_of(m.formats, m.n_formats, 1) == 1);
	CHECK(wire_format_of(m.results, m.n_results, 7) == 1);
	arena_free(a);
}

static void
every_truncation_of_a_bind_is_refused(void)
{
	struct str whole = golden_bind();
	struct wire_bind m;

	setup();
	for (size_t n = 0; n < whole.len; n++) {
		/* A copy of its own, so that ASan sees an overrun. */
		char *p = arena_dup(a, whole.p, n ? n : 1);

		CHECK(err_is(wire_bind_read(a, str_of(p, n), &m),
		    ERRCODE_PROTOCOL_VIOLATION));
	}
	arena_free(a);
}

static void
counts_beyond_the_message_are_refused_without_allocating(void)
{
	struct wire_parse p;
	struct wire_bind m;

	setup();
	CHECK(err_is(wire_parse_read(a, STR("\0q\0\377\377"), &p),
	    ERRCODE_PROTOCOL_VIOLATION));
	CHECK(err_is(wire_bind_read(a, STR("\0\0\377\377"), &m),
	    ERRCODE_PROTOCOL_VIOLATION));
	CHECK(arena_bytes(a) < 65536);
	arena_free(a);
}

static void
options_split_words_and_escapes(void)
{
	struct wire_param_pair *p;
	size_t n;

	setup();
	MUST(wire_options_read(
		 a, STR("-c a=b\\ c  -cd=e --search-path=x"), &p, &n) == NULL);
	CHECK(n == 3);
	CHECK(str_eq(p[0].value, STR("b c")));
	CHECK(str_eq(p[1].name, STR("d")) && str_eq(p[1].value, STR("e")));
	CHECK(str_eq(p[2].name, STR("search_path")));
	CHECK(wire_options_read(a, STR("-z"), &p, &n) != NULL);
	CHECK(wire_options_read(a, STR("-c"), &p, &n) != NULL);
	arena_free(a);
}

static void
errors_carry_every_field_and_their_length(void)
{
	struct err *e;
	struct buf b;

	setup();
	e = err_at(ERR(a, ERRCODE_UNDEFINED_TABLE, "no %s", "t"), 15);
	err_hint(e, "make it");
	buf_init(&b, a);
	wire_error(&b, e);
	CHECK(b.p[0] == 'E');
	CHECK(((size_t)b.p[3] << 8 | b.p[4]) == b.len - 1);
	CHECK(memmem(b.p, b.len, "C42P01", 7) != NULL);
	CHECK(memmem(b.p, b.len, "P15", 4) != NULL);
	CHECK(memmem(b.p, b.len, "Hmake it", 9) != NULL);
	e->severity = ERR_WARNING;
	buf_init(&b, a);
	wire_error(&b, e);
	CHECK(b.p[0] == 'N');
	arena_free(a);
}

static void
sasl_offer_ends_its_list(void)
{
	struct buf b;

	setup();
	buf_init(&b, a);
	wire_auth_sasl(&b);
	CHECK(b.len == 1 + 4 + 4 + 13 + 2);
	CHECK(b.p[4] == b.len - 1 && b.p[b.len - 1] == 0);
	arena_free(a);
}

CU_MAIN("wire/msg",
    {"startup_takes_user_database_and_settings",
	startup_takes_user_database_and_settings},
    {"startup_refuses_what_it_cannot_serve",
	startup_refuses_what_it_cannot_serve},
    {"bind_reads_formats_values_and_nulls",
	bind_reads_formats_values_and_nulls},
    {"every_truncation_of_a_bind_is_refused",
	every_truncation_of_a_bind_is_refused},
    {"counts_beyond_the_message_are_refused_without_allocating",
	counts_beyond_the_message_are_refused_without_allocating},
    {"options_split_words_and_escapes", options_split_words_and_escapes},
    {"errors_carry_every_field_and_their_length",
	errors_carry_every_field_and_their_length},
    {"sasl_offer_ends_its_list", sasl_offer_ends_its_list})
