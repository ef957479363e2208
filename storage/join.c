#include "storage/join.h"

#include <inttypes.h>

#include "base/log.h"
#include "cluster/ddl.h"
#include "cluster/row.h"
#include "storage/catalog.h"
#include "storage/config.h"
#include "storage/elect.h"
#include "storage/identity.h"
#include "storage/lease.h"
#include "storage/link.h"
#include "storage/peer.h"
#include "storage/propose.h"

#define CALL_US         5000000u
#define PROPOSE_US      9000000u /* within st_propose_own's deadline */
#define FRESH_US        3000000u
#define RETRY_MIN_US    100000u
#define RETRY_MAX_US    2000000u
#define POLL_US         10000000u
#define LEADER_PAUSE_US 1000000u
#define TRIES           20
/* Names of members by the token of their JOIN: a parent that no object has. */
#define TOKEN_PARENT UINT32_MAX

/* ---- addresses ---- */

static struct str
next_addr(struct str *list)
{
	for (;;) {
		const char *comma;
		struct str one = *list;

		if (!list->len)
			return STR_NONE;
		comma = memchr(list->p, ',', list->len);
		if (comma)
			one.len = (size_t)(comma - list->p);
		*list = str_skip(*list, one.len + (comma != NULL));
		while (one.len && one.p[0] == ' ')
			one = str_skip(one, 1);
		while (one.len && one.p[one.len - 1] == ' ')
			one.len--;
		if (one.len)
			return one;
	}
}

struct str
st_own_addr(const struct st_node *n)
{
	struct str list = str_c(n->conf.listen);

	if (n->conf.advertise[0])
		return str_c(n->conf.advertise);
	return next_addr(&list);
}

static bool
stopping(const struct st_node *n)
{
	return n->state > ST_NODE_SERVING;
}

/* ---- proposals to the catalog ---- */

static void
pause_us(struct st_node *n, uint64_t us)
{
	fiber_sleep(n->world, world_mono_us(n->world) + us);
}

static bool
is_decided(const struct cl_proposed *out)
{
	return out->outcome == CL_APPLIED || out->outcome == CL_FALSE;
}

/* One send, to this node's own copy or to a member at `addr`. */
static bool
propose_to(struct st_node *n, struct arena *a, struct str addr,
    struct cl_propose *m, struct cl_proposed *out)
{
	struct st_reply_msg reply;
	struct err *e;

	memset(out, 0, sizeof *out);
	if (addr.len) {
		e = st_peer_call(n, a, addr, CL_MSG_PROPOSE, m,
		    world_mono_us(n->world) + CALL_US, &reply);
		if (!e && reply.kind == CL_MSG_PROPOSED)
			*out = *(struct cl_proposed *)reply.msg;
	} else {
		e = st_propose(
		    n, a, m, cl_catalog_version(n->catalog.snap), out);
	}
	m->send++;
	return !e && is_decided(out);
}

/* Addresses to try: this node's own copy is "", then who was named as the
 * leader, then all that are known. */
static struct str
addresses(struct st_node *n, struct arena *a)
{
	struct str lists[3] = {
	    st_catalog_addrs(n, a), n->catalog.addrs, str_c(n->conf.join)};
	struct buf b;

	buf_init(&b, a);
	for (int i = 0; i < 3; i++) {
		if (b.len && lists[i].len)
			buf_u8(&b, ',');
		buf_str(&b, lists[i]);
	}
	return buf_view(&b);
}

/* A change of the catalog, sent again until one of its members knows what
 * became of it. */
static struct err *
propose(struct st_node *n, struct arena *a, struct cl_propose *m,
    struct cl_proposed *out)
{
	uint64_t until = world_mono_us(n->world) + PROPOSE_US;

