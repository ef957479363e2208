#include "gateway/t/fake_node.h"

#include <stdlib.h>

#include "base/net.h"
#include "cluster/handshake.h"
#include "cluster/key.h"
#include "cluster/row.h"
#include "expr/expr.h"
#include "expr/index.h"
#include "expr/table.h"

struct fake_conn {
	struct list link;
	struct fake_node *node;
	struct net_conn *net;
	uint8_t hello[CL_NONCE], welcome[CL_NONCE];
	bool open;
	/* A poll that waits for news. */
	uint64_t poll_request, poll_since;
};

/* A proposal that waits for fake_release. */
struct fake_held {
	struct fake_conn *conn;
	uint64_t request;
	const struct cl_propose *m;
};

/* ---- the store ---- */

static size_t
row_at(const struct fake_store *s, struct str key, bool *found)
{
	size_t lo = 0, hi = s->n_rows;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (str_cmp(s->rows[mid].key, key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*found = lo < s->n_rows && str_eq(s->rows[lo].key, key);
	return lo;
}

const struct fake_row *
fake_find(const struct fake_store *s, struct str key)
{
	bool found;
	size_t i = row_at(s, key, &found);

	return found ? &s->rows[i] : NULL;
}

size_t
fake_count(const struct fake_store *s, uint32_t table)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_rows; i++) {
		uint32_t t;
		uint16_t slot;
		struct str rest;

		if (cl_key_split(s->rows[i].key, &t, &slot, &rest))
			n += t == table;
	}
	return n;
}

static void
store_put(struct fake_store *s, struct str key, struct str value)
{
	bool found;
	size_t i = row_at(s, key, &found);
	char *copy = arena_dup(s->arena, value.p, value.len);

	cl_row_set_stamp(copy, s->stamp);
	if (!found) {
		if (s->n_rows == s->cap_rows) {
			size_t cap = s->cap_rows ? 2 * s->cap_rows : 64;

			s->rows = arena_grow(s->arena, s->rows,
			    s->cap_rows * sizeof *s->rows,
			    cap * sizeof *s->rows);
			s->cap_rows = cap;
		}
		memmove(s->rows + i + 1, s->rows + i,
		    (s->n_rows - i) * sizeof *s->rows);
		s->n_rows++;
		s->rows[i].key = arena_str(s->arena, key);
	}
	s->rows[i].value = str_of(copy, value.len);
}

static void
store_del(struct fake_store *s, struct str key)
{
	bool found;
	size_t i = row_at(s, key, &found);

	if (!found)
		return;
	s->n_rows--;
	memmove(
	    s->rows + i, s->rows + i + 1, (s->n_rows - i) * sizeof *s->rows);
}

static void catalog_news(struct fake_store *s);

/* The catalog's rows make the catalog. */
static void
store_objects(struct fake_store *s, const struct cl_propose *p)
{
	const struct cl_object **list =
	    NEW_N(s->arena, const struct cl_object *, p->n_writes + 1);
	struct cl_catalog *next;
	size_t n = 0;

	for (uint32_t i = 0; i < p->n_writes; i++) {
		const struct cl_write *w = &p->writes[i];
		struct cl_object *o = NEW(s->arena, struct cl_object);
		const struct fake_row *row;
		enum cl_kind kind;

		if (!cl_object_key_read(w->key, &kind, &o->id))
			continue;
		row = fake_find(s, w->key);
		if (row &&
		    cl_object_row_read(s->arena, row->key, row->value, o))
			abort();
		o->kind = kind;
		o->deleted = !row;
		o->version = s->index;
		list[n++] = o;
	}
	next = cl_catalog_apply(s->catalog, s->index, list, n);
	cl_catalog_unref(s->catalog);
	s->catalog = next;
	catalog_news(s);
}

static void
store_apply(struct fake_store *s, const struct cl_propose *p)
{
	s->index++;
	s->stamp += CL_STAMP_OF_MS(1);
	for (uint32_t i = 0; i < p->n_writes; i++) {
		const struct cl_write *w = &p->writes[i];

		if (w->kind == CL_WRITE_PUT)
			store_put(s, w->key, w->value);
		else
			store_del(s, w->key);
	}
	if (p->placement == CL_PLACEMENT_CATALOG)
		store_objects(s, p);
}

