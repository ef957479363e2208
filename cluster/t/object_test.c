#include "cluster/catalog.h"
#include "cluster/msg.h"
#include "cluster/row.h"
#include "cluster/t/vec.h"

static const uint32_t pins[] = {1, 3};
static const struct cl_slot_map slots[] = {
    {1, 2, {1, 3}}, {200, 2, {3, 1}}, {1, 1, {300}}};
static const struct cl_column columns[] = {
    {1, {"id", 2}, 20, -1, CL_COL_NOT_NULL, {NULL, 0}},
    {3, {"n", 1}, 1700, 655366, 0, {"1+1", 3}}};
static const uint32_t pkey[] = {1};

static const struct sample {
	struct cl_object o;
	const char *hex;
} samples[] = {
    {{.kind = CL_COUNTER, .id = 0, .u.counter = {16384, 2, 3}},
	"01 808001 02 03"},
    {{.kind = CL_CLUSTER, .id = 0, .u.cluster = {"0123456789abcde", 256, 3, 1}},
	"01 30313233343536373839616263646500 8002 03 01"},
    {{.kind = CL_MEMBER,
	 .id = 2,
	 .u.member = {2, 5, {"skai2", 5}, {"h:7000", 6}, {"z", 1}, 1}},
	"01 05 05736b616932 06683a37303030 017a 01"},
    {{.kind = CL_PLACEMENT,
	 .id = 4,
	 .u.placement = {4, CL_PLACE_PINS, 0, 2, pins, 3, slots}},
	"01 03 00 02 01 03 03 01 02 01 03 c801 02 03 01 01 01 ac02"},
    {{.kind = CL_PLACEMENT,
	 .id = 1,
	 .u.placement = {1, CL_PLACE_REPLICATION, 5, 0, NULL, 0, NULL}},
	"01 02 05 00 00"},
    {{.kind = CL_ROLE,
	 .id = 10,
	 .u.role = {10, {"postgres", 8}, true, false, true, false,
	     {"SCRAM", 5}}},
	"01 08706f737467726573 05 05534352414d"},
    {{.kind = CL_DATABASE, .id = 5, .u.database = {5, 10, {"db", 2}}},
	"01 0a 026462"},
    {{.kind = CL_SCHEMA, .id = 2200, .u.schema = {2200, 5, {"public", 6}}},
	"01 05 067075626c6963"},
    {{.kind = CL_TABLE,
	 .id = 16384,
	 .u.table = {.id = 16384,
	     .database = 5,
	     .schema = 2200,
	     .owner = 10,
	     .name = {"t", 1},
	     .open = true,
	     .witness = false,
	     .version = 7,
	     .placement = 1,
	     .pkey_name = {"t_pkey", 6},
	     .n_columns = 2,
	     .columns = columns,
	     .n_pkey = 1,
	     .pkey = pkey,
	     .n_distribute = 1,
	     .next_column = 4}},
	"01 05 9811 0a 0174 01 07 01 06745f706b6579"
	"02"
	" 01 026964 14 00 01 00"
	" 03 016e a40d 878028 00 03312b31"
	"01 01 01 04"},
    {{.kind = CL_TABLE,
	 .id = 9,
	 .u.table = {.id = 9, .witness = true, .next_column = 1}},
	"01 00 00 00 00 02 00 00 00 00 00 00 01"},
    {{.kind = CL_SEQUENCE,
	 .id = 16390,
	 .u.sequence = {.id = 16390,
	     .schema = 2200,
	     .owner = 10,
	     .name = {"t_id_seq", 8},
	     .type = 20,
	     .increment = 1,
	     .min = 1,
	     .max = INT64_MAX,
	     .start = 1,
	     .cache = 1,
	     .first = 1,
	     .identity = true,
	     .table = 16384,
	     .column = 3}},
	"01 9811 0a 08745f69645f736571 14 02 02 feffffffffffffffff01"
	"02 02 02 02 808001 03"},
    {{.kind = CL_SEQUENCE,
	 .id = 7,
	 .u.sequence = {.id = 7,
	     .name = {"s", 1},
	     .type = 21,
	     .increment = -300,
	     .min = INT64_MIN,
	     .max = -1,
	     .start = -1,
	     .cache = 50,
	     .first = 5,
	     .cycle = true}},
	"01 00 00 0173 15 d704 ffffffffffffffffff01 01 01 64 0a 01 00 00"},
    {{.kind = CL_INDEX,
	 .id = 16391,
	 .u.index = {.id = 16391,
	     .schema = 2200,
	     .table = 16384,
	     .name = {"t_n_idx", 7},
	     .state = CL_INDEX_BUILDING,
	     .version = 5,
	     .n_columns = 2,
	     .columns = (const struct cl_index_column[]){{.column = 3,
							     .type = 23,
							     .desc = true,
							     .nulls_first =
								 true},
		 {.type = 25, .expr_sql = {"lower(t)", 8}, .expr = {"x", 1}}},
	     .n_inputs = 1,
	     .inputs = (const uint32_t[]){4},
	     .where_sql = {"t > 1", 5},
	     .where = {"y", 1}}},
	"01 9811 808001 07745f6e5f696478 01 05 02"
	" 03 17 03 00 00"
	" 00 19 00 086c6f776572287429 0178"
	" 01 04 0574203e2031 0179 00"},
    {{.kind = CL_INDEX,
	 .id = 9,
	 .u.index = {.id = 9,
	     .table = 7,
	     .state = CL_INDEX_FAILED,
	     .n_columns = 1,
	     .columns = (const struct cl_index_column[]){{.column = 1}},
	     .failure = {"no", 2}}},
	"01 00 07 00 03 00 01 01 00 00 00 00 00 00 00 026e6f"},
};

