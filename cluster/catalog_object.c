/* Catalog objects as bytes, and their rows and keys.  Each kind has one entry
 * in `kinds`: its name, the name objects of it are found by, and a pair of
 * functions that mirror each other field by field. */
#include "cluster/catalog.h"
#include "cluster/key.h"
#include "cluster/msg.h"
#include "cluster/row.h"

#define OBJECT_FORMAT 1u

/* Row columns of both system tables. */
#define COL_BODY 1

#define ROLE_SUPERUSER  1u
#define ROLE_LOGIN      2u
#define ROLE_CREATEDB   4u
#define ROLE_CREATEROLE 8u
#define ROLE_FLAGS      15u

#define TABLE_OPEN    1u
#define TABLE_WITNESS 2u
#define TABLE_FLAGS   3u

#define SEQUENCE_CYCLE    1u
#define SEQUENCE_IDENTITY 2u
#define SEQUENCE_FLAGS    3u

/* Reading: the cursor, and the arena for lists. */
struct reader {
	struct cur c;
	struct arena *arena;
};

static uint32_t
read_u32(struct reader *r)
{
	uint64_t v = cur_varint(&r->c);

	if (v > UINT32_MAX)
		r->c.bad = true;
	return cur_ok(&r->c) ? (uint32_t)v : 0;
}

static uint32_t
read_flags(struct reader *r, uint32_t known)
{
	uint32_t v = read_u32(r);

	if (v & ~known)
		r->c.bad = true;
	return v & known;
}

/* A count of things of at least `min` bytes each: what the bytes left can't
 * hold is refused before anything is allocated for it. */
static uint32_t
read_count(struct reader *r, uint32_t max, size_t min)
{
	uint32_t n = read_u32(r);

	if (n > max || n > r->c.left / min)
		r->c.bad = true;
	return cur_ok(&r->c) ? n : 0;
}

static void
put_u32s(struct buf *b, const uint32_t *v, uint32_t n)
{
	buf_varint(b, n);
	for (uint32_t i = 0; i < n; i++)
		buf_varint(b, v[i]);
}

static const uint32_t *
read_u32s(struct reader *r, uint32_t max, uint32_t *n)
{
	uint32_t *v;

	*n = read_count(r, max, 1);
	if (!*n)
		return NULL;
	v = NEW_N(r->arena, uint32_t, *n);
	for (uint32_t i = 0; i < *n; i++)
		v[i] = read_u32(r);
	return v;
}

static void
put_counter(struct buf *b, const struct cl_object *o)
{
	buf_varint(b, o->u.counter.next_id);
	buf_varint(b, o->u.counter.next_member);
	buf_varint(b, o->u.counter.next_placement);
}

static void
read_counter(struct reader *r, struct cl_object *o)
{
	o->u.counter.next_id = read_u32(r);
	o->u.counter.next_member = read_u32(r);
	o->u.counter.next_placement = read_u32(r);
}

static bool
slots_valid(uint32_t slots)
{
	return slots && slots <= CL_SLOTS_MAX && !(slots & (slots - 1));
}

static void
put_cluster(struct buf *b, const struct cl_object *o)
{
	const struct cl_cluster *k = &o->u.cluster;

	ASSERT(slots_valid(k->slots));
	ASSERT(k->replication && k->replication <= CL_COPIES_MAX);
	buf_put(b, k->id, sizeof k->id);
	buf_varint(b, k->slots);
	buf_varint(b, k->replication);
	buf_varint(b, k->level);
}

static void
read_cluster(struct reader *r, struct cl_object *o)
{
	struct cl_cluster *k = &o->u.cluster;
	struct str id = cur_bytes(&r->c, sizeof k->id);

	if (cur_ok(&r->c))
		memcpy(k->id, id.p, sizeof k->id);
	k->slots = read_u32(r);
	k->replication = read_u32(r);
	k->level = read_u32(r);
	if (!slots_valid(k->slots) || !k->replication ||
	    k->replication > CL_COPIES_MAX)
		r->c.bad = true;
}