void
fake_catalog(struct fake_store *s, const struct cl_propose *p)
{
	store_apply(s, p);
}

static bool
cond_holds(const struct fake_store *s, const struct cl_cond *c)
{
	const struct fake_row *row = fake_find(s, c->key);
	struct cl_row_head h = {0};

	if (row && !cl_row_head(row->value, &h))
		abort();
	switch (c->kind) {
	case CL_COND_ABSENT:
		return !row;
	case CL_COND_PRESENT:
		return row;
	case CL_COND_STAMP:
		return row && h.stamp == c->arg;
	default:
		return true;
	}
}

/* ---- frames ---- */

static void
conn_send(struct fake_conn *c, uint64_t request, uint16_t kind, const void *msg)
{
	struct fake_store *s = c->node->store;
	struct arena *a = arena_new(s->arena, "frame");
	struct cl_frame f = {.kind = kind,
	    .flags = CL_FLAG_REPLY,
	    .request = request,
	    .catalog = cl_catalog_version(s->catalog),
	    .stamp = s->stamp};
	struct buf b;

	buf_init(&b, a);
	cl_frame_begin(&b, &f);
	cl_msg_encode(&b, kind, msg);
	cl_frame_end(&b);
	net_send(s->world, c->net, buf_view(&b));
	arena_free(a);
}

static void
conn_fail(
    struct fake_conn *c, uint64_t request, const char *state, const char *text)
{
	struct cl_fail f = {.sqlstate = str_c(state), .message = str_c(text)};

	conn_send(c, request, CL_MSG_FAIL, &f);
}

static void
conn_close(struct fake_conn *c)
{
	list_del(&c->link);
	net_close(c->node->store->world, c->net);
	c->net = NULL;
}

void
fake_node_break(struct fake_node *n)
{
	while (!list_empty(&n->conns))
		conn_close(LIST_ENTRY(n->conns.next, struct fake_conn, link));
}

void
fake_node_stop(struct fake_node *n)
{
	net_unlisten(n->store->world, n->listener);
	n->listener = NULL;
	fake_node_break(n);
}

/* ---- handshake ---- */

static void
on_hello(
    struct fake_conn *c, const struct cl_frame *f, const struct cl_hello *m)
{
	struct fake_node *n = c->node;
	struct str key = n->wrong_key ? STR("another") : n->store->secret;
	const struct cl_cluster *cl = cl_catalog_cluster(n->store->catalog);
	uint8_t proof[CL_PROOF];
	struct cl_welcome w = {.cluster = str_of(cl->id, sizeof cl->id),
	    .id = n->member,
	    .incarnation = 1,
	    .format = CL_FORMAT,
	    .level = CL_FEATURE_LEVEL};

	memcpy(c->hello, m->nonce.p, CL_NONCE);
	world_random(n->store->world, c->welcome, CL_NONCE);
	cl_proof(key, 's', c->hello, c->welcome, proof);
	w.nonce = str_of(c->welcome, CL_NONCE);
	w.proof = str_of(proof, CL_PROOF);
	conn_send(c, f->request, CL_MSG_WELCOME, &w);
}

static void
on_prove(
    struct fake_conn *c, const struct cl_frame *f, const struct cl_prove *m)
{
	struct cl_ready ready = {.catalog = 0};

	if (!cl_proof_ok(
		c->node->store->secret, 'c', c->hello, c->welcome, m->proof)) {
		conn_fail(c, f->request, "28000", "wrong key");
		return;
	}
	c->open = true;
	c->node->n_greeted++;
	conn_send(c, f->request, CL_MSG_READY, &ready);
}

/* ---- requests ---- */

static void
give_catalog(struct fake_conn *c, uint64_t request, uint64_t since)
{
	struct fake_store *s = c->node->store;
	struct arena *a = arena_new(s->arena, "catalog");
	const struct cl_object *list[400];
	struct cl_catalog_page page = {
	    .version = cl_catalog_version(s->catalog)};

	page.n_objects =
	    (uint32_t)cl_catalog_changes(s->catalog, since, list, 400);
	page.objects = NEW_N(a, struct cl_object_change, page.n_objects + 1);
	for (uint32_t i = 0; i < page.n_objects; i++)
		cl_change_of(a, list[i], &page.objects[i]);
	conn_send(c, request, CL_MSG_CATALOG, &page);
	arena_free(a);
}

