/* Cases that say what PostgreSQL 15 made of a text: its text and wire form, or
 * its error.  The tables (*.def) were recorded from a real one. */
#ifndef EXPR_T_TYPE_CASE_H
#define EXPR_T_TYPE_CASE_H

#include "expr/type.h"

struct type_case {
	const char *set;  /* "datestyle=SQL,DMY timezone=Europe/Paris" */
	const char *type; /* "varchar(3)" */
	const char *in;
	const char *out;  /* NULL: an error */
	const char *wire; /* hex */
	const char *sqlstate, *message, *detail, *hint;
};
#define OK(set, type, in, out, wire)                                           \
	{set, type, in, out, wire, NULL, NULL, NULL, NULL},
#define BAD(set, type, in, sqlstate, message, detail, hint)                    \
	{set, type, in, NULL, NULL, sqlstate, message, detail, hint},

/* A session with these settings, in UTC at 2024-02-29 12:34:56.789. */
void case_env(struct ex_env *env, struct arena *a, const char *set);
/* The value of `text` for a type as SQL writes it. */
struct err *case_in(struct arena *a, const struct ex_env *env, const char *type,
    struct str text, struct val *out);
/* Checks text, wire, rows and keys of every case; returns how many failed,
 * each printed. */
int case_run(const struct type_case *cases, size_t n);
/* All pairs of values of one type: keys in every order sort as cmp does, and
 * equal values have equal keys. Returns how many pairs failed. */
int case_keys(const struct val *v, size_t n);

/* Texts of one type with their place in PostgreSQL's order; equal ones share
 * it. Returns how many pairs cmp or a key has otherwise. */
struct case_rank {
	int rank;
	const char *text;
};
#define RANK(rank, text) {rank, text},
int case_order(uint32_t type, const struct case_rank *r, size_t n);

/* Random numbers that repeat with cu_seed(), and bytes 'a'... of `spread`
 * different ones. */
uint64_t case_random(void);
struct str case_bytes(struct arena *a, size_t n, unsigned spread);

#endif
