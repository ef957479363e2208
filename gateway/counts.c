#include "gateway/counts.h"

#include "gateway/worker.h"

/* A node that does not answer holds SHOW TABLES no longer than this. */
#define WAIT_US (2u * 1000000u)

struct sums {
	struct arena *arena;
	struct gw_table_count *items;
	uint32_t n, cap;
};

static void
add(struct sums *s, const struct cl_table_count *c)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->items[i].table == c->table) {
			s->items[i].rows += c->rows;
			s->items[i].bytes += c->bytes;
			return;
		}
	if (s->n == s->cap) {
		uint32_t cap = s->cap ? s->cap * 2 : 64;

		s->items = arena_grow(s->arena, s->items,
		    s->cap * sizeof *s->items, cap * sizeof *s->items);
		s->cap = cap;
	}
	s->items[s->n++] = (struct gw_table_count){c->table, c->rows, c->bytes};
}

static bool
ask(struct gw_stmt *s, struct sums *sums, struct gw_peer *peer)
{
	static const struct cl_counts_get all = {.table = 0};
	struct gw_call_opts o = {.kind = CL_MSG_COUNTS_GET,
	    .msg = &all,
	    .expect = CL_MSG_COUNTS,
	    .deadline_us = world_mono_us(s->worker->world) + WAIT_US,
	    .arena = sums->arena};
	const struct cl_counts *counts;
	const char *why;
	void *reply;

	if (o.deadline_us > s->deadline_us)
		o.deadline_us = s->deadline_us;
	if (gw_call(peer, &o, &reply, &why) != GW_OK)
		return false;
	counts = reply;
	for (uint32_t i = 0; i < counts->n_tables; i++)
		add(sums, &counts->tables[i]);
	return true;
}

static bool
is_heard(const uint32_t *heard, uint32_t n, uint32_t member)
{
	for (uint32_t i = 0; i < n; i++) {
		if (heard[i] == member)
			return true;
	}
	return false;
}

uint64_t
gw_counts_once(const struct cl_placement *p, const uint32_t *heard,
    uint32_t n_heard, uint64_t sum)
{
	uint64_t copies = 0, slots = 0;

	for (uint32_t s = 0; s < p->n_slots; s++) {
		uint64_t before = copies;

		for (unsigned i = 0; i < p->slots[s].n; i++)
			copies +=
			    is_heard(heard, n_heard, p->slots[s].members[i]);
		slots += copies > before;
	}
	if (copies == slots)
		return sum;
	/* Nearly always one division: copies are as many in every slot. */
	return copies % slots == 0
		   ? sum / (copies / slots)
		   : (uint64_t)((double)sum * (double)slots / (double)copies);
}

/* Members counted every copy that they hold. */
static void
count_once(struct gw_stmt *s, struct sums *sums, const uint32_t *heard,
    uint32_t n_heard)
{
	for (uint32_t i = 0; i < sums->n; i++) {
		struct gw_table_count *c = &sums->items[i];
		const struct cl_table *t =
		    cl_catalog_table(s->catalog, c->table);
		const struct cl_placement *p =
		    t ? cl_catalog_placement(s->catalog, t->placement) : NULL;

		if (!p)
			continue;
		c->rows = gw_counts_once(p, heard, n_heard, c->rows);
		c->bytes = gw_counts_once(p, heard, n_heard, c->bytes);
	}
}

struct err *
gw_counts(struct gw_stmt *s, struct arena *a, struct gw_table_count **counts,
    uint32_t *n, uint32_t *missing)
{
	struct sums sums = {.arena = a};
	const struct cl_object *o;
	uint32_t *heard, n_heard = 0;
	size_t at = 0;

	*missing = 0;
	while (cl_each(s->catalog, CL_MEMBER, &at))
		n_heard++;
	heard = NEW_N(a, uint32_t, n_heard + 1);
	at = n_heard = 0;
	while ((o = cl_each(s->catalog, CL_MEMBER, &at))) {
		struct gw_peer *peer =
		    gw_peers_member(s->worker->peers, s->catalog, o->id);

		TRY(gw_stmt_check(s, a));
		if (peer && ask(s, &sums, peer))
			heard[n_heard++] = o->id;
		else
			++*missing;
	}
	count_once(s, &sums, heard, n_heard);
	*counts = sums.items;
	*n = sums.n;
	return NULL;
}
