/* Statements that PostgreSQL's grammar does not begin to know. */
#include "sql/lex.h"
#include "sql/prepass.h"

struct own {
	struct arena *arena;
	const struct sql_piece *piece;
	struct sql_lexer lexer; /* over the text up to the piece's end */
	struct sql_token tok;   /* not consumed yet */
};

static void
advance(struct own *o)
{
	o->tok = sql_lex_next(&o->lexer);
}

static int
position(const struct own *o, struct sql_token t)
{
	return sql_text_position(o->piece->text, t.start);
}

struct err *
sql_piece_error(struct arena *a, const struct sql_piece *p, struct sql_token t)
{
	struct err *e;

	if (t.kind == SQL_TOK_END && p->semicolon)
		e = ERR(
		    a, ERRCODE_SYNTAX_ERROR, "syntax error at or near \";\"");
	else if (t.kind == SQL_TOK_END)
		e = ERR(
		    a, ERRCODE_SYNTAX_ERROR, "syntax error at end of input");
	else
		e = ERR(a, ERRCODE_SYNTAX_ERROR, "%s at or near \"%.*s\"",
		    t.kind == SQL_TOK_BROKEN ? "unterminated quoted string"
					     : "syntax error",
		    (int)(t.end - t.start), p->text->text.p + t.start);
	return err_at(e, sql_text_position(p->text, t.start));
}

/* At the token not consumed yet. */
static struct err *
syntax_error(const struct own *o)
{
	return sql_piece_error(o->arena, o->piece, o->tok);
}

static bool
at_word(const struct own *o, const char *word)
{
	return sql_token_is_word(o->lexer.text, o->tok, word);
}

static bool
accept_word(struct own *o, const char *word)
{
	if (!at_word(o, word))
		return false;
	advance(o);
	return true;
}

static bool
accept_char(struct own *o, char c)
{
	if (!sql_token_is_char(o->lexer.text, o->tok, c))
		return false;
	advance(o);
	return true;
}

static struct err *
expect_word(struct own *o, const char *word)
{
	return accept_word(o, word) ? NULL : syntax_error(o);
}

static struct err *
expect_char(struct own *o, char c)
{
	return accept_char(o, c) ? NULL : syntax_error(o);
}

static struct err *
expect_end(struct own *o)
{
	return o->tok.kind == SQL_TOK_END ? NULL : syntax_error(o);
}

static struct err *
expect_name(struct own *o, const char **name)
{
	struct str raw =
	    str_of(o->lexer.text.p + o->tok.start, o->tok.end - o->tok.start);

	if (str_eq(raw, STR("\"\"")))
		return err_at(ERR(o->arena, ERRCODE_SYNTAX_ERROR,
				  "zero-length delimited identifier at or near "
				  "\"\"\"\""),
		    position(o, o->tok));
	/* U&"..." may have escapes: refused here. */
	if ((o->tok.kind != SQL_TOK_WORD && o->tok.kind != SQL_TOK_QUOTED) ||
	    raw.p[raw.len > 1] == '&')
		return syntax_error(o);
	*name = sql_token_name(o->arena, o->lexer.text, o->tok);
	advance(o);
	return NULL;
}

static struct err *
expect_string(struct own *o, const char **s, int *at)
{
	if (o->tok.kind != SQL_TOK_STRING)
		return syntax_error(o);
	*s = sql_token_string(o->arena, o->lexer.text, o->tok);
	*at = position(o, o->tok);
	advance(o);
	return NULL;
}

/* [[a.]b.]c */
static struct err *
expect_relation(struct own *o, struct sql_name *n)
{
	*n = (struct sql_name){.position = position(o, o->tok)};
	TRY(expect_name(o, &n->name));
	while (accept_char(o, '.')) {
		if (n->catalog)
			return err_at(ERR(o->arena, ERRCODE_SYNTAX_ERROR,
					  "improper qualified name (too many "
					  "dotted names)"),
			    n->position);
		n->catalog = n->schema;
		n->schema = n->name;
		TRY(expect_name(o, &n->name));
	}
	return NULL;
}