	st_propose_own(n, a, m);
	do {
		struct str list = addresses(n, a), addr;

		if (n->catalog.holds && propose_to(n, a, STR(""), m, out))
			return NULL;
		if (n->catalog.holds && out->leader &&
		    (addr = st_link_addr(n, out->leader)).len &&
		    propose_to(n, a, addr, m, out))
			return NULL;
		while ((addr = next_addr(&list)).len && !stopping(n))
			if (propose_to(n, a, addr, m, out))
				return NULL;
		if (!stopping(n))
			pause_us(n, RETRY_MIN_US);
	} while (!stopping(n) && world_mono_us(n->world) < until);
	return ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
	    "the catalog is not available: no majority of its members "
	    "answered");
}

/* ---- forming ---- */

struct err *
st_form(struct st_node *n, struct arena *a)
{
	n->id = (struct st_identity){
	    .known = true, .member = 1, .incarnation = 1, .founder = true};
	world_random(n->world, n->id.cluster, sizeof n->id.cluster);
	LOG(n->world, LOG_INFO, "node", "form", "slots=%u replication=%u",
	    n->conf.slots, n->conf.replication);
	return st_identity_save(n, a);
}

static struct err *
write_first_catalog(struct st_node *n, struct arena *a)
{
	struct cl_bootstrap how = {.slots = n->conf.slots,
	    .replication = n->conf.replication,
	    .incarnation = n->id.incarnation,
	    .alias = n->conf.alias[0] ? str_c(n->conf.alias) : STR("skai1"),
	    .addr = st_own_addr(n),
	    .zone = str_c(n->conf.zone),
	    .user = str_c(n->conf.bootstrap_user)};
	struct cl_propose m = {.placement = 0};
	struct cl_proposed out;

	memcpy(how.cluster, n->id.cluster, sizeof how.cluster);
	cl_catalog_bootstrap(a, &how, &m);
	TRY(propose(n, a, &m, &out));
	if (out.outcome == CL_APPLIED)
		return NULL;
	return ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
	    "the first catalog was not written: outcome %u, reason %u",
	    out.outcome, out.reason);
}

struct err *
st_catalog_found(struct st_node *n, struct arena *a)
{
	struct st_refusal why;

	if (!st_group_lead(n, st_catalog_gid, 0,
		world_mono_us(n->world) + 60000000u, &why))
		return ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
		    "could not open the catalog group: reason %u",
		    (unsigned)why.why);
	if (cl_catalog_version(n->catalog.snap))
		return NULL;
	return write_first_catalog(n, a);
}

/* ---- joining ---- */

static struct err *
ask_to_join(struct st_node *n, struct arena *a, struct str addr,
    const struct cl_join *m, struct st_reply_msg *reply)
{
	struct err *e = st_peer_call(n, a, addr, CL_MSG_JOIN, m,
	    world_mono_us(n->world) + CALL_US, reply);

	/* Who does not lead the catalog names who does. */
	if (e && err_is(e, ERRCODE_CANNOT_CONNECT_NOW) && e->detail)
		e = st_peer_call(n, a, str_c(e->detail), CL_MSG_JOIN, m,
		    world_mono_us(n->world) + CALL_US, reply);
	if (!e && reply->kind != CL_MSG_JOINED)
		e = ERR(
		    a, ERRCODE_PROTOCOL_VIOLATION, "unexpected answer to JOIN");
	return e;
}

static struct err *
become_member(struct st_node *n, struct arena *a, const struct cl_joined *j)
{
	if (j->cluster.len != sizeof n->id.cluster || !j->member)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION, "malformed JOINED");
	/* As a member from now on: the joiner's connections end. */
	st_peers_close(n);
	n->id = (struct st_identity){
	    .known = true, .member = j->member, .incarnation = 1};
	memcpy(n->id.cluster, j->cluster.p, sizeof n->id.cluster);
	LOG(n->world, LOG_INFO, "node", "joined", "member=%u", j->member);
	return st_identity_save(n, a);
}

/* Errors that another try does not mend. */
static bool
is_final(const struct err *e)
{
	return err_is(e, ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION) ||
	       err_is(e, ERRCODE_FEATURE_NOT_SUPPORTED) ||
	       err_is(e, ERRCODE_DUPLICATE_OBJECT);
}

