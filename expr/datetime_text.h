/* Inside dates and times: reading and writing their text. */
#ifndef EXPR_DATETIME_TEXT_H
#define EXPR_DATETIME_TEXT_H

#include "expr/zone_int.h"

/* How reading fails; the caller knows the text and the type. */
enum dt_fail {
	DT_OK,
	DT_BAD,         /* invalid input syntax */
	DT_FIELD,       /* a field is out of range */
	DT_FIELD_ORDER, /* so is one that DateStyle might have meant otherwise
			 */
	DT_ZONE_RANGE,  /* time zone displacement */
	DT_INTERVAL_RANGE
};
struct err *dt_fail_err(struct arena *a, enum dt_fail f, const char *type,
    struct str text) MUST_USE;

/* ---- fields of a text ---- */
enum dt_field_kind {
	DT_F_NUMBER,
	DT_F_DATE,
	DT_F_TIME,
	DT_F_ZONE, /* a signed number, mostly a zone */
	DT_F_WORD,
	DT_F_SPECIAL /* a signed word */
};
struct dt_field {
	enum dt_field_kind kind;
	struct str s; /* lower case, NUL-terminated */
};
#define DT_FIELDS_MAX 25
/* False when the text is no sequence of fields. `n` may be 0. */
bool dt_fields(struct arena *a, struct str text, struct dt_field *f, size_t *n);

/* Whole number at the start of *s, which advances; false when there is none or
 * it does not fit 32 bits (*range tells which). */
bool dt_number(struct str *s, int *out, bool *range);
/* ".123": rounded to microseconds; false on anything else. */
bool dt_fraction(struct str s, int *us);
/* "+02", "-03:30", "+0530": seconds east. */
enum dt_fail dt_offset(struct str s, int32_t *east);
/* hh:mm[:ss[.f]] or mm:ss.f, checked but for the hour. */
enum dt_fail dt_clock(struct str s, int64_t *hour, struct dt_tm *tm);

/* ---- moments ---- */
enum dt_target { DT_T_DATE, DT_T_TIME, DT_T_TIMESTAMP, DT_T_TIMESTAMPTZ };
enum dt_kind { DT_K_VALUE, DT_K_EPOCH, DT_K_INF, DT_K_NEG_INF };
struct dt_parsed {
	enum dt_kind kind;
	struct dt_tm tm;
	bool has_zone;
	struct dt_zone zone; /* written, or the session's */
};
struct err *dt_parse(struct arena *a, const struct ex_env *env, struct str text,
    enum dt_target target, struct dt_parsed *out);

/* ---- text out ---- */
void dt_put_date(struct buf *b, const struct ex_env *env, int64_t days);
void dt_put_time(struct buf *b, int64_t us);
/* With *zone (timestamptz) or without (NULL). */
void dt_put_timestamp(struct buf *b, const struct ex_env *env, int64_t us,
    const struct dt_zone *zone);
/* "ss[.ffffff]" without zeros at the end, at least `width` digits before. */
void dt_put_seconds(struct buf *b, int64_t sec, int64_t us, int width);

#endif