static void
on_catalog_get(struct fake_conn *c, const struct cl_frame *f,
    const struct cl_catalog_get *m)
{
	if (m->wait_us &&
	    m->since >= cl_catalog_version(c->node->store->catalog)) {
		c->poll_request = f->request;
		c->poll_since = m->since;
		return;
	}
	give_catalog(c, f->request, m->since);
}

static void
catalog_news(struct fake_store *s)
{
	for (uint32_t i = 0; i < s->n_nodes; i++) {
		LIST_FOREACH(at, &s->nodes[i]->conns)
		{
			struct fake_conn *c =
			    LIST_ENTRY(at, struct fake_conn, link);

			if (!c->poll_request || s->nodes[i]->deaf)
				continue;
			give_catalog(c, c->poll_request, c->poll_since);
			c->poll_request = 0;
		}
	}
}

static bool
has_copy(const struct cl_slot_map *g, uint32_t member)
{
	for (unsigned i = 0; i < g->n; i++) {
		if (g->members[i] == member)
			return true;
	}
	return false;
}

static uint32_t
leader_of(const struct fake_store *s, uint32_t placement, uint16_t slot,
    const struct cl_slot_map *g)
{
	uint32_t m = 0;

	if (placement == CL_PLACEMENT_CATALOG)
		m = s->catalog_led_by;
	else if (placement == CL_PLACEMENT_DEFAULT)
		m = s->led_by[slot];
	return m && has_copy(g, m) ? m : g->members[0];
}

/* at->leader: who leads, when that is why. */
static enum cl_refusal
why_refused(struct fake_node *n, struct cl_group_at *at, bool any)
{
	const struct cl_placement *p =
	    cl_catalog_placement(n->store->catalog, at->placement);
	const struct cl_slot_map *g;

	at->leader = 0;
	if (n->refuse) {
		n->refuse--;
		return n->reason;
	}
	if (!p || at->slot >= p->n_slots ||
	    p->slots[at->slot].epoch != at->epoch)
		return CL_REFUSE_EPOCH;
	g = &p->slots[at->slot];
	if (!has_copy(g, n->member))
		return CL_REFUSE_EPOCH;
	at->leader = n->points_at
			 ? n->points_at
			 : leader_of(n->store, at->placement, at->slot, g);
	if (at->leader == n->member || (any && !n->points_at))
		return CL_REFUSE_NONE;
	if (n->silent)
		at->leader = 0;
	return CL_REFUSE_LEADER;
}

static enum cl_refusal
refusal(struct fake_node *n, struct cl_group_at *at, bool any)
{
	enum cl_refusal r = why_refused(n, at, any);

	n->n_refused += r != CL_REFUSE_NONE;
	return r;
}

static struct cl_proposed *
decide(struct fake_store *s, const struct cl_propose *m)
{
	struct cl_proposed *out = NEW(s->arena, struct cl_proposed);

	out->outcome = CL_APPLIED;
	out->rows = NEW_N(s->arena, struct cl_row, m->n_conds + 1);
	for (uint32_t i = 0; i < m->n_conds; i++) {
		const struct fake_row *row = fake_find(s, m->conds[i].key);

		if (cond_holds(s, &m->conds[i]))
			continue;
		if (out->outcome == CL_APPLIED)
			out->failed = i;
		out->outcome = CL_FALSE;
		out->rows[out->n_rows++] =
		    (struct cl_row){arena_str(s->arena, m->conds[i].key),
			row ? row->value : STR_NONE};
	}
	if (out->outcome == CL_APPLIED)
		store_apply(s, m);
	out->stamp = s->stamp;
	out->index = s->index;
	return out;
}

static uint32_t
group_leader(const struct fake_store *s, const struct cl_propose *m)
{
	const struct cl_placement *p =
	    cl_catalog_placement(s->catalog, m->placement);

	return leader_of(s, m->placement, m->slot, &p->slots[m->slot]);
}