static struct err *
try_seeds(struct st_node *n, struct arena *a, const struct cl_join *m,
    struct st_reply_msg *reply)
{
	struct str seeds = str_c(n->conf.join), addr;
	struct err *last = NULL;

	while ((addr = next_addr(&seeds)).len) {
		last = ask_to_join(n, a, addr, m, reply);
		if (!last || is_final(last))
			return last;
		LOG(n->world, LOG_WARN, "node", "join_failed",
		    "seed=%.*s why=\"%s\"", STR_FMT(addr), last->message);
	}
	return last ? last
		    : ERR(a, ERRCODE_CONFIG_FILE_ERROR,
			  "the list of seeds to join is empty");
}

struct err *
st_join(struct st_node *n, struct arena *a)
{
	uint8_t token[16];
	uint64_t pause = RETRY_MIN_US;
	struct cl_join m = {.alias = str_c(n->conf.alias),
	    .addr = st_own_addr(n),
	    .zone = str_c(n->conf.zone),
	    .level = CL_FEATURE_LEVEL,
	    .incarnation = 1};

	world_random(n->world, token, sizeof token);
	m.token = str_of(token, sizeof token);
	for (;;) {
		struct arena *try = arena_new(a, "join");
		struct st_reply_msg reply;
		struct err *e = try_seeds(n, try, &m, &reply);

		if (!e)
			return become_member(n, a, reply.msg);
		if (is_final(e) || stopping(n) ||
		    err_is(e, ERRCODE_CONFIG_FILE_ERROR))
			return e;
		arena_free(try);
		pause_us(n, pause);
		pause = pause * 2 < RETRY_MAX_US ? pause * 2 : RETRY_MAX_US;
	}
}

/* ---- JOIN at the leader ---- */

struct name_job {
	struct str key;
	uint32_t id; /* 0: none */
};

static void
name_job(struct kv *kv, void *arg)
{
	struct name_job *j = arg;
	struct cl_row_cur it;
	struct cl_row_col col;
	struct cl_row_head h;
	struct str row;
	struct cur c;

	j->id = 0;
	if (!kv_get(kv, KV_ROWS, j->key, &row) || !cl_row_head(row, &h) ||
	    (h.flags & CL_ROW_TOMBSTONE) || !cl_row_open(row, &it) ||
	    !cl_row_next(&it, &col))
		return;
	c = cur_of(col.v);
	j->id = cur_le32(&c);
}

static struct str
token_key(struct arena *a, struct str token)
{
	struct buf b;

	buf_init(&b, a);
	cl_name_key(&b, CL_MEMBER, TOKEN_PARENT, token);
	return buf_view(&b);
}

static uint32_t
member_of_token(struct st_node *n, struct str key)
{
	struct name_job j = {.key = key};

	engine_run(n->engine, ENGINE_LANE_ANY, ENGINE_READ, name_job, &j);
	return j.id;
}

/* The token's row goes with the member's. */
static void
add_token(
    struct arena *a, struct cl_propose *m, struct str key, uint32_t member)
{
	struct cl_cond *conds = NEW_N(a, struct cl_cond, m->n_conds + 1);
	struct cl_write *writes = NEW_N(a, struct cl_write, m->n_writes + 1);
	struct buf row;

	memcpy(conds, m->conds, m->n_conds * sizeof *conds);
	memcpy(writes, m->writes, m->n_writes * sizeof *writes);
	buf_init(&row, a);
	cl_name_row(&row, member);
	conds[m->n_conds++] =
	    (struct cl_cond){.kind = CL_COND_ABSENT, .key = key};
	writes[m->n_writes++] = (struct cl_write){
	    .kind = CL_WRITE_PUT, .key = key, .value = buf_view(&row)};
	m->conds = conds;
	m->writes = writes;
}

static struct err *
add_member(struct st_node *n, struct arena *a, const struct cl_join *m,
    struct str key, struct cl_proposed *out)
{
	struct cl_ddl *d = cl_ddl_new(a, st_catalog_pin(n, a));
	struct cl_object o = {.kind = CL_MEMBER};
	struct cl_propose p = {.placement = 0};

