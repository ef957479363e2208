/* Messages from their table: msg.def becomes constant arrays of field
 * descriptors here, and one encoder, decoder, measurer and printer walk them.
 * Adding a message is adding an entry to the table. */
#include "cluster/msg.h"

enum field_kind {
	FIELD_U8,
	FIELD_U16,
	FIELD_U32,
	FIELD_U64,
	FIELD_BYTES,
	FIELD_LIST
};

struct layout;

struct field {
	enum field_kind kind;
	const char *name;
	size_t at;
	size_t count_at; /* of n_<name>; lists */
	uint32_t max;    /* bytes, records */
	/* A list's records. A function, since an initialiser can't name a
	 * table that lies within one. */
	const struct layout *(*record)(void);
};

struct layout {
	const char *name;
	size_t size; /* of the struct */
	size_t n;
	const struct field *fields;
};

/* ---- the table ---- */

/* `self` gives the field macros the struct that they are in. */
#define LAYOUT(tag, text, ...)                                                 \
	static const struct layout *layout_##tag(void)                         \
	{                                                                      \
		typedef struct cl_##tag self;                                  \
		static const struct field fields[] = {__VA_ARGS__};            \
		static const struct layout layout = {text, sizeof(self),       \
		    sizeof fields / sizeof fields[0], fields};                 \
		return &layout;                                                \
	}
#define FIELD(kind, f) {kind, #f, offsetof(self, f), 0, 0, NULL},
#define U8(f)          FIELD(FIELD_U8, f)
#define U16(f)         FIELD(FIELD_U16, f)
#define U32(f)         FIELD(FIELD_U32, f)
#define U64(f)         FIELD(FIELD_U64, f)
#define BYTES(f, max)  {FIELD_BYTES, #f, offsetof(self, f), 0, (max), NULL},
#define LIST(f, rec, max)                                                      \
	{FIELD_LIST, #f, offsetof(self, f), offsetof(self, n_##f), (max),      \
	    layout_##rec},
#define RECORD(name, ...)         LAYOUT(name, #name, __VA_ARGS__)
#define MSG(num, NAME, name, ...) LAYOUT(name, #NAME, __VA_ARGS__)
#include "cluster/msg.def"
#undef RECORD
#undef MSG
#undef U8
#undef U16
#undef U32
#undef U64
#undef BYTES
#undef LIST

/* NULL for unknown kinds. */
static const struct layout *
layout_of(unsigned kind)
{
	switch (kind) {
#define RECORD(name, ...)
#define MSG(num, NAME, name, ...)                                              \
	case num:                                                              \
		return layout_##name();
#include "cluster/msg.def"
#undef RECORD
#undef MSG
	default:
		return NULL;
	}
}

const char *
cl_msg_name(uint16_t kind)
{
	const struct layout *l = layout_of(kind);

	return l ? l->name : NULL;
}

/* ---- reaching into structs ---- */

static uint64_t
get_int(const struct field *f, const void *msg)
{
	const void *p = (const char *)msg + f->at;

	switch (f->kind) {
	case FIELD_U8:
		return *(const uint8_t *)p;
	case FIELD_U16:
		return *(const uint16_t *)p;
	case FIELD_U32:
		return *(const uint32_t *)p;
	case FIELD_U64:
		return *(const uint64_t *)p;
	case FIELD_BYTES:
	case FIELD_LIST:
		break;
	}
	UNREACHABLE();
}

static struct str
get_bytes(const struct field *f, const void *msg)
{
	struct str s;

	memcpy(&s, (const char *)msg + f->at, sizeof s);
	ASSERT(s.len <= f->max);
	return s;
}

/* The first record of a list, and how many there are. */
static const char *
get_list(const struct field *f, const void *msg, uint32_t *n)
{
	const char *first;

	memcpy(&first, (const char *)msg + f->at, sizeof first);
	memcpy(n, (const char *)msg + f->count_at, sizeof *n);
	ASSERT(*n <= f->max && (first || !*n));
	return first;
}

/* ---- encode ---- */

/* Lists hold records without lists, so this recurses once. */
static void
encode(struct buf *b, const struct layout *l, const void *msg)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct field *f = &l->fields[i];
		const struct layout *r;
		const char *first;
		uint32_t n;

		switch (f->kind) {
		case FIELD_U8:
			buf_u8(b, (uint8_t)get_int(f, msg));
			break;
		case FIELD_U16:
			buf_le16(b, (uint16_t)get_int(f, msg));
			break;
		case FIELD_U32:
			buf_le32(b, (uint32_t)get_int(f, msg));
			break;
		case FIELD_U64:
			buf_le64(b, get_int(f, msg));
			break;
		case FIELD_BYTES:
			buf_lenstr(b, get_bytes(f, msg));
			break;
		case FIELD_LIST:
			first = get_list(f, msg, &n);
			r = f->record();
			buf_varint(b, n);
			for (uint32_t j = 0; j < n; j++)
				encode(b, r, first + j * r->size);
			break;
		}
	}
}

