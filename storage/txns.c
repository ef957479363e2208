#include "storage/txns.h"

#include "base/mutate.h"
#include "cluster/row.h"

#define FORMAT      1
#define BUCKETS_MIN 16u

struct st_txns {
	struct arena *arena;
	struct st_locks *locks;
	cl_stamp retention; /* of decisions */
	uint64_t taken;     /* index: given to st_txns_take */
	uint64_t applied;
	struct list *buckets;
	size_t n_buckets, n_txns;
	struct list parts;
	struct list decisions;
	struct list known; /* resolved ones */
	cl_stamp next;     /* no resolved one is to be forgotten before */
	struct list spare; /* struct st_tx, by chain */
};

static struct list *
new_buckets(struct arena *a, size_t n)
{
	struct list *b = NEW_N(a, struct list, n);

	for (size_t i = 0; i < n; i++)
		list_init(&b[i]);
	return b;
}

struct st_txns *
st_txns_new(struct arena *parent, struct st_locks *locks, cl_stamp retention)
{
	struct arena *a = arena_new(parent, "transactions");
	struct st_txns *t = NEW(a, struct st_txns);

	t->arena = a;
	t->locks = locks;
	t->retention = retention;
	t->n_buckets = BUCKETS_MIN;
	t->buckets = new_buckets(a, t->n_buckets);
	list_init(&t->parts);
	list_init(&t->decisions);
	list_init(&t->known);
	list_init(&t->spare);
	return t;
}

void
st_txns_free(struct st_txns *t)
{
	if (!t)
		return;
	LIST_FOREACH(at, &t->parts)
	ASSERT(!LIST_ENTRY(at, struct st_part, link)->locks.queued);
	arena_free(t->arena);
}

/* ---- finding ---- */

/* Stamps of one member never repeat, and rise. */
static struct list *
bucket_of(const struct st_txns *t, const struct st_txn *id)
{
	uint64_t h = (id->stamp ^ id->member) * 0x9e3779b97f4a7c15u;

	return &t->buckets[(h >> 32) & (t->n_buckets - 1)];
}

struct st_tx *
st_txns_find(const struct st_txns *t, const struct st_txn *id)
{
	const struct list *bucket = bucket_of(t, id);

	LIST_FOREACH(at, bucket)
	{
		struct st_tx *x = LIST_ENTRY(at, struct st_tx, chain);

		if (st_txn_eq(&x->id, id))
			return x;
	}
	return NULL;
}

static void
grow(struct st_txns *t)
{
	struct list *old = t->buckets;
	size_t n = t->n_buckets;
	struct list *at;

	t->n_buckets = n * 2;
	t->buckets = new_buckets(t->arena, t->n_buckets);
	for (size_t i = 0; i < n; i++)
		while ((at = list_pop(&old[i]))) {
			struct st_tx *x = LIST_ENTRY(at, struct st_tx, chain);

			list_push(bucket_of(t, &x->id), &x->chain);
		}
}

static struct st_tx *
find_or_add(struct st_txns *t, const struct st_txn *id)
{
	struct st_tx *x = st_txns_find(t, id);
	struct list *spare;

	if (x)
		return x;
	spare = list_pop(&t->spare);
	x = spare ? LIST_ENTRY(spare, struct st_tx, chain)
		  : NEW(t->arena, struct st_tx);
	memset(x, 0, sizeof *x);
	x->id = *id;
	list_init(&x->parts);
	if (t->n_txns >= t->n_buckets * 2)
		grow(t);
	list_push(bucket_of(t, id), &x->chain);
	t->n_txns++;
	return x;
}

/* Nothing is known of it any more? */
static void
drop_if_bare(struct st_txns *t, struct st_tx *x)
{
	if (!list_empty(&x->parts) || x->decision || x->resolved || x->asking)
		return;
	list_del(&x->chain);
	list_push(&t->spare, &x->chain);
	t->n_txns--;
}

struct st_part *
st_txns_part(const struct st_txns *t, const struct st_txn *id, uint32_t part)
{
	const struct st_tx *x = st_txns_find(t, id);

	if (!x)
		return NULL;
	LIST_FOREACH(at, &x->parts)
	{
		struct st_part *p = LIST_ENTRY(at, struct st_part, mate);

		if (p->e.part == part && !p->gone)
			return p;
	}
	return NULL;
}