static void
carry_out(struct fake_conn *c, uint64_t request, const struct cl_propose *m)
{
	struct fake_node *n = c->node;
	struct fake_store *s = n->store;
	struct cl_proposed unknown = {.outcome = CL_UNKNOWN};
	struct cl_proposed *out;
	uint8_t op[24];

	memcpy(op, m->session.p, 16);
	memcpy(op + 16, &m->sequence, 8);
	out = map_get(s->results, str_of(op, sizeof op));
	if (out) {
		/* A kept result has no rows. */
		out->n_rows = out->failed = 0;
	} else {
		out = decide(s, m);
		map_put(s->results, str_of(op, sizeof op), out);
	}
	if (n->unknown) {
		n->unknown--;
		fake_elect(s, n->member);
		unknown.leader = n->silent ? 0 : group_leader(s, m);
		conn_send(c, request, CL_MSG_PROPOSED, &unknown);
	} else if (n->lose_answers) {
		n->lose_answers--;
	} else if (n->cut_answers) {
		n->cut_answers--;
		conn_close(c);
	} else {
		conn_send(c, request, CL_MSG_PROPOSED, out);
	}
}

/* Keeps the frame's message until it is released. */
static void
hold(struct fake_conn *c, const struct cl_frame *f)
{
	struct fake_node *n = c->node;
	struct arena *a = n->store->arena;
	struct fake_held *h = NEW(a, struct fake_held);
	void *m;

	if (cl_msg_decode(a, f->kind, arena_str(a, f->body), &m))
		abort();
	*h = (struct fake_held){c, f->request, m};
	n->hold--;
	n->held = h;
	n->n_held++;
}

void
fake_release(struct fake_node *n, enum cl_outcome outcome)
{
	struct cl_proposed no = {.outcome = (uint8_t)outcome};
	struct fake_held *h = n->held;

	n->held = NULL;
	if (outcome == CL_APPLIED)
		carry_out(h->conn, h->request, h->m);
	else
		conn_send(h->conn, h->request, CL_MSG_PROPOSED, &no);
}

static void
on_propose(
    struct fake_conn *c, const struct cl_frame *f, const struct cl_propose *m)
{
	struct fake_node *n = c->node;
	struct cl_group_at at = {m->placement, m->slot, m->epoch, 0};
	struct cl_proposed refused = {.outcome = CL_REFUSED};

	n->n_proposed++;
	n->n_resent += m->send > 1;
	n->last_send = m->send;
	n->last_deadline = m->deadline;
	refused.reason = (uint8_t)refusal(n, &at, false);
	refused.leader = at.leader;
	if (refused.reason)
		conn_send(c, f->request, CL_MSG_PROPOSED, &refused);
	else if (n->hold)
		hold(c, f);
	else
		carry_out(c, f->request, m);
}

/* All rows are in one store: the first part's group does it all. */
static void
on_commit(
    struct fake_conn *c, const struct cl_frame *f, const struct cl_commit *m)
{
	struct cl_propose *as = NEW(c->node->store->arena, struct cl_propose);

	*as = (struct cl_propose){.placement = m->parts[0].placement,
	    .slot = m->parts[0].slot,
	    .epoch = m->parts[0].epoch,
	    .session = m->session,
	    .sequence = m->sequence,
	    .send = m->send,
	    .deadline = m->deadline,
	    .answered = m->answered,
	    .conds = m->conds,
	    .n_conds = m->n_conds,
	    .writes = m->writes,
	    .n_writes = m->n_writes};
	c->node->last_age = m->age;
	on_propose(c, f, as);
}

static void
on_read(struct fake_conn *c, const struct cl_frame *f, const struct cl_read *m)
{
	struct fake_node *n = c->node;
	struct arena *a = arena_new(n->store->arena, "read");
	struct cl_rows out = {.n_rows = m->n_points};
	bool any = m->consistency == CL_ONE;

	n->n_read++;
	out.elsewhere = NEW_N(a, struct cl_group_at, m->n_points + 1);
	out.rows = NEW_N(a, struct cl_row, m->n_points + 1);
	if (n->read_rows && out.n_rows > n->read_rows)
		out.n_rows = n->read_rows;
	for (uint32_t i = 0; i < out.n_rows; i++) {
		const struct cl_point *p = &m->points[i];
		const struct fake_row *row = fake_find(n->store, p->key);
		struct cl_group_at at = {p->placement, p->slot, p->epoch, 0};
		enum cl_refusal why = refusal(n, &at, any);

		if (why == CL_REFUSE_LEADER)
			out.elsewhere[out.n_elsewhere++] = at;
		if (why)
			out.reason = (uint8_t)why;
		out.rows[i] =
		    (struct cl_row){p->key, row ? row->value : STR_NONE};
	}
	if (out.reason)
		out.n_rows = 0;
	conn_send(c, f->request, CL_MSG_ROWS, &out);
	arena_free(a);
}

