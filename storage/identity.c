#include "storage/identity.h"

#define FORMAT 1u

void
st_identity_put(struct buf *b, const struct st_identity *id)
{
	buf_u8(b, FORMAT);
	buf_put(b, id->cluster, sizeof id->cluster);
	buf_le32(b, id->member);
	buf_le32(b, id->incarnation);
	buf_u8(b, id->founder);
}

bool
st_identity_get(struct str bytes, struct st_identity *id)
{
	struct cur c = cur_of(bytes);
	unsigned format = cur_u8(&c);
	struct str cluster = cur_bytes(&c, sizeof id->cluster);

	memset(id, 0, sizeof *id);
	if (!cur_ok(&c) || format != FORMAT)
		return false;
	memcpy(id->cluster, cluster.p, sizeof id->cluster);
	id->member = cur_le32(&c);
	id->incarnation = cur_le32(&c);
	id->founder = cur_u8(&c) != 0;
	id->known = true;
	return cur_done(&c) && id->member != 0;
}

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

static bool
get_record(struct st_node *n, struct str key, struct arena *a, struct str *out)
{
	struct st_scratch *s = st_scratch_new(n, "record");
	struct record_job j = {.arena = s->arena, .key = key};

	engine_run(n->engine, ST_LANE_META, ENGINE_READ, get_job, &j);
	if (j.found)
		*out = arena_str(a, j.value);
	st_scratch_free(s);
	return j.found;
}

static enum engine_result
put_record(struct st_node *n, struct str key, struct str value)
{
	struct record_job j = {.key = key, .value = value};
	enum engine_result r =
	    engine_run(n->engine, ST_LANE_META, ENGINE_WRITE, put_job, &j);

	if (r == ENGINE_OK)
		engine_sync(n->engine);
	return r;
}

struct err *
st_identity_load(struct st_node *n, struct arena *a)
{
	struct str bytes;

	memset(&n->id, 0, sizeof n->id);
	if (!get_record(n, STR("I"), a, &bytes))
		return NULL;
	if (st_identity_get(bytes, &n->id))
		return NULL;
	n->id.known = false;
	if (bytes.len && (uint8_t)bytes.p[0] > FORMAT)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "the node's identity has format %u, this build reads "
		    "format %u",
		    (unsigned)(uint8_t)bytes.p[0], FORMAT);
	return ERR(a, ERRCODE_DATA_CORRUPTED,
	    "the node's identity record is malformed");
}

struct err *
st_identity_save(struct st_node *n, struct arena *a)
{
	struct buf b;

	buf_init(&b, a);
	st_identity_put(&b, &n->id);
	if (put_record(n, STR("I"), buf_view(&b)) != ENGINE_OK)
		return ERR(
		    a, ERRCODE_DISK_FULL, "the data directory's disk is full");
	return NULL;
}

struct str
st_addrs_load(struct st_node *n)
{
	struct str v;

	return get_record(n, STR("A"), n->arena, &v) ? v : STR_NONE;
}

void
st_addrs_save(struct st_node *n, struct str addrs)
{
	/* Only a help for the next start: a full disk does not matter. */
	put_record(n, STR("A"), addrs);
}
