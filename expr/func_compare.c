/* Comparisons.  Each kind of value has one comparison; six operators are made
 * from it. */
#include "expr/datetime.h"
#include "expr/func_int.h"

static int
cmp_int(const struct ex_ctx *ctx, const struct val *v)
{
	int64_t x = v[0].u.i, y = v[1].u.i;

	UNUSED(ctx);
	return x < y ? -1 : x > y;
}

/* NaN equals itself and is above all. */
static int
cmp_double(const struct ex_ctx *ctx, const struct val *v)
{
	double x = v[0].u.d, y = v[1].u.d;

	UNUSED(ctx);
	if (x != x || y != y)
		return (x != x) - (y != y);
	return x < y ? -1 : x > y;
}

static int
cmp_truth(const struct ex_ctx *ctx, const struct val *v)
{
	UNUSED(ctx);
	return v[0].u.b - v[1].u.b;
}

static int
cmp_bytes(const struct ex_ctx *ctx, const struct val *v)
{
	UNUSED(ctx);
	return str_cmp(v[0].u.s, v[1].u.s);
}

static int
cmp_any(const struct ex_ctx *ctx, const struct val *v)
{
	UNUSED(ctx);
	return ex_cmp(v[0], v[1]);
}

/* A date, timestamp or timestamptz as microseconds of UTC; beyond the range of
 * timestamps the nearest end, still between the infinities. */
static int64_t
moment(const struct val *v, const struct dt_zone *z)
{
	int64_t us = v->u.i;

	if (v->type == EX_DATE) {
		if (v->u.i == EX_DATE_MIN)
			return DT_TS_NEGINF;
		if (v->u.i == EX_DATE_MAX)
			return DT_TS_INF;
		if (__builtin_mul_overflow(v->u.i, DT_DAY, &us))
			return v->u.i < 0 ? DT_TS_NEGINF + 1 : DT_TS_INF - 1;
	}
	if (!z || v->type == EX_TIMESTAMPTZ || !dt_ts_ok(us))
		return us;
	return dt_to_utc(z, us);
}

static int
cmp_moment(const struct ex_ctx *ctx, const struct val *v)
{
	struct dt_zone z, *zone = NULL;
	int64_t x, y;

	if (v[0].type == EX_TIMESTAMPTZ || v[1].type == EX_TIMESTAMPTZ) {
		z = dt_zone_env(ctx->env ? ctx->env : &ex_env_default);
		zone = &z;
	}
	x = moment(&v[0], zone);
	y = moment(&v[1], zone);
	return x < y ? -1 : x > y;
}

