/* Overload resolution over any list of candidates: functions, operators,
 * aggregates. */
#ifndef EXPR_RESOLVE_INT_H
#define EXPR_RESOLVE_INT_H

#include "expr/func.h"

#define EX_CALL_ARGS_MAX 100

struct ex_candidate {
	const void *what;
	uint32_t *types; /* n of them */
};
struct ex_candidates {
	struct arena *arena;
	uint32_t n; /* arguments of the call */
	struct ex_candidate *list;
	uint32_t n_list, cap;
	const void *best; /* after EX_RESOLVED */
};
enum ex_resolution { EX_RESOLVED, EX_NO_MATCH, EX_AMBIGUOUS };

void ex_candidates_init(struct ex_candidates *c, struct arena *a, uint32_t n);
/* Adds a candidate; the caller fills in the n types returned. */
uint32_t *ex_candidate_add(struct ex_candidates *c, const void *what);
/* Exact match first; then what implicit casts reach, most exact matches, most
 * preferred types, the categories of unknown literals, and at last the guess
 * that unknowns are of the one known type. */
enum ex_resolution ex_resolve(struct ex_candidates *c, const uint32_t *types);
bool ex_can_coerce(uint32_t from, uint32_t to, enum ex_coercion c);

struct err *ex_func_missing(
    struct arena *a, struct str name, const uint32_t *types, uint32_t n);
struct err *ex_func_ambiguous(
    struct arena *a, struct str name, const uint32_t *types, uint32_t n);
bool ex_agg_exists(struct str name);

#endif
