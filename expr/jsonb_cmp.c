/* The order of jsonb, and keys that have it.
 *
 * Two values are compared token by token, containers by their number of members
 * first.  Null < string < number < boolean < array < object.  A scalar at the
 * top counts as an array of one, just below real arrays of one. */
#include <ctype.h>

#include "expr/json_lex.h"
#include "expr/jsonb.h"
#include "expr/numeric.h"

/* In keys, too: never changes. */
enum rank {
	RANK_END = 0,
	RANK_NULL = 1,
	RANK_STRING = 2,
	RANK_NUMBER = 3,
	RANK_BOOL = 4,
	RANK_ARRAY = 5,
	RANK_OBJECT = 6
};

static void
skip_marks(struct str *s)
{
	while (s->len && (s->p[0] == ' ' || s->p[0] == ',' || s->p[0] == ':'))
		*s = str_skip(*s, 1);
}

static enum rank
rank_of(struct str s)
{
	if (!s.len)
		return RANK_END;
	switch (s.p[0]) {
	case '}':
	case ']':
		return RANK_END;
	case 'n':
		return RANK_NULL;
	case '"':
		return RANK_STRING;
	case 't':
	case 'f':
		return RANK_BOOL;
	case '[':
		return RANK_ARRAY;
	case '{':
		return RANK_OBJECT;
	default:
		return RANK_NUMBER;
	}
}

/* Length of the string at the start of s, with its quotes. */
static size_t
string_len(struct str s)
{
	size_t n = 1;

	while (s.p[n] != '"')
		n += s.p[n] == '\\' ? 2 : 1;
	return n + 1;
}

static size_t
scalar_len(struct str s)
{
	size_t n = 0;

	if (s.p[0] == '"')
		return string_len(s);
	while (n < s.len && s.p[n] != ',' && s.p[n] != ']' && s.p[n] != '}')
		n++;
	return n;
}

