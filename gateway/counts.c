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

struct err *
gw_counts(struct gw_stmt *s, struct arena *a, struct gw_table_count **counts,
    uint32_t *n, uint32_t *missing)
{
	struct sums sums = {.arena = a};
	const struct cl_object *o;
	size_t at = 0;

	*missing = 0;
	while ((o = cl_each(s->catalog, CL_MEMBER, &at))) {
		struct gw_peer *peer =
		    gw_peers_member(s->worker->peers, s->catalog, o->id);

		TRY(gw_stmt_check(s, a));
		if (!peer || !ask(s, &sums, peer))
			++*missing;
	}
	*counts = sums.items;
	*n = sums.n;
	return NULL;
}
