/* What the files of date and time functions share. */
#ifndef EXPR_DATETIME_INT_H
#define EXPR_DATETIME_INT_H

#include "expr/datetime.h"
#include "expr/func_int.h"

enum ex_unit {
	EX_UNIT_NONE,
	EX_UNIT_US,
	EX_UNIT_MS,
	EX_UNIT_SECOND,
	EX_UNIT_MINUTE,
	EX_UNIT_HOUR,
	EX_UNIT_DAY,
	EX_UNIT_WEEK,
	EX_UNIT_MONTH,
	EX_UNIT_QUARTER,
	EX_UNIT_YEAR,
	EX_UNIT_DECADE,
	EX_UNIT_CENTURY,
	EX_UNIT_MILLENNIUM,
	EX_UNIT_EPOCH,
	EX_UNIT_DOW,
	EX_UNIT_ISODOW,
	EX_UNIT_DOY,
	EX_UNIT_ISOYEAR,
	EX_UNIT_JULIAN,
	EX_UNIT_TZ,
	EX_UNIT_TZ_HOUR,
	EX_UNIT_TZ_MINUTE
};

/* Zone of the session. */
struct dt_zone ex_zone(const struct ex_ctx *ctx);
/* 22008 "timestamp out of range" unless us is in range. */
struct err *ex_ts_check(const struct ex_ctx *ctx, int64_t us);

/* Century and millennium of an astronomical year: 2000 is in the 20th; there
 * is no century 0. */
static inline int64_t
ex_year_group(int64_t year, int64_t span)
{
	if (year > 0)
		return (year + span - 1) / span;
	return -((span - 1 - (year - 1)) / span);
}

#endif
