/* One simulated run, or a list of what there is:
 *
 *   sim --scenario S --seed N [--seconds V] [--nodes N] [--gateways G]
 *       [--rf N] [--lease MS] [--no-faults] [--trace]
 *   sim --list
 *
 * The exit status is 0 when all claims held, 1 when one did not, 2 for wrong
 * arguments; a failed assertion aborts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "regress/sim/drive.h"

static int
list(void)
{
	for (int i = 0; scenarios[i]; i++)
		printf("%-14s %s\n", scenarios[i]->name, scenarios[i]->claim);
	return 0;
}

static int
usage(void)
{
	fprintf(stderr,
	    "usage: sim --scenario S --seed N [--seconds V] [--nodes N]\n"
	    "           [--gateways G] [--rf N] [--lease MS] [--no-faults]\n"
	    "           [--trace] | --list\n");
	return 2;
}

/* False when they make no sense. */
static bool
parse(int argc, char **argv, struct run_opts *o)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i], *value = argv[i + 1];
		uint64_t n = 0;

		if (strcmp(name, "--trace") == 0) {
			o->trace = stdout;
			continue;
		}
		if (strcmp(name, "--no-faults") == 0) {
			o->no_faults = true;
			continue;
		}
		if (!value)
			return false;
		i++;
		if (strcmp(name, "--scenario") == 0) {
			o->scenario = scenario_named(value);
			if (!o->scenario)
				return false;
			continue;
		}
		if (!str_u64(str_c(value), &n))
			return false;
		if (strcmp(name, "--seed") == 0)
			o->seed = n;
		else if (strcmp(name, "--seconds") == 0)
			o->seconds = (uint32_t)n;
		else if (strcmp(name, "--nodes") == 0)
			o->nodes = (uint32_t)n;
		else if (strcmp(name, "--gateways") == 0)
			o->gateways = (uint32_t)n;
		else if (strcmp(name, "--rf") == 0)
			o->replication = (uint32_t)n;
		else if (strcmp(name, "--lease") == 0)
			o->lease_ms = (uint32_t)n;
		else
			return false;
	}
	return o->scenario != NULL;
}

int
main(int argc, char **argv)
{
	struct run_opts o = {.seconds = 60, .lease_ms = UINT32_MAX};
	struct run_result out;
	struct run *r;
	bool failed;

	if (argc == 2 && strcmp(argv[1], "--list") == 0)
		return list();
	if (!parse(argc, argv, &o))
		return usage();
	r = run_new(&o);
	/* First, for whoever reads the output of an abort. */
	printf("scenario=%s seed=%" PRIu64 " seconds=%u nodes=%u gateways=%u "
	       "rf=%u slots=%u lease_ms=%u\n",
	    o.scenario->name, o.seed, o.seconds, r->fleet->conf.nodes,
	    r->fleet->conf.gateways, r->fleet->conf.replication,
	    r->fleet->conf.slots,
	    (unsigned)(r->fleet->conf.leader_lease_us / 1000));
	fflush(stdout);
	run_go(r, &out);
	run_print_faults(r, stdout);
	printf("virtual_s=%.1f events=%" PRIu64 " acked=%" PRIu64
	       " unknown=%" PRIu64 " refused=%" PRIu64 " hash=%016" PRIx64 "\n",
	    (double)out.virtual_us / 1e6, out.events, out.acked, out.unknown,
	    out.refused, out.hash);
	failed = out.n_failures > 0;
	if (failed)
		printf("FAILED %u:\n%s", out.n_failures, out.failures);
	else
		printf("ok\n");
	run_free(r);
	return failed;
}