void
cl_msg_encode(struct buf *b, enum cl_msg_kind kind, const void *msg)
{
	const struct layout *l = layout_of(kind);

	ASSERT(l && msg);
	encode(b, l, msg);
}

/* ---- size ---- */

static size_t
varint_size(uint64_t v)
{
	size_t n = 1;

	while (v >>= 7)
		n++;
	return n;
}

static size_t
fixed_size(enum field_kind kind)
{
	switch (kind) {
	case FIELD_U8:
		return 1;
	case FIELD_U16:
		return 2;
	case FIELD_U32:
		return 4;
	case FIELD_U64:
		return 8;
	case FIELD_BYTES:
	case FIELD_LIST:
		return 1; /* at least */
	}
	UNREACHABLE();
}

/* What the smallest encoding of a record takes. */
static size_t
size_min(const struct layout *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += fixed_size(l->fields[i].kind);
	return n;
}

static size_t
size_of(const struct layout *l, const void *msg)
{
	size_t size = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct field *f = &l->fields[i];
		const struct layout *r;
		const char *first;
		struct str s;
		uint32_t n;

		switch (f->kind) {
		case FIELD_BYTES:
			s = get_bytes(f, msg);
			size += varint_size(s.len) + s.len;
			break;
		case FIELD_LIST:
			first = get_list(f, msg, &n);
			r = f->record();
			size += varint_size(n);
			for (uint32_t j = 0; j < n; j++)
				size += size_of(r, first + j * r->size);
			break;
		default:
			size += fixed_size(f->kind);
		}
	}
	return size;
}

size_t
cl_msg_size(enum cl_msg_kind kind, const void *msg)
{
	const struct layout *l = layout_of(kind);

	ASSERT(l && msg);
	return size_of(l, msg);
}

/* ---- decode ---- */

struct decoder {
	struct cur c;
	struct arena *arena;
	const char *failed; /* name of the first field that did */
};

static void decode(struct decoder *d, const struct layout *l, void *msg);

static void
decode_bytes(struct decoder *d, const struct field *f, void *to)
{
	struct str s = cur_lenstr(&d->c);

	if (s.len > f->max)
		d->c.bad = true;
	if (cur_ok(&d->c))
		memcpy(to, &s, sizeof s);
}

/* Allocates for no more records than the bytes left can hold. */
static void
decode_list(struct decoder *d, const struct field *f, void *msg)
{
	const struct layout *r = f->record();
	uint64_t n = cur_varint(&d->c);
	uint32_t count = (uint32_t)n;
	char *first;

	if (n > f->max || n > d->c.left / size_min(r))
		d->c.bad = true;
	if (!cur_ok(&d->c) || !n)
		return;
	first = arena_calloc(d->arena, n, r->size);
	for (uint32_t i = 0; i < count && cur_ok(&d->c); i++)
		decode(d, r, first + i * r->size);
	memcpy((char *)msg + f->at, &first, sizeof first);
	memcpy((char *)msg + f->count_at, &count, sizeof count);
}

