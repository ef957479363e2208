/* Inside interval: reading and writing its text. */
#ifndef EXPR_INTERVAL_TEXT_H
#define EXPR_INTERVAL_TEXT_H

#include "expr/datetime_text.h"

/* Fields are summed up here; the sums are checked as they grow. */
struct iv_sum {
	int64_t us;
	int32_t days, months, years;
};

/* Each adds `v` of a unit, and the fraction `f` of one more. */
bool iv_add_us(struct iv_sum *s, int64_t v, double f, int64_t unit_us);
bool iv_add_days(struct iv_sum *s, int64_t v, double f, int32_t unit_days);
bool iv_add_months(struct iv_sum *s, int64_t v, double f);
bool iv_add_years(struct iv_sum *s, int64_t v, double f, int32_t unit_years);

/* "P1Y2M3DT4H5M6S" and its basic and alternative forms. */
enum dt_fail iv_read_iso(struct str text, struct iv_sum *s);
/* Everything; range is the typmod's (0x7fff: all). */
struct err *iv_read(struct arena *a, const struct ex_env *env, struct str text,
    int32_t range, struct ex_interval *out);
void iv_write(
    struct buf *b, enum ex_intervalstyle style, struct ex_interval iv);

/* Masks of a typmod's range. */
enum {
	IV_MONTH = 1 << 1,
	IV_YEAR = 1 << 2,
	IV_DAY = 1 << 3,
	IV_HOUR = 1 << 10,
	IV_MINUTE = 1 << 11,
	IV_SECOND = 1 << 12,
	IV_FULL = 0x7fff,
	IV_PRECISION_FULL = 0xffff
};

#endif
