/* The table of requests: what runs for each kind of message. */
#include "base/log.h"
#include "base/metrics.h"
#include "storage/build.h"
#include "storage/catalog.h"
#include "storage/conn.h"
#include "storage/coordinate.h"
#include "storage/decide.h"
#include "storage/elect.h"
#include "storage/facts.h"
#include "storage/follow.h"
#include "storage/join.h"
#include "storage/link.h"
#include "storage/prepare.h"
#include "storage/propose.h"
#include "storage/read.h"
#include "storage/scrub.h"
#include "storage/source.h"

static struct err *
serve_ping(struct st_request *r, void *msg)
{
	const struct cl_ping *m = msg;
	struct cl_pong out = {m->sent};

	st_reply(r, CL_MSG_PONG, &out);
	return NULL;
}

static struct err *
serve_join(struct st_request *r, void *msg)
{
	struct cl_joined out = {.member = 0};

	TRY(st_join_serve(r->node, r->arena, msg, &out));
	st_reply(r, CL_MSG_JOINED, &out);
	return NULL;
}

static struct err *
serve_catalog(struct st_request *r, void *msg)
{
	struct cl_catalog_page out;

	TRY(st_catalog_get(
	    r->node, r->arena, msg, st_request_member(r) != 0, &out));
	st_reply(r, CL_MSG_CATALOG, &out);
	return NULL;
}

static struct err *
serve_propose(struct st_request *r, void *msg)
{
	struct cl_proposed out;

	TRY(st_propose(r->node, r->arena, msg, r->frame.catalog, &out));
	st_reply(r, CL_MSG_PROPOSED, &out);
	return NULL;
}

static struct err *
serve_read(struct st_request *r, void *msg)
{
	struct cl_rows out;

	TRY(st_read(
	    r->node, r->arena, msg, r->frame.catalog, r->deadline_us, &out));
	st_reply(r, CL_MSG_ROWS, &out);
	return NULL;
}

static struct st_scan_ask
scan_ask(struct st_request *r, const struct cl_scan *m, struct str resume)
{
	return (struct st_scan_ask){.node = r->node,
	    .arena = r->arena,
	    .m = m,
	    .resume = resume,
	    .catalog = r->frame.catalog,
	    .deadline_us = r->deadline_us};
}

static struct err *
serve_scan(struct st_request *r, void *msg)
{
	struct st_scan_ask ask = scan_ask(r, msg, STR_NONE);
	struct cl_page out;

	TRY(st_scan(&ask, &out));
	st_reply(r, CL_MSG_PAGE, &out);
	return NULL;
}

