#include "base/engine.h"

#include "base/t/fake_world.h"
#include "regress/lib/cu.h"

/* An engine that completes when the test says so. */
struct fake_engine {
	struct engine e;
	struct engine_job *job;
	void (*flushed)(void *arg);
	void *flush_arg;
};

static struct fake_world fw;
static struct fake_engine fe;

static void
fake_submit(struct engine *e, struct engine_job *job)
{
	CONTAINER(e, struct fake_engine, e)->job = job;
}

static void
fake_flush(struct engine *e, void (*done)(void *arg), void *arg)
{
	struct fake_engine *f = CONTAINER(e, struct fake_engine, e);

	f->flushed = done;
	f->flush_arg = arg;
}

static const struct engine_ops ops = {
    .submit = fake_submit,
    .flush = fake_flush,
};

static int runs;
static enum engine_result result;
static bool synced;

static void
job_run(struct kv *kv, void *arg)
{
	(void)kv;
	*(int *)arg += 1;
}

static void
worker(void *arg)
{
	(void)arg;
	result = engine_run(&fe.e, 7, ENGINE_WRITE, job_run, &runs);
	engine_sync(&fe.e);
	synced = true;
}

static void
a_fiber_waits_for_the_engine_deaf_to_cancel(void)
{
	struct fiber *f;

	fake_start(&fw);
	fe = (struct fake_engine){.e = {.ops = &ops, .world = &fw.w}};
	result = ENGINE_OK;
	f = fiber_spawn(&fw.w, "worker", FIBER_STACK_NODE, worker, NULL);
	fake_run(&fw);
	MUST(fe.job != NULL);
	CHECK(fe.job->lane == 7 && fe.job->kind == ENGINE_WRITE);
	fiber_cancel(f);
	fake_run(&fw);
	CHECK(fe.flushed == NULL);
	/* Twice: as after a conflict. */
	fe.job->run(NULL, fe.job->arg);
	fe.job->run(NULL, fe.job->arg);
	fe.job->done(fe.job->arg, ENGINE_FULL);
	fake_run(&fw);
	CHECK(runs == 2);
	CHECK(result == ENGINE_FULL);
	MUST(fe.flushed != NULL);
	CHECK(!synced);
	fe.flushed(fe.flush_arg);
	CHECK(!synced);
	fake_run(&fw);
	CHECK(synced);
	fake_stop(&fw);
}

static void
a_world_without_an_engine_says_so(void)
{
	struct engine_config conf = {0};
	struct engine *e = &fe.e;
	struct err *x;

	fake_start(&fw);
	x = engine_open(&fw.w, fw.w.arena, &conf, &e);
	CHECK(e == NULL);
	CHECK(err_is(x, ERRCODE_FEATURE_NOT_SUPPORTED));
	fake_stop(&fw);
}

CU_MAIN("engine",
    {"a_fiber_waits_for_the_engine_deaf_to_cancel",
	a_fiber_waits_for_the_engine_deaf_to_cancel},
    {"a_world_without_an_engine_says_so", a_world_without_an_engine_says_so})
