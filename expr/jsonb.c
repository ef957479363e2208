/* To canonical text, by way of a tree. */
#include "expr/jsonb.h"

#include <stdlib.h>

#include "expr/json_lex.h"
#include "expr/numeric.h"

struct node {
	enum js_tok tok; /* JS_LBRACE, JS_LBRACKET, or a scalar */
	struct str key;  /* inside an object */
	struct str value;
	struct node *parent, *first, *last, *next;
	size_t n;
	size_t order; /* as written */
};

struct builder {
	struct arena *arena;
	struct node *root, *at;
	struct str key;
};

static struct node *
add(struct builder *b, enum js_tok tok, struct str value)
{
	struct node *n = NEW(b->arena, struct node), *p = b->at;

	n->tok = tok;
	n->value = value;
	n->key = b->key;
	n->parent = p;
	if (!p) {
		b->root = n;
		return n;
	}
	n->order = p->n++;
	if (p->last)
		p->last->next = n;
	else
		p->first = n;
	p->last = n;
	return n;
}

static void
on_open(void *arg, bool object)
{
	struct builder *b = arg;

	b->at = add(b, object ? JS_LBRACE : JS_LBRACKET, STR_NONE);
}

static void
on_key(void *arg, struct str key)
{
	struct builder *b = arg;

	b->key = key;
}

static struct err *
on_scalar(void *arg, enum js_tok tok, struct str value)
{
	struct builder *b = arg;
	struct str packed;
	struct buf text;

	if (tok == JS_NUMBER) {
		TRY(num_parse(b->arena, value, &packed));
		buf_init(&text, b->arena);
		num_text(&text, packed);
		value = buf_view(&text);
	}
	add(b, tok, value);
	return NULL;
}

static int
key_order(struct str x, struct str y)
{
	if (x.len != y.len)
		return x.len < y.len ? -1 : 1;
	return str_cmp(x, y);
}

/* By key; of equal ones the last written first. */
static int
by_key(const void *x, const void *y)
{
	const struct node *p = *(struct node *const *)x,
			  *q = *(struct node *const *)y;
	int r = key_order(p->key, q->key);

	if (r)
		return r;
	return p->order > q->order ? -1 : p->order < q->order;
}

static void
sort_members(struct arena *a, struct node *o)
{
	struct node **all = NEW_N(a, struct node *, o->n);
	struct node *last = NULL;
	size_t n = 0;

	for (struct node *m = o->first; m; m = m->next)
		all[n++] = m;
	qsort(all, n, sizeof(*all), by_key);
	o->first = NULL;
	o->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (last && key_order(last->key, all[i]->key) == 0)
			continue;
		if (last)
			last->next = all[i];
		else
			o->first = all[i];
		last = all[i];
		o->n++;
	}
	if (last)
		last->next = NULL;
	o->last = last;
}

static void
on_close(void *arg)
{
	struct builder *b = arg;

	if (b->at->tok == JS_LBRACE && b->at->n > 1)
		sort_members(b->arena, b->at);
	b->at = b->at->parent;
}

static void
write_head(struct buf *b, const struct node *n)
{
	if (n->parent && n->parent->tok == JS_LBRACE) {
		js_quote(b, n->key);
		buf_str(b, STR(": "));
	}
	switch (n->tok) {
	case JS_LBRACE:
		buf_u8(b, '{');
		break;
	case JS_LBRACKET:
		buf_u8(b, '[');
		break;
	case JS_STRING:
		js_quote(b, n->value);
		break;
	default:
		buf_str(b, n->value);
	}
}

static void
write_tail(struct buf *b, const struct node *n)
{
	if (n->tok == JS_LBRACE)
		buf_u8(b, '}');
	else if (n->tok == JS_LBRACKET)
		buf_u8(b, ']');
}

/* Down, sideways, up: no recursion, since values nest deep. */
static void
write_tree(struct buf *b, const struct node *n)
{
	for (;;) {
		write_head(b, n);
		if (n->first) {
			n = n->first;
			continue;
		}
		write_tail(b, n);
		while (!n->next) {
			n = n->parent;
			if (!n)
				return;
			write_tail(b, n);
		}
		buf_str(b, STR(", "));
		n = n->next;
	}
}

struct err *
jsonb_parse(struct arena *a, struct str text, struct str *out)
{
	struct builder b = {.arena = a};
	struct js_sink sink = {on_open, on_close, on_key, on_scalar, &b};
	struct buf canonical;

	*out = STR_NONE;
	TRY(js_parse(a, text, true, &sink));
	ASSERT(b.root && !b.at);
	buf_init(&canonical, a);
	write_tree(&canonical, b.root);
	*out = buf_view(&canonical);
	return NULL;
}