/* Members of the container at the start of s. */
static uint32_t
count_members(struct str s)
{
	uint32_t commas = 0;
	size_t depth = 0, n = 0;

	if (s.p[1] == ']' || s.p[1] == '}')
		return 0;
	do {
		char c = s.p[n];

		if (c == '"') {
			n += string_len(str_skip(s, n));
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		else if (c == '}' || c == ']')
			depth--;
		else if (c == ',' && depth == 1)
			commas++;
		n++;
	} while (depth);
	return commas + 1;
}

/* The next byte of a canonical string's body; -1 at its end. */
static int
string_byte(struct str *s)
{
	static const char from[] = "\"\\bfnrt", to[] = "\"\\\b\f\n\r\t";
	const char *at;
	int v = 0;

	if (s->p[0] == '"')
		return -1;
	if (s->p[0] != '\\') {
		v = (unsigned char)s->p[0];
		*s = str_skip(*s, 1);
		return v;
	}
	if (s->p[1] == 'u') {
		/* Only controls: \u00XX */
		for (int i = 4; i < 6; i++) {
			char h = s->p[i];

			v = v * 16 + (isdigit((unsigned char)h) ? h - '0'
								: h - 'a' + 10);
		}
		*s = str_skip(*s, 6);
		return v;
	}
	v = (unsigned char)s->p[1];
	at = strchr(from, v);
	*s = str_skip(*s, 2);
	return at ? to[at - from] : v;
}

static int
cmp_strings(struct str x, struct str y)
{
	x = str_skip(x, 1);
	y = str_skip(y, 1);
	for (;;) {
		int p = string_byte(&x), q = string_byte(&y);

		if (p != q)
			return p < q ? -1 : 1;
		if (p < 0)
			return 0;
	}
}

/* Canonical number text: [-]digits[.digits] */
static int
cmp_magnitudes(struct str x, struct str y)
{
	const char *px = memchr(x.p, '.', x.len), *py = memchr(y.p, '.', y.len);
	size_t ix = px ? (size_t)(px - x.p) : x.len;
	size_t iy = py ? (size_t)(py - y.p) : y.len;
	struct str fx = str_skip(x, ix + (px ? 1 : 0));
	struct str fy = str_skip(y, iy + (py ? 1 : 0));
	int r;

	if (ix != iy)
		return ix < iy ? -1 : 1;
	r = memcmp(x.p, y.p, ix);
	if (r)
		return r < 0 ? -1 : 1;
	while (fx.len && fx.p[fx.len - 1] == '0')
		fx.len--;
	while (fy.len && fy.p[fy.len - 1] == '0')
		fy.len--;
	return str_cmp(fx, fy);
}

static int
cmp_numbers(struct str x, struct str y)
{
	bool nx = x.p[0] == '-', ny = y.p[0] == '-';
	int r;

	if (nx != ny)
		return nx ? -1 : 1;
	r = cmp_magnitudes(str_skip(x, nx), str_skip(y, ny));
	return nx ? -r : r;
}

/* One token of each, of equal rank; both move on. */
static int
cmp_token(struct str *x, struct str *y, enum rank rank)
{
	size_t nx = 1, ny = 1;
	int r = 0;

	if (rank == RANK_ARRAY || rank == RANK_OBJECT) {
		uint32_t p = count_members(*x), q = count_members(*y);

		r = p < q ? -1 : p > q;
	} else if (rank != RANK_END) {
		nx = scalar_len(*x);
		ny = scalar_len(*y);
		if (rank == RANK_STRING)
			r = cmp_strings(*x, *y);
		else if (rank == RANK_NUMBER)
			r = cmp_numbers(str_of(x->p, nx), str_of(y->p, ny));
		else if (rank == RANK_BOOL && x->p[0] != y->p[0])
			r = x->p[0] == 'f' ? -1 : 1;
	}
	*x = str_skip(*x, nx);
	*y = str_skip(*y, ny);
	return r;
}

static bool
is_container(enum rank r)
{
	return r == RANK_ARRAY || r == RANK_OBJECT;
}

int
jsonb_cmp(struct str x, struct str y)
{
	enum rank rx = rank_of(x), ry = rank_of(y);

	if (str_eq(x, y))
		return 0;
	if (is_container(rx) != is_container(ry)) {
		struct str c = is_container(rx) ? x : y;
		/* A scalar is an array of one, below real ones. */
		bool scalar_less =
		    rank_of(c) == RANK_OBJECT || count_members(c) >= 1;

		return is_container(rx) == scalar_less ? 1 : -1;
	}
	for (;;) {
		int r;

		skip_marks(&x);
		skip_marks(&y);
		if (!x.len || !y.len)
			return 0;
		rx = rank_of(x);
		ry = rank_of(y);
		if (rx != ry)
			return rx < ry ? -1 : 1;
		r = cmp_token(&x, &y, rx);
		if (r)
			return r;
	}
}

/* ---- keys ----
 * A stream of tokens: rank, then for containers the count of members and (for
 * arrays) whether it is a real one, for scalars their own key encoding. */

static void
put_scalar(struct buf *b, struct str t, enum rank rank)
{
	struct buf s;
	struct cl_num n;
	struct str num;
	struct err *e;
	int c;

	switch (rank) {
	case RANK_STRING:
		buf_init(&s, b->arena);
		t = str_skip(t, 1);
		while ((c = string_byte(&t)) >= 0)
			buf_u8(&s, (uint8_t)c);
		cl_key_bytes(b, CL_TAG_NONE, CL_KEY_ASC, buf_view(&s));
		break;
	case RANK_NUMBER:
		/* Canonical text holds what numeric wrote: this succeeds. */
		e = num_parse(b->arena, t, &num);
		n = (struct cl_num){.cls = CL_NUM_NAN};
		if (!e)
			num_to_key(b->arena, num, &n);
		cl_key_num(b, CL_TAG_NONE, CL_KEY_ASC, &n);
		break;
	case RANK_BOOL:
		buf_u8(b, t.p[0] == 't');
		break;
	default:
		break;
	}
}

void
jsonb_to_key(struct buf *b, struct str x)
{
	if (!is_container(rank_of(x))) {
		buf_u8(b, RANK_ARRAY);
		buf_be32(b, 1);
		buf_u8(b, 0);
	}
	for (;;) {
		enum rank rank;
		size_t n = 1;

		skip_marks(&x);
		if (!x.len)
			return;
		rank = rank_of(x);
		if (rank != RANK_END)
			buf_u8(b, (uint8_t)rank);
		if (is_container(rank)) {
			buf_be32(b, count_members(x));
			if (rank == RANK_ARRAY)
				buf_u8(b, 1);
		} else if (rank != RANK_END) {
			n = scalar_len(x);
			put_scalar(b, str_of(x.p, n), rank);
		}
		x = str_skip(x, n);
	}
}

static bool
get_string(struct cur *c, struct arena *a, struct buf *out)
{
	struct cl_key_head h;
	struct str s;

	if (!cl_key_read_head(c, CL_KEY_ASC, &h) || h.null ||
	    !cl_key_read_bytes(c, CL_KEY_ASC, a, &s))
		return false;
	js_quote(out, s);
	return true;
}

static bool
get_scalar(struct cur *c, uint8_t rank, struct arena *a, struct buf *out)
{
	struct cl_key_head h;
	struct cl_num n;
	struct str num;
	uint8_t v;

	switch (rank) {
	case RANK_NULL:
		buf_str(out, STR("null"));
		return true;
	case RANK_STRING:
		return get_string(c, a, out);
	case RANK_NUMBER:
		if (!cl_key_read_head(c, CL_KEY_ASC, &h) || h.null ||
		    !cl_key_read_num(c, CL_KEY_ASC, a, &n) ||
		    n.cls != CL_NUM_FINITE || !num_of_key(a, &n, &num))
			return false;
		num_text(out, num);
		return true;
	case RANK_BOOL:
		v = cur_u8(c);
		buf_str(out, v ? STR("true") : STR("false"));
		return cur_ok(c) && v <= 1;
	default:
		return false;
	}
}

/* Containers that are open while a key is read back. */
struct level {
	uint32_t left; /* members to come */
	bool object, first;
};
struct unkey {
	struct arena *arena;
	struct cur c;
	struct buf out;
	struct buf stack; /* of struct level */
};

static struct level *
top(struct unkey *u)
{
	if (!u->stack.len)
		return NULL;
	return (struct level *)(void *)(u->stack.p + u->stack.len) - 1;
}

/* Opens a container, or nothing for the array that a scalar stands in. */
static bool
get_open(struct unkey *u, uint8_t rank)
{
	struct level l = {.left = cur_be32(&u->c),
	    .object = rank == RANK_OBJECT,
	    .first = true};

	if (!l.object) {
		uint8_t real = cur_u8(&u->c);

		if (real > 1 || !cur_ok(&u->c))
			return false;
		if (!real)
			return !u->stack.len && !u->out.len && l.left == 1 &&
			       get_scalar(
				   &u->c, cur_u8(&u->c), u->arena, &u->out);
	}
	if (!cur_ok(&u->c) ||
	    u->stack.len >= JS_DEPTH_MAX * sizeof(struct level))
		return false;
	buf_u8(&u->out, l.object ? '{' : '[');
	buf_put(&u->stack, &l, sizeof(l));
	return true;
}

/* Closes what is complete, then writes what stands before the next member. */
static bool
get_between(struct unkey *u)
{
	struct level *l = top(u);

	while (l && !l->left) {
		buf_u8(&u->out, l->object ? '}' : ']');
		u->stack.len -= sizeof(*l);
		l = top(u);
	}
	if (!l)
		return true;
	if (!l->first)
		buf_str(&u->out, STR(", "));
	l->first = false;
	l->left--;
	if (!l->object)
		return true;
	if (cur_u8(&u->c) != RANK_STRING ||
	    !get_string(&u->c, u->arena, &u->out))
		return false;
	buf_str(&u->out, STR(": "));
	return true;
}

bool
jsonb_of_key(struct arena *a, struct str key, struct str *out)
{
	struct unkey u = {.arena = a, .c = cur_of(key)};

	*out = STR_NONE;
	buf_init(&u.out, a);
	buf_init(&u.stack, a);
	do {
		uint8_t rank = cur_u8(&u.c);

		if (!cur_ok(&u.c) ||
		    !(is_container((enum rank)rank)
			    ? get_open(&u, rank)
			    : u.stack.len && get_scalar(&u.c, rank, a, &u.out)))
			return false;
		if (!get_between(&u))
			return false;
	} while (u.stack.len);
	*out = buf_view(&u.out);
	return cur_done(&u.c) && str_utf8(*out, NULL);
}
