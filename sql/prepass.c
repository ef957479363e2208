#include "sql/prepass.h"
#include "sql/lex.h"
#include "sql/pgparse.h"

/* More lists than this in one statement are not lifted: the text is refused as
 * the grammar refused it. */
#define LIFTED_MAX 64u

/* One statement being rewritten: a copy of its bytes, what was lifted out, and
 * what was blanked. */
struct rewrite {
	struct arena *arena;
	const struct sql_piece *piece;
	char *copy; /* of the piece, with its semicolon; NUL-terminated */
	struct sql_lifted *lifted;
	size_t n_lifted;
	bool global;  /* CREATE GLOBAL INDEX */
	bool cluster; /* ALTER CLUSTER SET (...) */
	bool atomic;  /* BEGIN ATOMIC */
	struct sql_exprs pins;
	uint32_t n_params; /* in what was lifted or blanked */
	bool foreign; /* something here is not what we thought: the grammar's
		       * refusal stands */
};

static bool
touched(const struct rewrite *r)
{
	return !r->foreign &&
	       (r->n_lifted || r->global || r->cluster || r->atomic);
}

static struct str
whole(const struct rewrite *r)
{
	return r->piece->text->text;
}

static struct sql_lexer
lexer_of(const struct sql_piece *p)
{
	return (struct sql_lexer){str_of(p->text->text.p, p->end), p->start};
}

/* Replaces [start, end) of the text by `with`, padded with blanks. */
static void
replace(struct rewrite *r, size_t start, size_t end, const char *with)
{
	size_t at = start - r->piece->start;

	ASSERT(start >= r->piece->start && end <= r->piece->end);
	ASSERT(strlen(with) <= end - start);
	memset(r->copy + at, ' ', end - start);
	memcpy(r->copy + at, with, strlen(with));
}

/* ---- lists ---- */

/* Only expressions: no alias, no FROM, nothing that the brackets would have
 * refused. */
static bool
is_bare_list(const struct sql_stmt *s)
{
	const struct sql_select *q = s->u.select;

	if (s->kind != SQL_STMT_SELECT || q->kind != SQL_SELECT_PLAIN)
		return false;
	if (q->with || q->distinct || q->distinct_on.n || q->n_from ||
	    q->where || q->group.n || q->having || q->order.n || q->limit ||
	    q->offset || q->n_locking)
		return false;
	for (uint32_t i = 0; i < q->targets.n; i++)
		if (q->targets.items[i].alias)
			return false;
	return true;
}

/* What is between two brackets, at `open` and `close` of the text. */
static struct err *
parse_list(struct rewrite *r, size_t open, size_t close, struct sql_exprs *out)
{
	static const char select[] = "SELECT ";
	struct str inside = str_of(whole(r).p + open + 1, close - open - 1);
	struct sql_pg_input in = {
	    .text = r->piece->text, .base = open + 1 - (sizeof select - 1)};
	struct sql_stmt *s;
	struct err *e;
	size_t n;

	ASSERT(open + 1 >= sizeof select - 1);
	in.sql = arena_printf(r->arena, "%s%.*s", select, STR_FMT(inside));
	e = sql_pg_parse(r->arena, &in, &s, &n);
	if (e && strcmp(e->message, "syntax error at end of input") == 0) {
		e = ERR(r->arena, ERRCODE_SYNTAX_ERROR,
		    "syntax error at or near \"%c\"", whole(r).p[close]);
		err_at(e, sql_text_position(r->piece->text, close));
	}
	TRY(e);
	if (n != 1 || !is_bare_list(&s[0])) {
		r->foreign = true;
		return NULL;
	}
	if (s[0].n_params > r->n_params)
		r->n_params = s[0].n_params;
	out->n = s[0].u.select->targets.n;
	out->items = NEW_N(r->arena, struct sql_expr *, out->n);
	for (uint32_t i = 0; i < out->n; i++)
		out->items[i] = s[0].u.select->targets.items[i].expr;
	return NULL;
}

/* The bracket that closes the one just consumed; false when there is none. */
static bool
find_close(struct sql_lexer *x, size_t *close)
{
	size_t depth = 1;

	for (;;) {
		struct sql_token t = sql_lex_next(x);

		if (t.kind == SQL_TOK_END || t.kind == SQL_TOK_BROKEN)
			return false;
		if (sql_token_is_char(x->text, t, '(') ||
		    sql_token_is_char(x->text, t, '['))
			depth++;
		else if (sql_token_is_char(x->text, t, ')') ||
			 sql_token_is_char(x->text, t, ']'))
			depth--;
		if (depth == 0) {
			*close = t.start;
			return true;
		}
	}
}

