#include "base/engine.h"

#include "base/fiber.h"

/* A fiber that waits for the engine; lives on its stack, which stays because
 * the wait is deaf to cancel. */
struct waiter {
	struct cond done;
	bool is_done;
	enum engine_result result;
	void (*run)(struct kv *kv, void *arg);
	void *arg;
};

struct err *
engine_open(struct world *w, struct arena *a, const struct engine_config *conf,
    struct engine **out)
{
	*out = NULL;
	if (!w->ops->engine_open)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "this program has no storage engine");
	return w->ops->engine_open(w, a, conf, out);
}

void
engine_submit(struct engine *e, struct engine_job *job)
{
	ASSERT(job->run && job->done);
	e->ops->submit(e, job);
}

void
engine_flush(struct engine *e, void (*done)(void *arg), void *arg)
{
	e->ops->flush(e, done, arg);
}

void
engine_close(struct engine *e)
{
	e->ops->close(e);
}

bool
engine_writable(const struct engine *e)
{
	return e->ops->writable(e);
}

static void
wake(struct waiter *w)
{
	w->is_done = true;
	cond_signal(&w->done);
}

static void
wait(struct waiter *w)
{
	while (!w->is_done)
		cond_wait_hard(&w->done);
}

static void
run_ev(struct kv *kv, void *arg)
{
	struct waiter *w = arg;

	w->run(kv, w->arg);
}

static void
done_ev(void *arg, enum engine_result r)
{
	struct waiter *w = arg;

	w->result = r;
	wake(w);
}

static void
flushed_ev(void *arg)
{
	wake(arg);
}

static enum engine_result
run_and_wait(struct engine *e, struct engine_job *job,
    void (*run)(struct kv *kv, void *arg), void *arg)
{
	struct waiter w = {.run = run, .arg = arg};

	job->run = run_ev;
	job->done = done_ev;
	job->arg = &w;
	cond_init(&w.done, e->world);
	engine_submit(e, job);
	wait(&w);
	return w.result;
}

enum engine_result
engine_run(struct engine *e, uint64_t lane, enum engine_kind kind,
    void (*run)(struct kv *kv, void *arg), void *arg)
{
	struct engine_job job = {.lane = lane, .kind = kind};

	return run_and_wait(e, &job, run, arg);
}

enum engine_result
engine_run_light(struct engine *e, uint64_t lane,
    void (*run)(struct kv *kv, void *arg), void *arg)
{
	struct engine_job job = {
	    .lane = lane, .kind = ENGINE_WRITE, .light = true};

	return run_and_wait(e, &job, run, arg);
}

enum engine_result
engine_run_durable(struct engine *e, uint64_t lane,
    void (*run)(struct kv *kv, void *arg), void *arg)
{
	struct engine_job job = {
	    .lane = lane, .kind = ENGINE_WRITE, .durable = true};

	return run_and_wait(e, &job, run, arg);
}

void
engine_sync(struct engine *e)
{
	struct waiter w = {.is_done = false};

	cond_init(&w.done, e->world);
	engine_flush(e, flushed_ev, &w);
	wait(&w);
}
