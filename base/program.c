#include "base/program.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/world_real.h"

void
program_error(const struct program *p, const struct err *e)
{
	(void)fprintf(stderr, "%s: %s\n", p->name, e->message);
	if (e->detail)
		(void)fprintf(stderr, "DETAIL: %s\n", e->detail);
	if (e->hint)
		(void)fprintf(stderr, "HINT: %s\n", e->hint);
}

static struct err *
set_log_level(struct arena *a, const struct conf *c)
{
	enum log_level level;

	if (!log_level_parse(conf_text(c, "log_level"), &level))
		return err_hint(
		    ERR(a, ERRCODE_CONFIG_FILE_ERROR,
			"unknown log_level \"%s\"", conf_text(c, "log_level")),
		    "It is error, warn, info or trace.");
	log_set_level(level);
	return NULL;
}

static struct err *
pid_write(struct arena *a, const char *path)
{
	FILE *f;
	bool ok;

	if (!*path)
		return NULL;
	f = fopen(path, "we");
	ok = f && fprintf(f, "%ld\n", (long)getpid()) > 0;
	if (f)
		ok = fclose(f) == 0 && ok;
	return ok ? NULL
		  : ERR(a, ERRCODE_IO_ERROR,
			"could not write pid file \"%s\": %s", path,
			strerror(errno));
}

static void
signal_ev(void *arg, int sig)
{
	struct program *p = arg;

	LOG(p->world, LOG_INFO, "main", "signal", "number=%d", sig);
	p->stop(p);
}

static struct err *
start(struct program *p, struct arena *a, const struct conf *c)
{
	TRY(p->start(p, a, c));
	ASSERT(p->world);
	TRY(pid_write(a, conf_text(c, "pid_file")));
	world_real_on_signal(p->world, signal_ev, p);
	return NULL;
}

static int
run(struct program *p, struct arena *a, const struct conf *c)
{
	const char *pid_file = conf_text(c, "pid_file");
	struct err *e = start(p, a, c);

	if (e) {
		program_error(p, e);
		return 1;
	}
	world_real_run(p->world);
	if (*pid_file)
		(void)remove(pid_file);
	return p->status;
}

void
program_main(struct program *p, int argc, char **argv)
{
	struct arena *a = arena_new(NULL, "main");
	struct conf *c;
	struct err *e = conf_load(a, p->name, p->items, argc, argv, &c);
	int status = 0;

	if (!e)
		e = set_log_level(a, c);
	if (e) {
		program_error(p, e);
		status = 2;
	} else if (conf_action(c) != CONF_RUN) {
		conf_show(c, conf_action(c));
	} else {
		status = run(p, a, c);
	}
	/* After a failed start threads may still run: no exit handlers. */
	(void)fflush(NULL);
	_exit(status);
}
