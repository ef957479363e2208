/* Values: what SQL computes with.  A struct val is small and copied freely; the
 * bytes it points to belong to an arena of whoever made it. */
#ifndef EXPR_VAL_H
#define EXPR_VAL_H

#include "base/buf.h"
#include "base/err.h"

/* PostgreSQL's type OIDs. */
#define EX_BOOL        16u
#define EX_BYTEA       17u
#define EX_CHAR        18u /* "char": one byte */
#define EX_NAME        19u
#define EX_INT8        20u
#define EX_INT2        21u
#define EX_INT4        23u
#define EX_TEXT        25u
#define EX_OID         26u
#define EX_JSON        114u
#define EX_FLOAT4      700u
#define EX_FLOAT8      701u
#define EX_UNKNOWN     705u
#define EX_BPCHAR      1042u
#define EX_VARCHAR     1043u
#define EX_DATE        1082u
#define EX_TIME        1083u
#define EX_TIMESTAMP   1114u
#define EX_TIMESTAMPTZ 1184u
#define EX_INTERVAL    1186u
#define EX_NUMERIC     1700u
#define EX_REGCLASS    2205u
#define EX_RECORD      2249u
#define EX_VOID        2278u
#define EX_UUID        2950u
#define EX_JSONB       3802u

/* Interval: fields as PostgreSQL keeps them. */
struct ex_interval {
	int64_t us;
	int32_t days;
	int32_t months;
};

/* The in-memory form by type:
 *   bool                         b
 *   int2, int4, int8, oid        i
 *   float4, float8               d (float4 already rounded to float)
 *   date                         i: days since 2000-01-01; EX_DATE_MIN/MAX =
 * -/+infinity time                         i: microseconds since midnight
 *   timestamp, timestamptz       i: microseconds since 2000-01-01 (UTC);
 * INT64_MIN/MAX = -/+infinity interval                     iv numeric s: packed
 * form of numeric.h uuid                         s: 16 bytes text, varchar,
 * bpchar, name, json, bytea, unknown   s jsonb                        s:
 * canonical text (keys sorted by length then bytes, last duplicate wins,
 * PostgreSQL spacing)
 */
struct val {
	uint32_t type;
	bool null;
	union {
		bool b;
		int64_t i;
		double d;
		struct str s;
		struct ex_interval iv;
	} u;
};

#define EX_DATE_MIN INT32_MIN
#define EX_DATE_MAX INT32_MAX

static inline struct val
val_null(uint32_t type)
{
	return (struct val){.type = type, .null = true};
}

static inline struct val
val_bool(bool b)
{
	return (struct val){.type = EX_BOOL, .u.b = b};
}

static inline struct val
val_int(uint32_t type, int64_t i)
{
	return (struct val){.type = type, .u.i = i};
}

static inline struct val
val_double(uint32_t type, double d)
{
	return (struct val){.type = type, .u.d = d};
}

static inline struct val
val_str(uint32_t type, struct str s)
{
	return (struct val){.type = type, .u.s = s};
}

/* Copies what the value points to. */
struct val val_copy(struct arena *a, struct val v);

#endif