	o.id = cl_ddl_member_id(d);
	o.u.member = (struct cl_member){.id = o.id,
	    .incarnation = m->incarnation,
	    .alias = m->alias.len ? m->alias
				  : str_c(arena_printf(a, "skai%u", o.id)),
	    .addr = m->addr,
	    .zone = m->zone,
	    .level = m->level};
	cl_ddl_create(d, &o);
	TRY(cl_ddl_propose(d, &p));
	add_token(a, &p, key, o.id);
	return propose(n, a, &p, out);
}

static struct err *
check_join(struct st_node *n, struct arena *a, const struct cl_join *m)
{
	const struct cl_cluster *cluster;
	struct st_refusal why = {CL_REFUSE_LEADER, 0};
	struct err *e;

	if (!n->catalog.holds ||
	    !st_group_lead(n, st_catalog_gid, 0,
		world_mono_us(n->world) + FRESH_US, &why)) {
		struct str list = st_catalog_addrs(n, a), addr;

		addr =
		    why.leader ? st_link_addr(n, why.leader) : next_addr(&list);
		e = ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
		    "this node does not lead the catalog");
		return addr.len ? err_detail(e, "%.*s", STR_FMT(addr)) : e;
	}
	cluster = cl_catalog_cluster(n->catalog.snap);
	/* The founder's own forming may not be over. */
	if (!cluster)
		return ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
		    "the catalog of this node is not loaded yet");
	if (m->token.len != 16 || !m->addr.len)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION, "malformed JOIN");
	if (m->level < cluster->level)
		return err_hint(ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
				    "the cluster is at feature level %u, the "
				    "joining build supports level %u",
				    cluster->level, m->level),
		    "Join with a newer build.");
	return NULL;
}

static struct err *
check_alias(struct st_node *n, struct arena *a, const struct cl_join *m)
{
	if (m->alias.len &&
	    cl_find_name(n->catalog.snap, CL_MEMBER, 0, m->alias))
		return err_hint(ERR(a, ERRCODE_DUPLICATE_OBJECT,
				    "a member with alias \"%.*s\" exists",
				    STR_FMT(m->alias)),
		    "Choose another alias.");
	return NULL;
}

struct err *
st_join_serve(struct st_node *n, struct arena *a, const struct cl_join *m,
    struct cl_joined *out)
{
	TRY(check_join(n, a, m));
	for (int i = 0; i < TRIES; i++) {
		struct str key = token_key(a, m->token);
		struct cl_proposed done;

		out->member = member_of_token(n, key);
		if (out->member) {
			out->cluster =
			    str_of(n->id.cluster, sizeof n->id.cluster);
			return NULL;
		}
		TRY(check_alias(n, a, m));
		TRY(add_member(n, a, m, key, &done));
		if (done.outcome == CL_REFUSED)
			return ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
			    "the catalog is not available: reason %u",
			    done.reason);
	}
	return ERR(a, ERRCODE_SERIALIZATION_FAILURE,
	    "could not join: the catalog changes too fast");
}

/* ---- following ---- */

/* Whom to ask for the catalog: a member, or whoever is at an address. */
struct teller {
	uint32_t member; /* 0: at addr */
	struct str addr;
};

static struct err *
ask_catalog(struct st_node *n, struct arena *a, const struct teller *t,
    const struct cl_catalog_get *get, struct st_reply_msg *out)
{
	uint64_t until = world_mono_us(n->world) + get->wait_us + CALL_US;

	return t->member ? st_member_call(n, a, t->member, CL_MSG_CATALOG_GET,
			       get, until, out)
			 : st_peer_call(n, a, t->addr, CL_MSG_CATALOG_GET, get,
			       until, out);
}

