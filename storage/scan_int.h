/* The inside of scans: scan.c (pages), scan_walk.c (slices over the slots'
 * ranges), scan_row.c (what becomes of a row). */
#ifndef STORAGE_SCAN_INT_H
#define STORAGE_SCAN_INT_H

#include "expr/expr.h"
#include "storage/index.h"
#include "storage/node_int.h"

/* Where a scan stands: everything before it is done. */
struct st_scan_position {
	uint64_t returned; /* rows, over all pages: for the limit */
	uint32_t slot;     /* index in the list of slots */
	bool begun;        /* key is the last one seen, in that slot */
	struct str key;    /* without its prefix */
};

struct st_scan_wanted {
	uint32_t *ids;
	uint32_t *types; /* what the filter takes each for; 0 = not used */
	uint32_t n;
	uint64_t bits[CL_COLUMNS_MAX / 64 + 1]; /* ids to return */
};

struct st_scan {
	struct st_node *node;
	struct arena *arena; /* the request's */
	struct arena *job;   /* a root: an engine thread's during a slice */
	struct arena *row;   /* its child, emptied for each row */
	const struct cl_scan *m;
	const struct cl_table *table; /* NULL: a system table */
	const struct cl_index *index; /* NULL: by primary key */
	struct expr *filter;
	struct st_scan_wanted wanted;
	uint32_t bytes_max;

	/* Of the page; a slice that is run again starts from `at` and the
	 * counts that it found. */
	struct st_scan_position at;
	struct cl_row *rows;
	uint32_t n_rows, cap_rows;
	uint64_t bytes;
	uint64_t count, scanned;
	uint64_t astray; /* entries of an index without a row */
	bool end, full;
	bool mismatch; /* a value is not of the type the filter expects */
	bool unready;  /* the index is not filled in here */
	struct err *err;
};

/* Takes in what a cursor stands at: a row, or an entry of the index; end, full,
 * err or mismatch end the page. In a job. */
void st_scan_take(
    struct st_scan *s, struct kv *kv, struct str key, struct str value);

struct st_scan_slice {
	struct st_scan *scan;
	struct arena *arena;   /* of bounds and ranges: child of the job's */
	struct st_scan before; /* to start again from */
	bool finished;         /* nothing is left in any slot */
	uint64_t until_us;
	uint64_t rows_max;
};
bool st_scan_page_ends(const struct st_scan *s);
/* A job, with the slice as argument; begins by undoing an earlier attempt. */
void st_scan_slice(struct kv *kv, void *arg);

#endif
