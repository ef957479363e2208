#include "storage/load.h"

#include <inttypes.h>

#include "base/log.h"
#include "storage/apply.h"
#include "storage/catalog.h"
#include "storage/config.h"
#include "storage/pass.h"
#include "storage/resync.h"
#include "storage/txns.h"

struct piece {
	struct piece *next;
	struct str key, value;
};

/* What an engine job reads of a group, as bytes in a scratch arena. */
struct load {
	struct arena *arena;
	struct st_gid gid;
	struct str record, promise, pass;
	struct piece *sessions, *schemas, *entries;
	struct piece *txns[3]; /* decisions, resolved ones, parts */
	uint64_t first;        /* index of the oldest entry kept; 0 = none */
};

static void
load_prefix(struct kv *kv, struct load *l, enum kv_file f, struct str prefix,
    struct str from, struct piece **out)
{
	struct kv_cur *c = kv_open(kv, f);
	struct str k, v;
	bool more = kv_seek(c, from, &k, &v);

	*out = NULL;
	while (more && str_has_prefix(k, prefix)) {
		struct piece *p = NEW(l->arena, struct piece);

		p->key = arena_str(l->arena, k);
		p->value = arena_str(l->arena, v);
		*out = p;
		out = &p->next;
		more = kv_next(c, &k, &v);
	}
	kv_close(c);
}

static void
load_meta(struct kv *kv, struct load *l, char letter, struct piece **out)
{
	struct buf b;

	buf_init(&b, l->arena);
	buf_u8(&b, (uint8_t)letter);
	st_gid_put(&b, l->gid);
	load_prefix(kv, l, KV_META, buf_view(&b), buf_view(&b), out);
}

static void
load_log(struct kv *kv, struct load *l, uint64_t applied)
{
	struct buf prefix, from;
	struct kv_cur *c;
	struct str k, v;

	buf_init(&prefix, l->arena);
	st_gid_put(&prefix, l->gid);
	buf_init(&from, l->arena);
	st_key_log(&from, l->gid, applied + 1);
	load_prefix(
	    kv, l, KV_LOG, buf_view(&prefix), buf_view(&from), &l->entries);
	c = kv_open(kv, KV_LOG);
	l->first = 0;
	if (kv_seek(c, buf_view(&prefix), &k, &v) &&
	    str_has_prefix(k, buf_view(&prefix))) {
		struct cur at = cur_of(str_skip(k, ST_GID_LEN));

		l->first = cur_be64(&at);
	}
	kv_close(c);
}

static void
load_job(struct kv *kv, void *arg)
{
	struct load *l = arg;
	struct st_group_record r = {.applied = 0};
	struct buf key;
	struct str v;

	buf_init(&key, l->arena);
	st_key_group(&key, l->gid);
	l->record = STR_NONE;
	if (kv_get(kv, KV_META, buf_view(&key), &v)) {
		l->record = arena_str(l->arena, v);
		st_group_record_get(l->record, &r);
	}
	key.len = 0;
	st_key_promise(&key, l->gid);
	l->promise = STR_NONE;
	if (kv_get(kv, KV_META, buf_view(&key), &v))
		l->promise = arena_str(l->arena, v);
	key.len = 0;
	st_key_pass(&key, l->gid);
	l->pass = STR_NONE;
	if (kv_get(kv, KV_META, buf_view(&key), &v))
		l->pass = arena_str(l->arena, v);
	load_meta(kv, l, 'S', &l->sessions);
	load_meta(kv, l, 'V', &l->schemas);
	for (int i = 0; i < 3; i++)
		load_meta(kv, l, "DEY"[i], &l -> txns[i]);
	load_log(kv, l, r.applied);
}

static struct err *
take_sessions(struct st_group *g, struct arena *a, const struct load *l)
{
	cl_stamp window = CL_STAMP_OF_MS(g->node->conf.retry_window_us / 1000);

	g->results = st_results_new(g->arena, window);
	for (const struct piece *p = l->sessions; p; p = p->next) {
		struct str id = str_skip(p->key, 1 + ST_GID_LEN);

		if (id.len != 16)
			return ERR(a, ERRCODE_DATA_CORRUPTED,
			    "a record of kept results is malformed");
		TRY(st_results_load(
		    a, g->results, (const uint8_t *)id.p, p->value));
	}
	st_results_loaded(g->results, g->applied);
	return NULL;
}

static struct err *
take_schemas(struct st_group *g, struct arena *a, const struct load *l)
{
	for (const struct piece *p = l->schemas; p; p = p->next) {
		struct cur k = cur_of(str_skip(p->key, 1 + ST_GID_LEN));
		struct cur v = cur_of(p->value);
		uint32_t table = cur_be32(&k), version = cur_le32(&v);

		if (!cur_done(&k) || !cur_done(&v))
			return ERR(a, ERRCODE_DATA_CORRUPTED,
			    "a record of a schema version is malformed");
		st_group_set_schema(g, table, version);
	}
	return NULL;
}