static void
put_member(struct buf *b, const struct cl_object *o)
{
	const struct cl_member *m = &o->u.member;

	buf_varint(b, m->incarnation);
	buf_lenstr(b, m->alias);
	buf_lenstr(b, m->addr);
	buf_lenstr(b, m->zone);
	buf_varint(b, m->level);
}

static void
read_member(struct reader *r, struct cl_object *o)
{
	struct cl_member *m = &o->u.member;

	m->id = o->id;
	m->incarnation = read_u32(r);
	m->alias = cur_lenstr(&r->c);
	m->addr = cur_lenstr(&r->c);
	m->zone = cur_lenstr(&r->c);
	m->level = read_u32(r);
}

static void
put_slot(struct buf *b, const struct cl_slot_map *s)
{
	ASSERT(s->n && s->n <= CL_COPIES_MAX);
	buf_varint(b, s->epoch);
	put_u32s(b, s->members, s->n);
}

static void
read_slot(struct reader *r, struct cl_slot_map *s)
{
	s->epoch = read_u32(r);
	s->n = (uint8_t)read_count(r, CL_COPIES_MAX, 1);
	for (unsigned i = 0; i < s->n; i++)
		s->members[i] = read_u32(r);
	if (!s->n)
		r->c.bad = true;
}

static void
put_placement(struct buf *b, const struct cl_object *o)
{
	const struct cl_placement *p = &o->u.placement;

	ASSERT(p->n_pins <= CL_COPIES_MAX && p->n_slots <= CL_SLOTS_MAX);
	buf_u8(b, (uint8_t)p->kind);
	buf_varint(b, p->replication);
	put_u32s(b, p->pins, p->n_pins);
	buf_varint(b, p->n_slots);
	for (uint32_t i = 0; i < p->n_slots; i++)
		put_slot(b, &p->slots[i]);
}

static void
read_placement(struct reader *r, struct cl_object *o)
{
	struct cl_placement *p = &o->u.placement;
	struct cl_slot_map *slots;
	uint8_t kind = cur_u8(&r->c);

	p->id = o->id;
	if (kind < CL_PLACE_CLUSTER || kind > CL_PLACE_PINS)
		r->c.bad = true;
	p->kind = (enum cl_placement_kind)kind;
	p->replication = read_u32(r);
	p->pins = read_u32s(r, CL_COPIES_MAX, &p->n_pins);
	for (uint32_t i = 1; i < p->n_pins; i++)
		if (p->pins[i - 1] >= p->pins[i])
			r->c.bad = true;
	p->n_slots = read_count(r, CL_SLOTS_MAX, 3);
	if (!p->n_slots)
		return;
	slots = NEW_N(r->arena, struct cl_slot_map, p->n_slots);
	for (uint32_t i = 0; i < p->n_slots && cur_ok(&r->c); i++)
		read_slot(r, &slots[i]);
	p->slots = slots;
}

static void
put_role(struct buf *b, const struct cl_object *o)
{
	const struct cl_role *k = &o->u.role;

	buf_lenstr(b, k->name);
	buf_varint(b, (k->superuser ? ROLE_SUPERUSER : 0) |
			  (k->login ? ROLE_LOGIN : 0) |
			  (k->createdb ? ROLE_CREATEDB : 0) |
			  (k->createrole ? ROLE_CREATEROLE : 0));
	buf_lenstr(b, k->verifier);
}

static void
read_role(struct reader *r, struct cl_object *o)
{
	struct cl_role *k = &o->u.role;
	uint32_t flags;

	k->id = o->id;
	k->name = cur_lenstr(&r->c);
	flags = read_flags(r, ROLE_FLAGS);
	k->superuser = flags & ROLE_SUPERUSER;
	k->login = flags & ROLE_LOGIN;
	k->createdb = flags & ROLE_CREATEDB;
	k->createrole = flags & ROLE_CREATEROLE;
	k->verifier = cur_lenstr(&r->c);
}

