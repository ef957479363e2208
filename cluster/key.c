#include "cluster/key.h"

#include "cluster/key_int.h"

/* NULL's marker lies below or above those of all values.  No marker is 0x00 or
 * 0xff, so that a prefix of whole columns always has a successor. */
#define MARK_NULL_FIRST 0x10
#define MARK_NULL_LAST  0xf0
#define MARK_VALUE      0x40 /* + type tag */

#define INT_ZERO 0x80

#define BYTES_ESCAPE 0x00
#define BYTES_ZERO   0xff /* after the escape: a zero byte */
#define BYTES_END    0x01 /* after the escape: the end */

void
cl_key_mark(struct buf *b, enum cl_tag t, struct cl_key_order o)
{
	ASSERT(t <= CL_TAG_MAX);
	/* Values of different tags are reversed too, so that a descending
	 * index read backwards is the ascending one. */
	buf_u8(b, (uint8_t)(MARK_VALUE + (o.desc ? CL_TAG_MAX - t : t)));
}

/* Bytes of a body, complemented when descending. */
void
cl_key_body(struct buf *b, bool desc, const uint8_t *p, size_t n)
{
	uint8_t *to = buf_reserve(b, n);

	for (size_t i = 0; i < n; i++)
		to[i] = desc ? (uint8_t)~p[i] : p[i];
	b->len += n;
}

uint8_t
cl_key_body_u8(struct cur *c, bool desc)
{
	uint8_t v = cur_u8(c);

	return desc ? (uint8_t)~v : v;
}

static uint64_t
body_be64(struct cur *c, bool desc)
{
	uint64_t v = cur_be64(c);

	return desc ? ~v : v;
}

bool
cl_key_bad(struct cur *c)
{
	c->bad = true;
	return false;
}

void
cl_key_null(struct buf *b, struct cl_key_order o)
{
	buf_u8(b, o.nulls_first ? MARK_NULL_FIRST : MARK_NULL_LAST);
}

bool
cl_key_read_head(struct cur *c, struct cl_key_order o, struct cl_key_head *h)
{
	uint8_t m = cur_u8(c);
	unsigned t = m - MARK_VALUE;

	*h = (struct cl_key_head){false, CL_TAG_NONE};
	if (!cur_ok(c))
		return false;
	if (m == (o.nulls_first ? MARK_NULL_FIRST : MARK_NULL_LAST)) {
		h->null = true;
		return true;
	}
	if (t > CL_TAG_MAX)
		return cl_key_bad(c);
	h->tag = (enum cl_tag)(o.desc ? CL_TAG_MAX - t : t);
	return true;
}

void
cl_key_bool(struct buf *b, enum cl_tag t, struct cl_key_order o, bool v)
{
	uint8_t body = v;

	cl_key_mark(b, t, o);
	cl_key_body(b, o.desc, &body, 1);
}

bool
cl_key_read_bool(struct cur *c, struct cl_key_order o, bool *v)
{
	uint8_t body = cl_key_body_u8(c, o.desc);

	*v = body == 1;
	if (!cur_ok(c))
		return false;
	return body <= 1 ? true : cl_key_bad(c);
}

/* Bytes that a value, or the complement of a negative one, needs. */
static unsigned
int_bytes(uint64_t u)
{
	return u ? (71 - (unsigned)__builtin_clzll(u)) / 8 : 0;
}

void
cl_key_int_body(struct buf *b, bool desc, int64_t v)
{
	uint64_t u = (uint64_t)v;
	unsigned n = int_bytes(v < 0 ? ~u : u);
	uint8_t out[9];

	out[0] = (uint8_t)(v < 0 ? INT_ZERO - 1 - n : INT_ZERO + n);
	for (unsigned i = 0; i < n; i++)
		out[1 + i] = (uint8_t)(u >> 8 * (n - 1 - i));
	cl_key_body(b, desc, out, 1 + n);
}

bool
cl_key_read_int_body(struct cur *c, bool desc, int64_t *v)
{
	unsigned head = cl_key_body_u8(c, desc);
	bool neg = head < INT_ZERO;
	unsigned n = neg ? INT_ZERO - 1 - head : head - INT_ZERO;
	uint64_t u = neg ? UINT64_MAX : 0;

	*v = 0;
	if (!cur_ok(c) || n > 8)
		return cl_key_bad(c);
	for (unsigned i = 0; i < n; i++)
		u = u << 8 | cl_key_body_u8(c, desc);
	/* One value, one encoding: neither more bytes than needed, nor eight
	 * that spill into the sign. */
	if (!cur_ok(c) || (u >> 63) != neg || int_bytes(neg ? ~u : u) != n)
		return cl_key_bad(c);
	*v = (int64_t)u;
	return true;
}

void
cl_key_int(struct buf *b, enum cl_tag t, struct cl_key_order o, int64_t v)
{
	cl_key_mark(b, t, o);
	cl_key_int_body(b, o.desc, v);
}

bool
cl_key_read_int(struct cur *c, struct cl_key_order o, int64_t *v)
{
	return cl_key_read_int_body(c, o.desc, v);
}

/* IEEE bits in the order of the values: negatives complemented, others with
 * the sign bit set; one NaN, above infinity; one zero. */
static uint64_t
double_to_order(double v)
{
	uint64_t u;

	if (v != v)
		v = __builtin_nan(""); /* the positive quiet one */
	if (v == 0)
		v = 0; /* -0 too */
	memcpy(&u, &v, sizeof u);
	return u >> 63 ? ~u : u | 1ULL << 63;
}

