#include "regress/sim/invariants.h"

#include <inttypes.h>
#include <stdarg.h>
#include <xxhash.h>

#include "base/err.h"
#include "base/map.h"
#include "storage/entry.h"

/* An entry as whoever applied it first saw it. */
struct first {
	uint64_t hash;
	struct st_ballot ballot;
	cl_stamp stamp;
	uint32_t member;
};

/* A ballot that was elected.  Answers may be late, so that one below another
 * is elected after it. */
struct term {
	struct st_ballot ballot;
	uint32_t member;
	uint64_t high; /* applied by anybody before a higher one was elected */
};

struct copy { /* a member's */
	struct copy *next;
	uint32_t member;
	uint32_t boot;
	uint64_t applied;
	struct st_ballot ballot; /* it was last elected in */
};

struct group {
	struct st_gid gid;
	struct first *log; /* of index i + 1 */
	uint64_t n_log, cap_log;
	struct term *terms;
	size_t n_terms, cap_terms;
	struct term *tops; /* those that were the highest when elected */
	size_t n_tops, cap_tops;
	struct copy *copies;
	struct map *ops;
};

/* A transaction over several groups, as entries of any of them tell of it. */
struct txn {
	struct st_ballot begun; /* by its Prepares */
	uint8_t decision;       /* the first one */
	uint8_t resolved;       /* before a decision was heard of */
};

struct invariants {
	struct arena *arena;
	struct arena *scratch;
	struct map *groups;
	struct map *txns;
	bool rebooted; /* somebody: it may have applied what nobody told of */
	void (*fail)(void *arg, const char *text);
	void *arg;
	struct inv_counts counts;
};

