/* Expressions as bytes, format 1 (golden vectors in t/codec_test.c):
 *
 *   format (1) node
 *   node: kind (1) type (varint) typmod + 1 (varint) payload arguments...
 *   payload by kind:
 *     CONST   null (1), then unless null: length (varint) row bytes of type
 *     COLUMN  position (varint)
 *     CALL    function id (varint) number of arguments (varint)
 *     TYPMOD  explicit (1); one argument
 *     others  number of arguments (varint)
 *
 * Decoding trusts nothing: it keeps the nodes under way in an array of at most
 * EX_DEPTH_MAX entries instead of recursing, bounds every count by the bytes
 * left, and gives back only well-typed trees of immutable functions. */
#include "expr/expr.h"

#include "expr/expr_int.h"

#define FORMAT 1

/* ---- encode ---- */

static void
put_const(struct buf *b, struct val v)
{
	const struct ex_type *t = ex_type(v.type);
	struct buf bytes;

	ASSERT(t);
	buf_u8(b, v.null);
	if (v.null)
		return;
	buf_init(&bytes, b->arena);
	t->row_enc(&bytes, v);
	buf_lenstr(b, buf_view(&bytes));
}

static void
put_payload(struct buf *b, const struct expr *e)
{
	switch (e->node) {
	case EX_CONST:
		put_const(b, e->u.con);
		return;
	case EX_COLUMN:
		buf_varint(b, e->u.col);
		return;
	case EX_TYPMOD:
		buf_u8(b, e->u.explicit_cast);
		return;
	case EX_CALL:
		buf_varint(b, e->u.func->id);
		break;
	default:
		break;
	}
	buf_varint(b, e->n_args);
}

static void
put_head(struct buf *b, const struct expr *e)
{
	ASSERT(e->node != EX_PARAM && e->typmod >= -1);
	buf_u8(b, (uint8_t)e->node);
	buf_varint(b, e->type);
	buf_varint(b, (uint64_t)((int64_t)e->typmod + 1));
	put_payload(b, e);
}

/* Nodes whose arguments are under way, here as in decoding. */
struct open_node {
	const struct expr *e;
	uint32_t next;
};

void
ex_encode(struct buf *b, const struct expr *e)
{
	struct open_node *open =
	    NEW_N(b->arena, struct open_node, EX_DEPTH_MAX);
	int depth = 0;

	buf_u8(b, FORMAT);
	for (;;) {
		ASSERT(depth < EX_DEPTH_MAX);
		put_head(b, e);
		open[depth++] = (struct open_node){e, 0};
		while (depth > 0 &&
		       open[depth - 1].next == open[depth - 1].e->n_args)
			depth--;
		if (depth == 0)
			return;
		e = open[depth - 1].e->args[open[depth - 1].next++];
	}
}

/* ---- decode ---- */

struct decoder {
	struct arena *arena;
	struct cur c;
	uint32_t n_nodes;
	int depth;
	struct {
		struct expr *e;
		uint32_t filled;
	} open[EX_DEPTH_MAX]; /* nodes whose arguments are under way */
};

static struct err *
malformed(struct decoder *d, const char *why)
{
	return ERR(d->arena, ERRCODE_PROTOCOL_VIOLATION,
	    "malformed expression: %s", why);
}

static struct err *
unknown(struct decoder *d, const char *what, uint64_t id)
{
	return ERR(d->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
	    "expression %s %llu is not known here", what,
	    (unsigned long long)id);
}

static struct err *
get_const(struct decoder *d, struct expr *e)
{
	const struct ex_type *t = ex_type(e->type);
	uint8_t null = cur_u8(&d->c);
	struct str bytes;

	e->u.con = val_null(e->type);
	if (null > 1 || !cur_ok(&d->c))
		return malformed(d, "bad constant");
	if (null)
		return NULL;
	bytes = arena_str(d->arena, cur_lenstr(&d->c));
	if (!cur_ok(&d->c) || !t->row_dec ||
	    !t->row_dec(d->arena, bytes, &e->u.con))
		return malformed(d, "bad constant");
	e->u.con.type = e->type;
	e->u.con.null = false;
	return NULL;
}

