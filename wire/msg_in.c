#include "wire/msg.h"

uint32_t
wire_front_max(uint8_t type)
{
	switch (type) {
	case WIRE_QUERY:
	case WIRE_PARSE:
	case WIRE_BIND:
	case WIRE_COPY_DATA:
	case WIRE_FUNCTION_CALL:
		return WIRE_MESSAGE_MAX;
	case WIRE_PASSWORD:
		return WIRE_AUTH_MAX;
	case WIRE_CLOSE:
	case WIRE_COPY_DONE:
	case WIRE_COPY_FAIL:
	case WIRE_DESCRIBE:
	case WIRE_EXECUTE:
	case WIRE_FLUSH:
	case WIRE_SYNC:
	case WIRE_TERMINATE:
		return WIRE_SMALL_MAX;
	default:
		return 0;
	}
}

static struct err *
bad(struct arena *a, const char *what)
{
	return ERR(a, ERRCODE_PROTOCOL_VIOLATION, "invalid %s message", what);
}

/* A count from the wire: believed only as far as bytes are left for it. */
static bool
count_fits(const struct cur *c, uint32_t n, size_t each)
{
	return cur_ok(c) && n <= c->left / each;
}

static void
startup_option(struct wire_startup *out, struct str name, struct str value)
{
	if (str_eq(name, STR("user")))
		out->user = value;
	else if (str_eq(name, STR("database")))
		out->database = value;
	else if (str_has_prefix(name, STR("_pq_.")))
		out->unknown[out->n_unknown++] = name;
	else
		out->params[out->n_params++] =
		    (struct wire_param_pair){name, value};
}

static struct err *
startup_options(struct arena *a, struct cur *c, struct wire_startup *out)
{
	/* A pair takes at least two terminators and a byte of name. */
	size_t most = c->left / 3 + 1;

	out->params = NEW_N(a, struct wire_param_pair, most);
	out->unknown = NEW_N(a, struct str, most);
	for (;;) {
		struct str name = cur_cstr(c), value;

		if (!cur_ok(c))
			return bad(a, "startup");
		if (!name.len)
			break;
		value = cur_cstr(c);
		if (!cur_ok(c))
			return bad(a, "startup");
		startup_option(out, name, value);
	}
	if (!cur_done(c))
		return bad(a, "startup");
	if (!out->user.len)
		return ERR(a, ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION,
		    "no PostgreSQL user name specified in startup packet");
	if (!out->database.len)
		out->database = out->user;
	return NULL;
}

struct err *
wire_startup_read(struct arena *a, struct str body, struct wire_startup *out)
{
	struct cur c = cur_of(body);

	memset(out, 0, sizeof *out);
	out->protocol = cur_be32(&c);
	if (!cur_ok(&c))
		return bad(a, "startup");
	switch (out->protocol) {
	case WIRE_SSL_REQUEST:
	case WIRE_GSSENC_REQUEST:
		return cur_done(&c) ? NULL : bad(a, "startup");
	case WIRE_CANCEL_REQUEST:
		out->cancel_pid = cur_be32(&c);
		out->cancel_secret = cur_be32(&c);
		return cur_done(&c) ? NULL : bad(a, "cancel");
	default:
		break;
	}
	if (out->protocol >> 16 != 3)
		return ERR(a, ERRCODE_FEATURE_NOT_SUPPORTED,
		    "unsupported frontend protocol %u.%u: server supports 3.0 "
		    "to 3.0",
		    out->protocol >> 16, out->protocol & 0xffff);
	return startup_options(a, &c, out);
}

/* One blank-separated word of `options`; a backslash takes the next character
 * as it is. False at the end. */
static bool
options_word(struct arena *a, struct str *rest, struct str *word)
{
	struct buf b;
	size_t i = 0;

	while (i < rest->len && (rest->p[i] == ' ' || rest->p[i] == '\t'))
		i++;
	if (i == rest->len)
		return false;
	buf_init(&b, a);
	for (; i < rest->len && rest->p[i] != ' ' && rest->p[i] != '\t'; i++) {
		if (rest->p[i] == '\\' && i + 1 < rest->len)
			i++;
		buf_u8(&b, (uint8_t)rest->p[i]);
	}
	*rest = str_skip(*rest, i);
	*word = buf_view(&b);
	return true;
}

/* "name=value"; in --name a dash stands for an underscore. */
static bool
options_pair(
    struct arena *a, struct str word, bool dashes, struct wire_param_pair *out)
{
	const char *eq = word.len ? memchr(word.p, '=', word.len) : NULL;
	struct str name;
	char *copy;

	if (!eq || eq == word.p)
		return false;
	name = str_of(word.p, (size_t)(eq - word.p));
	copy = arena_cstr(a, name);
	for (char *p = copy; dashes && *p; p++)
		if (*p == '-')
			*p = '_';
	out->name = str_c(copy);
	out->value = str_skip(word, name.len + 1);
	return true;
}

struct err *
wire_options_read(struct arena *a, struct str options,
    struct wire_param_pair **out, size_t *n)
{
	struct str rest = options, word;