static void complain(struct invariants *v, const struct inv_event *e,
    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static void
complain(struct invariants *v, const struct inv_event *e, const char *fmt, ...)
{
	va_list ap;
	char *what;

	va_start(ap, fmt);
	what = arena_vprintf(v->arena, fmt, ap);
	va_end(ap);
	v->fail(v->arg,
	    arena_printf(v->arena,
		"group (placement %u, slot %u, epoch %u), member %u, index "
		"%" PRIu64 ": %s",
		e->gid.placement, e->gid.slot, e->gid.epoch, e->member,
		e->index, what));
}

static const char *
show(struct invariants *v, const struct st_ballot *b)
{
	return arena_printf(v->arena, "(%" PRIu64 ", %u, %u)", b->round,
	    b->member, b->incarnation);
}

/* ---- what is known of a group ---- */

static struct group *
group_of(struct invariants *v, struct st_gid gid)
{
	struct group *g;
	struct buf b;

	arena_reset(v->scratch);
	buf_init(&b, v->scratch);
	st_gid_put(&b, gid);
	g = map_get(v->groups, buf_view(&b));
	if (g)
		return g;
	g = NEW(v->arena, struct group);
	g->gid = gid;
	g->ops = map_new(v->arena);
	map_put(v->groups, buf_view(&b), g);
	v->counts.groups++;
	return g;
}

static struct copy *
copy_of(struct invariants *v, struct group *g, uint32_t member)
{
	struct copy *c;

	for (c = g->copies; c; c = c->next)
		if (c->member == member)
			return c;
	c = NEW(v->arena, struct copy);
	c->member = member;
	c->next = g->copies;
	g->copies = c;
	return c;
}

static const struct term *
term_of(const struct group *g, const struct st_ballot *b)
{
	for (size_t i = g->n_terms; i > 0; i--)
		if (st_ballot_cmp(&g->terms[i - 1].ballot, b) == 0)
			return &g->terms[i - 1];
	return NULL;
}

/* What was applied before any ballot above `b` was elected: it was committed
 * below that one, so that `b` must have it. */
static uint64_t
high_below(const struct group *g, const struct st_ballot *b)
{
	size_t i = g->n_tops;

	while (i > 0 && st_ballot_cmp(&g->tops[i - 1].ballot, b) > 0)
		i--;
	if (i == g->n_tops)
		return g->n_log;
	return i > 0 ? g->tops[i - 1].high : 0;
}

/* ---- elections ---- */

static void
push_term(struct invariants *v, struct term **list, size_t *n, size_t *cap,
    const struct term *t)
{
	if (*n == *cap) {
		size_t more = *cap ? 2 * *cap : 8;

		*list = arena_grow(v->arena, *list, *cap * sizeof **list,
		    more * sizeof **list);
		*cap = more;
	}
	(*list)[(*n)++] = *t;
}

static void
add_term(struct invariants *v, struct group *g, const struct inv_event *e)
{
	struct term t = {.ballot = e->ballot, .member = e->member};
	struct term *top = g->n_tops ? &g->tops[g->n_tops - 1] : NULL;

	push_term(v, &g->terms, &g->n_terms, &g->cap_terms, &t);
	if (top && st_ballot_cmp(&top->ballot, &e->ballot) >= 0)
		return;
	if (top)
		top->high = g->n_log;
	push_term(v, &g->tops, &g->n_tops, &g->cap_tops, &t);
}

void
invariants_elected(struct invariants *v, const struct inv_event *e)
{
	struct group *g = group_of(v, e->gid);
	struct copy *c = copy_of(v, g, e->member);
	const struct term *same = term_of(g, &e->ballot);
	uint64_t high = high_below(g, &e->ballot);

	v->rebooted |= e->boot > 1;
	v->counts.elections++;
	if (same)
		complain(v, e, "ballot %s was won by member %u already",
		    show(v, &e->ballot), same->member);
	if (e->ballot.member != e->member)
		complain(
		    v, e, "ballot %s is another member's", show(v, &e->ballot));
	if (st_ballot_cmp(&c->ballot, &e->ballot) >= 0)
		complain(v, e, "ballot %s is not above its last, %s",
		    show(v, &e->ballot), show(v, &c->ballot));
	if (e->index < high)
		complain(v, e,
		    "elected with ballot %s, but %" PRIu64
		    " was applied before",
		    show(v, &e->ballot), high);
	c->ballot = e->ballot;
	add_term(v, g, e);
}

/* ---- entries ---- */

/* An operation id is looked up under the locks of its keys immediately before
 * each append, so that it is in the log once, with whatever outcome. */
static void
check_op(struct invariants *v, struct group *g, const struct inv_event *e,
    const struct st_op *op)
{
	static const struct st_op none;
	struct buf b;
	struct first *before;

	if (memcmp(op->session, none.session, sizeof op->session) == 0)
		return;
	buf_init(&b, v->scratch);
	buf_put(&b, op->session, sizeof op->session);
	buf_le64(&b, op->sequence);
	before = map_get(g->ops, buf_view(&b));
	if (before) {
		complain(v, e,
		    "operation %" PRIu64 " of a session is in the log twice",
		    op->sequence);
		return;
	}
	/* Any pointer that is not NULL will do. */
	map_put(g->ops, buf_view(&b), g);
}

static struct txn *
txn_of(struct invariants *v, const struct st_txn *id)
{
	struct txn *t;
	struct buf b;

	buf_init(&b, v->scratch);
	st_txn_put(&b, id);
	t = map_get(v->txns, buf_view(&b));
	if (t)
		return t;
	t = NEW(v->arena, struct txn);
	map_put(v->txns, buf_view(&b), t);
	return t;
}

/* It is committed in the ballot in which it was begun, and resolved as the
 * first Decide says, which was applied before. */
static void
check_txn(struct invariants *v, const struct inv_event *e,
    const struct st_entry *entry)
{
	struct txn *t = txn_of(v, &entry->txn);

	if (entry->kind == ST_ENTRY_PREPARE) {
		t->begun = entry->coordinator;
	} else if (entry->kind == ST_ENTRY_DECIDE && !t->decision) {
		t->decision = entry->outcome;
		if (t->resolved && t->resolved != t->decision)
			complain(v, e,
			    "a transaction is decided with outcome %u, and was "
			    "resolved otherwise",
			    t->decision);
		if (entry->outcome == CL_COMMIT && t->begun.round &&
		    st_ballot_cmp(&t->begun, &entry->ballot) != 0)
			complain(v, e,
			    "a transaction of ballot %s was committed in "
			    "ballot %s",
			    show(v, &t->begun), show(v, &entry->ballot));
	} else if (entry->kind == ST_ENTRY_RESOLVE && !t->decision &&
		   v->rebooted) {
		t->resolved = entry->outcome;
	} else if (entry->kind == ST_ENTRY_RESOLVE &&
		   t->decision != entry->outcome) {
		complain(v, e,
		    "a transaction was resolved with outcome %u, and the "
		    "decision is %u",
		    entry->outcome, t->decision);
	}
}

static void
check_first(struct invariants *v, struct group *g, const struct inv_event *e,
    struct first *f)
{
	const struct first *before = e->index > 1 && g->log[e->index - 2].member
					 ? &g->log[e->index - 2]
					 : NULL;
	struct st_entry entry;
	struct err *err = st_entry_decode(v->scratch, e->entry, &entry);

	if (err) {
		complain(v, e, "the entry is malformed: %s", err->message);
		return;
	}
	f->stamp = entry.stamp;
	if (entry.index != e->index ||
	    st_ballot_cmp(&entry.ballot, &e->ballot) != 0)
		complain(v, e, "the entry says index %" PRIu64 ", ballot %s",
		    entry.index, show(v, &entry.ballot));
	if (!term_of(g, &entry.ballot))
		complain(v, e, "its ballot %s was never elected",
		    show(v, &entry.ballot));
	if (before && st_ballot_cmp(&before->ballot, &entry.ballot) > 0)
		complain(v, e, "its ballot %s is below that before, %s",
		    show(v, &entry.ballot), show(v, &before->ballot));
	if (before && before->stamp >= entry.stamp)
		complain(v, e, "its stamp is not above that before");
	if (entry.kind == ST_ENTRY_PROPOSAL || entry.with_op)
		check_op(v, g, e, &entry.op);
	if (st_entry_of_txn(entry.kind) && entry.kind != ST_ENTRY_SETTLED)
		check_txn(v, e, &entry);
}

static struct first *
new_first(struct invariants *v, struct group *g)
{
	if (g->n_log == g->cap_log) {
		uint64_t cap = g->cap_log ? 2 * g->cap_log : 64;

		g->log = arena_grow(v->arena, g->log,
		    g->cap_log * sizeof *g->log, cap * sizeof *g->log);
		g->cap_log = cap;
	}
	return &g->log[g->n_log++];
}

static void
take_first(struct invariants *v, struct group *g, const struct inv_event *e,
    uint64_t hash)
{
	struct first *f = &g->log[e->index - 1];

	v->counts.entries++;
	if (f->ballot.round && st_ballot_cmp(&f->ballot, &e->ballot) != 0)
		complain(v, e,
		    "its ballot is %s, and %s in what a copy was resynced to",
		    show(v, &e->ballot), show(v, &f->ballot));
	*f = (struct first){
	    .hash = hash, .ballot = e->ballot, .member = e->member};
	check_first(v, g, e, f);
}

static void
check_same(struct invariants *v, const struct group *g,
    const struct inv_event *e, uint64_t hash)
{
	const struct first *f = &g->log[e->index - 1];

	if (f->hash == hash)
		return;
	complain(v, e,
	    "applied another entry, of ballot %s, than member %u before it, of "
	    "ballot %s",
	    show(v, &e->ballot), f->member, show(v, &f->ballot));
}

/* A process that comes back may have lost what it had applied, not flushed; or
 * have applied what it had no time to tell of. */
static bool
is_next(const struct copy *c, const struct inv_event *e)
{
	return e->index > 0 &&
	       (e->boot != c->boot || e->index == c->applied + 1);
}

/* Entries before it were applied by a process that died before it said so:
 * nothing is known of them yet. */
static void
skip_to(struct invariants *v, struct group *g, uint64_t index)
{
	while (g->n_log < index)
		*new_first(v, g) = (struct first){.hash = 0};
}

void
invariants_applied(struct invariants *v, const struct inv_event *e)
{
	struct group *g = group_of(v, e->gid);
	struct copy *c = copy_of(v, g, e->member);
	uint64_t hash = XXH3_64bits(e->entry.p, e->entry.len);

	v->rebooted |= e->boot > 1;
	if (!is_next(c, e))
		complain(v, e, "applied after index %" PRIu64 "%s", c->applied,
		    e->boot == c->boot ? "" : ", before a crash");
	c->applied = e->index;
	c->boot = e->boot;
	if (e->index == 0)
		return;
	skip_to(v, g, e->index);
	if (g->log[e->index - 1].member)
		check_same(v, g, e, hash);
	else
		take_first(v, g, e, hash);
}

void
invariants_reset(struct invariants *v, const struct inv_event *e)
{
	struct group *g = group_of(v, e->gid);
	struct copy *c = copy_of(v, g, e->member);

	v->counts.resyncs++;
	if (e->index > g->n_log && !term_of(g, &e->ballot))
		complain(v, e, "resynced to what nobody has applied: %" PRIu64,
		    g->n_log);
	/* A leader gave what it had applied, and died before it said so. */
	if (e->index > g->n_log) {
		skip_to(v, g, e->index);
		g->log[e->index - 1].ballot = e->ballot;
	}
	c->applied = e->index;
	c->boot = e->boot;
}

struct invariants *
invariants_new(
    struct arena *a, void (*fail)(void *arg, const char *text), void *arg)
{
	struct invariants *v = NEW(a, struct invariants);

	v->arena = a;
	v->scratch = arena_new(a, "invariants");
	v->groups = map_new(a);
	v->txns = map_new(a);
	v->fail = fail;
	v->arg = arg;
	return v;
}

void
invariants_counts(const struct invariants *v, struct inv_counts *c)
{
	*c = v->counts;
}