#define OPERATOR(kind, name, test)                                             \
	BODY(kind##_##name)                                                    \
	{                                                                      \
		UNUSED(n);                                                     \
		ex_set_bool(out, cmp_##kind(ctx, args) test 0);                \
		return NULL;                                                   \
	}
#define OPERATORS(kind)                                                        \
	OPERATOR(kind, eq, ==)                                                 \
	OPERATOR(kind, ne, !=)                                                 \
	OPERATOR(kind, lt, <)                                                  \
	OPERATOR(kind, le, <=)                                                 \
	OPERATOR(kind, gt, >)                                                  \
	OPERATOR(kind, ge, >=)

OPERATORS(int)
OPERATORS(double)
OPERATORS(truth)
OPERATORS(bytes)
OPERATORS(any)
OPERATORS(moment)

/* = <> < <= > >= of one pair of types. */
#define SIX_AS(F, kind, l, r, i1, n1, i2, n2, i3, n3, i4, n4, i5, n5, i6, n6)  \
	F(i1, n1, kind##_eq, EX_BOOL, l, r),                                   \
	    F(i2, n2, kind##_ne, EX_BOOL, l, r),                               \
	    F(i3, n3, kind##_lt, EX_BOOL, l, r),                               \
	    F(i4, n4, kind##_le, EX_BOOL, l, r),                               \
	    F(i5, n5, kind##_gt, EX_BOOL, l, r),                               \
	    F(i6, n6, kind##_ge, EX_BOOL, l, r)
#define SIX(...)        SIX_AS(FN, __VA_ARGS__)
#define SIX_STABLE(...) SIX_AS(FN_STABLE, __VA_ARGS__)

static const struct ex_func funcs[] = {
    SIX(truth, EX_BOOL, EX_BOOL, 60, "booleq", 84, "boolne", 56, "boollt", 1691,
	"boolle", 57, "boolgt", 1692, "boolge"),
    SIX(any, EX_BPCHAR, EX_BPCHAR, 1048, "bpchareq", 1053, "bpcharne", 1049,
	"bpcharlt", 1050, "bpcharle", 1051, "bpchargt", 1052, "bpcharge"),
    SIX(bytes, EX_BYTEA, EX_BYTEA, 1948, "byteaeq", 1953, "byteane", 1949,
	"bytealt", 1950, "byteale", 1951, "byteagt", 1952, "byteage"),
    SIX(bytes, EX_CHAR, EX_CHAR, 61, "chareq", 70, "charne", 1246, "charlt", 72,
	"charle", 73, "chargt", 74, "charge"),
    SIX(int, EX_DATE, EX_DATE, 1086, "date_eq", 1091, "date_ne", 1087,
	"date_lt", 1088, "date_le", 1089, "date_gt", 1090, "date_ge"),
    SIX(moment, EX_DATE, EX_TIMESTAMP, 2340, "date_eq_timestamp", 2343,
	"date_ne_timestamp", 2338, "date_lt_timestamp", 2339,
	"date_le_timestamp", 2341, "date_gt_timestamp", 2342,
	"date_ge_timestamp"),
    SIX_STABLE(moment, EX_DATE, EX_TIMESTAMPTZ, 2353, "date_eq_timestamptz",
	2356, "date_ne_timestamptz", 2351, "date_lt_timestamptz", 2352,
	"date_le_timestamptz", 2354, "date_gt_timestamptz", 2355,
	"date_ge_timestamptz"),
    SIX(double, EX_FLOAT4, EX_FLOAT4, 287, "float4eq", 288, "float4ne", 289,
	"float4lt", 290, "float4le", 291, "float4gt", 292, "float4ge"),
    SIX(double, EX_FLOAT4, EX_FLOAT8, 299, "float48eq", 300, "float48ne", 301,
	"float48lt", 302, "float48le", 303, "float48gt", 304, "float48ge"),
    SIX(double, EX_FLOAT8, EX_FLOAT4, 305, "float84eq", 306, "float84ne", 307,
	"float84lt", 308, "float84le", 309, "float84gt", 310, "float84ge"),
    SIX(double, EX_FLOAT8, EX_FLOAT8, 293, "float8eq", 294, "float8ne", 295,
	"float8lt", 296, "float8le", 297, "float8gt", 298, "float8ge"),
    SIX(int, EX_INT2, EX_INT2, 63, "int2eq", 145, "int2ne", 64, "int2lt", 148,
	"int2le", 146, "int2gt", 151, "int2ge"),
    SIX(int, EX_INT2, EX_INT4, 158, "int24eq", 164, "int24ne", 160, "int24lt",
	166, "int24le", 162, "int24gt", 168, "int24ge"),
    SIX(int, EX_INT2, EX_INT8, 1850, "int28eq", 1851, "int28ne", 1852,
	"int28lt", 1854, "int28le", 1853, "int28gt", 1855, "int28ge"),
    SIX(int, EX_INT4, EX_INT2, 159, "int42eq", 165, "int42ne", 161, "int42lt",
	167, "int42le", 163, "int42gt", 169, "int42ge"),
    SIX(int, EX_INT4, EX_INT4, 65, "int4eq", 144, "int4ne", 66, "int4lt", 149,
	"int4le", 147, "int4gt", 150, "int4ge"),
    SIX(int, EX_INT4, EX_INT8, 852, "int48eq", 853, "int48ne", 854, "int48lt",
	856, "int48le", 855, "int48gt", 857, "int48ge"),
    SIX(int, EX_INT8, EX_INT2, 1856, "int82eq", 1857, "int82ne", 1858,
	"int82lt", 1860, "int82le", 1859, "int82gt", 1861, "int82ge"),
    SIX(int, EX_INT8, EX_INT4, 474, "int84eq", 475, "int84ne", 476, "int84lt",
	478, "int84le", 477, "int84gt", 479, "int84ge"),
    SIX(int, EX_INT8, EX_INT8, 467, "int8eq", 468, "int8ne", 469, "int8lt", 471,
	"int8le", 470, "int8gt", 472, "int8ge"),
    SIX(any, EX_INTERVAL, EX_INTERVAL, 1162, "interval_eq", 1163, "interval_ne",
	1164, "interval_lt", 1165, "interval_le", 1167, "interval_gt", 1166,
	"interval_ge"),
    SIX(any, EX_JSONB, EX_JSONB, 4043, "jsonb_eq", 4038, "jsonb_ne", 4039,
	"jsonb_lt", 4041, "jsonb_le", 4040, "jsonb_gt", 4042, "jsonb_ge"),
    SIX(bytes, EX_NAME, EX_NAME, 62, "nameeq", 659, "namene", 655, "namelt",
	656, "namele", 657, "namegt", 658, "namege"),
    SIX(bytes, EX_NAME, EX_TEXT, 240, "nameeqtext", 245, "namenetext", 241,
	"namelttext", 242, "nameletext", 244, "namegttext", 243, "namegetext"),
    SIX(any, EX_NUMERIC, EX_NUMERIC, 1718, "numeric_eq", 1719, "numeric_ne",
	1722, "numeric_lt", 1723, "numeric_le", 1720, "numeric_gt", 1721,
	"numeric_ge"),
    SIX(int, EX_OID, EX_OID, 184, "oideq", 185, "oidne", 716, "oidlt", 717,
	"oidle", 1638, "oidgt", 1639, "oidge"),
    SIX(bytes, EX_TEXT, EX_NAME, 247, "texteqname", 252, "textnename", 248,
	"textltname", 249, "textlename", 251, "textgtname", 250, "textgename"),
    SIX(bytes, EX_TEXT, EX_TEXT, 67, "texteq", 157, "textne", 740, "text_lt",
	741, "text_le", 742, "text_gt", 743, "text_ge"),
    SIX(int, EX_TIME, EX_TIME, 1145, "time_eq", 1106, "time_ne", 1102,
	"time_lt", 1103, "time_le", 1104, "time_gt", 1105, "time_ge"),
    SIX(moment, EX_TIMESTAMP, EX_DATE, 2366, "timestamp_eq_date", 2369,
	"timestamp_ne_date", 2364, "timestamp_lt_date", 2365,
	"timestamp_le_date", 2367, "timestamp_gt_date", 2368,
	"timestamp_ge_date"),
    SIX(int, EX_TIMESTAMP, EX_TIMESTAMP, 2052, "timestamp_eq", 2053,
	"timestamp_ne", 2054, "timestamp_lt", 2055, "timestamp_le", 2057,
	"timestamp_gt", 2056, "timestamp_ge"),
    SIX_STABLE(moment, EX_TIMESTAMP, EX_TIMESTAMPTZ, 2522,
	"timestamp_eq_timestamptz", 2525, "timestamp_ne_timestamptz", 2520,
	"timestamp_lt_timestamptz", 2521, "timestamp_le_timestamptz", 2523,
	"timestamp_gt_timestamptz", 2524, "timestamp_ge_timestamptz"),
    SIX_STABLE(moment, EX_TIMESTAMPTZ, EX_DATE, 2379, "timestamptz_eq_date",
	2382, "timestamptz_ne_date", 2377, "timestamptz_lt_date", 2378,
	"timestamptz_le_date", 2380, "timestamptz_gt_date", 2381,
	"timestamptz_ge_date"),
    SIX_STABLE(moment, EX_TIMESTAMPTZ, EX_TIMESTAMP, 2529,
	"timestamptz_eq_timestamp", 2532, "timestamptz_ne_timestamp", 2527,
	"timestamptz_lt_timestamp", 2528, "timestamptz_le_timestamp", 2530,
	"timestamptz_gt_timestamp", 2531, "timestamptz_ge_timestamp"),
    SIX(int, EX_TIMESTAMPTZ, EX_TIMESTAMPTZ, 1152, "timestamptz_eq", 1153,
	"timestamptz_ne", 1154, "timestamptz_lt", 1155, "timestamptz_le", 1157,
	"timestamptz_gt", 1156, "timestamptz_ge"),
    SIX(bytes, EX_UUID, EX_UUID, 2956, "uuid_eq", 2959, "uuid_ne", 2954,
	"uuid_lt", 2955, "uuid_le", 2958, "uuid_gt", 2957, "uuid_ge"),
};
EX_FUNCS(ex_funcs_compare);
