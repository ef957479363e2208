/* PostgreSQL's frontend/backend protocol, version 3: messages as structs and
 * bytes.  Pure functions: no sockets, no sessions.
 *
 * Everything decoded is hostile: lengths are checked by subtraction through
 * struct cur, counts are bounded by the bytes that are left, and a message must
 * be consumed exactly. */
#ifndef WIRE_MSG_H
#define WIRE_MSG_H

#include "base/buf.h"
#include "base/err.h"

/* Protocol numbers of the startup packet. */
#define WIRE_PROTOCOL_3     196608u /* 3.0 */
#define WIRE_SSL_REQUEST    80877103u
#define WIRE_GSSENC_REQUEST 80877104u
#define WIRE_CANCEL_REQUEST 80877102u

#define WIRE_STARTUP_MAX 10000u /* PostgreSQL's own limit */
#define WIRE_AUTH_MAX    65536u /* one message before authentication */
#define WIRE_SMALL_MAX   30000u /* Sync, Describe, Close, ... */
#define WIRE_MESSAGE_MAX (256u << 20)

enum wire_front { /* from the client */
	WIRE_BIND = 'B',
	WIRE_CLOSE = 'C',
	WIRE_COPY_DATA = 'd',
	WIRE_COPY_DONE = 'c',
	WIRE_COPY_FAIL = 'f',
	WIRE_DESCRIBE = 'D',
	WIRE_EXECUTE = 'E',
	WIRE_FLUSH = 'H',
	WIRE_FUNCTION_CALL = 'F',
	WIRE_PARSE = 'P',
	WIRE_PASSWORD = 'p', /* and SASL answers */
	WIRE_QUERY = 'Q',
	WIRE_SYNC = 'S',
	WIRE_TERMINATE = 'X'
};

/* The most a message of this type may weigh (body and length word); 0 for an
 * unknown type. */
uint32_t wire_front_max(uint8_t type);

struct wire_param_pair {
	struct str name;
	struct str value;
};

struct wire_startup {
	uint32_t protocol; /* a WIRE_* number, or another 3.x, or unknown */
	struct str user;
	struct str database;            /* empty: as user */
	struct wire_param_pair *params; /* the others, in order */
	size_t n_params;
	struct str *unknown; /* _pq_. options, for NegotiateProtocolVersion */
	size_t n_unknown;
	uint32_t cancel_pid;
	uint32_t cancel_secret;
};

/* `body` is the packet without its length word. */
struct err *wire_startup_read(
    struct arena *a, struct str body, struct wire_startup *out);
/* Splits the `options` value ("-c a=b --c-d=e", backslash escapes blanks). */
struct err *wire_options_read(struct arena *a, struct str options,
    struct wire_param_pair **out, size_t *n);

struct wire_parse {
	struct str name;
	struct str query;
	uint32_t *types;
	uint32_t n_types;
};

struct wire_value {
	bool null;
	struct str bytes;
};

struct wire_bind {
	struct str portal;
	struct str statement;
	uint16_t *formats; /* 0, 1 or n_params of them */
	uint32_t n_formats;
	struct wire_value *params;
	uint32_t n_params;
	uint16_t *results; /* result formats: 0, 1 or one per column */
	uint32_t n_results;
};

/* Describe and Close. */
struct wire_target {
	uint8_t kind; /* 'S' or 'P' */
	struct str name;
};

struct wire_execute {
	struct str portal;
	uint32_t max_rows; /* 0 = all */
};

struct err *wire_query_read(
    struct arena *a, struct str body, struct str *query);
struct err *wire_parse_read(
    struct arena *a, struct str body, struct wire_parse *out);
struct err *wire_bind_read(
    struct arena *a, struct str body, struct wire_bind *out);
struct err *wire_target_read(
    struct arena *a, struct str body, struct wire_target *out);
struct err *wire_execute_read(
    struct arena *a, struct str body, struct wire_execute *out);
struct err *wire_copy_fail_read(
    struct arena *a, struct str body, struct str *why);
struct err *wire_sasl_first_read(
    struct arena *a, struct str body, struct str *mechanism, struct str *data);
/* Format code of value i out of 0, 1 or n codes. */
uint16_t wire_format_of(const uint16_t *formats, uint32_t n, uint32_t i);

/* ---- to the client: each appends one whole message ---- */
struct wire_column {
	struct str name;
	uint32_t table;
	int16_t attnum;
	uint32_t type;
	int16_t typlen;
	int32_t typmod;
	uint16_t format;
};

void wire_auth_ok(struct buf *b);
void wire_auth_sasl(struct buf *b);
void wire_auth_sasl_continue(struct buf *b, struct str data);
void wire_auth_sasl_final(struct buf *b, struct str data);
void wire_negotiate(
    struct buf *b, uint32_t newest_minor, const struct str *unknown, size_t n);
void wire_parameter_status(struct buf *b, const char *name, const char *value);
void wire_backend_key(struct buf *b, uint32_t pid, uint32_t secret);
void wire_ready(struct buf *b, char status);
void wire_parse_complete(struct buf *b);
void wire_bind_complete(struct buf *b);
void wire_close_complete(struct buf *b);
void wire_no_data(struct buf *b);
void wire_empty_query(struct buf *b);
void wire_portal_suspended(struct buf *b);
void wire_parameter_description(
    struct buf *b, const uint32_t *types, uint32_t n);
void wire_row_description(
    struct buf *b, const struct wire_column *cols, uint32_t n);
void wire_command_complete(struct buf *b, const char *tag);
/* ErrorResponse, or NoticeResponse for severities below ERROR. */
void wire_error(struct buf *b, const struct err *e);
void wire_copy_in(struct buf *b, uint16_t format, uint32_t n_columns);
void wire_copy_out(struct buf *b, uint16_t format, uint32_t n_columns);
void wire_copy_done(struct buf *b);

/* A message whose body the caller appends: begin gives the place of the length
 * word, end fills it in. Used for DataRow and CopyData. */
size_t wire_begin(struct buf *b, char type);
void wire_end(struct buf *b, size_t at);
/* DataRow fields: a length word and bytes the caller appends. */
void wire_field_null(struct buf *b);
size_t wire_field_begin(struct buf *b);
void wire_field_end(struct buf *b, size_t at);

#endif
