#include "expr/resolve_int.h"

void
ex_candidates_init(struct ex_candidates *c, struct arena *a, uint32_t n)
{
	*c = (struct ex_candidates){.arena = a, .n = n};
}

uint32_t *
ex_candidate_add(struct ex_candidates *c, const void *what)
{
	uint32_t *types = NEW_N(c->arena, uint32_t, c->n + 1);

	if (c->n_list == c->cap) {
		size_t old = c->cap * sizeof *c->list;

		c->cap = c->cap ? 2 * c->cap : 16;
		c->list = arena_grow(
		    c->arena, c->list, old, c->cap * sizeof *c->list);
	}
	c->list[c->n_list++] = (struct ex_candidate){what, types};
	return types;
}

bool
ex_can_coerce(uint32_t from, uint32_t to, enum ex_coercion c)
{
	const struct ex_func *f;

	return from == to || to == EX_ANY || from == EX_UNKNOWN ||
	       ex_find_cast(from, to, c, &f);
}

static char
category(uint32_t type)
{
	const struct ex_type *t = ex_type(type);

	return type == EX_ANY ? 'P' : t ? t->category : 'X';
}

static bool
preferred(uint32_t type)
{
	const struct ex_type *t = ex_type(type);

	return t && t->preferred;
}

/* Keeps the candidates with the best score. */
static void
keep_best(struct ex_candidates *c, const uint32_t *types,
    int (*score)(uint32_t have, uint32_t want))
{
	uint32_t kept = 0;
	int best = -1;

	for (uint32_t i = 0; i < c->n_list; i++) {
		int s = 0;

		for (uint32_t k = 0; k < c->n; k++)
			s += score(types[k], c->list[i].types[k]);
		if (s > best) {
			best = s;
			kept = 0;
		}
		if (s == best)
			c->list[kept++] = c->list[i];
	}
	c->n_list = kept;
}

static int
score_exact(uint32_t have, uint32_t want)
{
	return have != EX_UNKNOWN && have == want;
}

static int
score_preferred(uint32_t have, uint32_t want)
{
	if (have == EX_UNKNOWN)
		return 0;
	return have == want ||
	       (preferred(want) && category(want) == category(have));
}

static void
keep_reachable(struct ex_candidates *c, const uint32_t *types)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < c->n_list; i++) {
		uint32_t k = 0;

		while (k < c->n && ex_can_coerce(types[k], c->list[i].types[k],
				       EX_IMPLICIT))
			k++;
		if (k == c->n)
			c->list[kept++] = c->list[i];
	}
	c->n_list = kept;
}

/* The category for an unknown literal at place k: the one all candidates agree
 * on, else string if any takes one; 0 when there is no telling. */
static char
unknown_category(const struct ex_candidates *c, uint32_t k, bool *has_preferred)
{
	char found = 0;
	bool conflict = false;

	*has_preferred = false;
	for (uint32_t i = 0; i < c->n_list; i++) {
		uint32_t t = c->list[i].types[k];

		if (category(t) == 'S' && found != 'S' && found) {
			conflict = false;
			*has_preferred = preferred(t);
			found = 'S';
		} else if (!found || category(t) == found) {
			found = category(t);
			*has_preferred |= preferred(t);
		} else if (found != 'S') {
			conflict = true;
		}
	}
	return conflict ? 0 : found;
}

/* Keeps candidates that take the category found at each unknown, and its
 * preferred type where one is on offer; all if none would be left. */
static void
keep_category(struct ex_candidates *c, const uint32_t *types)
{
	char *want = NEW_N(c->arena, char, c->n + 1);
	bool *pref = NEW_N(c->arena, bool, c->n + 1);
	struct ex_candidate *left =
	    NEW_N(c->arena, struct ex_candidate, c->n_list);
	uint32_t kept = 0;

	for (uint32_t k = 0; k < c->n; k++) {
		if (types[k] != EX_UNKNOWN)
			continue;
		want[k] = unknown_category(c, k, &pref[k]);
		if (!want[k])
			return;
	}
	for (uint32_t i = 0; i < c->n_list; i++) {
		uint32_t k = 0;

		for (; k < c->n; k++) {
			uint32_t t = c->list[i].types[k];

			if (want[k] && (category(t) != want[k] ||
					   (pref[k] && !preferred(t))))
				break;
		}
		if (k == c->n)
			left[kept++] = c->list[i];
	}
	if (kept) {
		c->list = left;
		c->n_list = kept;
	}
}

/* When all known arguments have one type: the only candidate that takes that
 * type at the unknown places too, or nothing. */
static bool
assume_same(struct ex_candidates *c, const uint32_t *types)
{
	uint32_t known = EX_UNKNOWN, found = 0, at = 0;

	for (uint32_t k = 0; k < c->n; k++) {
		if (types[k] == EX_UNKNOWN)
			continue;
		if (known != EX_UNKNOWN && known != types[k])
			return false;
		known = types[k];
	}
	if (known == EX_UNKNOWN)
		return false;
	for (uint32_t i = 0; i < c->n_list; i++) {
		uint32_t k = 0;

		while (k < c->n &&
		       ex_can_coerce(known, c->list[i].types[k], EX_IMPLICIT))
			k++;
		if (k == c->n) {
			found++;
			at = i;
		}
	}
	if (found != 1)
		return false;
	c->list[0] = c->list[at];
	c->n_list = 1;
	return true;
}

static bool
exact(struct ex_candidates *c, const uint32_t *types)
{
	for (uint32_t i = 0; i < c->n_list; i++) {
		const struct ex_candidate *x = &c->list[i];

		if (c->n == 0 ||
		    memcmp(x->types, types, c->n * sizeof *types) == 0) {
			c->best = x->what;
			return true;
		}
	}
	return false;
}

static bool
only_one(struct ex_candidates *c)
{
	if (c->n_list != 1)
		return false;
	c->best = c->list[0].what;
	return true;
}

enum ex_resolution
ex_resolve(struct ex_candidates *c, const uint32_t *types)
{
	uint32_t n_unknown = 0;

	if (exact(c, types))
		return EX_RESOLVED;
	keep_reachable(c, types);
	if (c->n_list == 0)
		return EX_NO_MATCH;
	if (only_one(c))
		return EX_RESOLVED;
	keep_best(c, types, score_exact);
	if (only_one(c))
		return EX_RESOLVED;
	keep_best(c, types, score_preferred);
	if (only_one(c))
		return EX_RESOLVED;
	for (uint32_t k = 0; k < c->n; k++)
		n_unknown += types[k] == EX_UNKNOWN;
	if (n_unknown == 0)
		return EX_AMBIGUOUS;
	keep_category(c, types);
	if (only_one(c))
		return EX_RESOLVED;
	if (n_unknown < c->n && assume_same(c, types) && only_one(c))
		return EX_RESOLVED;
	return EX_AMBIGUOUS;
}
