#include "regress/lib/cu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <CUnit/Basic.h>

#include "base/sanitize.h"

/* FIBER_STACK_GATEWAY; a sanitizer needs more for the same. */
#define SMALL_STACK (WITH_ASAN ? 1024 * 1024 : 256 * 1024)

uint64_t
cu_seed(void)
{
	const char *s = getenv("SKAIDB_SEED");

	return s ? strtoull(s, NULL, 10) : 20261201;
}

int
cu_main(const char *suite, const struct cu_case *cases, int argc, char **argv)
{
	const char *filter = argc > 1 ? argv[1] : "";
	CU_pSuite s;
	unsigned failed, ran;

	if (CU_initialize_registry() != CUE_SUCCESS)
		return 2;
	s = CU_add_suite(suite, NULL, NULL);
	for (; s && cases->name; cases++)
		if (strstr(cases->name, filter))
			CU_add_test(s, cases->name, cases->fn);
	CU_basic_set_mode(CU_BRM_SILENT);
	CU_basic_run_tests();
	failed = CU_get_number_of_tests_failed();
	ran = CU_get_number_of_tests_run();
	if (failed) {
		CU_basic_show_failures(CU_get_failure_list());
		printf("\nseed %llu\n", (unsigned long long)cu_seed());
	}
	printf("%s: %u passed, %u failed\n", suite, ran - failed, failed);
	CU_cleanup_registry();
	return failed || !ran;
}

static void *
small_main(void *arg)
{
	void (**fn)(void) = arg;

	(*fn)();
	return NULL;
}

void
cu_on_small_stack(void (*fn)(void))
{
	pthread_attr_t attr;
	pthread_t thread;

	MUST(pthread_attr_init(&attr) == 0);
	MUST(pthread_attr_setstacksize(&attr, SMALL_STACK) == 0);
	MUST(pthread_create(&thread, &attr, small_main, &fn) == 0);
	(void)pthread_join(thread, NULL);
	(void)pthread_attr_destroy(&attr);
}
