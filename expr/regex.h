/* Regular expressions in PostgreSQL's syntax, on PCRE2.
 *
 * Compiled patterns come from a small cache of this thread; a pointer is good
 * until the next ex_regex_get.  Differences from PostgreSQL's engine: of
 * several alternatives the first that matches wins, not the longest; case is
 * folded by Unicode, not by ASCII only. */
#ifndef EXPR_REGEX_H
#define EXPR_REGEX_H

#include "expr/expr.h"

struct ex_regex;

#define EX_REGEX_GROUPS 10 /* whole match and \1 .. \9 */
struct ex_match {
	int n_groups; /* in the pattern, without the whole */
	struct {
		size_t from, to; /* SIZE_MAX: took no part */
	} group[EX_REGEX_GROUPS];
	bool checked; /* the text is known to be UTF-8 */
	struct ex_work work;
};

enum ex_regex_flag {
	EX_REGEX_ICASE = 1,
	EX_REGEX_NEWLINE = 2, /* . and [^] stop at newline, ^ $ see lines */
	EX_REGEX_LITERAL = 4,
	EX_REGEX_EXPANDED = 8,
	EX_REGEX_GLOBAL = 16 /* of replacing; not the pattern's */
};
/* PostgreSQL's option letters ("gi"); 22023 on others. */
struct err *ex_regex_flags(
    struct arena *a, struct str letters, bool global, int *out);
/* 2201B for a bad pattern. */
struct err *ex_regex_get(
    struct arena *a, struct str pattern, int flags, struct ex_regex **out);
/* First match at or after byte `from`; *found false: none. *m is zero before
 * the first call, and stays as it is for further ones in the same text. 54001
 * when the pattern takes too much work. */
struct err *ex_regex_match(const struct ex_ctx *ctx, struct ex_regex *re,
    struct str s, size_t from, bool *found, struct ex_match *m);
/* Frees this thread's cache; before the thread ends. */
void ex_regex_fini(void);

#endif
