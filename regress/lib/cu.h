/* One main for unit tests: a filter as argv[1], a seed from SKAIDB_SEED, the
 * failing assertion printed, exit status 1 when any failed. */
#ifndef REGRESS_LIB_CU_H
#define REGRESS_LIB_CU_H

#include <stdint.h>
#include <stdlib.h>

#include <CUnit/CUnit.h>

struct cu_case {
	const char *name; /* reads as a claim */
	void (*fn)(void);
};

int cu_main(
    const char *suite, const struct cu_case *cases, int argc, char **argv);
/* SKAIDB_SEED, or a fixed seed; printed when a test fails. */
uint64_t cu_seed(void);

/* Runs fn where stack is as small as a gateway fiber's: what goes deep by a
 * client's wish must not need more. */
void cu_on_small_stack(void (*fn)(void));

/* Cases as {"claim", fn}, ... */
#define CU_MAIN(suite, ...)                                                    \
	int main(int argc, char **argv)                                        \
	{                                                                      \
		static const struct cu_case cases[] = {                        \
		    __VA_ARGS__, {NULL, NULL}};                                \
		return cu_main(suite, cases, argc, argv);                      \
	}

#define CHECK(cond)     CU_ASSERT(cond)
#define CHECK_STR(a, b) CU_ASSERT_STRING_EQUAL((a), (b))
/* Stops this case; the compiler may rely on what it checked. */
#define MUST(cond)                                                             \
	do {                                                                   \
		if (!(cond)) {                                                 \
			CU_FAIL_FATAL(#cond);                                  \
			abort();                                               \
		}                                                              \
	} while (0)

#endif
