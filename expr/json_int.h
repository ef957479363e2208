/* Walking JSON text that is known to be well-formed (values of type json and
 * jsonb); on bytes that are not, functions say so and never read past the end.
 */
#ifndef EXPR_JSON_INT_H
#define EXPR_JSON_INT_H

#include "base/buf.h"
#include "base/err.h"

enum json_kind {
	JSON_BAD,
	JSON_OBJECT,
	JSON_ARRAY,
	JSON_STRING,
	JSON_NUMBER,
	JSON_BOOL,
	JSON_NULL
};

/* By the first byte that is no blank. */
enum json_kind json_kind(struct str v);
/* Without blanks around. */
struct str json_trim(struct str v);

struct json_iter {
	struct str rest;
	bool object;
	bool bad;
};
/* Over the members of an object or the elements of an array; over nothing for
 * a scalar. */
struct json_iter json_iter(struct str v);
/* *key is the raw string with its quotes (objects only); *val is trimmed. */
bool json_next(struct json_iter *it, struct str *key, struct str *val);

/* The text of a raw string; false when malformed. */
bool json_unquote(struct arena *a, struct str raw, struct str *out);
/* Appends text as a JSON string. */
void json_quote(struct buf *b, struct str text);

/* The steps of '{a,0,"b c"}'; 22P02 when malformed. */
struct json_path {
	struct str *step;
	uint32_t n;
};
struct err *json_path_parse(
    struct arena *a, struct str text, struct json_path *path);
/* A step that is an array's index. */
bool json_path_index(struct str step, int64_t *i);

#endif