const struct list *
st_txns_parts(const struct st_txns *t)
{
	return &t->parts;
}

struct st_part *
st_txns_in_range(const struct st_txns *t, struct str from, struct str to)
{
	LIST_FOREACH(at, &t->parts)
	{
		struct st_part *p = LIST_ENTRY(at, struct st_part, link);

		for (uint32_t i = 0; i < p->e.n_writes; i++) {
			struct str key = p->e.writes[i].key;

			if (str_cmp(key, from) >= 0 &&
			    (!to.len || str_cmp(key, to) < 0))
				return p;
		}
	}
	return NULL;
}

void
st_txns_asking(struct st_txns *t, const struct st_txn *id, bool asking)
{
	struct st_tx *x = st_txns_find(t, id);

	if (!x)
		return;
	x->asking = asking;
	drop_if_bare(t, x);
}

/* ---- parts ---- */

static void
part_wants(struct st_part *p)
{
	const struct st_entry *e = &p->e;
	struct st_lock_want *wants =
	    NEW_N(p->arena, struct st_lock_want, e->n_shared + e->n_writes + 1);
	uint32_t n = 0;

	for (uint32_t i = 0; i < e->n_shared; i++)
		wants[n++].key = e->shared[i];
	for (uint32_t i = 0; i < e->n_writes; i++) {
		wants[n].exclusive = true;
		wants[n++].key = e->writes[i].key;
	}
	st_lock_req_init(&p->locks, wants, n);
	p->locks.prepared = true;
	p->locks.age = e->age;
	p->locks.owner = p;
}

/* Nobody waits for a part to be granted its locks. */
static void
granted_ev(struct st_lock_req *req)
{
	(void)req;
}

/* A copy of its own: entries go when they are applied. */
static struct st_part *
add_part(struct st_txns *t, const struct st_entry *e)
{
	struct st_tx *x = find_or_add(t, &e->txn);
	struct arena *a = arena_new(t->arena, "prepared part");
	struct st_part *p = NEW(a, struct st_part);
	struct buf b;
	struct err *err;

	p->arena = a;
	buf_init(&b, a);
	st_entry_encode(&b, e);
	p->bytes = buf_view(&b);
	err = st_entry_decode(a, p->bytes, &p->e);
	ASSERT(!err);
	part_wants(p);
	p->locks.granted = granted_ev;
	list_push(&t->parts, &p->link);
	list_push(&x->parts, &p->mate);
	return p;
}

static void
drop_part(struct st_txns *t, struct st_part *p)
{
	struct st_tx *x = st_txns_find(t, &p->e.txn);

	st_locks_release(t->locks, &p->locks);
	list_del(&p->link);
	list_del(&p->mate);
	arena_free(p->arena);
	drop_if_bare(t, x);
}

void
st_txns_hold(struct st_part *p, struct st_locks *l, struct st_lock_req *from)
{
	if (!mutate("txn_locks_at_apply"))
		st_locks_hand_over(l, from, &p->locks);
}

/* ---- decisions ---- */

static void
add_decision(struct st_txns *t, const struct st_entry *e)
{
	struct st_tx *x = find_or_add(t, &e->txn);
	struct arena *a = arena_new(t->arena, "decision");
	struct st_decision *d = NEW(a, struct st_decision);

	ASSERT(!x->decision);
	d->arena = a;
	d->id = e->txn;
	d->index = e->index;
	d->stamp = e->stamp;
	d->outcome = e->outcome;
	d->deadline = e->deadline;
	d->n_participants = e->n_participants;
	d->participants = NEW_N(a, struct st_gid, e->n_participants + 1);
	d->told = NEW_N(a, bool, e->n_participants + 1);
	d->telling = NEW_N(a, bool, e->n_participants + 1);
	for (uint32_t i = 0; i < e->n_participants; i++)
		d->participants[i] = e->participants[i];
	x->decision = d;
	list_push(&t->decisions, &d->link);
}

static void
drop_decision(struct st_txns *t, struct st_tx *x)
{
	list_del(&x->decision->link);
	arena_free(x->decision->arena);
	x->decision = NULL;
	drop_if_bare(t, x);
}