static void
put_database(struct buf *b, const struct cl_object *o)
{
	buf_varint(b, o->u.database.owner);
	buf_lenstr(b, o->u.database.name);
}

static void
read_database(struct reader *r, struct cl_object *o)
{
	o->u.database.id = o->id;
	o->u.database.owner = read_u32(r);
	o->u.database.name = cur_lenstr(&r->c);
}

static void
put_schema(struct buf *b, const struct cl_object *o)
{
	buf_varint(b, o->u.schema.database);
	buf_lenstr(b, o->u.schema.name);
}

static void
read_schema(struct reader *r, struct cl_object *o)
{
	o->u.schema.id = o->id;
	o->u.schema.database = read_u32(r);
	o->u.schema.name = cur_lenstr(&r->c);
}

/* typmod is -1 or a small number: one more makes it a short varint. */
static void
put_column(struct buf *b, const struct cl_column *k)
{
	ASSERT(!(k->flags & ~CL_COL_FLAGS));
	buf_varint(b, k->id);
	buf_lenstr(b, k->name);
	buf_varint(b, k->type);
	buf_varint(b, (uint32_t)k->typmod + 1);
	buf_varint(b, k->flags);
	buf_lenstr(b, k->default_sql);
}

#define COLUMN_MIN 6 /* bytes */

static void
read_column(struct reader *r, struct cl_column *k)
{
	k->id = read_u32(r);
	k->name = cur_lenstr(&r->c);
	k->type = read_u32(r);
	k->typmod = (int32_t)(read_u32(r) - 1);
	k->flags = read_flags(r, CL_COL_FLAGS);
	k->default_sql = cur_lenstr(&r->c);
}

/* Column ids rise and lie below the next one; key columns exist. */
static bool
table_sound(const struct cl_table *t)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < t->n_columns; i++) {
		if (t->columns[i].id <= last)
			return false;
		last = t->columns[i].id;
	}
	for (uint32_t i = 0; i < t->n_pkey; i++)
		if (!cl_table_column_id(t, t->pkey[i]))
			return false;
	return last < t->next_column && t->n_columns <= CL_COLUMNS_MAX &&
	       t->n_pkey <= CL_KEY_COLUMNS_MAX && t->n_distribute <= t->n_pkey;
}

static void
put_table(struct buf *b, const struct cl_object *o)
{
	const struct cl_table *t = &o->u.table;

	ASSERT(table_sound(t));
	buf_varint(b, t->database);
	buf_varint(b, t->schema);
	buf_varint(b, t->owner);
	buf_lenstr(b, t->name);
	buf_varint(
	    b, (t->open ? TABLE_OPEN : 0) | (t->witness ? TABLE_WITNESS : 0));
	buf_varint(b, t->version);
	buf_varint(b, t->placement);
	buf_lenstr(b, t->pkey_name);
	buf_varint(b, t->n_columns);
	for (uint32_t i = 0; i < t->n_columns; i++)
		put_column(b, &t->columns[i]);
	put_u32s(b, t->pkey, t->n_pkey);
	buf_varint(b, t->n_distribute);
	buf_varint(b, t->next_column);
}

static void
read_columns(struct reader *r, struct cl_table *t)
{
	struct cl_column *columns;

	t->n_columns = read_count(r, CL_COLUMNS_MAX, COLUMN_MIN);
	if (!t->n_columns)
		return;
	columns = NEW_N(r->arena, struct cl_column, t->n_columns);
	for (uint32_t i = 0; i < t->n_columns && cur_ok(&r->c); i++)
		read_column(r, &columns[i]);
	t->columns = columns;
}