#define N_SAMPLES (sizeof samples / sizeof *samples)

static struct buf
encoded(const struct cl_object *o)
{
	struct buf b;

	buf_init(&b, vec_arena());
	cl_object_encode(&b, o);
	return b;
}

static void
objects_have_their_vectors(void)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct buf b = encoded(&samples[i].o);

		GOLDEN(&b, samples[i].hex);
	}
}

static void
objects_come_back(void)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		const struct cl_object *o = &samples[i].o;
		struct buf b = encoded(o), again;
		struct cl_object back = {.version = 8, .stamp = 9};

		MUST(!cl_object_decode(
		    b.arena, o->kind, o->id, buf_view(&b), &back));
		CHECK(back.kind == o->kind && back.id == o->id);
		CHECK(back.version == 8 && back.stamp == 9);
		CHECK(!back.deleted);
		buf_init(&again, b.arena);
		cl_object_encode(&again, &back);
		CHECK(str_eq(buf_view(&again), buf_view(&b)));
	}
}

static void
fields_come_back_where_they_were(void)
{
	const struct cl_object *o = &samples[8].o;
	struct buf b = encoded(o);
	struct cl_object back;
	const struct cl_table *t = &back.u.table;

	MUST(!cl_object_decode(b.arena, CL_TABLE, 16384, buf_view(&b), &back));
	/* Pieces live in the arena, not in the bytes. */
	memset(b.p, 0xee, b.len);
	CHECK(t->id == 16384 && t->database == 5 && t->schema == 2200);
	CHECK(t->owner == 10 && str_eq(t->name, STR("t")));
	CHECK(t->open && !t->witness && t->version == 7 && t->placement == 1);
	CHECK(str_eq(t->pkey_name, STR("t_pkey")));
	MUST(t->n_columns == 2 && t->n_pkey == 1);
	CHECK(t->columns[0].typmod == -1 && t->columns[1].typmod == 655366);
	CHECK(t->columns[0].flags == CL_COL_NOT_NULL);
	CHECK(str_eq(t->columns[1].default_sql, STR("1+1")));
	CHECK(t->pkey[0] == 1 && t->n_distribute == 1 && t->next_column == 4);
	CHECK(cl_table_column(t, STR("n")) == &t->columns[1]);
	CHECK(cl_table_column(t, STR("x")) == NULL);
	CHECK(cl_table_column_id(t, 3) == &t->columns[1]);
	CHECK(cl_table_column_id(t, 2) == NULL);
	CHECK(cl_table_column_id(t, 0) == NULL);
}