/* Kept for those who might ask: an abort needs nobody's knowledge. */
static bool
is_settled(const struct st_decision *d)
{
	return d->settled || d->outcome == CL_ABORT ||
	       mutate("decision_dropped_early");
}

struct st_decision *
st_txns_unsettled(
    const struct st_txns *t, struct st_decision *d, struct st_txn *id)
{
	struct list *at = d ? d->link.next : t->decisions.next;

	for (; at != &t->decisions; at = at->next) {
		struct st_decision *x =
		    LIST_ENTRY(at, struct st_decision, link);

		if (x->settled || x->outcome == CL_ABORT)
			continue;
		*id = x->id;
		return x;
	}
	return NULL;
}

/* ---- appended ---- */

static void
note_resolved(struct st_txns *t, const struct st_entry *e)
{
	struct st_tx *x = find_or_add(t, &e->txn);

	if (!x->resolved) {
		list_push(&t->known, &x->known);
		x->resolved = e->index;
		x->until = e->deadline;
	} else if (e->deadline > x->until) {
		x->until = e->deadline;
	}
	if (!t->next || x->until < t->next)
		t->next = x->until;
}

void
st_txns_begin(struct st_txns *t, const struct st_entry *e)
{
	const struct st_tx *x = st_txns_find(t, &e->txn);

	switch (e->kind) {
	case ST_ENTRY_PREPARE:
		if (!st_txns_part(t, &e->txn, e->part))
			add_part(t, e);
		break;
	case ST_ENTRY_DECIDE:
		if (!x || !x->decision)
			add_decision(t, e);
		break;
	case ST_ENTRY_RESOLVE:
		if (!mutate("resolved_forgotten"))
			note_resolved(t, e);
		break;
	default:
		break;
	}
}

/* ---- applied ---- */

static struct st_meta_op *
add_op(struct arena *a, struct st_effect *out)
{
	if (out->n_ops == out->cap_ops) {
		uint32_t cap = out->cap_ops ? out->cap_ops * 2 : 4;

		out->ops = arena_grow(a, out->ops,
		    out->cap_ops * sizeof *out->ops, cap * sizeof *out->ops);
		out->cap_ops = cap;
	}
	out->ops[out->n_ops] = (struct st_meta_op){.del = false};
	return &out->ops[out->n_ops++];
}

static void
take_prepare(struct st_txns *t, struct arena *a, struct st_gid gid,
    const struct st_entry *e, struct st_effect *out)
{
	struct st_tx *x = st_txns_find(t, &e->txn);
	struct st_part *p = st_txns_part(t, &e->txn, e->part);
	struct st_meta_op *op;
	struct buf key;

	/* Resolved by an entry before it. */
	if (x && x->resolved && x->resolved < e->index) {
		if (p && p->e.index == e->index)
			p->gone = e->index;
		return;
	}
	if (p && p->e.index != e->index)
		return;
	if (!p)
		p = add_part(t, e);
	op = add_op(a, out);
	buf_init(&key, a);
	st_key_part(&key, gid, &e->txn, e->part);
	op->key = buf_view(&key);
	op->value = arena_str(a, p->bytes);
}

static void
put_decision(struct arena *a, struct st_gid gid, const struct st_txn *id,
    const struct st_decision *d, struct st_effect *out)
{
	struct st_meta_op *op = add_op(a, out);
	struct buf key, value;

	buf_init(&key, a);
	st_key_decision(&key, gid, id);
	buf_init(&value, a);
	buf_u8(&value, FORMAT);
	buf_le64(&value, d->index);
	buf_le64(&value, d->stamp);
	buf_u8(&value, d->outcome);
	buf_le64(&value, d->deadline);
	buf_u8(&value, d->settled);
	buf_varint(&value, d->n_participants);
	for (uint32_t i = 0; i < d->n_participants; i++)
		st_gid_put(&value, d->participants[i]);
	op->key = buf_view(&key);
	op->value = buf_view(&value);
}