/* ---- the statements; the first word is consumed ---- */

static struct err *
parse_use(struct own *o, struct sql_stmt *s)
{
	s->kind = SQL_STMT_USE;
	return expect_name(o, &s->u.use);
}

static struct err *
parse_describe(struct own *o, struct sql_stmt *s)
{
	s->kind = SQL_STMT_DESCRIBE;
	return expect_relation(o, &s->u.describe);
}

static struct err *
parse_repair(struct own *o, struct sql_stmt *s)
{
	s->kind = SQL_STMT_REPAIR_CLUSTER;
	return expect_word(o, "cluster");
}

static struct err *
parse_reclaim(struct own *o, struct sql_stmt *s)
{
	s->kind = SQL_STMT_RECLAIM;
	if (o->tok.kind == SQL_TOK_END)
		return NULL;
	TRY(expect_word(o, "table"));
	return expect_relation(o, &s->u.reclaim);
}

/* SET [SESSION | LOCAL] CONSISTENCY [TO | =] ONE | QUORUM | ALL | DEFAULT */
static struct err *
parse_consistency(struct own *o, struct sql_stmt *s)
{
	struct sql_expr *value = NEW(o->arena, struct sql_expr);

	s->kind = SQL_STMT_SET;
	s->u.set.kind = SQL_SET_VALUE;
	s->u.set.name = "skaidb.consistency";
	if (accept_word(o, "local"))
		s->u.set.is_local = true;
	else
		accept_word(o, "session");
	TRY(expect_word(o, "consistency"));
	if (!accept_char(o, '='))
		accept_word(o, "to");
	if (accept_word(o, "default")) {
		s->u.set.kind = SQL_SET_DEFAULT;
		return NULL;
	}
	value->kind = SQL_E_STRING;
	value->position = position(o, o->tok);
	if (o->tok.kind == SQL_TOK_STRING)
		TRY(expect_string(o, &value->u.text, &value->position));
	else
		TRY(expect_name(o, &value->u.text));
	s->u.set.args.n = 1;
	s->u.set.args.items = NEW(o->arena, struct sql_expr *);
	s->u.set.args.items[0] = value;
	return NULL;
}

/* ADD NODE ['alias'] ('host:port') | ADD NODE 'host:port' */
static struct err *
parse_add_node(struct own *o, struct sql_alter_cluster *s)
{
	s->action = SQL_CLUSTER_ADD_NODE;
	TRY(expect_word(o, "node"));
	if (o->tok.kind == SQL_TOK_STRING) {
		TRY(expect_string(o, &s->ref, &s->ref_position));
		if (o->tok.kind == SQL_TOK_END) {
			s->address = s->ref;
			s->address_position = s->ref_position;
			s->ref = NULL;
			s->ref_position = 0;
			return NULL;
		}
	}
	TRY(expect_char(o, '('));
	TRY(expect_string(o, &s->address, &s->address_position));
	return expect_char(o, ')');
}

static struct err *
parse_feature_level(struct own *o, struct sql_alter_cluster *s)
{
	struct str digits;
	uint64_t level;

	s->action = SQL_CLUSTER_FEATURE_LEVEL;
	TRY(expect_word(o, "feature"));
	TRY(expect_word(o, "level"));
	digits =
	    str_of(o->lexer.text.p + o->tok.start, o->tok.end - o->tok.start);
	if (o->tok.kind != SQL_TOK_NUMBER || !str_u64(digits, &level) ||
	    level > UINT32_MAX)
		return syntax_error(o);
	s->level = (uint32_t)level;
	advance(o);
	return NULL;
}

static struct err *
parse_alter_cluster(struct own *o, struct sql_stmt *s)
{
	struct sql_alter_cluster *c = &s->u.alter_cluster;

	s->kind = SQL_STMT_ALTER_CLUSTER;
	if (accept_word(o, "add"))
		return parse_add_node(o, c);
	if (accept_word(o, "remove")) {
		c->action = SQL_CLUSTER_REMOVE_NODE;
		TRY(expect_word(o, "node"));
		return expect_string(o, &c->ref, &c->ref_position);
	}
	TRY(expect_word(o, "set"));
	return parse_feature_level(o, c);
}

