/* Patterns of to_char, to_date and to_timestamp for dates and times. */
#ifndef EXPR_TOCHAR_INT_H
#define EXPR_TOCHAR_INT_H

#include "expr/func_int.h"

enum dch {
	DCH_TEXT, /* literal: text */
	DCH_AD,
	DCH_AD_DOTS,
	DCH_AM,
	DCH_AM_DOTS,
	DCH_CC,
	DCH_D,
	DCH_DAY,
	DCH_DD,
	DCH_DDD,
	DCH_DY,
	DCH_FF, /* width digits of a fraction */
	DCH_HH12,
	DCH_HH24,
	DCH_ID,
	DCH_IDDD,
	DCH_IW,
	DCH_IYYY, /* width digits of the ISO year */
	DCH_J,
	DCH_MI,
	DCH_MM,
	DCH_MON,
	DCH_MONTH,
	DCH_MS,
	DCH_OF,
	DCH_Q,
	DCH_RM,
	DCH_SS,
	DCH_SSSS,
	DCH_TZ,
	DCH_TZH,
	DCH_TZM,
	DCH_US,
	DCH_W,
	DCH_WW,
	DCH_YYYY, /* width digits of the year */
	DCH_Y_YYY
};

enum dch_case { DCH_UPPER, DCH_LOWER, DCH_CAPITAL };

struct dch_token {
	enum dch kind;
	enum dch_case letters;
	int width;
	bool fill;       /* FM */
	char th;         /* 'T' or 't': an ordinal suffix */
	struct str text; /* the literal, or the keyword as written */
};

struct dch_pattern {
	struct dch_token *token;
	size_t n;
};

/* Text in double quotes that a pattern begins with, a backslash before any
 * character; the end of the pattern ends it, too. Returns its length there. */
size_t ex_quoted(struct arena *a, struct str s, struct str *text);
struct err *ex_dch_parse(
    const struct ex_ctx *ctx, struct str s, struct dch_pattern *p);

#endif
