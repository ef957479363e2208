/* What clients did to single keys and what they were told, and whether some
 * order of these operations explains all of it: linearizability of one row.
 *
 * A row is absent (0) or has a value (unique, above 0).  An operation takes
 * effect at one instant between its start and its end; one whose outcome is
 * unknown at any instant after its start, or never.  A stale read is not part
 * of that order: what it saw was written at some time before its end. */
#ifndef REGRESS_SIM_HISTORY_H
#define REGRESS_SIM_HISTORY_H

#include "base/arena.h"

enum reg_kind { REG_READ, REG_INSERT, REG_UPDATE, REG_DELETE, REG_UPSERT };

struct reg_op {
	enum reg_kind kind;
	uint32_t client;
	uint64_t key;
	uint64_t value; /* what it writes */
	uint64_t start, end;
	bool unknown;  /* writes only; end means nothing */
	bool changed;  /* writes: it was told that it changed a row */
	uint64_t seen; /* reads */
	bool stale;    /* reads: of one copy, which may be behind */
};

enum reg_verdict { REG_FINE, REG_WRONG, REG_UNDECIDED };

/* Of one key, in any order. */
enum reg_verdict reg_check(const struct reg_op *ops, size_t n);

/* All keys of a run. */
struct history {
	struct arena *arena;
	struct reg_op *ops;
	size_t n, cap;
};

void history_init(struct history *h, struct arena *a);
void history_add(struct history *h, const struct reg_op *op);
/* NULL, or what is wrong with the first key that has no explanation: a text of
 * several lines in the history's arena. */
const char *history_check(struct history *h);

#endif