static struct err *
parse_alter_node(struct own *o, struct sql_stmt *s)
{
	struct sql_alter_node *n = &s->u.alter_node;

	s->kind = SQL_STMT_ALTER_NODE;
	TRY(expect_string(o, &n->ref, &n->ref_position));
	TRY(expect_word(o, "set"));
	TRY(expect_word(o, "name"));
	return expect_string(o, &n->alias, &n->alias_position);
}

/* What the project plans and does not have: refused by name, whatever
 * follows. */
static struct err *
parse_planned(struct own *o, struct sql_stmt *s, const char *feature)
{
	s->kind = SQL_STMT_UNSUPPORTED;
	s->u.unsupported.feature = feature;
	s->u.unsupported.error =
	    err_at(ERR(o->arena, ERRCODE_FEATURE_NOT_SUPPORTED,
		       "%s are not supported", feature),
		position(o, o->tok));
	o->lexer.at = o->lexer.text.len;
	advance(o);
	return NULL;
}

/* ---- which of them ---- */

typedef struct err *parse_fn(struct own *o, struct sql_stmt *s);

static const struct {
	const char *word;
	parse_fn *fn;
} by_first_word[] = {
    {"use", parse_use},
    {"describe", parse_describe},
    {"desc", parse_describe},
    {"repair", parse_repair},
    {"reclaim", parse_reclaim},
};

/* SET (...) of a cluster is left to the grammar: see prepass.c. */
static struct err *
parse_alter(struct own *o, struct sql_stmt *s, bool *ours)
{
	struct own ahead;

	if (accept_word(o, "node"))
		return parse_alter_node(o, s);
	*ours = accept_word(o, "cluster");
	if (!*ours)
		return NULL;
	ahead = *o;
	if (accept_word(&ahead, "set") && accept_char(&ahead, '(')) {
		*ours = false;
		return NULL;
	}
	return parse_alter_cluster(o, s);
}

static struct err *
parse_set(struct own *o, struct sql_stmt *s, bool *ours)
{
	struct own ahead = *o;

	if (!accept_word(&ahead, "local"))
		accept_word(&ahead, "session");
	*ours = at_word(&ahead, "consistency");
	return *ours ? parse_consistency(o, s) : NULL;
}

static struct err *
parse_create(struct own *o, struct sql_stmt *s, bool *ours)
{
	*ours = true;
	if (accept_word(o, "search"))
		return parse_planned(o, s, "search indexes");
	if (at_word(o, "timeseries") || at_word(o, "time"))
		return parse_planned(o, s, "time-series tables");
	*ours = false;
	return NULL;
}

static struct err *
parse(struct own *o, struct sql_stmt *s, bool *ours)
{
	for (size_t i = 0; i < sizeof by_first_word / sizeof by_first_word[0];
	     i++)
		if (accept_word(o, by_first_word[i].word))
			return by_first_word[i].fn(o, s);
	if (accept_word(o, "alter"))
		return parse_alter(o, s, ours);
	if (accept_word(o, "set"))
		return parse_set(o, s, ours);
	if (accept_word(o, "create"))
		return parse_create(o, s, ours);
	*ours = false;
	return NULL;
}

struct err *
sql_own_parse(
    struct arena *a, const struct sql_piece *p, struct sql_stmt *s, bool *ours)
{
	struct own o = {.arena = a, .piece = p};

	*ours = true;
	o.lexer.text = str_of(p->text->text.p, p->end);
	o.lexer.at = p->start;
	advance(&o);
	s->position = position(&o, o.tok);
	s->text = str_of(p->text->text.p + p->start, p->last - p->start);
	TRY(parse(&o, s, ours));
	return *ours ? expect_end(&o) : NULL;
}
