/* Mutations: in builds made with --enable-mutations, switches that each break
 * one rule of the protocol, chosen by name at run time, so that tests can show
 * that they would notice.  In every other build the call is the constant false
 * and nothing of it is left. */
#ifndef BASE_MUTATE_H
#define BASE_MUTATE_H

#include <stdbool.h>

#ifdef MUTATIONS
/* True when the rule is named in SKAIDB_MUTATE (comma list) or was set. */
bool mutate(const char *rule);
/* Replaces what SKAIDB_MUTATE says; NULL = nothing is broken. The list must
 * outlive its use. Not thread-safe: before threads start. */
void mutate_set(const char *rules);
#else
#define mutate(rule) false
static inline void
mutate_set(const char *rules)
{
	(void)rules;
}
#endif

#endif
