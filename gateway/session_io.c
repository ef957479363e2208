#include "gateway/session_int.h"

/* Bytes read per step of a large message: what a client must send before more
 * memory is taken for it. */
#define STEP (256u * 1024)

static enum gw_read
status(struct gw_session *s, enum stream_status st)
{
	switch (st) {
	case STREAM_OK:
		return GW_READ_OK;
	case STREAM_DEADLINE:
		return GW_READ_IDLE;
	case STREAM_CANCEL:
		return GW_READ_STOP;
	case STREAM_EOF:
	case STREAM_ERROR:
		break;
	}
	s->broken = true;
	return GW_READ_GONE;
}

static enum gw_read
peek(struct gw_session *s, size_t need, uint64_t deadline_us, struct str *data)
{
	return status(s, stream_peek(s->stream, need, deadline_us, data));
}

/* n bytes into the message arena, memory growing only as they come. */
static enum gw_read
take(struct gw_session *s, size_t n, uint64_t deadline_us, struct str *out)
{
	struct buf b;

	buf_init(&b, s->msg_arena);
	if (n <= STEP)
		buf_reserve(&b, n + 1);
	while (b.len < n) {
		size_t k = n - b.len < STEP ? n - b.len : STEP;
		struct str data;
		enum gw_read r = peek(s, k, deadline_us, &data);

		if (r != GW_READ_OK)
			return r;
		buf_put(&b, data.p, k);
		stream_consume(s->stream, k);
	}
	*out = buf_view(&b);
	return GW_READ_OK;
}

static uint32_t
be32(const char *p)
{
	struct cur c = cur_of(str_of(p, 4));

	return cur_be32(&c);
}

enum gw_read
gw_session_read_packet(struct gw_session *s, uint64_t deadline_us,
    struct str *body, struct err **e)
{
	struct str data;
	enum gw_read r = peek(s, 4, deadline_us, &data);
	uint32_t len;

	*e = NULL;
	arena_reset(s->msg_arena);
	if (r != GW_READ_OK)
		return r;
	len = be32(data.p);
	if (len < 8 || len > WIRE_STARTUP_MAX) {
		*e = ERR(s->msg_arena, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid length of startup packet");
		return GW_READ_OK;
	}
	stream_consume(s->stream, 4);
	return take(s, len - 4, deadline_us, body);
}

enum gw_read
gw_session_read(struct gw_session *s, uint64_t deadline_us, uint8_t *type,
    struct str *body, struct err **e)
{
	struct str data;
	enum gw_read r;
	uint32_t len, max;

	*e = NULL;
	arena_reset(s->msg_arena);
	r = peek(s, 5, deadline_us, &data);
	if (r != GW_READ_OK)
		return r;
	*type = (uint8_t)data.p[0];
	len = be32(data.p + 1);
	max = wire_front_max(*type);
	if (!max)
		*e = ERR(s->msg_arena, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid frontend message type %u", *type);
	else if (len < 4 || len > max)
		*e = ERR(s->msg_arena, ERRCODE_PROTOCOL_VIOLATION,
		    "invalid message length");
	if (*e)
		return GW_READ_OK;
	stream_consume(s->stream, 5);
	/* Once a message has begun it must come whole: a client that stalls
	 * inside one holds only its own session. */
	return take(s, len - 4, WORLD_FOREVER, body);
}

static void
give(struct gw_session *s)
{
	if (s->out.len && !s->broken)
		stream_write(s->stream, buf_view(&s->out));
	arena_reset(s->out_arena);
	buf_init(&s->out, s->out_arena);
}

void
gw_session_flush(struct gw_session *s)
{
	enum stream_status st;

	give(s);
	if (s->broken)
		return;
	st = stream_flush(s->stream, WORLD_FOREVER);
	if (st == STREAM_EOF || st == STREAM_ERROR)
		s->broken = true;
}

struct err *
gw_session_push(struct gw_session *s, struct arena *a)
{
	enum stream_status st;

	if (s->out.len < GW_OUT_CHUNK)
		return NULL;
	give(s);
	st = s->broken ? STREAM_ERROR : stream_flush(s->stream, WORLD_FOREVER);
	switch (st) {
	case STREAM_OK:
	case STREAM_DEADLINE:
		if (s->stmt)
			gw_stmt_progress(s->stmt);
		return NULL;
	case STREAM_CANCEL:
		return ERR(a, ERRCODE_QUERY_CANCELED,
		    "canceling statement due to user request");
	case STREAM_EOF:
	case STREAM_ERROR:
		break;
	}
	s->broken = true;
	return ERR(a, ERRCODE_CONNECTION_FAILURE, "connection to client lost");
}

void
gw_session_error(struct gw_session *s, const struct err *e)
{
	wire_error(&s->out, e);
}

void
gw_session_notice(void *session, struct err *e)
{
	struct gw_session *s =
	    TAKE(struct gw_session, session, GW_SESSION_MAGIC);
	enum err_severity least =
	    gw_settings_derived(s->settings)->min_messages;
	bool wanted = e->severity == ERR_INFO || least == ERR_NOTICE ||
		      (least == ERR_WARNING && e->severity == ERR_WARNING);

	if (wanted)
		wire_error(&s->out, e);
}

static void
send_parameter(void *arg, const char *name, const char *value)
{
	struct gw_session *s = TAKE(struct gw_session, arg, GW_SESSION_MAGIC);

	wire_parameter_status(&s->out, name, value);
}

void
gw_session_report(struct gw_session *s)
{
	gw_settings_report(s->settings, send_parameter, s);
}

void
gw_session_ready(struct gw_session *s)
{
	gw_session_report(s);
	wire_ready(&s->out, (char)s->txn);
	gw_session_flush(s);
}
