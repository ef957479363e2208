#include "storage/ids.h"

int
st_ballot_cmp(const struct st_ballot *a, const struct st_ballot *b)
{
	if (a->round != b->round)
		return a->round < b->round ? -1 : 1;
	if (a->member != b->member)
		return a->member < b->member ? -1 : 1;
	if (a->incarnation != b->incarnation)
		return a->incarnation < b->incarnation ? -1 : 1;
	return 0;
}

void
st_ballot_put(struct buf *b, const struct st_ballot *v)
{
	buf_le64(b, v->round);
	buf_le32(b, v->member);
	buf_le32(b, v->incarnation);
}

struct st_ballot
st_ballot_get(struct cur *c)
{
	struct st_ballot v;

	v.round = cur_le64(c);
	v.member = cur_le32(c);
	v.incarnation = cur_le32(c);
	return v;
}

void
st_gid_put(struct buf *b, struct st_gid g)
{
	buf_be32(b, g.placement);
	buf_be16(b, g.slot);
	buf_be32(b, g.epoch);
}

bool
st_gid_get(struct cur *c, struct st_gid *g)
{
	g->placement = cur_be32(c);
	g->slot = cur_be16(c);
	g->epoch = cur_be32(c);
	return cur_ok(c);
}

bool
st_gid_eq(struct st_gid a, struct st_gid b)
{
	return a.placement == b.placement && a.slot == b.slot &&
	       a.epoch == b.epoch;
}

void
st_txn_put(struct buf *b, const struct st_txn *t)
{
	st_gid_put(b, t->gid);
	buf_be64(b, t->stamp);
	buf_be32(b, t->member);
}

struct st_txn
st_txn_get(struct cur *c)
{
	struct st_txn t;

	st_gid_get(c, &t.gid);
	t.stamp = cur_be64(c);
	t.member = cur_be32(c);
	return t;
}

bool
st_txn_eq(const struct st_txn *a, const struct st_txn *b)
{
	return a->stamp == b->stamp && a->member == b->member &&
	       st_gid_eq(a->gid, b->gid);
}

void
st_key_log(struct buf *b, struct st_gid g, uint64_t index)
{
	st_gid_put(b, g);
	buf_be64(b, index);
}

void
st_key_group(struct buf *b, struct st_gid g)
{
	buf_u8(b, 'G');
	st_gid_put(b, g);
}

void
st_key_promise(struct buf *b, struct st_gid g)
{
	buf_u8(b, 'P');
	st_gid_put(b, g);
}

void
st_promise_put(struct buf *b, const struct st_ballot *v)
{
	buf_u8(b, 1);
	st_ballot_put(b, v);
}

bool
st_promise_get(struct str bytes, struct st_ballot *v)
{
	struct cur c = cur_of(bytes);
	unsigned format = cur_u8(&c);

	*v = st_ballot_get(&c);
	return format == 1 && cur_done(&c);
}

void
st_key_session(struct buf *b, struct st_gid g, const uint8_t *session)
{
	buf_u8(b, 'S');
	st_gid_put(b, g);
	buf_put(b, session, 16);
}

void
st_key_schema(struct buf *b, struct st_gid g, uint32_t table)
{
	buf_u8(b, 'V');
	st_gid_put(b, g);
	buf_be32(b, table);
}

void
st_key_tombstone(struct buf *b, struct st_gid g, cl_stamp s, struct str key)
{
	buf_u8(b, 'T');
	st_gid_put(b, g);
	buf_be64(b, s);
	buf_str(b, key);
}

void
st_key_pass(struct buf *b, struct st_gid g)
{
	buf_u8(b, 'R');
	st_gid_put(b, g);
}

void
st_key_count(struct buf *b, uint32_t table, uint16_t slot)
{
	buf_u8(b, 'C');
	buf_be32(b, table);
	buf_be16(b, slot);
}

void
st_key_index(struct buf *b, uint32_t index, uint16_t slot)
{
	buf_u8(b, 'X');
	buf_be32(b, index);
	buf_be16(b, slot);
}

void
st_key_decision(struct buf *b, struct st_gid g, const struct st_txn *t)
{
	buf_u8(b, 'D');
	st_gid_put(b, g);
	st_txn_put(b, t);
}

void
st_key_resolved(struct buf *b, struct st_gid g, const struct st_txn *t)
{
	buf_u8(b, 'E');
	st_gid_put(b, g);
	st_txn_put(b, t);
}

void
st_key_part(
    struct buf *b, struct st_gid g, const struct st_txn *t, uint32_t part)
{
	buf_u8(b, 'Y');
	st_gid_put(b, g);
	st_txn_put(b, t);
	buf_be32(b, part);
}
