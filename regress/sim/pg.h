/* A small PostgreSQL client for simulated processes: simple queries, text
 * results.  It tells apart what was surely refused, what surely happened, and
 * what nobody can know. */
#ifndef REGRESS_SIM_PG_H
#define REGRESS_SIM_PG_H

#include "base/fiber.h"

enum sim_pg_status {
	SIM_PG_OK,
	SIM_PG_ERROR,  /* the server's: sqlstate, message */
	SIM_PG_UNKNOWN /* no answer, or the server does not know either */
};

struct sim_pg_result {
	enum sim_pg_status status;
	bool connected; /* the connection is still good */
	char sqlstate[6];
	const char *message;
	const char *tag; /* "INSERT 0 1" */
	uint64_t count;  /* the number at the end of the tag */
	uint32_t n_cols, n_rows;
	struct str *values; /* by row; p NULL is NULL */
};

struct sim_pg;

/* In a fiber. NULL with *why when it does not succeed by the deadline. */
struct sim_pg *sim_pg_connect(struct world *w, const char *addr,
    const char *user, const char *database, uint64_t deadline_us,
    const char **why);
/* One statement. Results live in `a`. After SIM_PG_UNKNOWN without `connected`
 * only closing is left. */
void sim_pg_query(struct sim_pg *p, struct arena *a, uint64_t deadline_us,
    struct sim_pg_result *r, const char *sql);
void sim_pg_close(struct sim_pg *p);

static inline struct str
sim_pg_value(const struct sim_pg_result *r, uint32_t row, uint32_t col)
{
	return r->values[row * r->n_cols + col];
}

#endif
