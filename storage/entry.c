#include "storage/entry.h"

#include "cluster/row.h"

#define LIST_MAX 65536u

static void
put_op(struct buf *b, const struct st_op *op)
{
	buf_put(b, op->session, sizeof op->session);
	buf_varint(b, op->sequence);
	buf_varint(b, op->answered);
	buf_u8(b, op->outcome);
}

static void
put_writes(struct buf *b, const struct st_entry *e)
{
	buf_varint(b, e->n_writes);
	for (uint32_t i = 0; i < e->n_writes; i++) {
		const struct cl_write *w = &e->writes[i];

		buf_u8(b, w->kind);
		buf_lenstr(b, w->key);
		buf_lenstr(b, w->value);
		if (w->kind == CL_WRITE_PUT)
			cl_row_set_stamp(
			    b->p + b->len - w->value.len, e->stamp);
	}
}

static void
put_proposal(struct buf *b, const struct st_entry *e)
{
	put_op(b, &e->op);
	put_writes(b, e);
}

static void
put_prepare(struct buf *b, const struct st_entry *e)
{
	st_txn_put(b, &e->txn);
	buf_varint(b, e->part);
	buf_le64(b, e->age);
	st_ballot_put(b, &e->coordinator);
	st_gid_put(b, e->decides);
	buf_le64(b, e->deadline);
	buf_varint(b, e->n_shared);
	for (uint32_t i = 0; i < e->n_shared; i++)
		buf_lenstr(b, e->shared[i]);
	put_writes(b, e);
}

static void
put_outcome(struct buf *b, const struct st_entry *e)
{
	st_txn_put(b, &e->txn);
	buf_u8(b, e->outcome);
	buf_le64(b, e->deadline);
}

static void
put_decide(struct buf *b, const struct st_entry *e)
{
	put_outcome(b, e);
	buf_u8(b, e->with_op);
	if (e->with_op)
		put_op(b, &e->op);
	buf_varint(b, e->n_participants);
	for (uint32_t i = 0; i < e->n_participants; i++)
		st_gid_put(b, e->participants[i]);
	put_writes(b, e);
}

static void
put_settled(struct buf *b, const struct st_entry *e)
{
	buf_varint(b, e->n_txns);
	for (uint32_t i = 0; i < e->n_txns; i++)
		st_txn_put(b, &e->txns[i]);
}

static void
put_forget(struct buf *b, const struct st_entry *e)
{
	buf_le64(b, e->floor);
	buf_varint(b, e->n_forget);
	for (uint32_t i = 0; i < e->n_forget; i++) {
		buf_lenstr(b, e->forget[i].key);
		buf_le64(b, e->forget[i].stamp);
	}
}

void
st_entry_encode(struct buf *b, const struct st_entry *e)
{
	buf_u8(b, ST_ENTRY_FORMAT);
	buf_u8(b, (uint8_t)e->kind);
	st_ballot_put(b, &e->ballot);
	buf_le64(b, e->index);
	buf_le64(b, e->stamp);
	switch (e->kind) {
	case ST_ENTRY_EMPTY:
		break;
	case ST_ENTRY_PROPOSAL:
		put_proposal(b, e);
		break;
	case ST_ENTRY_SCHEMA:
		buf_le32(b, e->table);
		buf_le32(b, e->version);
		break;
	case ST_ENTRY_FORGET:
		put_forget(b, e);
		break;
	case ST_ENTRY_PREPARE:
		put_prepare(b, e);
		break;
	case ST_ENTRY_DECIDE:
		put_decide(b, e);
		break;
	case ST_ENTRY_RESOLVE:
		put_outcome(b, e);
		break;
	case ST_ENTRY_SETTLED:
		put_settled(b, e);
		break;
	}
}

static bool
get_write(struct cur *c, struct cl_write *w)
{
	w->kind = cur_u8(c);
	w->key = cur_lenstr(c);
	w->value = cur_lenstr(c);
	if (!cur_ok(c))
		return false;
	if (w->kind == CL_WRITE_PUT)
		return w->value.len >= CL_ROW_HEADER;
	return w->kind == CL_WRITE_DELETE;
}

static bool
get_op(struct cur *c, struct st_op *op)
{
	struct str session = cur_bytes(c, sizeof op->session);

	op->sequence = cur_varint(c);
	op->answered = cur_varint(c);
	op->outcome = cur_u8(c);
	if (!cur_ok(c))
		return false;
	memcpy(op->session, session.p, sizeof op->session);
	return op->outcome == CL_APPLIED || op->outcome == CL_FALSE;
}

static bool
get_writes(struct arena *a, struct cur *c, struct st_entry *e)
{
	struct cl_write *writes;
	uint64_t n = cur_varint(c);

	/* A write takes three bytes at least: no allocation on mere words. */
	if (!cur_ok(c) || n > LIST_MAX || n > c->left / 3)
		return false;
	writes = NEW_N(a, struct cl_write, n);
	for (uint64_t i = 0; i < n; i++)
		if (!get_write(c, &writes[i]))
			return false;
	e->writes = writes;
	e->n_writes = (uint32_t)n;
	return true;
}

