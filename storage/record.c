#include "storage/record.h"

/* One small record, read or written by an engine job. */
struct record_job {
	struct arena *arena; /* a root */
	struct str key;
	struct str value;
	bool found;
};

static void
get_job(struct kv *kv, void *arg)
{
	struct record_job *j = arg;
	struct str v;

	j->found = kv_get(kv, KV_META, j->key, &v);
	if (j->found)
		j->value = arena_str(j->arena, v);
}

static void
put_job(struct kv *kv, void *arg)
{
	const struct record_job *j = arg;

	kv_put(kv, KV_META, j->key, j->value);
}

bool
st_record_get(
    struct st_node *n, struct str key, struct arena *a, struct str *out)
{
	struct st_scratch *s = st_scratch_new(n, "record");
	struct record_job j = {.arena = s->arena, .key = key};

	engine_run(n->engine, ST_LANE_META, ENGINE_READ, get_job, &j);
	if (j.found)
		*out = arena_str(a, j.value);
	st_scratch_free(s);
	return j.found;
}

enum engine_result
st_record_put(struct st_node *n, struct str key, struct str value)
{
	struct record_job j = {.key = key, .value = value};
	enum engine_result r =
	    engine_run(n->engine, ST_LANE_META, ENGINE_WRITE, put_job, &j);

	if (r == ENGINE_OK)
		engine_sync(n->engine);
	return r;
}