/* ---- scans ---- */

struct fake_scan {
	struct fake_conn *conn;
	struct arena *arena;
	const struct cl_scan *m;
	const struct cl_index *index; /* NULL: by primary key */
	struct cl_row *rows;          /* all matches, in the scan's order */
	uint32_t n;
};

/* What a row's key is in the answer, and in *order what it is sorted by; false
 * when the index leaves it out. */
static bool
scan_key(struct fake_scan *s, const struct fake_row *row, uint16_t slot,
    struct str *key, struct str *order)
{
	struct str pk = str_skip(row->key, CL_KEY_PREFIX);
	struct ex_index *x;
	struct buf b;
	bool has;

	*key = row->key;
	*order = pk;
	if (!s->index)
		return true;
	buf_init(&b, s->arena);
	cl_key_prefix(&b, s->index->id, slot);
	if (ex_index_open(s->arena,
		cl_catalog_table(s->conn->node->store->catalog, s->m->table),
		s->index, &x) ||
	    ex_index_row_key(s->arena, x, pk, row->value, &b, &has))
		abort();
	buf_be16(&b, (uint16_t)pk.len);
	*key = buf_view(&b);
	*order = str_of(b.p + CL_KEY_PREFIX, b.len - CL_KEY_PREFIX - 2);
	return has;
}

static int
by_pk(const void *x, const void *y)
{
	const struct cl_row *a = x, *b = y;

	return str_cmp(
	    str_skip(a->key, CL_KEY_PREFIX), str_skip(b->key, CL_KEY_PREFIX));
}

static bool
scan_passes(struct fake_scan *s, const struct fake_row *row)
{
	const struct cl_table *t =
	    cl_catalog_table(s->conn->node->store->catalog, s->m->table);
	uint32_t *ids = NEW_N(s->arena, uint32_t, s->m->n_columns + 1);
	struct val *vals = NEW_N(s->arena, struct val, s->m->n_columns + 1);
	struct ex_ctx ctx = {.arena = s->arena, .env = &ex_env_default};
	struct expr *filter;
	bool yes = false;

	if (!s->m->filter.len)
		return true;
	for (uint32_t i = 0; i < s->m->n_columns; i++)
		ids[i] = s->m->columns[i].id;
	ctx.row = vals;
	ctx.n_row = s->m->n_columns;
	if (ex_decode(s->arena, s->m->filter, &filter) ||
	    ex_table_read(s->arena, t, str_skip(row->key, CL_KEY_PREFIX),
		row->value, ids, s->m->n_columns, vals) ||
	    ex_test(&ctx, filter, &yes))
		abort();
	return yes;
}

static void
scan_slot(struct fake_scan *s, uint16_t slot)
{
	const struct fake_store *store = s->conn->node->store;
	uint32_t first = s->n;

	for (size_t i = 0; i < store->n_rows; i++) {
		const struct fake_row *row = &store->rows[i];
		uint32_t table;
		uint16_t at;
		struct str pk, key, order;

		if (!cl_key_split(row->key, &table, &at, &pk) ||
		    table != s->m->table || at != slot ||
		    !scan_key(s, row, slot, &key, &order) ||
		    str_cmp(order, s->m->start) < 0 ||
		    (s->m->end.len && str_cmp(order, s->m->end) >= 0) ||
		    !scan_passes(s, row))
			continue;
		s->rows[s->n++] = (struct cl_row){key, row->value};
	}
	/* A slot's rows come in the order that is walked. */
	if (s->index)
		qsort(s->rows + first, s->n - first, sizeof *s->rows, by_pk);
}