static bool
is_blank(struct str s)
{
	struct sql_lexer x = {s, 0};

	return sql_lex_next(&x).kind == SQL_TOK_END;
}

/* name = [ ... ] or name = ( ... ): the lexer is past the bracket at `open`. */
static struct err *
lift(struct rewrite *r, struct sql_lexer *x, size_t name, size_t open)
{
	struct sql_lifted *l;
	size_t close;

	if (r->n_lifted == LIFTED_MAX || !find_close(x, &close)) {
		r->foreign = true;
		return NULL;
	}
	if (!r->lifted)
		r->lifted = NEW_N(r->arena, struct sql_lifted, LIFTED_MAX);
	l = &r->lifted[r->n_lifted++];
	l->offset = name;
	l->value.kind = SQL_OPT_LIST;
	if (!is_blank(str_of(whole(r).p + open + 1, close - open - 1)))
		TRY(parse_list(r, open, close, &l->value.list));
	else if (whole(r).p[open] == '(')
		return sql_piece_error(r->arena, r->piece,
		    (struct sql_token){SQL_TOK_CHAR, close, close + 1});
	replace(r, open, close + 1, "0");
	return NULL;
}

/* The options of WITH ( or SET (: the lexer is past that parenthesis.  Lists
 * are lifted; everything else is stepped over, to the closing one. */
static struct err *
lift_options(struct rewrite *r, struct sql_lexer *x)
{
	size_t name = 0;
	bool named = false; /* a name is open: its first token is at `name` */
	bool equals = false;

	while (!r->foreign) {
		struct sql_token t = sql_lex_next(x);
		bool paren = sql_token_is_char(x->text, t, '(');

		if (t.kind == SQL_TOK_END || t.kind == SQL_TOK_BROKEN ||
		    sql_token_is_char(x->text, t, ')'))
			return NULL;
		if (paren || sql_token_is_char(x->text, t, '[')) {
			size_t close;

			if (named && equals)
				TRY(lift(r, x, name, t.start));
			else if (!find_close(x, &close))
				return NULL;
		} else if (sql_token_is_char(x->text, t, ',')) {
			named = equals = false;
		} else if (sql_token_is_char(x->text, t, '=')) {
			equals = true;
		} else if (!named && (t.kind == SQL_TOK_WORD ||
					 t.kind == SQL_TOK_QUOTED)) {
			named = true;
			name = t.start;
		}
	}
	return NULL;
}

/* WITH ( and SET ( outside of parentheses, in CREATE and ALTER. */
static struct err *
rewrite_options(struct rewrite *r)
{
	struct sql_lexer x = lexer_of(r->piece);
	bool after_word = false;
	size_t depth = 0;

	for (;;) {
		struct sql_token t = sql_lex_next(&x);
		bool open = sql_token_is_char(x.text, t, '(');

		if (t.kind == SQL_TOK_END || t.kind == SQL_TOK_BROKEN ||
		    r->foreign)
			return NULL;
		if (open && depth == 0 && after_word)
			TRY(lift_options(r, &x));
		else if (open)
			depth++;
		else if (depth && sql_token_is_char(x.text, t, ')'))
			depth--;
		after_word = sql_token_is_word(x.text, t, "with") ||
			     sql_token_is_word(x.text, t, "set");
	}
}

/* ---- BEGIN ATOMIC, GLOBAL, ALTER CLUSTER SET ---- */

static struct err *
bad_pin(struct rewrite *r, int position)
{
	return err_at(ERR(r->arena, ERRCODE_SYNTAX_ERROR,
			  "PARTITION must be a list of column = constant"),
	    position);
}

static struct err *
check_pins(struct rewrite *r, const struct sql_exprs *list)
{
	for (uint32_t i = 0; i < list->n; i++) {
		const struct sql_expr *e = list->items[i];
		const struct sql_expr *v;

		if (e->kind != SQL_E_OP || e->n_args != 2 || e->u.op.schema ||
		    strcmp(e->u.op.name, "=") != 0)
			return bad_pin(r, sql_expr_position(e));
		if (e->args[0]->kind != SQL_E_COLUMN ||
		    e->args[0]->u.column.star || e->args[0]->u.column.n != 1)
			return bad_pin(r, sql_expr_position(e));
		v = e->args[1];
		while (v->kind == SQL_E_CAST)
			v = v->args[0];
		if (v->kind > SQL_E_PARAM)
			return bad_pin(r, sql_expr_position(e->args[1]));
	}
	r->pins = *list;
	return NULL;
}