/* The first one counts, with all that it brings; a later one does nothing. */
static void
take_decide(struct st_txns *t, struct arena *a, struct st_gid gid,
    const struct st_entry *e, struct st_effect *out)
{
	struct st_tx *x = st_txns_find(t, &e->txn);

	out->counts = true;
	if (x && x->decision && x->decision->index != e->index) {
		if (!mutate("txn_second_decide")) {
			out->counts = false;
			return;
		}
		drop_decision(t, x);
		x = NULL;
	}
	if (!x || !x->decision)
		add_decision(t, e);
	x = st_txns_find(t, &e->txn);
	put_decision(a, gid, &e->txn, x->decision, out);
	if (e->outcome == CL_ABORT)
		return;
	out->n_writes = e->n_writes;
	out->writes = arena_dup(a, e->writes, e->n_writes * sizeof *e->writes);
}

static void
resolve_part(struct arena *a, struct st_gid gid, struct st_part *p,
    const struct st_entry *e, struct st_effect *out)
{
	struct st_meta_op *op = add_op(a, out);
	struct cl_write *all;
	struct buf key;

	p->gone = e->index;
	buf_init(&key, a);
	st_key_part(&key, gid, &e->txn, p->e.part);
	op->key = buf_view(&key);
	op->del = true;
	if (e->outcome == CL_ABORT || !p->e.n_writes)
		return;
	all = NEW_N(a, struct cl_write, out->n_writes + p->e.n_writes);
	if (out->n_writes)
		memcpy(all, out->writes, out->n_writes * sizeof *all);
	for (uint32_t i = 0; i < p->e.n_writes; i++) {
		struct cl_write *w = &all[out->n_writes + i];

		w->kind = p->e.writes[i].kind;
		w->key = arena_str(a, p->e.writes[i].key);
		w->value = arena_str(a, p->e.writes[i].value);
		if (w->kind == CL_WRITE_PUT)
			cl_row_set_stamp(
			    (uint8_t *)(uintptr_t)w->value.p, e->stamp);
	}
	out->writes = all;
	out->n_writes += p->e.n_writes;
}

static void
take_resolve(struct st_txns *t, struct arena *a, struct st_gid gid,
    const struct st_entry *e, struct st_effect *out)
{
	struct st_tx *x = find_or_add(t, &e->txn);
	struct st_meta_op *op;
	struct buf key, value;

	LIST_FOREACH(at, &x->parts)
	{
		struct st_part *p = LIST_ENTRY(at, struct st_part, mate);

		if (!p->gone && p->e.index < e->index)
			resolve_part(a, gid, p, e, out);
	}
	if (mutate("resolved_forgotten"))
		return;
	note_resolved(t, e);
	op = add_op(a, out);
	buf_init(&key, a);
	st_key_resolved(&key, gid, &e->txn);
	buf_init(&value, a);
	buf_u8(&value, FORMAT);
	buf_le64(&value, x->resolved);
	buf_le64(&value, x->until);
	op->key = buf_view(&key);
	op->value = buf_view(&value);
}

static void
take_settled(struct st_txns *t, struct arena *a, struct st_gid gid,
    const struct st_entry *e, struct st_effect *out)
{
	for (uint32_t i = 0; i < e->n_txns; i++) {
		struct st_tx *x = st_txns_find(t, &e->txns[i]);

		if (!x || !x->decision || x->decision->settled)
			continue;
		x->decision->settled = true;
		put_decision(a, gid, &e->txns[i], x->decision, out);
	}
}

static void
forget_resolved(struct st_txns *t, struct arena *a, struct st_gid gid,
    cl_stamp stamp, struct st_effect *out)
{
	cl_stamp next = 0;

	LIST_FOREACH_SAFE(at, &t->known)
	{
		struct st_tx *x = LIST_ENTRY(at, struct st_tx, known);
		struct st_meta_op *op;
		struct buf key;

		/* One that is only appended is not known yet. */
		if (x->until >= stamp || x->resolved > t->taken) {
			if (!next || x->until < next)
				next = x->until;
			continue;
		}
		op = add_op(a, out);
		buf_init(&key, a);
		st_key_resolved(&key, gid, &x->id);
		op->key = buf_view(&key);
		op->del = true;
		list_del(&x->known);
		x->resolved = 0;
		x->until = 0;
		drop_if_bare(t, x);
	}
	t->next = next;
}

