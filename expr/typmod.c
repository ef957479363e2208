/* Type modifiers: what (10,2) means to a type, and how it is written out. */
#include "expr/interval_text.h"
#include "expr/numeric.h"
#include "expr/type_impl.h"

#define LENGTH_MAX 10485760 /* of varchar(n) and char(n) */
#define VARHDRSZ   4        /* PostgreSQL's typmods count it in */

static struct err *
invalid(struct arena *a, const char *what)
{
	return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE, "%s", what);
}

static struct err *
length_typmod(struct arena *a, const char *name, const int32_t *args, size_t n,
    int32_t *out)
{
	if (n != 1)
		return invalid(a, "invalid type modifier");
	if (args[0] < 1)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "length for type %s must be at least 1", name);
	if (args[0] > LENGTH_MAX)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "length for type %s cannot exceed %d", name, LENGTH_MAX);
	*out = args[0] + VARHDRSZ;
	return NULL;
}

static struct err *
numeric_typmod(struct arena *a, const int32_t *args, size_t n, int32_t *out)
{
	int32_t scale = n == 2 ? args[1] : 0;

	if (n != 1 && n != 2)
		return invalid(a, "invalid NUMERIC type modifier");
	if (args[0] < 1 || args[0] > NUM_DISPLAY_MAX)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "NUMERIC precision %d must be between 1 and %d", args[0],
		    NUM_DISPLAY_MAX);
	if (scale < -NUM_DISPLAY_MAX || scale > NUM_DISPLAY_MAX)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "NUMERIC scale %d must be between %d and %d", scale,
		    -NUM_DISPLAY_MAX, NUM_DISPLAY_MAX);
	*out = ((args[0] << 16) | (scale & 0x7ff)) + VARHDRSZ;
	return NULL;
}

static struct err *
time_typmod(struct arena *a, const struct ex_type *t, const int32_t *args,
    size_t n, int32_t *out)
{
	if (n != 1)
		return invalid(a, "invalid type modifier");
	if (args[0] < 0)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "%s(%d)%s precision must not be negative",
		    t->oid == EX_TIME ? "TIME" : "TIMESTAMP", args[0],
		    t->oid == EX_TIMESTAMPTZ ? " WITH TIME ZONE" : "");
	/* PostgreSQL reduces it with a warning. */
	*out = args[0] > 6 ? 6 : args[0];
	return NULL;
}

static const struct {
	int32_t range;
	const char *name;
} ranges[] = {
    {IV_YEAR, " year"},
    {IV_MONTH, " month"},
    {IV_DAY, " day"},
    {IV_HOUR, " hour"},
    {IV_MINUTE, " minute"},
    {IV_SECOND, " second"},
    {IV_YEAR | IV_MONTH, " year to month"},
    {IV_DAY | IV_HOUR, " day to hour"},
    {IV_DAY | IV_HOUR | IV_MINUTE, " day to minute"},
    {IV_DAY | IV_HOUR | IV_MINUTE | IV_SECOND, " day to second"},
    {IV_HOUR | IV_MINUTE, " hour to minute"},
    {IV_HOUR | IV_MINUTE | IV_SECOND, " hour to second"},
    {IV_MINUTE | IV_SECOND, " minute to second"},
    {IV_FULL, ""},
};

static const char *
range_name(int32_t range)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (ranges[i].range == range)
			return ranges[i].name;
	return NULL;
}

static struct err *
interval_typmod(struct arena *a, const int32_t *args, size_t n, int32_t *out)
{
	if (n < 1 || n > 2 || !range_name(args[0]))
		return invalid(a, "invalid INTERVAL type modifier");
	if (n == 1) {
		*out = args[0] == IV_FULL ? -1
					  : (args[0] << 16) | IV_PRECISION_FULL;
		return NULL;
	}
	if (args[1] < 0)
		return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
		    "INTERVAL(%d) precision must not be negative", args[1]);
	*out = (args[0] << 16) | (args[1] > 6 ? 6 : args[1]);
	return NULL;
}

struct err *
ex_typmod_in(struct arena *a, const struct ex_type *t, const int32_t *args,
    size_t n, int32_t *out)
{
	*out = -1;
	if (!n)
		return NULL;
	switch (t->oid) {
	case EX_VARCHAR:
		return length_typmod(a, "varchar", args, n, out);
	case EX_BPCHAR:
		return length_typmod(a, "char", args, n, out);
	case EX_NUMERIC:
		return numeric_typmod(a, args, n, out);
	case EX_TIME:
	case EX_TIMESTAMP:
	case EX_TIMESTAMPTZ:
		return time_typmod(a, t, args, n, out);
	case EX_INTERVAL:
		return interval_typmod(a, args, n, out);
	default:
		return ERR(a, ERRCODE_SYNTAX_ERROR,
		    "type modifier is not allowed for type \"%s\"", t->name);
	}
}

char *
ex_type_format(struct arena *a, uint32_t oid, int32_t typmod)
{
	const struct ex_type *t = ex_type(oid);
	int32_t n = typmod - VARHDRSZ;

	if (!t)
		return arena_strdup(a, "???");
	if (typmod < 0)
		return arena_strdup(a, t->sql_name);
	switch (oid) {
	case EX_VARCHAR:
	case EX_BPCHAR:
		return arena_printf(a, "%s(%d)", t->sql_name, n);
	case EX_NUMERIC:
		return arena_printf(a, "numeric(%d,%d)", (n >> 16) & 0xffff,
		    ((n & 0x7ff) ^ 1024) - 1024);
	case EX_TIME:
		return arena_printf(a, "time(%d) without time zone", typmod);
	case EX_TIMESTAMP:
		return arena_printf(
		    a, "timestamp(%d) without time zone", typmod);
	case EX_TIMESTAMPTZ:
		return arena_printf(a, "timestamp(%d) with time zone", typmod);
	case EX_INTERVAL: {
		const char *range = range_name((typmod >> 16) & IV_FULL);
		int32_t p = typmod & IV_PRECISION_FULL;

		if (p == IV_PRECISION_FULL)
			return arena_printf(
			    a, "interval%s", range ? range : "");
		return arena_printf(a, "interval%s(%d)", range ? range : "", p);
	}
	default:
		return arena_strdup(a, t->sql_name);
	}
}