/* The lexer is past BEGIN. */
static struct err *
rewrite_begin(struct rewrite *r, struct sql_lexer *x)
{
	struct sql_token atomic = sql_lex_next(x);
	struct sql_token t;
	struct sql_exprs list = {0};
	size_t close;

	if (!sql_token_is_word(x->text, atomic, "atomic"))
		return NULL;
	r->atomic = true;
	replace(r, atomic.start, atomic.end, "");
	t = sql_lex_next(x);
	if (!sql_token_is_word(x->text, t, "partition"))
		return NULL;
	replace(r, t.start, t.end, "");
	t = sql_lex_next(x);
	if (!sql_token_is_char(x->text, t, '('))
		return sql_piece_error(r->arena, r->piece, t);
	if (!find_close(x, &close))
		return sql_piece_error(r->arena, r->piece,
		    (struct sql_token){
			SQL_TOK_END, r->piece->end, r->piece->end});
	TRY(parse_list(r, t.start, close, &list));
	if (!list.n && !r->foreign)
		return bad_pin(r, sql_text_position(r->piece->text, t.start));
	replace(r, t.start, close + 1, "");
	return check_pins(r, &list);
}

/* The lexer is past CREATE. */
static void
rewrite_create(struct rewrite *r, struct sql_lexer *x)
{
	struct sql_token t = sql_lex_next(x);
	struct sql_token index;

	if (sql_token_is_word(x->text, t, "unique"))
		t = sql_lex_next(x);
	index = sql_lex_next(x);
	if (!sql_token_is_word(x->text, t, "global") ||
	    !sql_token_is_word(x->text, index, "index"))
		return;
	r->global = true;
	replace(r, t.start, t.end, "");
}

/* The lexer is past ALTER.  own.c has seen that it is SET (. */
static void
rewrite_alter(struct rewrite *r, struct sql_lexer *x)
{
	struct sql_token t = sql_lex_next(x);

	if (!sql_token_is_word(x->text, t, "cluster"))
		return;
	r->cluster = true;
	replace(r, t.start, t.end, "TABLE c");
}

static struct err *
rewrite(struct rewrite *r)
{
	struct sql_lexer x = lexer_of(r->piece);
	struct sql_token t = sql_lex_next(&x);
	size_t len = r->piece->end - r->piece->start + r->piece->semicolon;

	r->copy =
	    arena_cstr(r->arena, str_of(whole(r).p + r->piece->start, len));
	if (sql_token_is_word(x.text, t, "begin"))
		return rewrite_begin(r, &x);
	if (sql_token_is_word(x.text, t, "create"))
		rewrite_create(r, &x);
	else if (sql_token_is_word(x.text, t, "alter"))
		rewrite_alter(r, &x);
	else
		return NULL;
	return rewrite_options(r);
}

/* ---- putting it together again ---- */

static void
set_pins(struct rewrite *r, struct sql_transaction *t)
{
	t->atomic = true;
	t->n_pins = r->pins.n;
	t->pins = NEW_N(r->arena, struct sql_pin, r->pins.n);
	for (uint32_t i = 0; i < r->pins.n; i++) {
		const struct sql_expr *e = r->pins.items[i];

		t->pins[i] = (struct sql_pin){e->args[0]->u.column.parts[0],
		    e->args[0]->position, e->args[1]};
	}
}

static void
set_cluster(struct sql_stmt *s)
{
	struct sql_options o = s->u.alter_table.cmds[0].options;

	s->kind = SQL_STMT_ALTER_CLUSTER;
	s->u.alter_cluster =
	    (struct sql_alter_cluster){.action = SQL_CLUSTER_SET, .options = o};
}

