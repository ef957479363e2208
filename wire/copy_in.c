#include "wire/copy.h"

struct wire_copy_in {
	struct arena *arena;
	const struct wire_copy_opts *o;
	uint32_t n_columns;
	struct arena *hold; /* of buf: renewed when it has been eaten */
	struct buf buf;
	size_t at;      /* start of the line being looked for */
	size_t scanned; /* from `at`: bytes already searched for its end */
	bool in_quote;  /* state of the CSV search at `scanned` */
	bool ended;
	bool finished; /* \. seen, or the end passed */
	bool header_pending;
	uint64_t line;
};

void
wire_copy_defaults(struct wire_copy_opts *o, bool csv)
{
	memset(o, 0, sizeof *o);
	o->csv = csv;
	o->delimiter = csv ? ',' : '\t';
	o->quote = '"';
	o->escape = '"';
	o->null = csv ? STR("") : STR("\\N");
}

struct wire_copy_in *
wire_copy_in_new(
    struct arena *a, const struct wire_copy_opts *o, uint32_t n_columns)
{
	struct wire_copy_in *in = NEW(a, struct wire_copy_in);

	in->arena = a;
	in->o = o;
	in->n_columns = n_columns;
	in->hold = arena_new(a, "copy buffer");
	buf_init(&in->buf, in->hold);
	in->header_pending = o->header;
	return in;
}

void
wire_copy_in_feed(struct wire_copy_in *in, struct str piece)
{
	size_t left = in->buf.len - in->at;

	/* Move the rest to a fresh buffer once most of this one is eaten, so
	 * that the buffer stays as small as its largest line. */
	if (in->at > 65536 && left < in->at) {
		struct arena *old = in->hold;
		struct str rest = str_of(in->buf.p + in->at, left);

		in->hold = arena_new(in->arena, "copy buffer");
		buf_init(&in->buf, in->hold);
		buf_str(&in->buf, rest);
		in->at = 0;
		arena_free(old);
	}
	buf_str(&in->buf, piece);
}

void
wire_copy_in_end(struct wire_copy_in *in)
{
	in->ended = true;
}

uint64_t
wire_copy_in_line(const struct wire_copy_in *in)
{
	return in->line;
}

static struct err *
bad_line(struct wire_copy_in *in, struct arena *a, const char *message)
{
	return err_context(ERR(a, ERRCODE_BAD_COPY_FILE_FORMAT, "%s", message),
	    "COPY line %llu", (unsigned long long)in->line);
}

/* The next byte from i on that can matter to the search for a line's end: most
 * bytes cannot, and memchr is fast. */
static size_t
next_special(
    const struct wire_copy_in *in, const uint8_t *p, size_t i, size_t n)
{
	char mark = in->o->csv ? in->o->quote : '\\';
	const uint8_t *end, *at;

	if (in->in_quote)
		return i;
	end = memchr(p + i, '\n', n - i);
	if (end)
		n = (size_t)(end - p);
	at = memchr(p + i, mark, n - i);
	return at ? (size_t)(at - p) : n;
}

/* Offset of the newline that ends the line, or SIZE_MAX. */
static size_t
find_line_end(struct wire_copy_in *in)
{
	size_t n = in->buf.len - in->at, i = in->scanned;
	const struct wire_copy_opts *o = in->o;
	const uint8_t *p;

	/* Without any data yet there is no place to point to. */
	if (!n)
		return SIZE_MAX;
	p = in->buf.p + in->at;
	for (; i < n; i++) {
		char c;

		i = next_special(in, p, i, n);
		if (i == n)
			break;
		c = (char)p[i];
		if (o->csv && in->in_quote && o->escape != o->quote &&
		    c == o->escape) {
			/* Its partner may not have come yet. */
			if (i + 1 == n)
				break;
			i++;
		} else if (o->csv && c == o->quote) {
			in->in_quote = !in->in_quote;
		} else if (!o->csv && c == '\\') {
			if (i + 1 == n)
				break;
			i++;
		} else if (c == '\n' && !in->in_quote) {
			in->scanned = 0;
			return i;
		}
	}
	in->scanned = i;
	return SIZE_MAX;
}

/* The next raw line without its end; *have as wire_copy_in_next. */
static struct err *
take_line(
    struct wire_copy_in *in, struct arena *a, struct str *line, bool *have)
{
	size_t n = in->buf.len - in->at, end;

	*have = false;
	end = find_line_end(in);
	if (end == SIZE_MAX && n > WIRE_COPY_LINE_MAX)
		return ERR(a, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "COPY line %llu is longer than %u bytes",
		    (unsigned long long)in->line + 1, WIRE_COPY_LINE_MAX);
	if (end == SIZE_MAX && !in->ended)
		return NULL;
	if (end == SIZE_MAX && n == 0) {
		in->finished = true;
		return NULL;
	}
	in->line++;
	if (end == SIZE_MAX && in->in_quote)
		return bad_line(in, a, "unterminated CSV quoted field");
	*line = str_of(in->buf.p + in->at, end == SIZE_MAX ? n : end);
	in->at += end == SIZE_MAX ? n : end + 1;
	in->scanned = 0;
	in->in_quote = false;
	if (line->len && line->p[line->len - 1] == '\r')
		line->len--;
	*have = true;
	return NULL;
}