static struct err *
take_txns(struct st_group *g, struct arena *a, const struct load *l)
{
	g->txns = NULL;
	for (int i = 0; i < 3; i++)
		for (const struct piece *p = l->txns[i]; p; p = p->next) {
			struct buf key;

			buf_init(&key, a);
			buf_u8(&key, (uint8_t)p->key.p[0]);
			buf_str(&key, str_skip(p->key, 1 + ST_GID_LEN));
			TRY(st_txns_load(
			    a, st_group_txns(g), buf_view(&key), p->value));
		}
	if (g->txns)
		st_txns_loaded(g->txns, g->applied);
	return NULL;
}

/* Entries that were appended before the stop but not applied: they are the end
 * of this member's log. */
static struct err *
take_entries(struct st_group *g, struct arena *a, const struct load *l)
{
	for (const struct piece *x = l->entries; x; x = x->next) {
		if (st_group_restore(g, a, x->value))
			return ERR(a, ERRCODE_DATA_CORRUPTED,
			    "the log of slot %u is damaged after entry "
			    "%" PRIu64,
			    g->gid.slot, g->last);
	}
	return NULL;
}

/* What was promised, by its record and by what was taken in that ballot. */
static struct err *
take_promise(struct st_group *g, struct arena *a, const struct load *l)
{
	struct st_ballot b = {0};

	if (l->promise.len && !st_promise_get(l->promise, &b))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "the promise of slot %u is malformed", g->gid.slot);
	g->promise =
	    st_ballot_cmp(&b, &g->last_ballot) > 0 ? b : g->last_ballot;
	g->rounds_seen = g->promise.round;
	g->promises = g->promised = 0;
	g->born = l->record.len || l->promise.len || g->last;
	return NULL;
}

/* A copy whose resync was cut short: it goes on. */
static struct err *
take_pass(struct st_group *g, struct arena *a, const struct load *l)
{
	struct st_pass pass;

	g->incomplete = l->pass.len > 0;
	if (g->incomplete && !st_pass_get(l->pass, &pass))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "the record of a resync of slot %u is malformed",
		    g->gid.slot);
	if (g->incomplete)
		g->resync.place = (struct st_place){pass.ballot, pass.begun};
	return NULL;
}

static void
take_record(struct st_group *g, const struct st_group_record *r)
{
	g->last = g->committed = g->applied = g->durable = r->applied;
	g->matched = r->applied;
	g->last_ballot = g->applied_ballot = r->ballot;
	g->last_stamp = g->applied_stamp = r->stamp;
	g->floor = r->floor;
	g->catalog_version = r->catalog_version;
	g->n_schemas = g->cap_schemas = g->n_schemas_ahead = 0;
	g->schemas = NULL;
	g->ring = NULL;
	g->ring_size = 0;
	g->log_bytes = g->keep = 0;
	g->leader = 0;
	g->ballot = (struct st_ballot){0};
}

static struct err *
load_group(struct st_group *g, struct arena *a)
{
	struct load l = {.arena = a, .gid = g->gid};
	struct st_group_record r = {.applied = 0};

	engine_run(
	    g->node->engine, st_group_lane(g->gid), ENGINE_READ, load_job, &l);
	if (l.record.len && !st_group_record_get(l.record, &r))
		return ERR(a, ERRCODE_DATA_CORRUPTED,
		    "the state record of slot %u is malformed", g->gid.slot);
	take_record(g, &r);
	g->trimmed = l.first ? l.first - 1 : r.applied;
	TRY(take_sessions(g, a, &l));
	TRY(take_schemas(g, a, &l));
	TRY(take_txns(g, a, &l));
	TRY(take_entries(g, a, &l));
	TRY(take_promise(g, a, &l));
	g->flushed = g->last;
	TRY(take_pass(g, a, &l));
	/* An incomplete copy knows no catalog: others are asked. */
	if (g->gid.placement == CL_PLACEMENT_CATALOG && !g->incomplete)
		TRY(st_catalog_rebuild(g->node, a, g));
	st_config_load(g);
	return NULL;
}

void
st_group_load(struct st_group *g)
{
	struct st_scratch *s = st_scratch_new(g->node, "load group");
	struct err *e;

	st_group_move(g, ST_GROUP_LOADING);
	g->arena = arena_new(g->node->arena, "group");
	st_locks_init(&g->locks, g->arena);
	e = load_group(g, s->arena);
	if (!e) {
		st_group_move(g, ST_GROUP_FOLLOWING);
		if (g->incomplete)
			st_resync_resume(g);
	} else {
		LOG(g->node->world, LOG_ERROR, "group", "damaged",
		    "placement=%u slot=%u error=\"%s\"", g->gid.placement,
		    g->gid.slot, e->message);
		g->node->log.bytes -= g->log_bytes;
		arena_free(g->arena);
		g->arena = NULL;
		g->txns = NULL;
		st_group_move(g, ST_GROUP_CLOSED);
	}
	st_scratch_free(s);
}