static double
double_of_order(uint64_t u)
{
	double v;

	u = u >> 63 ? u & INT64_MAX : ~u;
	memcpy(&v, &u, sizeof v);
	return v;
}

void
cl_key_double(struct buf *b, enum cl_tag t, struct cl_key_order o, double v)
{
	uint64_t u = double_to_order(v);

	cl_key_mark(b, t, o);
	buf_be64(b, o.desc ? ~u : u);
}

bool
cl_key_read_double(struct cur *c, struct cl_key_order o, double *v)
{
	uint64_t u = body_be64(c, o.desc);

	*v = 0;
	if (!cur_ok(c) || double_to_order(double_of_order(u)) != u)
		return cl_key_bad(c);
	*v = double_of_order(u);
	return true;
}

/* Zero bytes are escaped, so that the end mark sorts below every continuation:
 * 00 01 (end) < 00 ff (a zero byte) < any other byte. */
void
cl_key_bytes(struct buf *b, enum cl_tag t, struct cl_key_order o, struct str v)
{
	static const uint8_t zero[] = {BYTES_ESCAPE, BYTES_ZERO};
	static const uint8_t end[] = {BYTES_ESCAPE, BYTES_END};

	cl_key_mark(b, t, o);
	while (v.len) {
		const char *z = memchr(v.p, 0, v.len);
		size_t n = z ? (size_t)(z - v.p) : v.len;

		cl_key_body(b, o.desc, (const uint8_t *)v.p, n);
		v = str_skip(v, n);
		if (v.len) {
			cl_key_body(b, o.desc, zero, sizeof zero);
			v = str_skip(v, 1);
		}
	}
	cl_key_body(b, o.desc, end, sizeof end);
}

/* The bytes up to the next escape, still complemented when descending, and what
 * the escape means. */
static bool
bytes_run(struct cur *c, bool desc, struct str *run, uint8_t *mark)
{
	int escape = desc ? (uint8_t)~BYTES_ESCAPE : BYTES_ESCAPE;
	const uint8_t *e = c->left ? memchr(c->p, escape, c->left) : NULL;

	if (!cur_ok(c) || !e)
		return cl_key_bad(c);
	*run = cur_bytes(c, (size_t)(e - c->p));
	(void)cur_u8(c);
	*mark = cl_key_body_u8(c, desc);
	if (*mark != BYTES_ZERO && *mark != BYTES_END)
		return cl_key_bad(c);
	return cur_ok(c);
}

/* The decoded length. Works on a copy of the cursor. */
static bool
bytes_measure(struct cur c, bool desc, size_t *n)
{
	struct str run;
	uint8_t mark;

	*n = 0;
	do {
		if (!bytes_run(&c, desc, &run, &mark))
			return false;
		*n += run.len + (mark == BYTES_ZERO);
	} while (mark != BYTES_END);
	return true;
}

bool
cl_key_read_bytes(
    struct cur *c, struct cl_key_order o, struct arena *a, struct str *v)
{
	struct str run;
	uint8_t mark;
	size_t n;
	char *p;

	*v = STR_NONE;
	if (!bytes_measure(*c, o.desc, &n))
		return cl_key_bad(c);
	p = arena_alloc_raw(a, n ? n : 1);
	*v = str_of(p, n);
	while (bytes_run(c, o.desc, &run, &mark)) {
		for (size_t i = 0; i < run.len; i++)
			*p++ = (char)(o.desc ? ~run.p[i] : run.p[i]);
		if (mark == BYTES_END)
			break;
		*p++ = 0;
	}
	ASSERT(cur_ok(c) && p == v->p + n);
	return true;
}

void
cl_key_int128(struct buf *b, enum cl_tag t, struct cl_key_order o, int64_t hi,
    uint64_t lo)
{
	uint64_t u = (uint64_t)hi ^ 1ULL << 63;

	cl_key_mark(b, t, o);
	buf_be64(b, o.desc ? ~u : u);
	buf_be64(b, o.desc ? ~lo : lo);
}

bool
cl_key_read_int128(
    struct cur *c, struct cl_key_order o, int64_t *hi, uint64_t *lo)
{
	uint64_t u = body_be64(c, o.desc);

	*hi = 0;
	*lo = body_be64(c, o.desc);
	if (!cur_ok(c))
		return false;
	*hi = (int64_t)(u ^ 1ULL << 63);
	return true;
}

void
cl_key_prefix(struct buf *b, uint32_t table, uint16_t slot)
{
	buf_be32(b, table);
	buf_be16(b, slot);
}

bool
cl_key_split(struct str key, uint32_t *table, uint16_t *slot, struct str *rest)
{
	struct cur c = cur_of(key);

	*table = cur_be32(&c);
	*slot = cur_be16(&c);
	*rest = cur_ok(&c) ? str_skip(key, CL_KEY_PREFIX) : STR_NONE;
	return cur_ok(&c);
}

struct str
cl_key_after_prefix(struct arena *a, struct str prefix)
{
	char *p;

	while (prefix.len && (uint8_t)prefix.p[prefix.len - 1] == 0xff)
		prefix.len--;
	if (!prefix.len)
		return STR_NONE;
	p = arena_dup(a, prefix.p, prefix.len);
	p[prefix.len - 1] = (char)((uint8_t)p[prefix.len - 1] + 1);
	return str_of(p, prefix.len);
}