static void
read_table(struct reader *r, struct cl_object *o)
{
	struct cl_table *t = &o->u.table;
	uint32_t flags;

	t->id = o->id;
	t->database = read_u32(r);
	t->schema = read_u32(r);
	t->owner = read_u32(r);
	t->name = cur_lenstr(&r->c);
	flags = read_flags(r, TABLE_FLAGS);
	t->open = flags & TABLE_OPEN;
	t->witness = flags & TABLE_WITNESS;
	t->version = read_u32(r);
	t->placement = read_u32(r);
	t->pkey_name = cur_lenstr(&r->c);
	read_columns(r, t);
	t->pkey = read_u32s(r, CL_KEY_COLUMNS_MAX, &t->n_pkey);
	t->n_distribute = read_u32(r);
	t->next_column = read_u32(r);
	if (cur_ok(&r->c) && !table_sound(t))
		r->c.bad = true;
}

/* Signed: small either way is short. */
static void
put_i64(struct buf *b, int64_t v)
{
	buf_varint(b, ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0));
}

static int64_t
read_i64(struct reader *r)
{
	uint64_t v = cur_varint(&r->c);

	return (int64_t)((v >> 1) ^ (v & 1 ? UINT64_MAX : 0));
}

/* A draw can be computed: it moves, within bounds, by whole caches. */
static bool
sequence_sound(const struct cl_sequence *s)
{
	return s->increment && s->min < s->max && s->cache >= 1 &&
	       s->start >= s->min && s->start <= s->max &&
	       !s->table == !s->column;
}

static void
put_sequence(struct buf *b, const struct cl_object *o)
{
	const struct cl_sequence *s = &o->u.sequence;

	ASSERT(sequence_sound(s));
	buf_varint(b, s->schema);
	buf_varint(b, s->owner);
	buf_lenstr(b, s->name);
	buf_varint(b, s->type);
	put_i64(b, s->increment);
	put_i64(b, s->min);
	put_i64(b, s->max);
	put_i64(b, s->start);
	put_i64(b, s->cache);
	put_i64(b, s->first);
	buf_varint(b, (s->cycle ? SEQUENCE_CYCLE : 0) |
			  (s->identity ? SEQUENCE_IDENTITY : 0));
	buf_varint(b, s->table);
	buf_varint(b, s->column);
}

static void
read_sequence(struct reader *r, struct cl_object *o)
{
	struct cl_sequence *s = &o->u.sequence;
	uint32_t flags;

	s->id = o->id;
	s->schema = read_u32(r);
	s->owner = read_u32(r);
	s->name = cur_lenstr(&r->c);
	s->type = read_u32(r);
	s->increment = read_i64(r);
	s->min = read_i64(r);
	s->max = read_i64(r);
	s->start = read_i64(r);
	s->cache = read_i64(r);
	s->first = read_i64(r);
	flags = read_flags(r, SEQUENCE_FLAGS);
	s->cycle = flags & SEQUENCE_CYCLE;
	s->identity = flags & SEQUENCE_IDENTITY;
	s->table = read_u32(r);
	s->column = read_u32(r);
	if (cur_ok(&r->c) && !sequence_sound(s))
		r->c.bad = true;
}

#define INDEX_DESC        1u
#define INDEX_NULLS_FIRST 2u
#define INDEX_ORDERS      3u
#define INDEX_COLUMN_MIN  5u /* bytes */

static bool
index_column_sound(const struct cl_index_column *c)
{
	bool computed = c->expr.len > 0;

	return computed == (c->column == 0) &&
	       computed == (c->expr_sql.len > 0);
}

/* It is ordered by something; what is computed has its text. */
static bool
index_sound(const struct cl_index *x)
{
	if (!x->table || !x->n_columns || x->n_columns > CL_INDEX_COLUMNS_MAX ||
	    x->n_inputs > CL_COLUMNS_MAX || x->state < CL_INDEX_BUILDING ||
	    x->state > CL_INDEX_FAILED ||
	    (x->where.len > 0) != (x->where_sql.len > 0))
		return false;
	for (uint32_t i = 0; i < x->n_columns; i++)
		if (!index_column_sound(&x->columns[i]))
			return false;
	return true;
}