static void
scan_order(struct fake_scan *s)
{
	if (!(s->m->flags & CL_SCAN_ORDERED))
		return;
	qsort(s->rows, s->n, sizeof *s->rows, by_pk);
	for (uint32_t i = 0; s->m->flags & CL_SCAN_REVERSE && i < s->n / 2;
	     i++) {
		struct cl_row r = s->rows[i];

		s->rows[i] = s->rows[s->n - 1 - i];
		s->rows[s->n - 1 - i] = r;
	}
}

/* The resume key is how many matches were given: good enough while rows stay
 * as they are. */
static void
on_scan(struct fake_conn *c, const struct cl_frame *f, const struct cl_scan *m,
    const struct cl_index *index, uint32_t from)
{
	struct fake_node *n = c->node;
	struct arena *a = arena_new(n->store->arena, "scan");
	struct fake_scan s = {.conn = c, .arena = a, .m = m, .index = index};
	struct cl_page page = {.done = 1};
	uint32_t at;

	n->n_scans += !from;
	n->n_pages++;
	if (m->filter.len && n->fail_filters) {
		n->fail_filters--;
		conn_fail(c, f->request, "0A000", "unknown function");
		arena_free(a);
		return;
	}
	s.rows = NEW_N(a, struct cl_row, n->store->n_rows + 1);
	page.elsewhere = NEW_N(a, struct cl_group_at, m->n_slots + 1);
	for (uint32_t i = 0; i < m->n_slots; i++) {
		struct cl_group_at group = {
		    m->placement, m->slots[i].slot, m->slots[i].epoch, 0};
		enum cl_refusal why =
		    refusal(n, &group, m->consistency == CL_ONE);

		if (why == CL_REFUSE_LEADER)
			page.elsewhere[page.n_elsewhere++] = group;
		if (why)
			page.reason = (uint8_t)why;
		scan_slot(&s, m->slots[i].slot);
	}
	scan_order(&s);
	if (m->limit && s.n > m->limit)
		s.n = (uint32_t)m->limit;
	page.n_rows = from < s.n ? s.n - from : 0;
	if (n->page_rows && page.n_rows > n->page_rows)
		page.n_rows = n->page_rows;
	page.rows = s.rows + from;
	at = from + page.n_rows;
	page.done = at >= s.n;
	if (!page.done)
		page.resume = str_of(&at, sizeof at);
	if (m->flags & CL_SCAN_COUNT) {
		page.count = page.n_rows;
		page.n_rows = 0;
	}
	if (page.reason)
		page = (struct cl_page){.reason = page.reason,
		    .elsewhere = page.elsewhere,
		    .n_elsewhere = page.n_elsewhere};
	conn_send(c, f->request, CL_MSG_PAGE, &page);
	arena_free(a);
}

static void
on_scan_more(struct fake_conn *c, const struct cl_frame *f, struct arena *a,
    const struct cl_scan_more *m)
{
	uint32_t from;
	void *scan;

	if (m->resume.len != sizeof from ||
	    cl_msg_decode(a, CL_MSG_SCAN, m->scan, &scan))
		abort();
	memcpy(&from, m->resume.p, sizeof from);
	on_scan(c, f, scan, NULL, from);
}

static void
on_scan_index(struct fake_conn *c, const struct cl_frame *f, struct arena *a,
    const struct cl_scan_index *m)
{
	const struct cl_index *x =
	    cl_catalog_index(c->node->store->catalog, m->index);
	struct cl_page gone = {.reason = CL_REFUSE_CATALOG};
	uint32_t from = 0;
	void *scan;

	if ((m->resume.len && m->resume.len != sizeof from) ||
	    cl_msg_decode(a, CL_MSG_SCAN, m->scan, &scan))
		abort();
	if (m->resume.len)
		memcpy(&from, m->resume.p, sizeof from);
	if (x)
		on_scan(c, f, scan, x, from);
	else
		conn_send(c, f->request, CL_MSG_PAGE, &gone);
}

/* ---- facts ---- */

static void
on_member_get(struct fake_conn *c, const struct cl_frame *f)
{
	struct fake_node *n = c->node;
	struct cl_member_seen others[FAKE_NODES_MAX];
	struct cl_member_info out = {
	    .serving = 1, .level = 1, .leading = n->member, .rows = 10};

	out.others = others;
	for (uint32_t m = 1; m <= n->store->n_nodes; m++)
		if (m != n->member)
			others[out.n_others++] =
			    (struct cl_member_seen){.member = m,
				.heard_us = 1000u * n->member,
				.follows = 1,
				.lag = n->member * 100 + m,
				.lag_us = 2000000};
	conn_send(c, f->request, CL_MSG_MEMBER_INFO, &out);
}