struct fields {
	struct arena *a;
	struct wire_copy_field *v;
	uint32_t n;
	uint32_t cap;
};

static void
add_field(struct fields *f, bool null, struct str bytes)
{
	if (f->n == f->cap) {
		uint32_t cap = f->cap ? f->cap * 2 : 16;

		f->v = arena_grow(
		    f->a, f->v, f->cap * sizeof *f->v, cap * sizeof *f->v);
		f->cap = cap;
	}
	f->v[f->n++] = (struct wire_copy_field){null, bytes};
}

/* One escape after its backslash at s.p[*i]; *i moves to its last character. */
static char
text_escape(struct str s, size_t *i)
{
	char c = s.p[*i];
	int v = 0, digits = 0;

	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'v':
		return '\v';
	case 'x':
		while (digits < 2 && *i + 1 < s.len &&
		       str_hex_digit(s.p[*i + 1]) >= 0) {
			v = v * 16 + str_hex_digit(s.p[++*i]);
			digits++;
		}
		return digits ? (char)v : 'x';
	default:
		break;
	}
	if (c < '0' || c > '7')
		return c;
	v = c - '0';
	for (digits = 1; digits < 3 && *i + 1 < s.len && s.p[*i + 1] >= '0' &&
			 s.p[*i + 1] <= '7';
	     digits++)
		v = v * 8 + (s.p[++*i] - '0');
	return (char)v;
}

/* From `start` to the next delimiter; false when `mark` is in it, which takes
 * a closer look. */
static bool
plain_field(
    struct str line, size_t start, char delimiter, char mark, struct str *field)
{
	size_t left = line.len - start;
	const char *p = line.p + start, *end = memchr(p, delimiter, left);

	*field = str_of(p, end ? (size_t)(end - p) : left);
	return !memchr(p, mark, field->len);
}

static void
text_fields(const struct wire_copy_opts *o, struct str line, struct fields *f)
{
	size_t start = 0;

	for (;;) {
		struct buf b;
		size_t i = start;
		struct str raw;

		if (plain_field(line, start, o->delimiter, '\\', &raw)) {
			add_field(f, str_eq(raw, o->null), raw);
			start += raw.len + 1;
			if (start > line.len)
				return;
			continue;
		}
		buf_init(&b, f->a);
		for (; i < line.len && line.p[i] != o->delimiter; i++) {
			if (line.p[i] == '\\' && i + 1 < line.len) {
				i++;
				buf_u8(&b, (uint8_t)text_escape(line, &i));
			} else {
				buf_u8(&b, (uint8_t)line.p[i]);
			}
		}
		raw = str_of(line.p + start, i - start);
		add_field(f, str_eq(raw, o->null), buf_view(&b));
		if (i >= line.len)
			return;
		start = i + 1;
	}
}

/* One CSV field from *i on; *quoted when any part stood in quotes. */
static struct str
csv_field(const struct wire_copy_opts *o, struct str line, size_t *i,
    struct arena *a, bool *quoted)
{
	struct buf b;
	struct str plain;
	bool in_quote = false;

	*quoted = false;
	if (plain_field(line, *i, o->delimiter, o->quote, &plain)) {
		*i += plain.len;
		return plain;
	}
	buf_init(&b, a);
	for (; *i < line.len; ++*i) {
		char c = line.p[*i];
		bool next = *i + 1 < line.len;

		if (!in_quote && c == o->delimiter)
			break;
		if (!in_quote && c == o->quote) {
			in_quote = *quoted = true;
		} else if (in_quote && c == o->escape && next &&
			   (line.p[*i + 1] == o->quote ||
			       line.p[*i + 1] == o->escape)) {
			buf_u8(&b, (uint8_t)line.p[++*i]);
		} else if (in_quote && c == o->quote) {
			in_quote = false;
		} else {
			buf_u8(&b, (uint8_t)c);
		}
	}
	return buf_view(&b);
}

static void
csv_fields(const struct wire_copy_opts *o, uint32_t n_columns, struct str line,
    struct fields *f)
{
	size_t i = 0;

	for (;;) {
		bool quoted, known = f->n < n_columns;
		uint32_t col = f->n;
		struct str v = csv_field(o, line, &i, f->a, &quoted);
		bool null =
		    str_eq(v, o->null) &&
		    (!quoted || (known && o->force_null && o->force_null[col]));

		if (null && known && o->force_not_null &&
		    o->force_not_null[col])
			null = false;
		add_field(f, null, v);
		if (i >= line.len)
			return;
		i++;
	}
}

struct err *
wire_copy_in_next(struct wire_copy_in *in, struct arena *line,
    struct wire_copy_field **fields, uint32_t *n, bool *have)
{
	struct fields f = {.a = line};
	struct str raw = STR_NONE;

	*fields = NULL;
	*n = 0;
	*have = false;
	for (;;) {
		if (in->finished)
			return NULL;
		TRY(take_line(in, line, &raw, have));
		if (!*have)
			return NULL;
		if (!in->header_pending)
			break;
		in->header_pending = false;
		if (in->o->header_match)
			break;
	}
	if (str_eq(raw, STR("\\."))) {
		in->finished = true;
		*have = false;
		return NULL;
	}
	if (in->o->csv)
		csv_fields(in->o, in->n_columns, raw, &f);
	else
		text_fields(in->o, raw, &f);
	*fields = f.v;
	*n = f.n;
	return NULL;
}