static void
every_role_flag_has_its_bit(void)
{
	for (unsigned bits = 0; bits < 16; bits++) {
		struct cl_object o = {.kind = CL_ROLE, .id = 1}, back;
		struct buf b;

		o.u.role.superuser = bits & 1;
		o.u.role.login = bits & 2;
		o.u.role.createdb = bits & 4;
		o.u.role.createrole = bits & 8;
		b = encoded(&o);
		CHECK(b.p[2] == bits);
		MUST(!cl_object_decode(
		    b.arena, CL_ROLE, 1, buf_view(&b), &back));
		CHECK(back.u.role.superuser == o.u.role.superuser);
		CHECK(back.u.role.login == o.u.role.login);
		CHECK(back.u.role.createdb == o.u.role.createdb);
		CHECK(back.u.role.createrole == o.u.role.createrole);
	}
}

static struct err *
decode_hex(enum cl_kind kind, const char *hex)
{
	struct arena *a = vec_arena();
	struct cl_object o;

	return cl_object_decode(a, kind, 7, vec_unhex(hex), &o);
}

static void
the_unknown_is_refused_and_named(void)
{
	struct err *e = decode_hex((enum cl_kind)30, "01");

	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_FEATURE_NOT_SUPPORTED));
	CHECK_STR(e->message, "catalog object 7 is of kind 30, which this "
			      "build does not know");
	e = decode_hex(CL_ROLE, "02");
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_FEATURE_NOT_SUPPORTED));
	CHECK_STR(e->message, "role 7 of the catalog has format 2, this build "
			      "reads format 1");
	e = decode_hex(CL_ROLE, "");
	MUST(e != NULL);
	CHECK(err_is(e, ERRCODE_DATA_CORRUPTED));
	CHECK_STR(e->message, "role 7 of the catalog is malformed");
}

#define SEVENTEEN "0102030405060708090a0b0c0d0e0f1011"

static void
unsound_objects_are_refused(void)
{
	static const struct {
		enum cl_kind kind;
		const char *hex;
	} bad[] = {
	    {CL_COUNTER, "01 01 01"},
	    {CL_COUNTER, "01 01 01 01 00"},
	    {CL_COUNTER, "01 8080808010 01 01"},
	    /* slots 3, 8192; replication 0, 17 */
	    {CL_CLUSTER, "01 00000000000000000000000000000000 03 01 01"},
	    {CL_CLUSTER, "01 00000000000000000000000000000000 8040 01 01"},
	    {CL_CLUSTER, "01 00000000000000000000000000000000 02 00 01"},
	    {CL_CLUSTER, "01 00000000000000000000000000000000 02 11 01"},
	    /* placement kind 0, 4; pins that fall; a slot without members */
	    {CL_PLACEMENT, "01 00 00 00 00"},
	    {CL_PLACEMENT, "01 04 00 00 00"},
	    {CL_PLACEMENT, "01 03 00 02 03 01 00"},
	    {CL_PLACEMENT, "01 03 00 02 03 03 00"},
	    {CL_PLACEMENT, "01 01 00 00 01 01 00 00"},
	    {CL_PLACEMENT, "01 01 00 00 8120"},
	    /* 17 members, 17 pins, all of them there */
	    {CL_PLACEMENT, "01 01 00 00 01 01 11" SEVENTEEN},
	    {CL_PLACEMENT, "01 03 00 11" SEVENTEEN "00"},
	    /* unknown flags */
	    {CL_ROLE, "01 0161 10 00"},
	    {CL_TABLE, "01 00 00 00 00 04 00 00 00 00 00 00 01"},
	    /* column ids: 0, beyond the next; flags; a key without column */
	    {CL_TABLE, "01 00 00 00 00 00 00 00 00 01"
		       "00 00 00 00 00 00 00 00 02"},
	    {CL_TABLE, "01 00 00 00 00 00 00 00 00 01"
		       "02 00 00 00 00 00 00 00 02"},
	    {CL_TABLE, "01 00 00 00 00 00 00 00 00 01"
		       "01 00 00 00 8001 00 00 00 02"},
	    {CL_TABLE, "01 00 00 00 00 00 00 00 00 01"
		       "01 00 00 00 00 00 01 02 00 02"},
	    /* distributed by more than the key */
	    {CL_TABLE, "01 00 00 00 00 00 00 00 00 00 00 01 01"},
	    /* increment 0; min = max; start outside; cache 0; a flag; half an
	     * owner; cut off */
	    {CL_SEQUENCE, "01 00 00 0173 14 00 02 14 02 02 02 00 00 00"},
	    {CL_SEQUENCE, "01 00 00 0173 14 02 02 02 02 02 02 00 00 00"},
	    {CL_SEQUENCE, "01 00 00 0173 14 02 02 14 16 02 02 00 00 00"},
	    {CL_SEQUENCE, "01 00 00 0173 14 02 02 14 02 00 02 00 00 00"},
	    {CL_SEQUENCE, "01 00 00 0173 14 02 02 14 02 02 02 04 00 00"},
	    {CL_SEQUENCE, "01 00 00 0173 14 02 02 14 02 02 02 00 01 00"},
	    {CL_SEQUENCE, "01 00 00 0173 14 02 02 14 02 02 02 00 00"},
	    /* no table; states 0, 4; no column; a column and an expression;
	     * neither; text without tree; a flag; half a predicate */
	    {CL_INDEX, "01 00 00 00 03 00 01 01 00 00 00 00 00 00 00 00"},
	    {CL_INDEX, "01 00 07 00 00 00 01 01 00 00 00 00 00 00 00 00"},
	    {CL_INDEX, "01 00 07 00 04 00 01 01 00 00 00 00 00 00 00 00"},
	    {CL_INDEX, "01 00 07 00 01 00 00 00 00 00 00"},
	    {CL_INDEX, "01 00 07 00 01 00 01 01 00 00 0161 0161 00 00 00 00"},
	    {CL_INDEX, "01 00 07 00 01 00 01 00 00 00 00 00 00 00 00 00"},
	    {CL_INDEX, "01 00 07 00 01 00 01 00 00 00 0161 00 00 00 00 00"},
	    {CL_INDEX, "01 00 07 00 01 00 01 01 00 04 00 00 00 00 00 00"},
	    {CL_INDEX, "01 00 07 00 01 00 01 01 00 00 00 00 00 0161 00 00"},
	};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err *e = decode_hex(bad[i].kind, bad[i].hex);

		CHECK(e && err_is(e, ERRCODE_DATA_CORRUPTED));
	}
	CHECK(!decode_hex(CL_TABLE, "01 00 00 00 00 00 00 00 00 01"
				    "01 00 00 00 00 00 01 01 00 02"));
}

