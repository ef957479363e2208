#include "storage/life.h"

#include "base/log.h"
#include "storage/link.h"
#include "storage/record.h"

#define FORMAT     1u
#define RECORD_LEN (1 + 4 + ST_LIFE)

void
st_life_put(struct buf *b, uint32_t incarnation, struct str life)
{
	ASSERT(life.len == ST_LIFE);
	buf_u8(b, FORMAT);
	buf_le32(b, incarnation);
	buf_str(b, life);
}

bool
st_life_get(struct str bytes, uint32_t *incarnation, uint8_t *life)
{
	struct cur c = cur_of(bytes);
	unsigned format = cur_u8(&c);
	struct str v;

	*incarnation = cur_le32(&c);
	v = cur_bytes(&c, ST_LIFE);
	if (format != FORMAT || !cur_done(&c))
		return false;
	memcpy(life, v.p, ST_LIFE);
	return true;
}

/* ---- on disk ---- */

struct piece {
	struct piece *next;
	uint32_t member;
	uint32_t incarnation;
	uint8_t life[ST_LIFE];
};

struct load_job {
	struct arena *arena; /* a root */
	struct piece *pieces;
};

static void
load_job(struct kv *kv, void *arg)
{
	struct load_job *j = arg;
	struct kv_cur *c = kv_open(kv, KV_META);
	struct str k, v;
	bool more = kv_seek(c, STR("N"), &k, &v);

	j->pieces = NULL;
	while (more && str_has_prefix(k, STR("N"))) {
		struct piece *p = NEW(j->arena, struct piece);
		struct cur at = cur_of(str_skip(k, 1));

		p->member = cur_be32(&at);
		if (cur_done(&at) && st_life_get(v, &p->incarnation, p->life)) {
			p->next = j->pieces;
			j->pieces = p;
		}
		more = kv_next(c, &k, &v);
	}
	kv_close(c);
}

void
st_lives_load(struct st_node *n)
{
	struct st_scratch *s = st_scratch_new(n, "lives");
	struct load_job j = {.arena = s->arena};

	engine_run(n->engine, ST_LANE_META, ENGINE_READ, load_job, &j);
	for (const struct piece *p = j.pieces; p; p = p->next) {
		struct st_link *l = st_link_get(n, p->member);

		l->met_incarnation = p->incarnation;
		memcpy(l->met_life, p->life, ST_LIFE);
	}
	st_scratch_free(s);
}

struct keep {
	struct arena *arena;
	struct st_node *node;
	struct str key, record;
};

static void
keep_fiber(void *arg)
{
	struct keep *k = arg;
	struct st_node *n = k->node;

	/* With a full disk it is known to this process at least. */
	st_record_put(n, k->key, k->record);
	arena_free(k->arena);
	st_background_end(n);
}

/* ---- meeting ---- */

struct err *
st_life_check(struct st_node *n, struct arena *a, uint32_t member,
    uint32_t incarnation, struct str life)
{
	const struct st_link *l = st_link_get(n, member);

	if (life.len != ST_LIFE)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "a member that does not say which process it is");
	if (incarnation > l->met_incarnation ||
	    (incarnation == l->met_incarnation &&
		memcmp(l->met_life, life.p, ST_LIFE) == 0))
		return NULL;
	return err_hint(
	    ERR(a, ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
		"member %u has an older copy of its data "
		"directory: it was met as incarnation %u and comes "
		"as %s %u",
		member, l->met_incarnation,
		incarnation == l->met_incarnation ? "another" : "incarnation",
		incarnation),
	    "Put its newest directory back, or let it join as a new member "
	    "with an empty one.");
}

void
st_life_met(
    struct st_node *n, uint32_t member, uint32_t incarnation, struct str life)
{
	struct st_link *l = st_link_get(n, member);
	struct arena *a;
	struct keep *k;
	struct buf b;

	if (incarnation <= l->met_incarnation || life.len != ST_LIFE)
		return;
	l->met_incarnation = incarnation;
	memcpy(l->met_life, life.p, ST_LIFE);
	a = arena_new(n->arena, "life");
	k = NEW(a, struct keep);
	k->arena = a;
	k->node = n;
	buf_init(&b, a);
	buf_u8(&b, 'N');
	buf_be32(&b, member);
	k->key = buf_view(&b);
	buf_init(&b, a);
	st_life_put(&b, incarnation, life);
	k->record = buf_view(&b);
	n->n_fibers++;
	fiber_spawn(n->world, "life", FIBER_STACK_NODE, keep_fiber, k);
}

void
st_life_refused(struct st_node *n, const char *why)
{
	if (n->outdated)
		return;
	n->outdated = arena_strdup(n->arena, why);
	LOG(n->world, LOG_ERROR, "node", "outdated", "why=\"%s\"", why);
	cond_broadcast(&n->catalog.changed);
	if (n->state == ST_NODE_SERVING)
		st_node_stop(n);
}