static struct err *
serve_scan_more(struct st_request *r, void *msg)
{
	const struct cl_scan_more *m = msg;
	struct st_scan_ask ask;
	struct cl_page out;
	void *scan;

	if (!m->resume.len)
		return ERR(r->arena, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed scan: no resume key");
	TRY(cl_msg_decode(r->arena, CL_MSG_SCAN, m->scan, &scan));
	ask = scan_ask(r, scan, m->resume);
	TRY(st_scan(&ask, &out));
	st_reply(r, CL_MSG_PAGE, &out);
	return NULL;
}

static struct err *
serve_scan_index(struct st_request *r, void *msg)
{
	const struct cl_scan_index *m = msg;
	struct st_scan_ask ask;
	struct cl_page out;
	void *scan;

	TRY(cl_msg_decode(r->arena, CL_MSG_SCAN, m->scan, &scan));
	ask = scan_ask(r, scan, m->resume);
	TRY(st_scan_index(&ask, m->index, &out));
	st_reply(r, CL_MSG_PAGE, &out);
	return NULL;
}

static struct err *
serve_counts(struct st_request *r, void *msg)
{
	const struct cl_counts_get *m = msg;
	struct cl_counts out = {.n_tables = 0};

	TRY(st_counts(r->node, r->arena, m->table, &out));
	st_reply(r, CL_MSG_COUNTS, &out);
	return NULL;
}

static struct err *
serve_status(struct st_request *r, void *msg)
{
	struct cl_status out;
	struct buf b;

	(void)msg;
	buf_init(&b, r->arena);
	st_node_status(r->node, &b);
	out.json = buf_view(&b);
	st_reply(r, CL_MSG_STATUS, &out);
	return NULL;
}

static struct err *
serve_member(struct st_request *r, void *msg)
{
	struct cl_member_info out;

	(void)msg;
	TRY(st_facts_member(r->node, r->arena, &out));
	st_reply(r, CL_MSG_MEMBER_INFO, &out);
	return NULL;
}

static struct err *
serve_groups(struct st_request *r, void *msg)
{
	struct cl_groups out;

	st_facts_groups(r->node, r->arena, msg, &out);
	st_reply(r, CL_MSG_GROUPS, &out);
	return NULL;
}

/* What only members may ask. */
static struct err *
member(struct st_request *r, uint32_t *id)
{
	*id = st_request_member(r);
	return *id && *id != r->node->id.member
		   ? NULL
		   : ERR(r->arena, ERRCODE_PROTOCOL_VIOLATION,
			 "only members may send this");
}

static struct err *
serve_vote(struct st_request *r, void *msg)
{
	struct cl_voted out;
	uint32_t from;

	TRY(member(r, &from));
	TRY(st_vote_serve(r->node, r->arena, from, msg, &out));
	st_reply(r, CL_MSG_VOTED, &out);
	return NULL;
}

static struct err *
serve_append(struct st_request *r, void *msg)
{
	struct cl_appended out;
	uint32_t from;

	TRY(member(r, &from));
	TRY(st_append_serve(
	    r->node, r->arena, from, msg, r->frame.catalog, &out));
	st_reply(r, CL_MSG_APPENDED, &out);
	return NULL;
}

static struct err *
serve_beat(struct st_request *r, void *msg)
{
	struct cl_beaten out;
	uint32_t from;

	TRY(member(r, &from));
	TRY(st_beat_serve(r->node, r->arena, from, msg, &out));
	st_reply(r, CL_MSG_BEATEN, &out);
	return NULL;
}

static struct err *
serve_resync_get(struct st_request *r, void *msg)
{
	struct cl_resync_page out;
	uint32_t from;

	TRY(member(r, &from));
	TRY(st_source_serve(
	    r->node, r->arena, from, msg, r->frame.catalog, &out));
	st_reply(r, CL_MSG_RESYNC_PAGE, &out);
	return NULL;
}

static struct err *
serve_digest_get(struct st_request *r, void *msg)
{
	struct cl_digests out;
	uint32_t from;

	TRY(member(r, &from));
	TRY(st_digest_serve(r->node, r->arena, msg, r->frame.catalog, &out));
	st_reply(r, CL_MSG_DIGESTS, &out);
	return NULL;
}

static struct err *
serve_resync_ask(struct st_request *r, void *msg)
{
	struct cl_pong out = {0};
	uint32_t from;

	TRY(member(r, &from));
	st_resync_ask_serve(r->node, msg);
	st_reply(r, CL_MSG_PONG, &out);
	return NULL;
}

static struct err *
serve_index_build(struct st_request *r, void *msg)
{
	struct cl_index_built out;
	uint32_t from;

	TRY(member(r, &from));
	st_build_serve(
	    r->node, r->arena, msg, r->frame.catalog, r->deadline_us, &out);
	st_reply(r, CL_MSG_INDEX_BUILT, &out);
	return NULL;
}

static struct err *
serve_repair(struct st_request *r, void *msg)
{
	struct cl_repaired out;

	TRY(st_repair_serve(
	    r->node, r->arena, msg, r->frame.catalog, r->deadline_us, &out));
	st_reply(r, CL_MSG_REPAIRED, &out);
	return NULL;
}

static struct err *
serve_commit(struct st_request *r, void *msg)
{
	struct cl_proposed out;

	TRY(st_commit(r->node, r->arena, msg, r->frame.catalog, &out));
	st_reply(r, CL_MSG_PROPOSED, &out);
	return NULL;
}

static struct err *
serve_prepare(struct st_request *r, void *msg)
{
	struct cl_proposed out;
	uint32_t from;

	TRY(member(r, &from));
	TRY(st_prepare_serve(r->node, r->arena, msg, r->frame.catalog, &out));
	st_reply(r, CL_MSG_PROPOSED, &out);
	return NULL;
}

static struct err *
serve_resolve(struct st_request *r, void *msg)
{
	const struct cl_resolve *m = msg;
	struct cl_resolved out;
	uint32_t from;

	TRY(member(r, &from));
	if (m->outcome != CL_COMMIT && m->outcome != CL_ABORT)
		return ERR(r->arena, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed outcome of a transaction");
	st_resolve_serve(r->node, m, r->frame.catalog, &out);
	st_reply(r, CL_MSG_RESOLVED, &out);
	return NULL;
}

static struct err *
serve_outcome(struct st_request *r, void *msg)
{
	struct cl_told out;
	uint32_t from;

	TRY(member(r, &from));
	st_outcome_serve(r->node, msg, r->frame.catalog, &out);
	st_reply(r, CL_MSG_OUTCOME, &out);
	return NULL;
}

static const struct {
	uint16_t kind;
	struct err *(*serve)(struct st_request *r, void *msg);
} requests[] = {
    {CL_MSG_PROPOSE, serve_propose},
    {CL_MSG_READ, serve_read},
    {CL_MSG_SCAN, serve_scan},
    {CL_MSG_SCAN_MORE, serve_scan_more},
    {CL_MSG_SCAN_INDEX, serve_scan_index},
    {CL_MSG_CATALOG_GET, serve_catalog},
    {CL_MSG_COUNTS_GET, serve_counts},
    {CL_MSG_STATUS_GET, serve_status},
    {CL_MSG_MEMBER_GET, serve_member},
    {CL_MSG_GROUPS_GET, serve_groups},
    {CL_MSG_PING, serve_ping},
    {CL_MSG_JOIN, serve_join},
    {CL_MSG_VOTE, serve_vote},
    {CL_MSG_APPEND, serve_append},
    {CL_MSG_BEAT, serve_beat},
    {CL_MSG_RESYNC_GET, serve_resync_get},
    {CL_MSG_DIGEST_GET, serve_digest_get},
    {CL_MSG_RESYNC_ASK, serve_resync_ask},
    {CL_MSG_REPAIR, serve_repair},
    {CL_MSG_INDEX_BUILD, serve_index_build},
    {CL_MSG_COMMIT, serve_commit},
    {CL_MSG_PREPARE, serve_prepare},
    {CL_MSG_RESOLVE, serve_resolve},
    {CL_MSG_OUTCOME_GET, serve_outcome},
};

static struct err *
dispatch(struct st_request *r)
{
	void *msg;

	for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
		if (requests[i].kind != r->frame.kind)
			continue;
		TRY(cl_msg_decode(
		    r->arena, r->frame.kind, r->frame.body, &msg));
		return requests[i].serve(r, msg);
	}
	return ERR(r->arena, ERRCODE_PROTOCOL_VIOLATION,
	    "message of kind %u is no request", r->frame.kind);
}

/* A request that is malformed costs its sender the connection: what else it
 * sends can't be trusted either. */
void
st_serve(struct st_request *r)
{
	struct err *e = dispatch(r);

	if (!e)
		return;
	LOG(r->node->world, LOG_TRACE, "serve", "failed",
	    "kind=%u code=%s message=\"%s\"", r->frame.kind, e->sqlstate,
	    e->message);
	st_reply_err(r, e);
	if (err_is(e, ERRCODE_PROTOCOL_VIOLATION))
		st_conn_malformed(r, e->message);
}
