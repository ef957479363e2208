/* The inside of the table source: source.c (reads by key, and what is common),
 * source_scan.c, source_write.c. */
#ifndef GATEWAY_SOURCE_INT_H
#define GATEWAY_SOURCE_INT_H

#include "cluster/msg.h"
#include "gateway/route.h"
#include "gateway/source.h"

#define GW_SOURCE_MAGIC 0x73726365u

struct gw_source {
	struct sql_source base;
	uint32_t magic;
	struct arena *arena;
	struct gw_stmt *stmt;
};

struct gw_source *gw_source_of(struct sql_source *s);
/* A row as a node sent it; key and value must live as long as the values. */
struct gw_row_in {
	const struct sql_scan_req *what;
	struct str key; /* primary-key bytes */
	struct str value;
	const struct expr *filter; /* to be tested here, or NULL */
};
/* It, in the columns that were asked for. *found false for an absent row or one
 * that the filter rejects. */
struct err *gw_source_row(struct gw_source *src, struct arena *a,
    const struct gw_row_in *in, struct sql_row *out, bool *found);
/* 40001, and the statement is stale: it is to be planned again. */
struct err *gw_source_stale(struct gw_source *src, struct arena *a);
/* The same when the catalog has another state of the
 * table by now than the statement was planned with. */
struct err *gw_source_fresh(
    struct gw_source *src, struct arena *a, const struct cl_table *t);
/* The row of a write as nodes keep it, empty for DELETE; 54000 when it, or its
 * key, is too large. */
struct err *gw_source_encode(struct gw_source *src, struct arena *a,
    const struct sql_write *w, struct str *value);
/* An error that a node answered with. */
struct err *gw_source_failure(struct arena *a, const struct cl_fail *f);
/* A refusal for which another member may be asked. */
bool gw_source_elsewhere(enum cl_refusal reason);
/* Is the group in a refusal's list of those led by others? *leader is who leads
 * it, 0 when not known. */
bool gw_source_hint(const struct cl_group_at *list, uint32_t n,
    const struct gw_route *group, uint32_t *leader);

struct err *gw_scan_open(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, struct sql_scan **out);
struct err *gw_scan_next(
    struct sql_scan *sc, struct arena *a, struct sql_row *row, bool *more);
void gw_scan_close(struct sql_scan *sc);
struct err *gw_scan_count(struct sql_source *s, struct arena *a,
    const struct sql_scan_req *what, uint64_t *count);
struct err *gw_source_write(
    struct sql_source *s, struct arena *a, struct sql_write *w, size_t n);

#endif