static bool
get_proposal(struct arena *a, struct cur *c, struct st_entry *e)
{
	return get_op(c, &e->op) && get_writes(a, c, e);
}

static bool
get_prepare(struct arena *a, struct cur *c, struct st_entry *e)
{
	struct str *shared;
	uint64_t part, n;

	e->txn = st_txn_get(c);
	part = cur_varint(c);
	e->age = cur_le64(c);
	e->coordinator = st_ballot_get(c);
	st_gid_get(c, &e->decides);
	e->deadline = cur_le64(c);
	n = cur_varint(c);
	if (!cur_ok(c) || part > UINT32_MAX || n > LIST_MAX || n > c->left)
		return false;
	e->part = (uint32_t)part;
	shared = NEW_N(a, struct str, n);
	for (uint64_t i = 0; i < n; i++)
		shared[i] = cur_lenstr(c);
	e->shared = shared;
	e->n_shared = (uint32_t)n;
	return get_writes(a, c, e);
}

static bool
get_outcome(struct cur *c, struct st_entry *e)
{
	e->txn = st_txn_get(c);
	e->outcome = cur_u8(c);
	e->deadline = cur_le64(c);
	return e->outcome == CL_COMMIT || e->outcome == CL_ABORT;
}

static bool
get_decide(struct arena *a, struct cur *c, struct st_entry *e)
{
	struct st_gid *list;
	unsigned with_op;
	uint64_t n;

	if (!get_outcome(c, e))
		return false;
	with_op = cur_u8(c);
	if (with_op > 1 || (with_op && !get_op(c, &e->op)))
		return false;
	e->with_op = with_op != 0;
	n = cur_varint(c);
	if (!cur_ok(c) || n > c->left / ST_GID_LEN)
		return false;
	list = NEW_N(a, struct st_gid, n);
	for (uint64_t i = 0; i < n; i++)
		st_gid_get(c, &list[i]);
	e->participants = list;
	e->n_participants = (uint32_t)n;
	return get_writes(a, c, e);
}

static bool
get_settled(struct arena *a, struct cur *c, struct st_entry *e)
{
	uint64_t n = cur_varint(c);
	struct st_txn *list;

	if (!cur_ok(c) || n > c->left / ST_TXN_LEN)
		return false;
	list = NEW_N(a, struct st_txn, n);
	for (uint64_t i = 0; i < n; i++)
		list[i] = st_txn_get(c);
	e->txns = list;
	e->n_txns = (uint32_t)n;
	return true;
}

static bool
get_forget(struct arena *a, struct cur *c, struct st_entry *e)
{
	struct st_forget *list;
	uint64_t n;

	e->floor = cur_le64(c);
	n = cur_varint(c);
	if (!cur_ok(c) || n > LIST_MAX || n > c->left / 9)
		return false;
	list = NEW_N(a, struct st_forget, n);
	for (uint64_t i = 0; i < n; i++) {
		list[i].key = cur_lenstr(c);
		list[i].stamp = cur_le64(c);
	}
	e->forget = list;
	e->n_forget = (uint32_t)n;
	return true;
}

static struct err *
unknown(struct arena *a, const char *what, unsigned v)
{
	return err_hint(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
			    "the log holds an entry of %s %u, which this "
			    "build does not know",
			    what, v),
	    "Start the build that wrote it.");
}

struct err *
st_entry_decode(struct arena *a, struct str bytes, struct st_entry *e)
{
	struct cur c = cur_of(bytes);
	unsigned format = cur_u8(&c);
	unsigned kind = cur_u8(&c);
	bool ok = true;

	memset(e, 0, sizeof *e);
	if (cur_ok(&c) && format != ST_ENTRY_FORMAT)
		return unknown(a, "format", format);
	e->kind = (enum st_entry_kind)kind;
	e->ballot = st_ballot_get(&c);
	e->index = cur_le64(&c);
	e->stamp = cur_le64(&c);
	switch (kind) {
	case ST_ENTRY_EMPTY:
		break;
	case ST_ENTRY_PROPOSAL:
		ok = get_proposal(a, &c, e);
		break;
	case ST_ENTRY_SCHEMA:
		e->table = cur_le32(&c);
		e->version = cur_le32(&c);
		break;
	case ST_ENTRY_FORGET:
		ok = get_forget(a, &c, e);
		break;
	case ST_ENTRY_PREPARE:
		ok = get_prepare(a, &c, e);
		break;
	case ST_ENTRY_DECIDE:
		ok = get_decide(a, &c, e);
		break;
	case ST_ENTRY_RESOLVE:
		ok = get_outcome(&c, e);
		break;
	case ST_ENTRY_SETTLED:
		ok = get_settled(a, &c, e);
		break;
	default:
		if (cur_ok(&c))
			return unknown(a, "kind", kind);
	}
	if (!ok || !cur_done(&c))
		return ERR(
		    a, ERRCODE_DATA_CORRUPTED, "a log entry is malformed");
	return NULL;
}