static void
put_index(struct buf *b, const struct cl_object *o)
{
	const struct cl_index *x = &o->u.index;

	ASSERT(index_sound(x));
	buf_varint(b, x->schema);
	buf_varint(b, x->table);
	buf_lenstr(b, x->name);
	buf_varint(b, x->state);
	buf_varint(b, x->version);
	buf_varint(b, x->n_columns);
	for (uint32_t i = 0; i < x->n_columns; i++) {
		const struct cl_index_column *c = &x->columns[i];

		buf_varint(b, c->column);
		buf_varint(b, c->type);
		buf_varint(b, (c->desc ? INDEX_DESC : 0) |
				  (c->nulls_first ? INDEX_NULLS_FIRST : 0));
		buf_lenstr(b, c->expr_sql);
		buf_lenstr(b, c->expr);
	}
	put_u32s(b, x->inputs, x->n_inputs);
	buf_lenstr(b, x->where_sql);
	buf_lenstr(b, x->where);
	buf_lenstr(b, x->failure);
}

static void
read_index_columns(struct reader *r, struct cl_index *x)
{
	struct cl_index_column *columns;

	x->n_columns = read_count(r, CL_INDEX_COLUMNS_MAX, INDEX_COLUMN_MIN);
	if (!x->n_columns)
		return;
	columns = NEW_N(r->arena, struct cl_index_column, x->n_columns);
	for (uint32_t i = 0; i < x->n_columns && cur_ok(&r->c); i++) {
		uint32_t flags;

		columns[i].column = read_u32(r);
		columns[i].type = read_u32(r);
		flags = read_flags(r, INDEX_ORDERS);
		columns[i].desc = flags & INDEX_DESC;
		columns[i].nulls_first = flags & INDEX_NULLS_FIRST;
		columns[i].expr_sql = cur_lenstr(&r->c);
		columns[i].expr = cur_lenstr(&r->c);
	}
	x->columns = columns;
}

static void
read_index(struct reader *r, struct cl_object *o)
{
	struct cl_index *x = &o->u.index;

	x->id = o->id;
	x->schema = read_u32(r);
	x->table = read_u32(r);
	x->name = cur_lenstr(&r->c);
	x->state = (enum cl_index_state)read_u32(r);
	x->version = read_u32(r);
	read_index_columns(r, x);
	x->inputs = read_u32s(r, CL_COLUMNS_MAX, &x->n_inputs);
	x->where_sql = cur_lenstr(&r->c);
	x->where = cur_lenstr(&r->c);
	x->failure = cur_lenstr(&r->c);
	if (cur_ok(&r->c) && !index_sound(x))
		r->c.bad = true;
}

/* By kind. Names: the parent within which they are unique, and the text. */
static const struct kind {
	const char *name;
	void (*put)(struct buf *b, const struct cl_object *o);
	void (*read)(struct reader *r, struct cl_object *o);
} kinds[] = {
    [CL_COUNTER] = {"counter", put_counter, read_counter},
    [CL_CLUSTER] = {"cluster", put_cluster, read_cluster},
    [CL_MEMBER] = {"member", put_member, read_member},
    [CL_PLACEMENT] = {"placement", put_placement, read_placement},
    [CL_ROLE] = {"role", put_role, read_role},
    [CL_DATABASE] = {"database", put_database, read_database},
    [CL_SCHEMA] = {"schema", put_schema, read_schema},
    [CL_TABLE] = {"table", put_table, read_table},
    [CL_INDEX] = {"index", put_index, read_index},
    [CL_SEQUENCE] = {"sequence", put_sequence, read_sequence},
};