/* The slots of the default placement that it leads, two per page. */
static void
on_groups_get(struct fake_conn *c, const struct cl_frame *f,
    const struct cl_groups_get *m)
{
	struct fake_node *n = c->node;
	const struct cl_placement *p =
	    cl_catalog_placement(n->store->catalog, CL_PLACEMENT_DEFAULT);
	struct cl_group_info list[2];
	struct cl_groups out = {.groups = list};
	uint32_t slot = m->placement == p->id ? m->slot : 0;

	for (; slot < p->n_slots; slot++) {
		if (leader_of(n->store, p->id, (uint16_t)slot,
			&p->slots[slot]) != n->member)
			continue;
		if (out.n_groups == 2) {
			out.more = 1;
			out.next_placement = p->id;
			out.next_slot = (uint16_t)slot;
			break;
		}
		list[out.n_groups++] =
		    (struct cl_group_info){.placement = p->id,
			.slot = (uint16_t)slot,
			.epoch = p->slots[slot].epoch,
			.round = 7,
			.last = 20,
			.commit = 19,
			.applied = 18,
			.least = 9,
			.lag_us = 5000,
			.incomplete = 1};
	}
	conn_send(c, f->request, CL_MSG_GROUPS, &out);
}

static void
on_request(struct fake_conn *c, const struct cl_frame *f, struct arena *a,
    const void *m)
{
	struct cl_pong pong = {0};
	struct cl_status status = {.json = STR("{\"fake\":true}")};

	switch (f->kind) {
	case CL_MSG_PING:
		conn_send(c, f->request, CL_MSG_PONG, &pong);
		break;
	case CL_MSG_CATALOG_GET:
		on_catalog_get(c, f, m);
		break;
	case CL_MSG_PROPOSE:
		on_propose(c, f, m);
		break;
	case CL_MSG_COMMIT:
		on_commit(c, f, m);
		break;
	case CL_MSG_READ:
		on_read(c, f, m);
		break;
	case CL_MSG_SCAN:
		on_scan(c, f, m, NULL, 0);
		break;
	case CL_MSG_SCAN_MORE:
		on_scan_more(c, f, a, m);
		break;
	case CL_MSG_SCAN_INDEX:
		on_scan_index(c, f, a, m);
		break;
	case CL_MSG_MEMBER_GET:
		on_member_get(c, f);
		break;
	case CL_MSG_GROUPS_GET:
		on_groups_get(c, f, m);
		break;
	case CL_MSG_STATUS_GET:
		conn_send(c, f->request, CL_MSG_STATUS, &status);
		break;
	default:
		conn_fail(c, f->request, "08P01", "no such request");
	}
}

static void
frame_ev(void *owner, struct str bytes)
{
	struct fake_conn *c = owner;
	struct arena *a = arena_new(c->node->store->arena, "frame");
	struct cl_frame f;
	void *m;

	if (cl_frame_read(a, bytes, &f) || cl_msg_decode(a, f.kind, f.body, &m))
		abort();
	if (f.kind == CL_MSG_HELLO)
		on_hello(c, &f, m);
	else if (f.kind == CL_MSG_PROVE)
		on_prove(c, &f, m);
	else if (c->open && !c->node->deaf)
		on_request(c, &f, a, m);
	arena_free(a);
}

static void
closed_ev(void *owner, const char *why)
{
	struct fake_conn *c = owner;

	(void)why;
	list_del(&c->link);
}

static const struct net_events events = {
    .frame = frame_ev, .closed = closed_ev};

static void
accept_ev(void *owner, struct net_conn *net)
{
	struct fake_node *n = owner;
	struct fake_conn *c = NEW(n->store->arena, struct fake_conn);

	c->node = n;
	c->net = net;
	list_push(&n->conns, &c->link);
	net_adopt(n->store->world, net, &events, c);
}

/* ---- forming ---- */