static struct err *
get_count(struct decoder *d, struct expr *e)
{
	uint64_t n = cur_varint(&d->c);

	/* A node takes four bytes at least. */
	if (!cur_ok(&d->c) || n > d->c.left / 4)
		return malformed(d, "bad number of arguments");
	e->n_args = (uint32_t)n;
	return NULL;
}

static struct err *
get_payload(struct decoder *d, struct expr *e)
{
	uint64_t v;

	switch (e->node) {
	case EX_CONST:
		return get_const(d, e);
	case EX_COLUMN:
		v = cur_varint(&d->c);
		if (!cur_ok(&d->c) || v > UINT32_MAX)
			return malformed(d, "bad column");
		e->u.col = (uint32_t)v;
		return NULL;
	case EX_TYPMOD:
		v = cur_u8(&d->c);
		if (!cur_ok(&d->c) || v > 1)
			return malformed(d, "bad cast");
		e->u.explicit_cast = v == 1;
		e->n_args = 1;
		return NULL;
	case EX_CALL:
		v = cur_varint(&d->c);
		e->u.func = v > UINT32_MAX ? NULL : ex_func((uint32_t)v);
		if (cur_ok(&d->c) && !e->u.func)
			return unknown(d, "function", v);
		if (e->u.func && e->u.func->volatility != EX_IMMUTABLE)
			return malformed(d, "function is not immutable");
		return get_count(d, e);
	default:
		return get_count(d, e);
	}
}

static struct err *
get_node(struct decoder *d, struct expr **out)
{
	struct expr *e = NEW(d->arena, struct expr);
	uint8_t node = cur_u8(&d->c);
	uint64_t type = cur_varint(&d->c);
	uint64_t typmod = cur_varint(&d->c);

	*out = e;
	if (!cur_ok(&d->c) || type > UINT32_MAX ||
	    typmod > (uint64_t)INT32_MAX + 1)
		return malformed(d, "bad node");
	if (node == 0 || node > EX_LEAST || node == EX_PARAM)
		return unknown(d, "node kind", node);
	if (!ex_type((uint32_t)type))
		return unknown(d, "type", type);
	if (++d->n_nodes > EX_NODES_MAX)
		return malformed(d, "too many nodes");
	e->node = node;
	e->type = (uint32_t)type;
	e->typmod = (int32_t)((int64_t)typmod - 1);
	TRY(get_payload(d, e));
	if (e->n_args)
		e->args = NEW_N(d->arena, struct expr *, e->n_args);
	return NULL;
}

/* Takes finished nodes off the array, checking each; *done once the root is. */
static struct err *
close_nodes(struct decoder *d, bool *done)
{
	while (d->depth > 0) {
		struct expr *e = d->open[d->depth - 1].e;
		const char *why;

		if (d->open[d->depth - 1].filled < e->n_args)
			return NULL;
		why = ex_check_node(e);
		if (why)
			return malformed(d, why);
		d->depth--;
	}
	*done = true;
	return NULL;
}

static struct err *
get_tree(struct decoder *d, struct expr **out)
{
	bool done = false;

	while (!done) {
		struct expr **place = out;

		if (d->depth == EX_DEPTH_MAX)
			return malformed(d, "nested too deeply");
		if (d->depth > 0) {
			struct expr *up = d->open[d->depth - 1].e;

			place = &up->args[d->open[d->depth - 1].filled++];
		}
		TRY(get_node(d, place));
		d->open[d->depth].e = *place;
		d->open[d->depth].filled = 0;
		d->depth++;
		TRY(close_nodes(d, &done));
	}
	return cur_done(&d->c) ? NULL : malformed(d, "bytes left over");
}

struct err *
ex_decode(struct arena *a, struct str bytes, struct expr **out)
{
	struct decoder *d = NEW(a, struct decoder);
	struct expr *e = NULL;
	uint8_t format;

	*out = NULL;
	d->arena = a;
	d->c = cur_of(bytes);
	format = cur_u8(&d->c);
	if (format != FORMAT)
		return unknown(d, "format", format);
	TRY(get_tree(d, &e));
	*out = e;
	return NULL;
}
