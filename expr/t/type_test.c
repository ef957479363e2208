#include "expr/type.h"
#include "regress/lib/cu.h"

static void
oids_and_names_find_their_types(void)
{
	const struct ex_type *t;
	size_t n = 0;

	for (; (t = ex_type_at(n)) != NULL; n++) {
		CHECK(ex_type(t->oid) == t);
		CHECK(ex_type_by_name(str_c(t->sql_name)) == t);
		/* A bare "char" is SQL's character. */
		CHECK((ex_type_by_name(str_c(t->name)) == t) ==
		      (t->oid != EX_CHAR));
		CHECK(t->in && t->out && t->recv && t->send);
		CHECK(!t->key_enc || (t->cmp && t->key_dec));
	}
	CHECK(n == 26);
	CHECK(!ex_type(9999));
	CHECK(!ex_type_by_name(STR("timetz")));
	CHECK(ex_type_by_name(STR("int"))->oid == EX_INT4);
	CHECK(ex_type_by_name(STR("decimal"))->oid == EX_NUMERIC);
	CHECK(ex_type_by_name(STR("character varying"))->oid == EX_VARCHAR);
	CHECK(ex_type_by_name(STR("timestamp"))->oid == EX_TIMESTAMP);
}

static void
every_row_tag_has_a_type(void)
{
	for (int tag = CL_TAG_BOOL; tag <= CL_TAG_JSONB; tag++) {
		const struct ex_type *t =
		    ex_type(ex_type_of_tag((enum cl_tag)tag));

		MUST(t != NULL);
		CHECK((int)t->tag == tag);
		CHECK(t->row_enc && t->row_dec);
	}
	CHECK(ex_type_of_tag(CL_TAG_NONE) == 0);
	CHECK(ex_type_of_tag(CL_TAG_MAX) == 0);
}

/* As PostgreSQL 15 stores and shows them. */
static const struct {
	uint32_t oid;
	size_t n;
	int32_t args[2];
	int32_t typmod;
	const char *shown;
} typmods[] = {
    {EX_VARCHAR, 1, {3}, 7, "character varying(3)"},
    {EX_BPCHAR, 1, {3}, 7, "character(3)"},
    {EX_NUMERIC, 2, {10, 2}, 655366, "numeric(10,2)"},
    {EX_NUMERIC, 1, {10}, 655364, "numeric(10,0)"},
    {EX_NUMERIC, 2, {3, -2}, 198658, "numeric(3,-2)"},
    {EX_TIMESTAMP, 1, {3}, 3, "timestamp(3) without time zone"},
    {EX_TIMESTAMPTZ, 1, {0}, 0, "timestamp(0) with time zone"},
    {EX_TIME, 1, {2}, 2, "time(2) without time zone"},
    {EX_TIME, 1, {9}, 6, "time(6) without time zone"},
    {EX_INTERVAL, 2, {0x7fff, 3}, 2147418115, "interval(3)"},
    {EX_INTERVAL, 1, {6}, 458751, "interval year to month"},
    {EX_INTERVAL, 2, {7176, 2}, 470286338, "interval day to second(2)"},
    {EX_INTERVAL, 1, {1024}, 67174399, "interval hour"},
    {EX_FLOAT8, 0, {0}, -1, "double precision"},
    {EX_BOOL, 0, {0}, -1, "boolean"},
    {EX_CHAR, 0, {0}, -1, "\"char\""},
    {EX_JSONB, 0, {0}, -1, "jsonb"},
};

static void
type_modifiers_are_postgresql_s(void)
{
	struct arena *a = arena_new(NULL, "test");

	for (size_t i = 0; i < sizeof(typmods) / sizeof(typmods[0]); i++) {
		int32_t typmod;

		MUST(!ex_typmod_in(a, ex_type(typmods[i].oid), typmods[i].args,
		    typmods[i].n, &typmod));
		CHECK(typmod == typmods[i].typmod);
		CHECK_STR(ex_type_format(a, typmods[i].oid, typmod),
		    typmods[i].shown);
	}
	arena_free(a);
}

static const struct {
	uint32_t oid;
	size_t n;
	int32_t args[3];
	const char *sqlstate, *message;
} bad_typmods[] = {
    {EX_VARCHAR, 1, {0}, "22023", "length for type varchar must be at least 1"},
    {EX_BPCHAR, 1, {0}, "22023", "length for type char must be at least 1"},
    {EX_VARCHAR, 1, {10485761}, "22023",
	"length for type varchar cannot exceed 10485760"},
    {EX_BPCHAR, 1, {10485761}, "22023",
	"length for type char cannot exceed 10485760"},
    {EX_NUMERIC, 1, {0}, "22023",
	"NUMERIC precision 0 must be between 1 and 1000"},
    {EX_NUMERIC, 1, {1001}, "22023",
	"NUMERIC precision 1001 must be between 1 and 1000"},
    {EX_NUMERIC, 2, {5, 1001}, "22023",
	"NUMERIC scale 1001 must be between -1000 and 1000"},
    {EX_NUMERIC, 3, {1, 2, 3}, "22023", "invalid NUMERIC type modifier"},
    {EX_INT4, 1, {3}, "42601",
	"type modifier is not allowed for type \"int4\""},
    {EX_TEXT, 1, {3}, "42601",
	"type modifier is not allowed for type \"text\""},
    {EX_INTERVAL, 1, {5}, "22023", "invalid INTERVAL type modifier"},
};