void
fake_node_start(struct fake_node *n)
{
	struct fake_store *s = n->store;

	if (net_listen(s->world, s->arena, n->addr, accept_ev, n, &n->listener))
		abort();
}

static struct fake_node *
node_new(struct fake_store *s, const char *dir, uint32_t member)
{
	struct fake_node *n = NEW(s->arena, struct fake_node);

	n->store = s;
	n->member = member;
	n->addr = arena_printf(s->arena, "unix:%s/node-%u", dir, member);
	list_init(&n->conns);
	fake_node_start(n);
	s->nodes[s->n_nodes++] = n;
	return n;
}

/* Another member, and the default placement's slots dealt out anew. */
static void
store_grow(struct fake_store *s, struct fake_node *n)
{
	struct cl_ddl *d = cl_ddl_new(s->arena, s->catalog);
	struct cl_object o = {.kind = CL_MEMBER};
	struct cl_propose p = {.placement = 0};

	o.id = cl_ddl_member_id(d);
	o.u.member = (struct cl_member){.id = o.id,
	    .incarnation = 1,
	    .alias = str_c(arena_printf(s->arena, "skai%u", o.id)),
	    .addr = str_c(n->addr),
	    .level = CL_FEATURE_LEVEL};
	cl_ddl_create(d, &o);
	if (cl_ddl_propose(d, &p) || o.id != n->member)
		abort();
	store_apply(s, &p);
}

void
fake_store_init(
    struct fake_store *s, struct world *w, const struct fake_shape *shape)
{
	struct cl_bootstrap how = {.cluster = {1, 2, 3},
	    .slots = FAKE_SLOTS,
	    .replication = shape->copies,
	    .incarnation = 1,
	    .alias = STR("skai1")};
	struct cl_propose p = {.placement = 0};

	*s = (struct fake_store){.world = w, .secret = STR("a shared secret")};
	s->arena = arena_new(w->arena, "fake store");
	s->catalog = cl_catalog_new();
	s->results = map_new(s->arena);
	s->stamp = CL_STAMP_OF_MS(world_wall_us(w) / 1000);
	how.addr = str_c(node_new(s, shape->dir, 1)->addr);
	cl_catalog_bootstrap(s->arena, &how, &p);
	store_apply(s, &p);
	for (uint32_t i = 2; i <= shape->nodes; i++)
		store_grow(s, node_new(s, shape->dir, i));
}

void
fake_catalog_members(struct fake_store *s)
{
	struct cl_object o =
	    *cl_find(s->catalog, CL_PLACEMENT, CL_PLACEMENT_CATALOG);
	struct cl_slot_map slot = o.u.placement.slots[0];
	struct cl_ddl *d = cl_ddl_new(s->arena, s->catalog);
	struct cl_propose p = {.placement = 0};

	slot.n = 0;
	for (uint32_t i = 0; i < s->n_nodes; i++)
		slot.members[slot.n++] = s->nodes[i]->member;
	o.u.placement.slots = &slot;
	cl_ddl_replace(d, &o);
	if (cl_ddl_propose(d, &p))
		abort();
	store_apply(s, &p);
}

/* The first member from this one's place on that listens. */
static uint32_t
elected(const struct fake_store *s, const struct cl_slot_map *g, uint32_t gone)
{
	unsigned at = 0;

	while (at < g->n && g->members[at] != gone)
		at++;
	for (unsigned i = 1; i <= g->n; i++) {
		uint32_t m = g->members[(at + i) % g->n];

		if (m != gone && s->nodes[m - 1]->listener)
			return m;
	}
	return 0;
}

void
fake_elect(struct fake_store *s, uint32_t gone)
{
	const struct cl_placement *p =
	    cl_catalog_placement(s->catalog, CL_PLACEMENT_DEFAULT);
	const struct cl_placement *c =
	    cl_catalog_placement(s->catalog, CL_PLACEMENT_CATALOG);

	for (uint16_t i = 0; i < p->n_slots; i++) {
		if (leader_of(s, p->id, i, &p->slots[i]) == gone)
			s->led_by[i] = elected(s, &p->slots[i], gone);
	}
	if (leader_of(s, c->id, 0, &c->slots[0]) == gone)
		s->catalog_led_by = elected(s, &c->slots[0], gone);
}