/* All pages of one version, then the snapshot moves at once. */
static struct err *
fetch_changes(struct st_node *n, struct arena *a, const struct teller *t,
    uint64_t wait_us)
{
	struct cl_catalog_get get = {
	    .since = cl_catalog_version(n->catalog.snap), .wait_us = wait_us};
	struct cl_object_change *all = NULL;
	size_t count = 0;

	for (;;) {
		struct st_reply_msg reply;
		const struct cl_catalog_page *p;

		TRY(ask_catalog(n, a, t, &get, &reply));
		if (reply.kind != CL_MSG_CATALOG)
			return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
			    "unexpected answer to CATALOG_GET");
		p = reply.msg;
		if (p->version < get.since)
			return ERR(a, ERRCODE_CONNECTION_FAILURE,
			    "its catalog is older than this node's");
		if (p->version != get.version)
			count = 0; /* a new one: from its start */
		all = arena_grow(a, all, count * sizeof *all,
		    (count + p->n_objects + 1) * sizeof *all);
		if (p->n_objects)
			memcpy(all + count, p->objects,
			    p->n_objects * sizeof *all);
		count += p->n_objects;
		if (!p->more)
			return st_catalog_adopt(
			    n, a, p->version, p->full, all, count);
		if (!count)
			return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
			    "an empty page of the catalog");
		get.version = p->version;
		get.after_kind = all[count - 1].kind;
		get.after_id = all[count - 1].id;
		get.wait_us = 0;
	}
}

static void
keep_addrs(struct st_node *n, struct arena *a)
{
	struct str now = st_catalog_addrs(n, a);

	if (!now.len || str_eq(now, n->catalog.addrs))
		return;
	n->catalog.addrs = arena_str(n->arena, now);
	st_addrs_save(n, n->catalog.addrs);
}

/* The leader of the catalog has applied all that was ever acknowledged. */
static bool
leads_catalog(struct st_node *n, uint64_t deadline_us, struct st_refusal *why)
{
	struct st_group *g;
	struct st_ballot ballot;

	*why = (struct st_refusal){CL_REFUSE_LEADER, 0};
	if (!n->catalog.holds)
		return false;
	g = st_group_lead(n, st_catalog_gid, 0, deadline_us, why);
	if (!g)
		return false;
	ballot = g->ballot;
	return st_group_confirm(g, &ballot, deadline_us);
}

struct err *
st_catalog_fresh(struct st_node *n, struct arena *a, bool may_ask)
{
	uint64_t until = world_mono_us(n->world) + FRESH_US;
	struct err *e = ERR(a, ERRCODE_CANNOT_CONNECT_NOW,
	    "this node cannot tell what the catalog is now");
	struct st_refusal why;
	struct teller t = {.member = 0};
	struct str list;

	if (leads_catalog(n, until, &why))
		return NULL;
	t.member = why.leader;
	t.addr = t.member ? st_link_addr(n, t.member) : STR("");
	if (!may_ask)
		return t.addr.len ? err_detail(e, "%.*s", STR_FMT(t.addr)) : e;
	if (t.addr.len && !fetch_changes(n, a, &t, 0))
		return NULL;
	list = addresses(n, a);
	t.member = 0;
	while ((t.addr = next_addr(&list)).len && !stopping(n) &&
	       world_mono_us(n->world) < until) {
		struct err *failed = fetch_changes(n, a, &t, 0);

		/* Who does not lead it names who does. */
		if (failed && err_is(failed, ERRCODE_CANNOT_CONNECT_NOW) &&
		    failed->detail) {
			t.addr = str_c(failed->detail);
			failed = fetch_changes(n, a, &t, 0);
		}
		if (!failed)
			return NULL;
		e = failed;
	}
	return e;
}

/* Those that have the catalog's log, not who else may live at their addresses
 * by now: nodes without it might wait for each other. */
static struct err *
follow_voters(struct st_node *n, struct arena *a)
{
	struct cl_catalog *c = st_catalog_pin(n, a);
	const struct cl_placement *p =
	    cl_catalog_placement(c, CL_PLACEMENT_CATALOG);
	struct err *e = ERR(
	    a, ERRCODE_CONNECTION_FAILURE, "no voter of the catalog is known");

	for (uint32_t i = 0; p && i < p->slots[0].n && !stopping(n); i++) {
		struct teller t = {.member = p->slots[0].members[i]};

		if (t.member == n->id.member)
			continue;
		e = fetch_changes(n, a, &t, POLL_US);
		if (!e)
			return NULL;
	}
	return e;
}

