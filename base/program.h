/* What the programs share: settings, log level, pid file, signals, exit status.
 * A main fills in a struct program and calls program_main.  Real world only. */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stdnoreturn.h>

#include "base/conf.h"
#include "base/world.h"

struct program {
	const char *name;
	const struct conf_item *items; /* with log_level and pid_file */
	/* Makes `world`, whose loop the main thread then runs, and all on it.
	 * On an error the process ends; threads may still run. */
	struct err *(*start)(
	    struct program *p, struct arena *a, const struct conf *c);
	/* On the loop, at SIGTERM or SIGINT, maybe more than once: leads to
	 * world_real_stop. */
	void (*stop)(struct program *p);
	struct world *world;
	int status; /* of the process, once the loop has stopped */
};

/* Exit status: `status` after a stop, 1 when it could not start, 2 for wrong
 * settings. */
noreturn void program_main(struct program *p, int argc, char **argv);
/* To standard error. */
void program_error(const struct program *p, const struct err *e);

#endif
