/* How far a resync has come, as kept on disk ('R') while a copy is incomplete,
 * and which entries change it (CONSENSUS 6).  Pure.
 *
 * Rows up to some key are installed, in ranges that follow each other; each is
 * the source's content as of an index. */
#ifndef STORAGE_PASS_H
#define STORAGE_PASS_H

#include "storage/ids.h"

#define ST_RANGES_MAX 64u
/* Above every row key: the end of the last range. */
#define ST_PASS_END STR("\377\377\377\377\377\377\377\377")

struct st_range {
	struct str upto; /* its last key; it begins behind the one before */
	uint64_t index;  /* of its content; 0: below what is applied here */
};

/* Format 1: format, ballot, index, count (varint), each: key (text), index
 * (varint). */
struct st_pass {
	struct st_ballot ballot; /* of the entry up to which */
	uint64_t begun;          /* the state was that it began with */
	uint32_t n;
	struct st_range ranges[ST_RANGES_MAX];
};
void st_pass_put(struct buf *b, const struct st_pass *p);
/* Keys are views into the bytes. */
bool st_pass_get(struct str bytes, struct st_pass *p);

/* Does an entry of that index change that key here? Not when the range has it
 * already, nor when it is still to come. */
bool st_pass_takes(const struct st_pass *p, struct str key, uint64_t index);
/* Behind which key to go on; empty: from the start. */
struct str st_pass_end(const struct st_pass *p);
/* Highest index of a range that is told apart; 0: none. */
uint64_t st_pass_index(const struct st_pass *p);
/* The next range; what is below `applied` is told apart no more. False: too
 * many are above it. */
bool st_pass_add(
    struct st_pass *p, struct str upto, uint64_t index, uint64_t applied);

#endif