static void
rows_and_keys_have_their_vectors(void)
{
	struct buf b;

	buf_init(&b, vec_arena());
	cl_object_key(&b, CL_TABLE, 16384);
	GOLDEN(&b, "00000001 0000 40 8108 40 824000");
	buf_init(&b, vec_arena());
	cl_name_key(&b, CL_TABLE, 2200, STR("t"));
	GOLDEN(&b, "00000002 0000 40 8108 40 820898 40 74 0001");
	buf_init(&b, vec_arena());
	cl_name_key(&b, CL_SEQUENCE, 2200, STR("t"));
	GOLDEN(&b, "00000002 0000 40 8108 40 820898 40 74 0001");
	buf_init(&b, vec_arena());
	cl_object_row(&b, &samples[6].o);
	GOLDEN(&b, "01 00 0000000000000000 01 08 05 01 0a 026462");
	buf_init(&b, vec_arena());
	cl_name_row(&b, 16384);
	GOLDEN(&b, "01 00 0000000000000000 01 02 04 00400000");
}

static void
a_row_comes_back_with_its_stamp(void)
{
	struct arena *a = vec_arena();
	struct buf k, v;
	struct cl_object o;
	enum cl_kind kind;
	uint32_t id;

	buf_init(&k, a);
	buf_init(&v, a);
	cl_object_key(&k, CL_DATABASE, 5);
	cl_object_row(&v, &samples[6].o);
	cl_row_set_stamp(v.p, 77);
	CHECK(cl_object_key_read(buf_view(&k), &kind, &id));
	CHECK(kind == CL_DATABASE && id == 5);
	MUST(!cl_object_row_read(a, buf_view(&k), buf_view(&v), &o));
	CHECK(o.stamp == 77 && o.kind == CL_DATABASE && o.id == 5);
	CHECK(str_eq(o.u.database.name, STR("db")) && !o.deleted);

	buf_init(&v, a);
	cl_row_begin(&v, CL_ROW_TOMBSTONE);
	cl_row_set_stamp(v.p, 78);
	MUST(!cl_object_row_read(a, buf_view(&k), buf_view(&v), &o));
	CHECK(o.deleted && o.stamp == 78 && o.id == 5);
}