#define N_KINDS (sizeof kinds / sizeof kinds[0])

/* NULL for kinds that this build does not know. */
static const struct kind *
kind_of(unsigned kind)
{
	return kind < N_KINDS && kinds[kind].name ? &kinds[kind] : NULL;
}

const char *
cl_kind_name(enum cl_kind kind)
{
	const struct kind *k = kind_of(kind);

	return k ? k->name : NULL;
}

enum cl_kind
cl_name_kind(enum cl_kind kind)
{
	return kind == CL_SEQUENCE || kind == CL_INDEX ? CL_TABLE : kind;
}

bool
cl_object_name(const struct cl_object *o, uint32_t *parent, struct str *name)
{
	*parent = 0;
	*name = STR_NONE;
	if (o->deleted)
		return false;
	switch (o->kind) {
	case CL_MEMBER:
		*name = o->u.member.alias;
		break;
	case CL_ROLE:
		*name = o->u.role.name;
		break;
	case CL_DATABASE:
		*name = o->u.database.name;
		break;
	case CL_SCHEMA:
		*parent = o->u.schema.database;
		*name = o->u.schema.name;
		break;
	case CL_TABLE:
		*parent = o->u.table.schema;
		*name = o->u.table.name;
		break;
	case CL_INDEX:
		*parent = o->u.index.schema;
		*name = o->u.index.name;
		break;
	case CL_SEQUENCE:
		*parent = o->u.sequence.schema;
		*name = o->u.sequence.name;
		break;
	default:
		break;
	}
	return name->len > 0;
}

void
cl_object_encode(struct buf *b, const struct cl_object *o)
{
	const struct kind *k = kind_of(o->kind);

	ASSERT(k && !o->deleted);
	buf_u8(b, OBJECT_FORMAT);
	k->put(b, o);
}

/* As cl_object_decode; texts are views into `bytes`. */
static struct err *
object_decode(struct arena *a, enum cl_kind kind, uint32_t id, struct str bytes,
    struct cl_object *o)
{
	const struct kind *k = kind_of(kind);
	struct reader r = {cur_of(bytes), a};
	unsigned format = cur_u8(&r.c);

	memset(&o->u, 0, sizeof o->u);
	o->kind = kind;
	o->id = id;
	o->deleted = false;
	if (!k)
		return err_hint(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
				    "catalog object %u is of kind %u, which "
				    "this build does not know",
				    id, (unsigned)kind),
		    "Upgrade this program to the cluster's feature level.");
	if (cur_ok(&r.c) && format != OBJECT_FORMAT)
		return err_hint(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
				    "%s %u of the catalog has format %u, this "
				    "build reads format %u",
				    k->name, id, format, OBJECT_FORMAT),
		    "Upgrade this program to the cluster's feature level.");
	k->read(&r, o);
	if (!cur_done(&r.c))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "%s %u of the catalog is malformed", k->name, id);
	return NULL;
}

struct err *
cl_object_decode(struct arena *a, enum cl_kind kind, uint32_t id,
    struct str bytes, struct cl_object *o)
{
	return object_decode(a, kind, id, arena_str(a, bytes), o);
}

void
cl_object_key(struct buf *b, enum cl_kind kind, uint32_t id)
{
	cl_key_prefix(b, CL_TABLE_OBJECTS, 0);
	cl_key_int(b, CL_TAG_NONE, CL_KEY_ASC, kind);
	cl_key_int(b, CL_TAG_NONE, CL_KEY_ASC, id);
}

void
cl_name_key(struct buf *b, enum cl_kind kind, uint32_t parent, struct str name)
{
	cl_key_prefix(b, CL_TABLE_NAMES, 0);
	cl_key_int(b, CL_TAG_NONE, CL_KEY_ASC, cl_name_kind(kind));
	cl_key_int(b, CL_TAG_NONE, CL_KEY_ASC, parent);
	cl_key_bytes(b, CL_TAG_NONE, CL_KEY_ASC, name);
}