static void
forget_decisions(struct st_txns *t, struct arena *a, struct st_gid gid,
    cl_stamp stamp, struct st_effect *out)
{
	LIST_FOREACH_SAFE(at, &t->decisions)
	{
		struct st_decision *d =
		    LIST_ENTRY(at, struct st_decision, link);
		struct st_meta_op *op;
		struct buf key;

		if (d->stamp + t->retention > stamp)
			return;
		if (!is_settled(d) || d->index > t->taken)
			continue;
		op = add_op(a, out);
		buf_init(&key, a);
		st_key_decision(&key, gid, &d->id);
		op->key = buf_view(&key);
		op->del = true;
		drop_decision(t, st_txns_find(t, &d->id));
	}
}

void
st_txns_take(struct st_txns *t, struct arena *a, struct st_gid gid,
    const struct st_entry *e, struct st_effect *out)
{
	memset(out, 0, sizeof *out);
	t->taken = e->index;
	switch (e->kind) {
	case ST_ENTRY_PREPARE:
		take_prepare(t, a, gid, e, out);
		break;
	case ST_ENTRY_DECIDE:
		take_decide(t, a, gid, e, out);
		break;
	case ST_ENTRY_RESOLVE:
		take_resolve(t, a, gid, e, out);
		break;
	case ST_ENTRY_SETTLED:
		take_settled(t, a, gid, e, out);
		break;
	default:
		break;
	}
	/* What members must agree on goes by stamps of entries. */
	if (t->next && t->next < e->stamp)
		forget_resolved(t, a, gid, e->stamp, out);
	forget_decisions(t, a, gid, e->stamp, out);
}

bool
st_txns_applied(struct st_txns *t, uint64_t index)
{
	bool went = false;

	ASSERT(index >= t->applied);
	t->applied = index;
	LIST_FOREACH_SAFE(at, &t->parts)
	{
		struct st_part *p = LIST_ENTRY(at, struct st_part, link);

		if (!p->gone || p->gone > index)
			continue;
		went = true;
		drop_part(t, p);
	}
	return went;
}

bool
st_txns_is_applied(const struct st_txns *t, uint64_t index)
{
	return index <= t->applied;
}

/* ---- leading, and not ---- */

void
st_txns_lock(struct st_txns *t)
{
	LIST_FOREACH(at, &t->parts)
	{
		struct st_part *p = LIST_ENTRY(at, struct st_part, link);

		if (!p->locks.queued && !p->gone)
			(void)st_locks_acquire(t->locks, &p->locks);
	}
}

/* One that is being applied counts as applied. */
static void
abandon_txn(struct st_txns *t, struct st_tx *x)
{
	if (x->resolved > t->taken) {
		list_del(&x->known);
		x->resolved = 0;
		x->until = 0;
	}
	if (x->decision && x->decision->index > t->taken)
		drop_decision(t, x);
	else
		drop_if_bare(t, x);
}

void
st_txns_abandon(struct st_txns *t)
{
	LIST_FOREACH_SAFE(at, &t->parts)
	{
		struct st_part *p = LIST_ENTRY(at, struct st_part, link);

		st_locks_release(t->locks, &p->locks);
		if (p->e.index > t->taken)
			drop_part(t, p);
	}
	for (size_t i = 0; i < t->n_buckets; i++)
		LIST_FOREACH_SAFE(at, &t->buckets[i])
	abandon_txn(t, LIST_ENTRY(at, struct st_tx, chain));
}

/* ---- records ---- */

bool
st_txns_owns(struct str key)
{
	if (!key.len)
		return false;
	switch (key.p[0]) {
	case 'D':
	case 'E':
		return key.len == 1 + ST_TXN_LEN;
	case 'Y':
		return key.len == 1 + ST_TXN_LEN + 4;
	default:
		return false;
	}
}

static bool
load_decision(struct arena *a, struct st_txns *t, const struct st_txn *id,
    struct str value)
{
	struct cur c = cur_of(value);
	struct st_entry e = {.kind = ST_ENTRY_DECIDE, .txn = *id};
	unsigned format = cur_u8(&c);
	struct st_gid *list;
	bool settled;
	uint64_t n;

