/* Paths: the text form of an array of text. */
#include "expr/json_int.h"

static struct err *
bad_array(struct arena *a, struct str s)
{
	return ERR(a, ERRCODE_INVALID_TEXT_REPRESENTATION,
	    "malformed array literal: \"%.*s\"", STR_FMT(s));
}

/* One element off the front of s, up to ',' or '}'. */
static bool
path_step(struct arena *a, struct str *s, struct str *out)
{
	bool quoted = s->len && s->p[0] == '"';
	struct buf b;

	buf_init(&b, a);
	if (quoted)
		*s = str_skip(*s, 1);
	while (s->len) {
		char c = s->p[0];

		if (quoted ? c == '"' : c == ',' || c == '}')
			break;
		if (!quoted && (c == '{' || c == '"'))
			return false;
		if (c == '\\') {
			*s = str_skip(*s, 1);
			if (!s->len)
				return false;
		}
		buf_u8(&b, (uint8_t)s->p[0]);
		*s = str_skip(*s, 1);
	}
	if (quoted && s->len)
		*s = json_trim(str_skip(*s, 1));
	*out = quoted ? buf_view(&b) : json_trim(buf_view(&b));
	if (!out->p)
		*out = STR("");
	return s->len && (s->p[0] == ',' || s->p[0] == '}') &&
	       (quoted || out->len);
}

struct err *
json_path_parse(struct arena *a, struct str text, struct json_path *path)
{
	struct str s = json_trim(text);
	uint32_t cap = 1;

	*path = (struct json_path){NULL, 0};
	for (size_t i = 0; i < s.len; i++)
		cap += s.p[i] == ',';
	path->step = NEW_N(a, struct str, cap);
	if (s.len < 2 || s.p[0] != '{' || s.p[s.len - 1] != '}')
		return err_detail(bad_array(a, text),
		    "Array value must start with \"{\" or dimension "
		    "information.");
	s = json_trim(str_skip(s, 1));
	if (str_eq(s, STR("}")))
		return NULL;
	for (;;) {
		struct str *step = &path->step[path->n];

		if (path->n == cap || !path_step(a, &s, step))
			return bad_array(a, text);
		path->n++;
		if (s.p[0] == '}')
			return s.len == 1 ? NULL : bad_array(a, text);
		s = json_trim(str_skip(s, 1));
	}
}

bool
json_path_index(struct str step, int64_t *i)
{
	bool negative = step.len && step.p[0] == '-';
	uint64_t u;

	if (!str_u64(negative ? str_skip(step, 1) : step, &u) || u > INT32_MAX)
		return false;
	*i = negative ? -(int64_t)u : (int64_t)u;
	return true;
}
