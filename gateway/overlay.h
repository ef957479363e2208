/* The write set of an open transaction: what each row it has written is to be
 * at COMMIT, by table and key.  Only its own session sees it.
 *
 * It is a tree that is copied where it changes, so that its state at any moment
 * is one pointer: a statement reads the state it found, and what fails, or is
 * rolled back to a savepoint, goes back to a pointer kept from before. */
#ifndef GATEWAY_OVERLAY_H
#define GATEWAY_OVERLAY_H

#include "cluster/catalog.h"

struct gw_overlay;
struct gw_overlay_node;

/* A table that was written to; as long as the overlay lives. */
struct gw_overlay_table {
	const struct cl_table *t;
	struct cl_catalog *held; /* whose it is */
	struct gw_overlay_table *next;
};

/* What must be true of the row in the cluster for COMMIT to be carried out. */
enum gw_change_cond { GW_IF_ANY, GW_IF_ABSENT, GW_IF_STAMP };

/* What is to become of one key. */
struct gw_change {
	const struct gw_overlay_table *table;
	struct str key; /* primary-key bytes */
	enum gw_change_cond cond;
	cl_stamp stamp;   /* of GW_IF_STAMP */
	struct str value; /* the row to be, encoded; empty: it goes */
	bool idle;        /* inserted and deleted again: as if never touched */
	uint64_t seq;     /* what its readers are told as its stamp */
};

/* A state of the write set; good as long as the overlay. */
struct gw_overlay_view {
	const struct gw_overlay_node *root;
};
struct gw_overlay_mark {
	struct gw_overlay_view view;
	size_t bytes;
};

/* With one reference; memory is counted in `parent`. `seed` is any number. */
struct gw_overlay *gw_overlay_new(struct arena *parent, uint64_t seed);
void gw_overlay_ref(struct gw_overlay *o);
/* The last one frees it. NULL is fine. */
void gw_overlay_unref(struct gw_overlay *o);

/* Memory that lives as long as it does. */
struct arena *gw_overlay_arena(struct gw_overlay *o);

/* The table as it was first written to, NULL before; and adding it, with the
 * catalog that has it. */
const struct gw_overlay_table *gw_overlay_table(
    const struct gw_overlay *o, uint32_t id);
const struct gw_overlay_table *gw_overlay_add_table(
    struct gw_overlay *o, const struct cl_table *t, struct cl_catalog *held);

/* Sets what is to become of c->key; key and value are copied, seq is given. The
 * error is 53200: the session's memory. */
struct err *gw_overlay_put(struct gw_overlay *o, const struct gw_change *c);
/* The change of a key as it is now; as gw_overlay_find. */
const struct gw_change *gw_overlay_get(
    const struct gw_overlay *o, uint32_t table, struct str key);
/* About what the writes take when they are sent. */
size_t gw_overlay_bytes(const struct gw_overlay *o);

struct gw_overlay_view gw_overlay_now(struct gw_overlay *o);
struct gw_overlay_mark gw_overlay_mark(struct gw_overlay *o);
/* All that was put since the mark is gone; later marks are void. */
void gw_overlay_cut(struct gw_overlay *o, struct gw_overlay_mark m);
/* Gives back the memory of states that nobody holds any more. Nobody must hold
 * a view or mark; does nothing as long as others have a reference. */
void gw_overlay_tidy(struct gw_overlay *o);

/* The change of a key; NULL when there is none, or an idle one. */
const struct gw_change *gw_overlay_find(
    struct gw_overlay_view v, uint32_t table, struct str key);
/* The first change, idle ones left out, of a key of the table at or above
 * `from`, or above it; the last one below `to` (empty: of all). */
const struct gw_change *gw_overlay_from(
    struct gw_overlay_view v, uint32_t table, struct str from, bool above);
const struct gw_change *gw_overlay_below(
    struct gw_overlay_view v, uint32_t table, struct str to);
/* How many keys of the table are in [start, end), empty: no bound; idle ones
 * count. */
size_t gw_overlay_count(
    struct gw_overlay_view v, uint32_t table, struct str start, struct str end);
/* Each change that is not idle, by table and key. */
void gw_overlay_each(struct gw_overlay_view v,
    void (*fn)(void *arg, const struct gw_change *c), void *arg);

#endif
