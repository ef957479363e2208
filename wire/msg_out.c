#include "wire/msg.h"

size_t
wire_begin(struct buf *b, char type)
{
	buf_u8(b, (uint8_t)type);
	buf_be32(b, 0);
	return b->len - 4;
}

/* Writes the big-endian word v at `at`. */
static void
patch(struct buf *b, size_t at, uint32_t v)
{
	ASSERT(at + 4 <= b->len);
	for (int i = 0; i < 4; i++)
		b->p[at + (size_t)i] = (uint8_t)(v >> (24 - 8 * i));
}

void
wire_end(struct buf *b, size_t at)
{
	patch(b, at, (uint32_t)(b->len - at));
}

void
wire_field_null(struct buf *b)
{
	buf_be32(b, UINT32_MAX);
}

size_t
wire_field_begin(struct buf *b)
{
	buf_be32(b, 0);
	return b->len - 4;
}

void
wire_field_end(struct buf *b, size_t at)
{
	patch(b, at, (uint32_t)(b->len - at - 4));
}

static void
put_cstr(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s) + 1);
}

static void
put_cview(struct buf *b, struct str s)
{
	buf_str(b, s);
	buf_u8(b, 0);
}

/* A message without a body. */
static void
bare(struct buf *b, char type)
{
	wire_end(b, wire_begin(b, type));
}

static void
auth(struct buf *b, uint32_t code, struct str data)
{
	size_t at = wire_begin(b, 'R');

	buf_be32(b, code);
	buf_str(b, data);
	wire_end(b, at);
}

void
wire_auth_ok(struct buf *b)
{
	auth(b, 0, STR_NONE);
}

void
wire_auth_sasl(struct buf *b)
{
	auth(b, 10, STR("SCRAM-SHA-256\0\0"));
}

void
wire_auth_sasl_continue(struct buf *b, struct str data)
{
	auth(b, 11, data);
}

void
wire_auth_sasl_final(struct buf *b, struct str data)
{
	auth(b, 12, data);
}

void
wire_negotiate(
    struct buf *b, uint32_t newest_minor, const struct str *unknown, size_t n)
{
	size_t at = wire_begin(b, 'v');

	buf_be32(b, newest_minor);
	buf_be32(b, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		put_cview(b, unknown[i]);
	wire_end(b, at);
}

void
wire_parameter_status(struct buf *b, const char *name, const char *value)
{
	size_t at = wire_begin(b, 'S');

	put_cstr(b, name);
	put_cstr(b, value);
	wire_end(b, at);
}

void
wire_backend_key(struct buf *b, uint32_t pid, uint32_t secret)
{
	size_t at = wire_begin(b, 'K');

	buf_be32(b, pid);
	buf_be32(b, secret);
	wire_end(b, at);
}

void
wire_ready(struct buf *b, char status)
{
	size_t at = wire_begin(b, 'Z');

	buf_u8(b, (uint8_t)status);
	wire_end(b, at);
}

void
wire_parse_complete(struct buf *b)
{
	bare(b, '1');
}

void
wire_bind_complete(struct buf *b)
{
	bare(b, '2');
}

void
wire_close_complete(struct buf *b)
{
	bare(b, '3');
}

void
wire_no_data(struct buf *b)
{
	bare(b, 'n');
}

void
wire_empty_query(struct buf *b)
{
	bare(b, 'I');
}

void
wire_portal_suspended(struct buf *b)
{
	bare(b, 's');
}

void
wire_parameter_description(struct buf *b, const uint32_t *types, uint32_t n)
{
	size_t at = wire_begin(b, 't');

	buf_be16(b, (uint16_t)n);
	for (uint32_t i = 0; i < n; i++)
		buf_be32(b, types[i]);
	wire_end(b, at);
}

void
wire_row_description(struct buf *b, const struct wire_column *cols, uint32_t n)
{
	size_t at = wire_begin(b, 'T');

	buf_be16(b, (uint16_t)n);
	for (uint32_t i = 0; i < n; i++) {
		const struct wire_column *c = &cols[i];

		put_cview(b, c->name);
		buf_be32(b, c->table);
		buf_be16(b, (uint16_t)c->attnum);
		buf_be32(b, c->type);
		buf_be16(b, (uint16_t)c->typlen);
		buf_be32(b, (uint32_t)c->typmod);
		buf_be16(b, c->format);
	}
	wire_end(b, at);
}

void
wire_command_complete(struct buf *b, const char *tag)
{
	size_t at = wire_begin(b, 'C');

	put_cstr(b, tag);
	wire_end(b, at);
}

static const char *
severity_text(enum err_severity s)
{
	static const char *const text[] = {
	    [ERR_ERROR] = "ERROR",
	    [ERR_FATAL] = "FATAL",
	    [ERR_WARNING] = "WARNING",
	    [ERR_NOTICE] = "NOTICE",
	    [ERR_INFO] = "INFO",
	};

	return text[s];
}

static void
error_field(struct buf *b, char code, const char *text)
{
	if (!text)
		return;
	buf_u8(b, (uint8_t)code);
	put_cstr(b, text);
}

void
wire_error(struct buf *b, const struct err *e)
{
	bool is_error = e->severity == ERR_ERROR || e->severity == ERR_FATAL;
	size_t at = wire_begin(b, is_error ? 'E' : 'N');

	error_field(b, 'S', severity_text(e->severity));
	error_field(b, 'V', severity_text(e->severity));
	error_field(b, 'C', e->sqlstate);
	error_field(b, 'M', e->message);
	error_field(b, 'D', e->detail);
	error_field(b, 'H', e->hint);
	if (e->position > 0) {
		buf_u8(b, 'P');
		buf_printf(b, "%d", e->position);
		buf_u8(b, 0);
	}
	error_field(b, 'W', e->context);
	error_field(b, 's', e->schema);
	error_field(b, 't', e->table);
	error_field(b, 'c', e->column);
	error_field(b, 'd', e->datatype);
	error_field(b, 'n', e->constraint);
	error_field(b, 'F', e->file);
	buf_u8(b, 'L');
	buf_printf(b, "%d", e->line);
	buf_u8(b, 0);
	buf_u8(b, 0);
	wire_end(b, at);
}

static void
copy_response(struct buf *b, char type, uint16_t format, uint32_t n_columns)
{
	size_t at = wire_begin(b, type);

	buf_u8(b, (uint8_t)format);
	buf_be16(b, (uint16_t)n_columns);
	for (uint32_t i = 0; i < n_columns; i++)
		buf_be16(b, format);
	wire_end(b, at);
}

void
wire_copy_in(struct buf *b, uint16_t format, uint32_t n_columns)
{
	copy_response(b, 'G', format, n_columns);
}

void
wire_copy_out(struct buf *b, uint16_t format, uint32_t n_columns)
{
	copy_response(b, 'H', format, n_columns);
}

void
wire_copy_done(struct buf *b)
{
	bare(b, 'c');
}