static bool
key_read_int(struct cur *c, int64_t max, int64_t *v)
{
	struct cl_key_head h;

	return cl_key_read_head(c, CL_KEY_ASC, &h) && !h.null &&
	       h.tag == CL_TAG_NONE && cl_key_read_int(c, CL_KEY_ASC, v) &&
	       *v >= 0 && *v <= max;
}

bool
cl_object_key_read(struct str key, enum cl_kind *kind, uint32_t *id)
{
	int64_t k = 0, i = 0;
	uint32_t table;
	uint16_t slot;
	struct str rest;
	struct cur c;

	*kind = 0;
	*id = 0;
	if (!cl_key_split(key, &table, &slot, &rest) ||
	    table != CL_TABLE_OBJECTS || slot)
		return false;
	c = cur_of(rest);
	if (!key_read_int(&c, CL_KIND_MAX, &k) ||
	    !key_read_int(&c, UINT32_MAX, &i) || !cur_done(&c))
		return false;
	*kind = (enum cl_kind)k;
	*id = (uint32_t)i;
	return true;
}

void
cl_object_row(struct buf *b, const struct cl_object *o)
{
	struct buf body;

	buf_init(&body, b->arena);
	cl_object_encode(&body, o);
	cl_row_begin(b, 0);
	cl_row_col(b, COL_BODY, CL_TAG_BYTEA, buf_view(&body));
}

void
cl_name_row(struct buf *b, uint32_t id)
{
	struct buf body;

	buf_init(&body, b->arena);
	buf_le32(&body, id);
	cl_row_begin(b, 0);
	cl_row_col(b, COL_BODY, CL_TAG_INT, buf_view(&body));
}

struct err *
cl_object_row_read(
    struct arena *a, struct str key, struct str value, struct cl_object *o)
{
	struct cl_row_head h;
	struct cl_row_cur it;
	struct cl_row_col col, more;

	memset(o, 0, sizeof *o);
	if (!cl_object_key_read(key, &o->kind, &o->id))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "the catalog has a row with a malformed key");
	if (!cl_row_head(value, &h))
		goto malformed;
	o->stamp = h.stamp;
	o->deleted = h.flags & CL_ROW_TOMBSTONE;
	if (o->deleted)
		return NULL;
	if (!cl_row_open(value, &it) || !cl_row_next(&it, &col) ||
	    col.id != COL_BODY || col.tag != CL_TAG_BYTEA ||
	    cl_row_next(&it, &more) || !cl_row_ok(&it))
		goto malformed;
	return cl_object_decode(a, o->kind, o->id, col.v, o);
malformed:
	return ERR(a, ERRCODE_DATA_CORRUPTED,
	    "the catalog's row of object %u (kind %u) is malformed", o->id,
	    (unsigned)o->kind);
}

void
cl_change_of(
    struct arena *a, const struct cl_object *o, struct cl_object_change *change)
{
	struct buf b;

	*change = (struct cl_object_change){.kind = (uint8_t)o->kind,
	    .id = o->id,
	    .version = o->version,
	    .stamp = o->stamp,
	    .deleted = o->deleted};
	if (o->deleted)
		return;
	buf_init(&b, a);
	cl_object_encode(&b, o);
	change->body = buf_view(&b);
}

struct err *
cl_change_object(
    struct arena *a, const struct cl_object_change *change, struct cl_object *o)
{
	memset(o, 0, sizeof *o);
	o->kind = (enum cl_kind)change->kind;
	o->id = change->id;
	o->version = change->version;
	o->stamp = change->stamp;
	o->deleted = change->deleted;
	if (change->deleted > 1 || (o->deleted && change->body.len))
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed catalog change of object %u", change->id);
	if (o->deleted)
		return NULL;
	return object_decode(a, o->kind, o->id, change->body, o);
}
