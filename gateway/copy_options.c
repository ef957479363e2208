#include "gateway/copy_options.h"

#include <strings.h>

struct reading {
	struct arena *a;
	const struct sql_copy *copy;
	const char *const *columns;
	uint32_t n_columns;
	struct wire_copy_opts *out;
};

static struct err *
syntax(struct reading *r, const struct sql_option *o, const char *message)
{
	return err_at(ERR(r->a, ERRCODE_SYNTAX_ERROR, "%s", message),
	    o ? o->position : 0);
}

static struct err *
read_format(struct reading *r, bool *csv)
{
	const struct sql_option *o =
	    sql_option_find(&r->copy->options, "format");
	const char *text;

	*csv = false;
	if (!o)
		return NULL;
	TRY(sql_option_text(r->a, o, &text));
	if (strcmp(text, "csv") == 0)
		*csv = true;
	else if (strcmp(text, "binary") == 0)
		return ERR(r->a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "COPY in binary format is not supported yet");
	else if (strcmp(text, "text") != 0)
		return err_at(ERR(r->a, ERRCODE_INVALID_PARAMETER_VALUE,
				  "COPY format \"%s\" not recognized", text),
		    o->position);
	return NULL;
}

static struct err *
one_byte(
    struct reading *r, const struct sql_option *o, const char *what, char *out)
{
	const char *text;

	TRY(sql_option_text(r->a, o, &text));
	if (strlen(text) != 1)
		return ERR(r->a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "COPY %s must be a single one-byte character", what);
	if (*text == '\r' || *text == '\n')
		return ERR(r->a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "COPY %s cannot be newline or carriage return", what);
	*out = *text;
	return NULL;
}

static struct err *
read_header(struct reading *r, const struct sql_option *o)
{
	const char *text;

	if (o->kind != SQL_OPT_NONE && o->kind != SQL_OPT_INT) {
		TRY(sql_option_text(r->a, o, &text));
		if (strcasecmp(text, "match") == 0) {
			if (!r->copy->from)
				return ERR(r->a,
				    ERRCODE_INVALID_PARAMETER_VALUE,
				    "cannot use \"%s\" with HEADER in COPY TO",
				    text);
			r->out->header = r->out->header_match = true;
			return NULL;
		}
	}
	return sql_option_bool(r->a, o, &r->out->header);
}

static struct err *
mark_column(struct reading *r, const struct sql_option *o, const char *name,
    bool *marks)
{
	for (uint32_t i = 0; i < r->n_columns; i++)
		if (strcmp(r->columns[i], name) == 0) {
			marks[i] = true;
			return NULL;
		}
	return err_at(ERR(r->a, ERRCODE_UNDEFINED_COLUMN,
			  "column \"%s\" does not exist", name),
	    o->position);
}

static struct err *
read_columns(struct reading *r, const struct sql_option *o, const bool **out)
{
	bool *marks = NEW_N(r->a, bool, r->n_columns + 1);

	*out = marks;
	if (o->kind == SQL_OPT_STAR) {
		memset(marks, 1, r->n_columns);
		return NULL;
	}
	if (o->kind != SQL_OPT_LIST)
		return syntax(r, o,
		    arena_printf(r->a,
			"argument to option \"%s\" must be a list of column "
			"names",
			o->name));
	for (uint32_t i = 0; i < o->list.n; i++) {
		const char *name = sql_option_word(o->list.items[i]);

		if (!name)
			return syntax(r, o, "a column name is expected");
		TRY(mark_column(r, o, name, marks));
	}
	return NULL;
}

static struct err *
need_csv(struct reading *r, const struct sql_option *o, const char *what)
{
	if (r->out->csv)
		return NULL;
	return err_at(ERR(r->a, ERRCODE_FEATURE_NOT_SUPPORTED,
			  "COPY %s available only in CSV mode", what),
	    o->position);
}

static struct err *
read_encoding(struct reading *r, const struct sql_option *o)
{
	const char *text;

	TRY(sql_option_text(r->a, o, &text));
	if (strcasecmp(text, "utf8") == 0 || strcasecmp(text, "utf-8") == 0)
		return NULL;
	return ERR(r->a, ERRCODE_INVALID_PARAMETER_VALUE,
	    "argument to option \"encoding\" must be a valid encoding name: "
	    "only UTF8 is supported");
}

static struct err *
read_null(struct reading *r, const struct sql_option *o)
{
	const char *text;

	TRY(sql_option_text(r->a, o, &text));
	if (strpbrk(text, "\r\n"))
		return ERR(r->a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "COPY null representation cannot use newline or carriage "
		    "return");
	r->out->null = str_c(text);
	return NULL;
}

static struct err *
read_option(struct reading *r, const struct sql_option *o)
{
	struct wire_copy_opts *out = r->out;
	bool ignored;

	if (strcmp(o->name, "format") == 0)
		return NULL;
	if (strcmp(o->name, "freeze") == 0)
		return sql_option_bool(r->a, o, &ignored);
	if (strcmp(o->name, "delimiter") == 0)
		return one_byte(r, o, "delimiter", &out->delimiter);
	if (strcmp(o->name, "null") == 0)
		return read_null(r, o);
	if (strcmp(o->name, "header") == 0)
		return read_header(r, o);
	if (strcmp(o->name, "encoding") == 0)
		return read_encoding(r, o);
	if (strcmp(o->name, "quote") == 0) {
		TRY(need_csv(r, o, "quote"));
		return one_byte(r, o, "quote", &out->quote);
	}
	if (strcmp(o->name, "escape") == 0) {
		TRY(need_csv(r, o, "escape"));
		return one_byte(r, o, "escape", &out->escape);
	}
	if (strcmp(o->name, "force_quote") == 0) {
		TRY(need_csv(r, o, "force quote"));
		return read_columns(r, o, &out->force_quote);
	}
	if (strcmp(o->name, "force_not_null") == 0) {
		TRY(need_csv(r, o, "force not null"));
		return read_columns(r, o, &out->force_not_null);
	}
	if (strcmp(o->name, "force_null") == 0) {
		TRY(need_csv(r, o, "force null"));
		return read_columns(r, o, &out->force_null);
	}
	return err_at(ERR(r->a, ERRCODE_SYNTAX_ERROR,
			  "option \"%s\" not recognized", o->name),
	    o->position);
}

static struct err *
check_together(struct reading *r)
{
	const struct wire_copy_opts *o = r->out;
	static const char text_bad[] =
	    "\\.abcdefghijklmnopqrstuvwxyz0123456789";

	if (!o->csv && strchr(text_bad, o->delimiter))
		return ERR(r->a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "COPY delimiter cannot be \"%c\"", o->delimiter);
	if (o->null.len && memchr(o->null.p, o->delimiter, o->null.len))
		return ERR(r->a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "COPY delimiter must not appear in the NULL "
		    "specification");
	if (o->csv && o->delimiter == o->quote)
		return ERR(r->a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "COPY delimiter and quote must be different");
	return NULL;
}

struct err *
gw_copy_options(struct arena *a, const struct sql_copy *copy,
    const char *const *columns, uint32_t n_columns, struct wire_copy_opts *out)
{
	struct reading r = {a, copy, columns, n_columns, out};
	bool csv;

	TRY(read_format(&r, &csv));
	wire_copy_defaults(out, csv);
	/* ESCAPE follows QUOTE unless it is given itself. */
	for (uint32_t i = 0; i < copy->options.n; i++)
		TRY(read_option(&r, &copy->options.items[i]));
	if (csv && !sql_option_find(&copy->options, "escape"))
		out->escape = out->quote;
	return check_together(&r);
}
