#include "base/mutate.h"

#include <stdlib.h>

#include "regress/lib/cu.h"

static void
only_named_rules_break(void)
{
#ifdef MUTATIONS
	setenv("SKAIDB_MUTATE", "one,two-more", 1);
	CHECK(mutate("one"));
	CHECK(mutate("two-more"));
	CHECK(!mutate("two"));
	CHECK(!mutate("one,two-more"));
	mutate_set("three");
	CHECK(!mutate("one"));
	CHECK(mutate("three"));
	mutate_set(NULL);
	CHECK(!mutate("three"));
#else
	setenv("SKAIDB_MUTATE", "one", 1);
	mutate_set("one");
	CHECK(!mutate("one"));
#endif
}

CU_MAIN("mutate", {"only_named_rules_break", only_named_rules_break})
