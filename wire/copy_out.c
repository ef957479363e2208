#include "wire/copy.h"

static void
text_value(struct buf *b, char delimiter, struct str v)
{
	for (size_t i = 0; i < v.len; i++) {
		char c = v.p[i], e = 0;

		switch (c) {
		case '\b':
			e = 'b';
			break;
		case '\f':
			e = 'f';
			break;
		case '\n':
			e = 'n';
			break;
		case '\r':
			e = 'r';
			break;
		case '\t':
			e = 't';
			break;
		case '\v':
			e = 'v';
			break;
		case '\\':
			e = '\\';
			break;
		default:
			if (c == delimiter)
				e = c;
		}
		if (e) {
			buf_u8(b, '\\');
			buf_u8(b, (uint8_t)e);
		} else {
			buf_u8(b, (uint8_t)c);
		}
	}
}

static bool
csv_needs_quotes(const struct wire_copy_opts *o, struct str v, bool alone)
{
	if (str_eq(v, o->null) || (alone && str_eq(v, STR("\\."))))
		return true;
	for (size_t i = 0; i < v.len; i++)
		if (v.p[i] == o->delimiter || v.p[i] == o->quote ||
		    v.p[i] == '\n' || v.p[i] == '\r')
			return true;
	return false;
}

static void
csv_value(
    struct buf *b, const struct wire_copy_opts *o, struct str v, bool quotes)
{
	if (!quotes) {
		buf_str(b, v);
		return;
	}
	buf_u8(b, (uint8_t)o->quote);
	for (size_t i = 0; i < v.len; i++) {
		if (v.p[i] == o->quote || v.p[i] == o->escape)
			buf_u8(b, (uint8_t)o->escape);
		buf_u8(b, (uint8_t)v.p[i]);
	}
	buf_u8(b, (uint8_t)o->quote);
}

void
wire_copy_out_line(struct buf *b, const struct wire_copy_opts *o,
    const struct wire_copy_field *fields, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct wire_copy_field *f = &fields[i];

		if (i)
			buf_u8(b, (uint8_t)o->delimiter);
		if (f->null)
			buf_str(b, o->null);
		else if (o->csv)
			csv_value(b, o, f->bytes,
			    (o->force_quote && o->force_quote[i]) ||
				csv_needs_quotes(o, f->bytes, n == 1));
		else
			text_value(b, o->delimiter, f->bytes);
	}
	buf_u8(b, '\n');
}