static void
other_keys_are_not_objects(void)
{
	static const char *const bad[] = {"", "00000001 0000",
	    "00000001 0000 40 8108", "00000002 0000 40 8108 40 824000",
	    "00000001 0001 40 8108 40 824000",
	    "00000001 0000 40 8108 40 824000 40 80",
	    "00000001 0000 40 8120 40 824000", "00000001 0000 40 7f 40 824000",
	    "00000001 0000 42 8108 40 824000", "00000001 0000 f0 40 824000",
	    "00000001 0000 40 8108 40 850100000000"};
	enum cl_kind kind;
	uint32_t id;

	(void)vec_arena();
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		CHECK(!cl_object_key_read(vec_unhex(bad[i]), &kind, &id));
}

static void
malformed_rows_are_refused(void)
{
	static const char *const bad[] = {"", "01 00 0000000000000000",
	    "01 00 0000000000000000 01 02 01 00",
	    "01 00 0000000000000000 02 08 05 01 0a 026462",
	    "01 00 0000000000000000 01 08 05 01 0a 026462 02 08 00",
	    "01 00 0000000000000000 01 08 05 01 0a 036462"};
	struct arena *a = vec_arena();
	struct cl_object o;
	struct buf k;

	buf_init(&k, a);
	cl_object_key(&k, CL_DATABASE, 5);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err *e =
		    cl_object_row_read(a, buf_view(&k), vec_unhex(bad[i]), &o);

		CHECK(e && err_is(e, ERRCODE_DATA_CORRUPTED));
	}
	CHECK(cl_object_row_read(a, STR("x"), vec_unhex(bad[0]), &o) != NULL);
}

static void
changes_carry_objects_and_deletions(void)
{
	struct arena *a = vec_arena();
	struct cl_object o = samples[6].o, back;
	struct cl_object_change ch;

	o.version = 3;
	o.stamp = 4;
	cl_change_of(a, &o, &ch);
	CHECK(ch.kind == CL_DATABASE && ch.id == 5 && ch.version == 3);
	CHECK(ch.stamp == 4 && !ch.deleted);
	MUST(!cl_change_object(a, &ch, &back));
	CHECK(back.version == 3 && back.stamp == 4);
	CHECK(str_eq(back.u.database.name, STR("db")));
	o.deleted = true;
	cl_change_of(a, &o, &ch);
	CHECK(ch.deleted == 1 && !ch.body.len);
	MUST(!cl_change_object(a, &ch, &back));
	CHECK(back.deleted && back.kind == CL_DATABASE && back.id == 5);
	ch.body = STR("x");
	CHECK(cl_change_object(a, &ch, &back) != NULL);
	ch.deleted = 2;
	CHECK(cl_change_object(a, &ch, &back) != NULL);
}

static enum cl_kind hostile_kind;

static void
read_anything(struct str bytes)
{
	struct arena *a = arena_new(NULL, "hostile");
	struct cl_object o;
	struct buf b;

	if (!cl_object_decode(a, hostile_kind, 7, bytes, &o)) {
		buf_init(&b, a);
		cl_object_encode(&b, &o);
		CHECK(str_eq(buf_view(&b), bytes));
	}
	CHECK(arena_bytes(a) < 100000);
	arena_free(a);
}

static void
hostile_objects_are_refused_without_harm(void)
{
	for (size_t i = 0; i < N_SAMPLES; i++) {
		struct buf b = encoded(&samples[i].o);

		hostile_kind = samples[i].o.kind;
		vec_hostile(buf_view(&b), read_anything);
	}
}

CU_MAIN("object", {"objects_have_their_vectors", objects_have_their_vectors},
    {"objects_come_back", objects_come_back},
    {"fields_come_back_where_they_were", fields_come_back_where_they_were},
    {"every_role_flag_has_its_bit", every_role_flag_has_its_bit},
    {"the_unknown_is_refused_and_named", the_unknown_is_refused_and_named},
    {"unsound_objects_are_refused", unsound_objects_are_refused},
    {"rows_and_keys_have_their_vectors", rows_and_keys_have_their_vectors},
    {"a_row_comes_back_with_its_stamp", a_row_comes_back_with_its_stamp},
    {"other_keys_are_not_objects", other_keys_are_not_objects},
    {"malformed_rows_are_refused", malformed_rows_are_refused},
    {"changes_carry_objects_and_deletions",
	changes_carry_objects_and_deletions},
    {"hostile_objects_are_refused_without_harm",
	hostile_objects_are_refused_without_harm})