	*n = 0;
	*out = NEW_N(a, struct wire_param_pair, options.len / 2 + 1);
	while (options_word(a, &rest, &word)) {
		bool dashes = str_has_prefix(word, STR("--")) && word.len > 2;
		struct str given = word, pair;

		if (dashes)
			pair = str_skip(word, 2);
		else if (str_eq(word, STR("-c")) &&
			 options_word(a, &rest, &given))
			pair = given;
		else if (str_has_prefix(word, STR("-c")))
			pair = str_skip(word, 2);
		else
			pair = STR_NONE;
		if (!options_pair(a, pair, dashes, &(*out)[*n]))
			return ERR(a, ERRCODE_SYNTAX_ERROR,
			    "invalid command-line argument for server "
			    "process: %.*s",
			    STR_FMT(given));
		++*n;
	}
	return NULL;
}

struct err *
wire_query_read(struct arena *a, struct str body, struct str *query)
{
	struct cur c = cur_of(body);

	*query = cur_cstr(&c);
	return cur_done(&c) ? NULL : bad(a, "query");
}

struct err *
wire_parse_read(struct arena *a, struct str body, struct wire_parse *out)
{
	struct cur c = cur_of(body);

	memset(out, 0, sizeof *out);
	out->name = cur_cstr(&c);
	out->query = cur_cstr(&c);
	out->n_types = cur_be16(&c);
	if (!count_fits(&c, out->n_types, 4))
		return bad(a, "parse");
	out->types = NEW_N(a, uint32_t, out->n_types + 1);
	for (uint32_t i = 0; i < out->n_types; i++)
		out->types[i] = cur_be32(&c);
	return cur_done(&c) ? NULL : bad(a, "parse");
}

static bool
read_formats(struct arena *a, struct cur *c, uint16_t **out, uint32_t *n)
{
	*n = cur_be16(c);
	if (!count_fits(c, *n, 2))
		return false;
	*out = NEW_N(a, uint16_t, *n + 1);
	for (uint32_t i = 0; i < *n; i++)
		(*out)[i] = cur_be16(c);
	return cur_ok(c);
}

static bool
read_values(struct arena *a, struct cur *c, struct wire_bind *out)
{
	out->n_params = cur_be16(c);
	if (!count_fits(c, out->n_params, 4))
		return false;
	out->params = NEW_N(a, struct wire_value, out->n_params + 1);
	for (uint32_t i = 0; i < out->n_params; i++) {
		struct wire_value *v = &out->params[i];
		uint32_t len = cur_be32(c);

		v->null = len == UINT32_MAX;
		if (!v->null)
			v->bytes = cur_bytes(c, len);
		if (!cur_ok(c))
			return false;
	}
	return true;
}

static struct err *
check_formats(struct arena *a, const uint16_t *formats, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (formats[i] > 1)
			return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
			    "unsupported format code: %u", formats[i]);
	return NULL;
}

struct err *
wire_bind_read(struct arena *a, struct str body, struct wire_bind *out)
{
	struct cur c = cur_of(body);

	memset(out, 0, sizeof *out);
	out->portal = cur_cstr(&c);
	out->statement = cur_cstr(&c);
	if (!read_formats(a, &c, &out->formats, &out->n_formats) ||
	    !read_values(a, &c, out) ||
	    !read_formats(a, &c, &out->results, &out->n_results) ||
	    !cur_done(&c))
		return bad(a, "bind");
	if (out->n_formats > 1 && out->n_formats != out->n_params)
		return ERR(a, ERRCODE_PROTOCOL_VIOLATION,
		    "bind message has %u parameter formats but %u parameters",
		    out->n_formats, out->n_params);
	TRY(check_formats(a, out->formats, out->n_formats));
	return check_formats(a, out->results, out->n_results);
}

struct err *
wire_target_read(struct arena *a, struct str body, struct wire_target *out)
{
	struct cur c = cur_of(body);

	out->kind = cur_u8(&c);
	out->name = cur_cstr(&c);
	if (!cur_done(&c) || (out->kind != 'S' && out->kind != 'P'))
		return bad(a, "describe or close");
	return NULL;
}

struct err *
wire_execute_read(struct arena *a, struct str body, struct wire_execute *out)
{
	struct cur c = cur_of(body);

	out->portal = cur_cstr(&c);
	out->max_rows = cur_be32(&c);
	/* PostgreSQL takes a negative count as "all". */
	if (out->max_rows > INT32_MAX)
		out->max_rows = 0;
	return cur_done(&c) ? NULL : bad(a, "execute");
}

struct err *
wire_copy_fail_read(struct arena *a, struct str body, struct str *why)
{
	struct cur c = cur_of(body);

	*why = cur_cstr(&c);
	return cur_done(&c) ? NULL : bad(a, "copy fail");
}

struct err *
wire_sasl_first_read(
    struct arena *a, struct str body, struct str *mechanism, struct str *data)
{
	struct cur c = cur_of(body);
	uint32_t len;

	*mechanism = cur_cstr(&c);
	len = cur_be32(&c);
	*data = STR_NONE;
	if (len != UINT32_MAX)
		*data = cur_bytes(&c, len);
	return cur_done(&c) ? NULL : bad(a, "SASL");
}

uint16_t
wire_format_of(const uint16_t *formats, uint32_t n, uint32_t i)
{
	if (n == 0)
		return 0;
	return n == 1 ? formats[0] : (i < n ? formats[i] : 0);
}
