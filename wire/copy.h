/* COPY's text and CSV formats: lines of fields out of a byte stream that comes
 * in arbitrary pieces, and fields into lines.  Values are bytes here; types are
 * the caller's. */
#ifndef WIRE_COPY_H
#define WIRE_COPY_H

#include "base/buf.h"
#include "base/err.h"

#define WIRE_COPY_LINE_MAX (64u << 20)

struct wire_copy_opts {
	bool csv;
	char delimiter;
	char quote;  /* CSV */
	char escape; /* CSV */
	struct str null;
	bool header;
	bool header_match;
	/* By column position, CSV only; NULL = none. */
	const bool *force_quote;
	const bool *force_not_null;
	const bool *force_null;
};

/* Defaults of the format: text: tab and \N; csv: comma, quote, empty null. */
void wire_copy_defaults(struct wire_copy_opts *o, bool csv);

struct wire_copy_field {
	bool null;
	struct str bytes;
};

struct wire_copy_in;

/* The reader lives in `a`; opts must outlive it. */
struct wire_copy_in *wire_copy_in_new(
    struct arena *a, const struct wire_copy_opts *o, uint32_t n_columns);
/* Hands over a piece of the stream (copied). */
void wire_copy_in_feed(struct wire_copy_in *in, struct str piece);
void wire_copy_in_end(struct wire_copy_in *in);
/* The next line's fields, in `line` (reset by the caller between lines) or in
 * what was fed: good until the next line or feed. *n is the number of
 * fields. *have false: more input is needed, or at the end, none
 * is left. 22P04 on malformed lines, with the line number in the context. A
 * lone \. line ends the data. */
struct err *wire_copy_in_next(struct wire_copy_in *in, struct arena *line,
    struct wire_copy_field **fields, uint32_t *n, bool *have);
uint64_t wire_copy_in_line(const struct wire_copy_in *in);

/* Appends one line, newline included. names: the header of CSV and text. */
void wire_copy_out_line(struct buf *b, const struct wire_copy_opts *o,
    const struct wire_copy_field *fields, uint32_t n);

#endif