	e.index = cur_le64(&c);
	e.stamp = cur_le64(&c);
	e.outcome = cur_u8(&c);
	e.deadline = cur_le64(&c);
	settled = cur_u8(&c) != 0;
	n = cur_varint(&c);
	if (!cur_ok(&c) || format != FORMAT || n > c.left / ST_GID_LEN)
		return false;
	list = NEW_N(a, struct st_gid, n + 1);
	for (uint64_t i = 0; i < n; i++)
		st_gid_get(&c, &list[i]);
	e.participants = list;
	e.n_participants = (uint32_t)n;
	if (!cur_done(&c) || find_or_add(t, id)->decision)
		return false;
	add_decision(t, &e);
	st_txns_find(t, id)->decision->settled = settled;
	return true;
}

static bool
load_resolved(struct st_txns *t, const struct st_txn *id, struct str value)
{
	struct cur c = cur_of(value);
	struct st_entry e = {.kind = ST_ENTRY_RESOLVE, .txn = *id};
	unsigned format = cur_u8(&c);

	e.index = cur_le64(&c);
	e.deadline = cur_le64(&c);
	if (!cur_done(&c) || format != FORMAT)
		return false;
	note_resolved(t, &e);
	return true;
}

static bool
load_part(struct arena *a, struct st_txns *t, const struct st_txn *id,
    uint32_t part, struct str value)
{
	struct st_entry e;

	if (st_entry_decode(a, value, &e) || e.kind != ST_ENTRY_PREPARE ||
	    !st_txn_eq(&e.txn, id) || e.part != part)
		return false;
	add_part(t, &e);
	return true;
}

struct err *
st_txns_load(
    struct arena *a, struct st_txns *t, struct str key, struct str value)
{
	struct cur c = cur_of(str_skip(key, 1));
	struct st_txn id = st_txn_get(&c);
	bool ok = st_txns_owns(key);

	if (ok && key.p[0] == 'D')
		ok = load_decision(a, t, &id, value);
	else if (ok && key.p[0] == 'E')
		ok = load_resolved(t, &id, value);
	else if (ok)
		ok = load_part(a, t, &id, cur_be32(&c), value);
	return ok ? NULL
		  : ERR(a, ERRCODE_DATA_CORRUPTED,
			"a record of a transaction is malformed");
}

static int
part_cmp(const struct st_part *a, const struct st_part *b)
{
	return a->e.index < b->e.index ? -1 : a->e.index > b->e.index;
}

/* Records come by their keys; entries came by index. */
static void
sort_parts(struct st_txns *t)
{
	struct list sorted, *at;

	list_init(&sorted);
	while ((at = list_pop(&t->parts))) {
		struct st_part *p = LIST_ENTRY(at, struct st_part, link);
		struct list *to = sorted.prev;

		while (to != &sorted &&
		       part_cmp(LIST_ENTRY(to, struct st_part, link), p) > 0)
			to = to->prev;
		list_push(to->next, at);
	}
	while ((at = list_pop(&sorted)))
		list_push(&t->parts, at);
}

static void
sort_decisions(struct st_txns *t)
{
	struct list sorted, *at;

	list_init(&sorted);
	while ((at = list_pop(&t->decisions))) {
		struct st_decision *d =
		    LIST_ENTRY(at, struct st_decision, link);
		struct list *to = sorted.prev;

		while (
		    to != &sorted &&
		    LIST_ENTRY(to, struct st_decision, link)->stamp > d->stamp)
			to = to->prev;
		list_push(to->next, at);
	}
	while ((at = list_pop(&sorted)))
		list_push(&t->decisions, at);
}

void
st_txns_loaded(struct st_txns *t, uint64_t applied)
{
	t->taken = t->applied = applied;
	sort_parts(t);
	sort_decisions(t);
}

/* ---- what there is ---- */

cl_stamp
st_txns_next_forget(const struct st_txns *t)
{
	cl_stamp next = t->next ? t->next + 1 : 0;

	LIST_FOREACH(at, &t->decisions)
	{
		const struct st_decision *d =
		    LIST_ENTRY(at, struct st_decision, link);

		if (!is_settled(d))
			continue;
		if (!next || d->stamp + t->retention < next)
			next = d->stamp + t->retention;
		break;
	}
	return next;
}