static void
bad_type_modifiers_are_refused(void)
{
	struct arena *a = arena_new(NULL, "test");

	for (size_t i = 0; i < sizeof(bad_typmods) / sizeof(bad_typmods[0]);
	     i++) {
		int32_t typmod;
		struct err *e = ex_typmod_in(a, ex_type(bad_typmods[i].oid),
		    bad_typmods[i].args, bad_typmods[i].n, &typmod);

		MUST(e != NULL);
		CHECK_STR(e->sqlstate, bad_typmods[i].sqlstate);
		CHECK_STR(e->message, bad_typmods[i].message);
	}
	arena_free(a);
}

/* Row bytes by type: written once, read for ever. */
static const struct {
	uint32_t type;
	const char *text, *bytes;
	size_t len;
} golden[] = {
    {EX_BOOL, "t", "\x01", 1},
    {EX_INT2, "-1", "\x01", 1},
    {EX_INT4, "64", "\x80\x01", 2},
    {EX_INT8, "9223372036854775807", "\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01",
	10},
    {EX_FLOAT4, "1.5", "\0\0\xc0\x3f", 4},
    {EX_FLOAT8, "1.5", "\0\0\0\0\0\0\xf8\x3f", 8},
    {EX_NUMERIC, "1.50", "\x08\x96", 2},
    {EX_TEXT, "h\303\251", "h\303\251", 3},
    {EX_BYTEA, "\\x00ff", "\0\xff", 2},
    {EX_UUID, "00112233-4455-6677-8899-aabbccddeeff",
	"\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", 16},
    {EX_DATE, "2000-01-02", "\x02", 1},
    {EX_TIME, "00:00:01", "\xc0\x84\x3d", 3},
    {EX_TIMESTAMP, "2000-01-01 00:00:01", "\x40\x42\x0f\0\0\0\0\0", 8},
    {EX_TIMESTAMPTZ, "1999-12-31 23:59:59.999999+00",
	"\xff\xff\xff\xff\xff\xff\xff\xff", 8},
    {EX_INTERVAL, "1 mon -2 days 00:00:00.000003", "\x06\x03\x02", 3},
    {EX_JSON, "{ }", "{ }", 3},
    {EX_JSONB, "{\"b\":1,\"a\":[ ]}", "{\"a\": [], \"b\": 1}", 17},
};

static void
row_bytes_never_change(void)
{
	struct arena *a = arena_new(NULL, "test");

	for (size_t i = 0; i < sizeof(golden) / sizeof(golden[0]); i++) {
		const struct ex_type *t = ex_type(golden[i].type);
		struct buf row;
		struct val v;

		buf_init(&row, a);
		MUST(!ex_in(
		    a, &ex_env_default, t->oid, -1, str_c(golden[i].text), &v));
		t->row_enc(&row, v);
		CHECK(str_eq(
		    buf_view(&row), str_of(golden[i].bytes, golden[i].len)));
	}
	arena_free(a);
}

static void
wire_forms_of_another_length_are_refused(void)
{
	static const uint32_t fixed[] = {EX_BOOL, EX_INT2, EX_INT4, EX_INT8,
	    EX_OID, EX_FLOAT4, EX_FLOAT8, EX_DATE, EX_TIME, EX_TIMESTAMP,
	    EX_TIMESTAMPTZ, EX_INTERVAL, EX_UUID};
	struct arena *a = arena_new(NULL, "test");
	static const char zeros[32];

	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++) {
		size_t n = (size_t)ex_type(fixed[i])->len;
		struct val v;

		CHECK(!ex_recv(a, fixed[i], -1, str_of(zeros, n), &v));
		CHECK(err_is(ex_recv(a, fixed[i], -1, str_of(zeros, n - 1), &v),
		    "08P01"));
		CHECK(err_is(ex_recv(a, fixed[i], -1, str_of(zeros, n + 1), &v),
		    "22P03"));
	}
	arena_free(a);
}

static void
nulls_sort_where_the_order_says(void)
{
	struct arena *a = arena_new(NULL, "test");

	for (int i = 0; i < 4; i++) {
		struct cl_key_order o = {i & 1, i & 2};
		struct buf null, one;
		struct cur c;
		struct val v;

		buf_init(&null, a);
		buf_init(&one, a);
		ex_key_put(&null, CL_TAG_NONE, o, val_null(EX_INT4));
		ex_key_put(&one, CL_TAG_NONE, o, val_int(EX_INT4, 1));
		CHECK((str_cmp(buf_view(&null), buf_view(&one)) < 0) ==
		      o.nulls_first);
		c = cur_of(buf_view(&null));
		CHECK(ex_key_get(&c, o, a, EX_INT4, &v) && v.null);
	}
	arena_free(a);
}

static void
open_keys_carry_their_type(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct buf b;
	struct cur c;
	struct val v;

	buf_init(&b, a);
	ex_key_put(&b, CL_TAG_DATE, CL_KEY_ASC, val_int(EX_DATE, 77));
	c = cur_of(buf_view(&b));
	CHECK(ex_key_get(&c, CL_KEY_ASC, a, 0, &v));
	CHECK(v.type == EX_DATE && v.u.i == 77);
	c = cur_of(buf_view(&b));
	CHECK(!ex_key_get(&c, CL_KEY_ASC, a, EX_DATE, &v));
	arena_free(a);
}

CU_MAIN("type",
    {"oids_and_names_find_their_types", oids_and_names_find_their_types},
    {"every_row_tag_has_a_type", every_row_tag_has_a_type},
    {"type_modifiers_are_postgresql_s", type_modifiers_are_postgresql_s},
    {"bad_type_modifiers_are_refused", bad_type_modifiers_are_refused},
    {"row_bytes_never_change", row_bytes_never_change},
    {"wire_forms_of_another_length_are_refused",
	wire_forms_of_another_length_are_refused},
    {"nulls_sort_where_the_order_says", nulls_sort_where_the_order_says},
    {"open_keys_carry_their_type", open_keys_carry_their_type})