/* Waits for news of the catalog. Its leader has them by itself. */
static struct err *
follow_once(struct st_node *n, struct arena *a)
{
	const struct st_group *g = st_group_find(n, CL_PLACEMENT_CATALOG, 0);
	struct err *e;
	struct teller t = {.member = 0};
	struct str list;

	if (!n->catalog.followed)
		return st_catalog_fresh(n, a, true);
	if (g && g->state == ST_GROUP_LEADING) {
		cond_wait(&n->catalog.changed,
		    world_mono_us(n->world) + LEADER_PAUSE_US);
		return NULL;
	}
	e = follow_voters(n, a);
	list = addresses(n, a);
	while (e && (t.addr = next_addr(&list)).len && !stopping(n))
		e = fetch_changes(n, a, &t, POLL_US);
	return e;
}

static void
follow(void *arg)
{
	struct st_node *n = TAKE(struct st_node, arg, ST_NODE_MAGIC);
	uint64_t pause = RETRY_MIN_US;

	while (!stopping(n)) {
		struct arena *a = arena_new(n->arena, "follow");
		struct err *e = follow_once(n, a);

		if (!e) {
			if (!n->catalog.followed) {
				n->catalog.followed = true;
				st_groups_committed(n);
			}
			cond_broadcast(&n->catalog.changed);
			keep_addrs(n, a);
			pause = RETRY_MIN_US;
		} else if (!stopping(n)) {
			LOG(n->world, LOG_WARN, "catalog", "follow_failed",
			    "why=\"%s\"", e->message);
			pause_us(n, pause);
			if (n->catalog.followed && pause * 2 < RETRY_MAX_US)
				pause *= 2;
		}
		arena_free(a);
	}
	st_background_end(n);
}

void
st_follow_start(struct st_node *n)
{
	n->catalog.addrs = st_addrs_load(n);
	st_background(n, "catalog follow", follow);
}

/* ---- the own object ---- */

static bool
is_current(const struct st_node *n, const struct cl_member *m)
{
	return str_eq(m->addr, st_own_addr(n)) &&
	       str_eq(m->zone, str_c(n->conf.zone)) &&
	       m->level == CL_FEATURE_LEVEL &&
	       (!n->conf.alias[0] || str_eq(m->alias, str_c(n->conf.alias)));
}

struct err *
st_member_refresh(struct st_node *n, struct arena *a)
{
	for (int i = 0; i < TRIES && !stopping(n); i++) {
		struct cl_catalog *c = st_catalog_pin(n, a);
		const struct cl_object *own =
		    cl_find(c, CL_MEMBER, n->id.member);
		struct cl_propose p = {.placement = 0};
		struct cl_proposed done;
		struct cl_object o;
		struct cl_ddl *d;

		if (!own || is_current(n, &own->u.member))
			return NULL;
		o = *own;
		o.u.member.addr = st_own_addr(n);
		o.u.member.zone = str_c(n->conf.zone);
		o.u.member.level = CL_FEATURE_LEVEL;
		o.u.member.incarnation = n->id.incarnation;
		if (n->conf.alias[0])
			o.u.member.alias = str_c(n->conf.alias);
		d = cl_ddl_new(a, c);
		cl_ddl_replace(d, &o);
		TRY(cl_ddl_propose(d, &p));
		TRY(propose(n, a, &p, &done));
		if (done.outcome == CL_APPLIED)
			return NULL;
		st_catalog_wait(n, cl_catalog_version(c) + 1,
		    world_mono_us(n->world) + RETRY_MAX_US);
	}
	return ERR(a, ERRCODE_SERIALIZATION_FAILURE,
	    "could not record this node's address in the catalog");
}
