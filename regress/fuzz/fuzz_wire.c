/* The client protocol's decoders. The first byte picks one, the rest is its
 * bytes. */
#include "wire/copy.h"
#include "wire/msg.h"
#include "wire/scram.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
inside(struct str whole, struct str part)
{
	return !part.len ||
	       (part.p >= whole.p && part.p + part.len <= whole.p + whole.len);
}

static void
startup(struct arena *a, struct str body)
{
	struct wire_startup s;
	struct wire_param_pair *pairs;
	size_t n;

	if (wire_startup_read(a, body, &s))
		return;
	for (size_t i = 0; i < s.n_params; i++) {
		ASSERT(!memchr(s.params[i].name.p, 0, s.params[i].name.len));
		(void)wire_options_read(a, s.params[i].value, &pairs, &n);
	}
}

static void
options(struct arena *a, struct str body)
{
	struct wire_param_pair *pairs;
	size_t n;

	if (wire_options_read(a, body, &pairs, &n))
		return;
	ASSERT(n <= body.len);
	for (size_t i = 0; i < n; i++)
		ASSERT(pairs[i].name.len <= body.len);
}

static void
parse(struct arena *a, struct str body)
{
	struct wire_parse m;

	if (wire_parse_read(a, body, &m))
		return;
	ASSERT(inside(body, m.name) && inside(body, m.query));
	ASSERT(4 * (size_t)m.n_types <= body.len);
}

static void
bind(struct arena *a, struct str body)
{
	struct wire_bind m;

	if (wire_bind_read(a, body, &m))
		return;
	ASSERT(inside(body, m.portal) && inside(body, m.statement));
	ASSERT(4 * (size_t)m.n_params <= body.len);
	for (uint32_t i = 0; i < m.n_params; i++) {
		ASSERT(inside(body, m.params[i].bytes));
		ASSERT(wire_format_of(m.formats, m.n_formats, i) <= 1);
	}
}

static void
small(struct arena *a, struct str body)
{
	struct wire_target t;
	struct wire_execute e;
	struct str s, more;

	(void)wire_query_read(a, body, &s);
	(void)wire_execute_read(a, body, &e);
	(void)wire_copy_fail_read(a, body, &s);
	(void)wire_sasl_first_read(a, body, &s, &more);
	if (!wire_target_read(a, body, &t))
		ASSERT(t.kind == 'S' || t.kind == 'P');
}

/* Both messages of a client, separated by a newline. Nobody can guess the
 * proof that an empty verifier asks for. */
static void
scram(struct arena *a, struct str body)
{
	static const uint8_t nonce[WIRE_SCRAM_NONCE] = {1, 2, 3};
	struct wire_scram *s =
	    wire_scram_new(a, STR_NONE, STR("secret"), nonce);
	const char *cut = body.len ? memchr(body.p, '\n', body.len) : NULL;
	size_t first = cut ? (size_t)(cut - body.p) : body.len;
	struct str out;
	bool ok = false;

	(void)wire_scram_is_verifier(body);
	if (wire_scram_first(s, str_of(body.p, first), &out))
		return;
	if (!wire_scram_final(s, str_skip(body, first + 1), &out, &ok))
		ASSERT(!ok);
}

static void
opts_of(uint8_t how, struct wire_copy_opts *o)
{
	wire_copy_defaults(o, how & 1);
	if (how & 2)
		o->delimiter = '|';
	if (how & 4)
		o->null = STR("NULL");
	if (how & 8 && o->csv)
		o->escape = '\\';
}

/* The lines of a stream fed in pieces of `step` bytes, written out again. */
static struct err *
copy_through(struct arena *a, const struct wire_copy_opts *o, struct str data,
    size_t step, struct buf *b)
{
	struct wire_copy_in *in = wire_copy_in_new(a, o, 3);
	struct wire_copy_field *f;
	bool have = true;
	uint32_t n;

	for (;;) {
		TRY(wire_copy_in_next(in, a, &f, &n, &have));
		if (have) {
			wire_copy_out_line(b, o, f, n);
			continue;
		}
		if (!data.len)
			return NULL;
		if (step > data.len)
			step = data.len;
		wire_copy_in_feed(in, str_of(data.p, step));
		data = str_skip(data, step);
		if (!data.len)
			wire_copy_in_end(in);
	}
}

/* What comes in does not depend on how the stream is cut, and what goes out
 * comes in again as the same. */
static void
copy(struct arena *a, struct str body)
{
	struct wire_copy_opts o;
	struct buf whole, pieces, again;
	uint8_t how = body.len ? (uint8_t)body.p[0] : 0;
	struct err *e;

	body = str_skip(body, 1);
	if (!body.len)
		return;
	opts_of(how, &o);
	buf_init(&whole, a);
	buf_init(&pieces, a);
	buf_init(&again, a);
	e = copy_through(a, &o, body, body.len, &whole);
	ASSERT(!e == !copy_through(a, &o, body, 1 + (how >> 4), &pieces));
	ASSERT(str_eq(buf_view(&whole), buf_view(&pieces)));
	if (e || !buf_view(&whole).len)
		return;
	e = copy_through(a, &o, buf_view(&whole), SIZE_MAX, &again);
	ASSERT(!e && str_eq(buf_view(&whole), buf_view(&again)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const decoders[])(struct arena *, struct str) = {
	    startup, options, parse, bind, small, scram, copy};
	struct arena *a = arena_new(NULL, "fuzz");

	if (size)
		decoders[data[0] % 7](a, str_of(data + 1, size - 1));
	arena_free(a);
	return 0;
}