static void
decode(struct decoder *d, const struct layout *l, void *msg)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct field *f = &l->fields[i];
		void *to = (char *)msg + f->at;

		switch (f->kind) {
		case FIELD_U8:
			*(uint8_t *)to = cur_u8(&d->c);
			break;
		case FIELD_U16:
			*(uint16_t *)to = cur_le16(&d->c);
			break;
		case FIELD_U32:
			*(uint32_t *)to = cur_le32(&d->c);
			break;
		case FIELD_U64:
			*(uint64_t *)to = cur_le64(&d->c);
			break;
		case FIELD_BYTES:
			decode_bytes(d, f, to);
			break;
		case FIELD_LIST:
			decode_list(d, f, msg);
			break;
		}
		if (!cur_ok(&d->c)) {
			if (!d->failed)
				d->failed = f->name;
			return;
		}
	}
}

struct err *
cl_msg_decode(struct arena *a, uint16_t kind, struct str body, void **msg)
{
	const struct layout *l = layout_of(kind);
	struct decoder d = {cur_of(body), a, NULL};
	void *m;

	*msg = NULL;
	if (!l)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "message of unknown kind %u", kind);
	m = arena_alloc(a, l->size);
	decode(&d, l, m);
	if (!cur_ok(&d.c))
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed %s message: field \"%s\"", l->name, d.failed);
	if (d.c.left)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "malformed %s message: %zu bytes too many", l->name,
		    d.c.left);
	*msg = m;
	return NULL;
}

/* ---- print ---- */

#define PRINT_BYTES   48u
#define PRINT_RECORDS 8u

/* Quoted, with what is not plain ASCII in hex; the head only of what is
 * long. */
static void
print_bytes(struct buf *b, struct str s)
{
	size_t n = s.len < PRINT_BYTES ? s.len : PRINT_BYTES;

	buf_u8(b, '"');
	for (size_t i = 0; i < n; i++) {
		uint8_t v = (uint8_t)s.p[i];

		if (v < ' ' || v > '~' || v == '"' || v == '\\')
			buf_printf(b, "\\x%02x", v);
		else
			buf_u8(b, v);
	}
	buf_u8(b, '"');
	if (n < s.len)
		buf_printf(b, "..%zu", s.len);
}

static void print_fields(
    struct buf *b, const struct layout *l, const void *msg);

static void
print_list(struct buf *b, const struct field *f, const void *msg)
{
	const struct layout *r = f->record();
	uint32_t n;
	const char *first = get_list(f, msg, &n);

	buf_printf(b, "%u[", n);
	for (uint32_t i = 0; i < n && i < PRINT_RECORDS; i++) {
		if (i)
			buf_u8(b, ' ');
		buf_u8(b, '{');
		print_fields(b, r, first + i * r->size);
		buf_u8(b, '}');
	}
	if (n > PRINT_RECORDS)
		buf_str(b, STR(" .."));
	buf_u8(b, ']');
}

static void
print_fields(struct buf *b, const struct layout *l, const void *msg)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct field *f = &l->fields[i];

		buf_printf(b, "%s%s=", i ? " " : "", f->name);
		if (f->kind == FIELD_BYTES)
			print_bytes(b, get_bytes(f, msg));
		else if (f->kind == FIELD_LIST)
			print_list(b, f, msg);
		else
			buf_printf(
			    b, "%llu", (unsigned long long)get_int(f, msg));
	}
}

void
cl_msg_print(struct buf *b, uint16_t kind, const void *msg)
{
	const struct layout *l = layout_of(kind);

	if (!l) {
		buf_printf(b, "kind=%u", kind);
		return;
	}
	buf_printf(b, "%s ", l->name);
	print_fields(b, l, msg);
}
