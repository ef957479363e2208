#include "storage/entry.h"

#include "cluster/row.h"

#define LIST_MAX 65536u

static void
put_proposal(struct buf *b, const struct st_entry *e)
{
	buf_put(b, e->op.session, sizeof e->op.session);
	buf_varint(b, e->op.sequence);
	buf_varint(b, e->op.answered);
	buf_u8(b, e->op.outcome);
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
get_proposal(struct arena *a, struct cur *c, struct st_entry *e)
{
	struct str session = cur_bytes(c, sizeof e->op.session);
	struct cl_write *writes;
	uint64_t n;

	e->op.sequence = cur_varint(c);
	e->op.answered = cur_varint(c);
	e->op.outcome = cur_u8(c);
	n = cur_varint(c);
	/* A write takes three bytes at least: no allocation on mere words. */
	if (!cur_ok(c) || n > LIST_MAX || n > c->left / 3)
		return false;
	memcpy(e->op.session, session.p, sizeof e->op.session);
	writes = NEW_N(a, struct cl_write, n);
	for (uint64_t i = 0; i < n; i++)
		if (!get_write(c, &writes[i]))
			return false;
	e->writes = writes;
	e->n_writes = (uint32_t)n;
	return e->op.outcome == CL_APPLIED || e->op.outcome == CL_FALSE;
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
	default:
		if (cur_ok(&c))
			return unknown(a, "kind", kind);
	}
	if (!ok || !cur_done(&c))
		return ERR(
		    a, ERRCODE_DATA_CORRUPTED, "a log entry is malformed");
	return NULL;
}