/* False when the statement that came out is not the one we took it for. */
static bool
restore(struct rewrite *r, struct sql_stmt *s)
{
	if (r->n_params > s->n_params)
		s->n_params = r->n_params;
	if (r->atomic) {
		if (s->kind != SQL_STMT_TRANSACTION)
			return false;
		set_pins(r, &s->u.txn);
	}
	if (r->global) {
		if (s->kind != SQL_STMT_CREATE_INDEX)
			return s->kind == SQL_STMT_UNSUPPORTED;
		s->u.create_index->global = true;
	}
	if (r->cluster) {
		if (s->kind != SQL_STMT_ALTER_TABLE ||
		    s->u.alter_table.n_cmds != 1 ||
		    s->u.alter_table.cmds[0].kind != SQL_ALTER_SET_OPTIONS)
			return false;
		set_cluster(s);
	}
	return true;
}

/* One statement, in whichever way it takes. *ours says that it is no plain
 * SQL, of errors too. */
static struct err *
parse_piece(struct arena *a, const struct sql_piece *p, struct err *refusal,
    struct sql_stmt *out, bool *ours)
{
	struct rewrite r = {.arena = a, .piece = p};
	struct sql_pg_input in = {.text = p->text, .base = p->start};
	struct sql_stmt *s;
	size_t n;

	TRY(sql_own_parse(a, p, out, ours));
	if (*ours)
		return NULL;
	*ours = true;
	TRY(rewrite(&r));
	*ours = touched(&r);
	if (r.foreign)
		return refusal;
	in.sql = r.copy;
	in.lifted = r.lifted;
	in.n_lifted = r.n_lifted;
	TRY(sql_pg_parse(a, &in, &s, &n));
	if (n != 1 || in.used_lifted != r.n_lifted)
		return refusal;
	*out = s[0];
	out->text = str_of(p->text->text.p + p->start, p->last - p->start);
	return restore(&r, out) ? NULL : refusal;
}

/* A function's body may have semicolons of its own. */
static bool
is_function(const struct sql_piece *p)
{
	struct sql_lexer x = lexer_of(p);
	struct sql_token t = sql_lex_next(&x);

	if (!sql_token_is_word(x.text, t, "create"))
		return false;
	t = sql_lex_next(&x);
	if (sql_token_is_word(x.text, t, "or")) {
		sql_lex_next(&x);
		t = sql_lex_next(&x);
	}
	return sql_token_is_word(x.text, t, "function") ||
	       sql_token_is_word(x.text, t, "procedure");
}

/* The next statement that is not empty; false at the end. */
static bool
next_piece(struct sql_lexer *x, struct sql_piece *p)
{
	size_t depth = 0;
	bool any = false;

	for (;;) {
		struct sql_token t = sql_lex_next(x);
		bool semicolon = sql_token_is_char(x->text, t, ';') && !depth;

		if (t.kind == SQL_TOK_END || (semicolon && any)) {
			p->end = t.start;
			p->semicolon = semicolon;
			return any;
		}
		if (semicolon)
			continue;
		if (!any)
			p->start = t.start;
		any = true;
		p->last = t.end;
		if (sql_token_is_char(x->text, t, '('))
			depth++;
		else if (depth && sql_token_is_char(x->text, t, ')'))
			depth--;
	}
}

/* Statements as they come, in a growing array. */
struct list {
	struct sql_stmt *items;
	size_t n;
	size_t cap;
};

static struct sql_stmt *
append(struct arena *a, struct list *l)
{
	if (l->n == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 4;

		l->items = arena_grow(a, l->items, l->cap * sizeof *l->items,
		    cap * sizeof *l->items);
		l->cap = cap;
	}
	memset(&l->items[l->n], 0, sizeof *l->items);
	return &l->items[l->n++];
}

struct err *
sql_prepass(struct arena *a, const struct sql_text *t, struct err *refusal,
    struct sql_stmt **stmts, size_t *n)
{
	struct sql_lexer x = {t->text, 0};
	struct sql_piece p = {.text = t};
	struct list list = {0};
	bool any_ours = false;

	*stmts = NULL;
	*n = 0;
	while (next_piece(&x, &p)) {
		bool ours = false;
		struct err *e;

		if (is_function(&p))
			return refusal;
		TRY(arena_check(a));
		e = parse_piece(a, &p, refusal, append(a, &list), &ours);
		any_ours |= ours;
		/* As long as nothing was ours, the grammar has said of the
		 * whole text what it now says of this part. */
		if (e)
			return any_ours ? e : refusal;
	}
	if (!any_ours)
		return refusal;
	*stmts = list.items;
	*n = list.n;
	return NULL;
}
