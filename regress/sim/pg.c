#include "regress/sim/pg.h"

#include "base/buf.h"
#include "base/stream.h"
#include "regress/sim/tunnel.h"

#define PG_MAGIC    0x53504743u
#define PROTOCOL_3  0x30000u
#define MESSAGE_MAX (1u << 20)

struct sim_pg {
	uint32_t magic;
	struct arena *arena;
	struct world *world;
	struct stream *stream;
};

struct message {
	char type;
	struct cur body;
};

/* False when the stream ended, or the deadline came. */
static bool
read_message(
    struct sim_pg *p, struct arena *a, uint64_t deadline_us, struct message *m)
{
	struct str data;
	struct cur c;
	uint32_t len;

	if (stream_peek(p->stream, 5, deadline_us, &data) != STREAM_OK)
		return false;
	c = cur_of(data);
	m->type = (char)cur_u8(&c);
	len = cur_be32(&c);
	if (len < 4 || len > MESSAGE_MAX)
		return false;
	stream_consume(p->stream, 5);
	data.p = arena_alloc_raw(a, len);
	data.len = len - 4;
	if (stream_read(p->stream, (void *)(uintptr_t)data.p, data.len,
		deadline_us) != STREAM_OK)
		return false;
	m->body = cur_of(data);
	return true;
}

static void
send_message(struct sim_pg *p, char type, struct str body)
{
	struct arena *a = arena_new(p->arena, "message");
	struct buf b;

	buf_init(&b, a);
	if (type)
		buf_u8(&b, (uint8_t)type);
	buf_be32(&b, (uint32_t)body.len + 4);
	buf_str(&b, body);
	stream_write(p->stream, buf_view(&b));
	arena_free(a);
}

/* ---- results ---- */

static void
read_error(struct arena *a, struct cur body, struct sim_pg_result *r)
{
	for (;;) {
		char field = (char)cur_u8(&body);
		struct str text;

		if (!cur_ok(&body) || field == 0)
			return;
		text = cur_cstr(&body);
		if (field == 'C' && text.len == 5)
			memcpy(r->sqlstate, text.p, 6);
		else if (field == 'M')
			r->message = arena_cstr(a, text);
	}
}

static void
read_row(struct arena *a, struct cur body, struct sim_pg_result *r)
{
	uint16_t n = cur_be16(&body);
	size_t old = (size_t)r->n_rows * r->n_cols;

	if (n != r->n_cols)
		return;
	/* Room for a power of two of rows. */
	if ((r->n_rows & (r->n_rows - 1)) == 0) {
		size_t rows = r->n_rows ? 2u * r->n_rows : 1;

		r->values = arena_grow(a, r->values, old * sizeof *r->values,
		    (rows * n + 1) * sizeof *r->values);
	}
	for (uint16_t i = 0; i < n; i++) {
		uint32_t len = cur_be32(&body);

		r->values[old + i] =
		    len == UINT32_MAX ? STR_NONE : cur_bytes(&body, len);
	}
	if (cur_ok(&body))
		r->n_rows++;
}

static void
read_tag(struct arena *a, struct cur body, struct sim_pg_result *r)
{
	struct str tag = cur_cstr(&body);
	const char *blank;

	r->tag = arena_cstr(a, tag);
	blank = strrchr(r->tag, ' ');
	if (blank)
		(void)str_u64(str_c(blank + 1), &r->count);
}

/* The codes by which a server says that it does not know. */
static bool
is_unknown(const char *sqlstate)
{
	return strcmp(sqlstate, ERRCODE_STATEMENT_COMPLETION_UNKNOWN) == 0 ||
	       strcmp(sqlstate, ERRCODE_TRANSACTION_RESOLUTION_UNKNOWN) == 0;
}

/* Messages up to ReadyForQuery. */
static void
read_result(struct sim_pg *p, struct arena *a, uint64_t deadline_us,
    struct sim_pg_result *r)
{
	struct message m;
	bool completed = false;

	while (read_message(p, a, deadline_us, &m)) {
		switch (m.type) {
		case 'T':
			r->n_cols = cur_be16(&m.body);
			break;
		case 'D':
			read_row(a, m.body, r);
			break;
		case 'C':
			completed = true;
			read_tag(a, m.body, r);
			break;
		case 'E':
			read_error(a, m.body, r);
			break;
		case 'Z':
			r->connected = true;
			break;
		default:
			break;
		}
		if (r->connected)
			break;
	}
	if (r->sqlstate[0])
		r->status =
		    is_unknown(r->sqlstate) ? SIM_PG_UNKNOWN : SIM_PG_ERROR;
	else if (completed)
		r->status = SIM_PG_OK;
}

void
sim_pg_query(struct sim_pg *p, struct arena *a, uint64_t deadline_us,
    struct sim_pg_result *r, const char *sql)
{
	ASSERT(p->magic == PG_MAGIC);
	*r = (struct sim_pg_result){
	    .status = SIM_PG_UNKNOWN, .message = "the connection was lost"};
	send_message(p, 'Q', str_of(sql, strlen(sql) + 1));
	if (stream_flush(p->stream, deadline_us) == STREAM_OK)
		read_result(p, a, deadline_us, r);
}

/* ---- the connection ---- */

void
sim_pg_close(struct sim_pg *p)
{
	ASSERT(p->magic == PG_MAGIC);
	send_message(p, 'X', STR_NONE);
	stream_close(p->stream);
	p->magic = 0;
	arena_free(p->arena);
}

static bool
greet(struct sim_pg *p, const char *user, const char *database,
    uint64_t deadline_us, const char **why)
{
	struct sim_pg_result r = {.message = "the connection was lost"};
	struct arena *a = arena_new(p->arena, "greeting");
	struct message m;
	struct buf b;
	bool ready = false;

	buf_init(&b, a);
	buf_be32(&b, PROTOCOL_3);
	buf_put(&b, "user", 5);
	buf_put(&b, user, strlen(user) + 1);
	buf_put(&b, "database", 9);
	buf_put(&b, database, strlen(database) + 1);
	buf_u8(&b, 0);
	send_message(p, 0, buf_view(&b));
	if (stream_flush(p->stream, deadline_us) == STREAM_OK)
		while (!ready && read_message(p, a, deadline_us, &m)) {
			if (m.type == 'E') {
				read_error(a, m.body, &r);
				break;
			}
			if (m.type == 'R' && cur_be32(&m.body) != 0)
				r.message = "a password is asked for";
			ready = m.type == 'Z';
		}
	if (!ready)
		*why = arena_printf(
		    p->world->arena, "%s %s", r.sqlstate, r.message);
	arena_free(a);
	return ready;
}

struct sim_pg *
sim_pg_connect(struct world *w, const char *addr, const char *user,
    const char *database, uint64_t deadline_us, const char **why)
{
	struct arena *a = arena_new(w->arena, "client connection");
	struct sim_pg *p = NEW(a, struct sim_pg);

	*why = NULL;
	p->magic = PG_MAGIC;
	p->arena = a;
	p->world = w;
	p->stream = sim_tunnel_connect(w, addr);
	if (greet(p, user, database, deadline_us, why))
		return p;
	stream_close(p->stream);
	arena_free(a);
	return NULL;
}
