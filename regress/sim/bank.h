/* Transfers between accounts as transactions over several groups: what the
 * scenario bank sends by a gateway, since SQL has no such statement yet.  Each
 * changes two rows of accounts, adds one to a ledger, and may claim a key that
 * others want, too. */
#ifndef REGRESS_SIM_BANK_H
#define REGRESS_SIM_BANK_H

#include "regress/sim/drive.h"

#define BANK_KEYS     6u /* in each of two tables */
#define BANK_ACCOUNTS (2 * BANK_KEYS)
#define BANK_NONE     UINT32_MAX

enum bank_outcome {
	BANK_UNKNOWN, /* may be, or come to be, or not */
	BANK_APPLIED,
	BANK_FALSE, /* a condition was: surely not */
	BANK_REFUSED
};

struct bank_transfer {
	uint64_t id; /* a number of its own */
	uint32_t from, to;
	int64_t amount;
	uint64_t claim;  /* a key that nobody may have claimed; 0: none */
	uint32_t parent; /* an account that must be there; BANK_NONE */

	enum bank_outcome outcome;
	uint64_t start, end;
	char sqlstate[6];
	const char *why;
};

/* In a client's fiber: by a random gateway. False: it was not sent. */
bool bank_do(struct client *c, struct bank_transfer *t);

static inline const char *
bank_table(uint32_t account)
{
	return account < BANK_KEYS ? "a" : "b";
}

#endif
