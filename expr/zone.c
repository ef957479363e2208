/* Time zones: fixed offsets, and IANA zones read through ICU.
 *
 * Asking ICU costs microseconds, so each thread keeps the zones it met, each
 * with the spans between transitions it asked about last. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include <unicode/ucal.h>
#include <unicode/uenum.h>

#include "expr/zone_int.h"

#define NAME_MAX_LEN 64
#define SPANS        4

/* Between two transitions: from <= t < to, in milliseconds since 1970. */
struct span {
	double from, to;
	int32_t offset; /* seconds */
	bool dst;
	bool first; /* nothing before: local mean time */
	bool set;
};

struct dt_iana {
	char name[NAME_MAX_LEN]; /* canonical spelling; "" = unused */
	UCalendar *cal;
	struct span spans[SPANS];
	unsigned turn;
};

static _Thread_local struct dt_iana zones[DT_ZONE_CACHE];
static _Thread_local unsigned zones_turn;

void
dt_zones_fini(void)
{
	for (size_t i = 0; i < DT_ZONE_CACHE; i++) {
		if (zones[i].cal)
			ucal_close(zones[i].cal);
		memset(&zones[i], 0, sizeof(zones[i]));
	}
}

/* ---- names ---- */

/* ICU still knows three-letter names of its own ("PST", "ACT") that are no
 * IANA zones. */
static bool
is_iana(const char *name, size_t len)
{
	static const char *const keep[] = {"EST", "MST", "HST", "UTC", "GMT",
	    "UCT", "WET", "CET", "MET", "EET", "ROC", "ROK", "PRC"};

	if (len >= 9 && memcmp(name, "SystemV/", 8) == 0)
		return false;
	if (strcmp(name, "Etc/Unknown") == 0)
		return false;
	if (len != 3)
		return true;
	for (size_t i = 0; i < sizeof(keep) / sizeof(keep[0]); i++)
		if (strcmp(name, keep[i]) == 0)
			return true;
	return false;
}

/* The spelling IANA has for a name in any case. */
static bool
canonical(struct str name, char *out)
{
	UErrorCode e = U_ZERO_ERROR;
	UEnumeration *all;
	const char *id;
	int32_t len;
	bool found = false;

	if (!name.len || name.len >= NAME_MAX_LEN)
		return false;
	all =
	    ucal_openTimeZoneIDEnumeration(UCAL_ZONE_TYPE_ANY, NULL, NULL, &e);
	while (U_SUCCESS(e) && (id = uenum_next(all, &len, &e)) != NULL) {
		if (!str_ieq(name, str_of(id, (size_t)len)) ||
		    !is_iana(id, (size_t)len))
			continue;
		memcpy(out, id, (size_t)len + 1);
		found = true;
		break;
	}
	uenum_close(all);
	return found;
}

static void
to_uchar(const char *s, UChar *out)
{
	while (*s)
		*out++ = (UChar)*s++;
	*out = 0;
}

static struct dt_iana *
cached(struct str name)
{
	for (size_t i = 0; i < DT_ZONE_CACHE; i++)
		if (zones[i].name[0] && str_ieq(name, str_c(zones[i].name)))
			return &zones[i];
	return NULL;
}

static struct dt_iana *
load(struct str name)
{
	UErrorCode e = U_ZERO_ERROR;
	UChar id[NAME_MAX_LEN];
	char spelled[NAME_MAX_LEN];
	struct dt_iana *z = cached(name);
	UCalendar *cal;

	if (z)
		return z;
	if (!canonical(name, spelled))
		return NULL;
	to_uchar(spelled, id);
	cal = ucal_open(id, -1, "en", UCAL_GREGORIAN, &e);
	if (U_FAILURE(e))
		return NULL;
	z = &zones[zones_turn++ % DT_ZONE_CACHE];
	if (z->cal)
		ucal_close(z->cal);
	memset(z, 0, sizeof(*z));
	memcpy(z->name, spelled, sizeof(spelled));
	z->cal = cal;
	return z;
}

bool
dt_zone_canonical(struct arena *a, struct str name, struct str *out)
{
	struct dt_iana *z = load(name);

	*out = STR_NONE;
	if (!z)
		return false;
	*out = str_c(arena_strdup(a, z->name));
	return true;
}

const struct dt_abbrev *
dt_abbrev_find(struct str name)
{
	size_t lo = 0, hi = dt_abbrevs_n;
	char low[8];

	if (!name.len || name.len >= sizeof(low))
		return NULL;
	for (size_t i = 0; i < name.len; i++)
		low[i] = (char)tolower((unsigned char)name.p[i]);
	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		int r =
		    str_cmp(str_of(low, name.len), str_c(dt_abbrevs[mid].name));

		if (!r)
			return &dt_abbrevs[mid];
		if (r < 0)
			hi = mid;
		else
			lo = mid + 1;
	}
	return NULL;
}

struct dt_zone
dt_zone_fixed(int32_t seconds_east)
{
	return (struct dt_zone){.offset = seconds_east};
}

/* h[h][:mm[:ss]] with a sign or without; the whole of s. */
static bool
clock_offset(struct str s, int32_t *seconds)
{
	int32_t part[3] = {0}, sign = 1;
	int n = 0;

	if (s.len && (s.p[0] == '+' || s.p[0] == '-')) {
		sign = s.p[0] == '-' ? -1 : 1;
		s = str_skip(s, 1);
	}
	for (;; n++) {
		size_t digits = 0;

		while (digits < s.len && digits < 3 &&
		       isdigit((unsigned char)s.p[digits])) {
			part[n] = part[n] * 10 + (s.p[digits] - '0');
			digits++;
		}
		if (!digits || part[n] > (n ? 59 : 167))
			return false;
		s = str_skip(s, digits);
		if (!s.len)
			break;
		if (n == 2 || s.p[0] != ':')
			return false;
		s = str_skip(s, 1);
	}
	*seconds = sign * (part[0] * 3600 + part[1] * 60 + part[2]);
	return true;
}

/* "UTC+3" and "<+03>-3": a name and the hours WEST of Greenwich. */
static bool
posix(struct str name, struct dt_zone *out)
{
	struct str abbrev = name;
	size_t n = 0;
	int32_t west;

	if (name.len && name.p[0] == '<') {
		const char *end = memchr(name.p, '>', name.len);

		if (!end)
			return false;
		n = (size_t)(end - name.p) + 1;
		abbrev = str_of(name.p + 1, n - 2);
	} else {
		while (n < name.len && isalpha((unsigned char)name.p[n]))
			n++;
		abbrev.len = n;
	}
	if (n && abbrev.len < 3)
		return false;
	if (!clock_offset(str_skip(name, n), &west))
		return false;
	*out = dt_zone_fixed(-west);
	if (abbrev.len < sizeof(out->abbrev))
		memcpy(out->abbrev, abbrev.p, abbrev.len);
	return true;
}

bool
dt_zone_named(struct str name, struct dt_zone *out)
{
	struct dt_iana *z = load(name);

	*out = (struct dt_zone){.iana = z};
	return z || posix(name, out);
}

struct err *
dt_zone_find(struct arena *a, struct str name, struct dt_zone *out)
{
	const struct dt_abbrev *ab = dt_abbrev_find(name);

	if (ab) {
		*out = dt_zone_fixed(ab->minutes * 60);
		for (size_t i = 0; ab->name[i]; i++)
			out->abbrev[i] =
			    (char)toupper((unsigned char)ab->name[i]);
		return NULL;
	}
	if (dt_zone_named(name, out))
		return NULL;
	return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
	    "time zone \"%.*s\" not recognized", STR_FMT(name));
}

struct err *
dt_zone_set(struct arena *a, struct str name, struct dt_zone *out)
{
	char *text = arena_cstr(a, name), *end;
	double hours;

	*out = dt_zone_fixed(0);
	if (name.len && strspn(text, "+-.0123456789") == name.len) {
		hours = strtod(text, &end);
		if (!*end && hours > -168 && hours < 168) {
			out->offset = (int32_t)(hours * 3600);
			return NULL;
		}
	}
	if (dt_zone_named(name, out))
		return NULL;
	return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
	    "invalid value for parameter \"TimeZone\": \"%s\"", text);
}

struct dt_zone
dt_zone_env(const struct ex_env *env)
{
	struct str name = str_c(env->timezone ? env->timezone : "UTC");
	struct dt_zone z = {.iana = cached(name)};
	int32_t east;

	if (z.iana)
		return z;
	if (str_eq(name, STR("UTC"))) {
		memcpy(z.abbrev, "UTC", 4);
		return z;
	}
	if (clock_offset(name, &east))
		return dt_zone_fixed(east);
	if (!dt_zone_named(name, &z))
		return dt_zone_fixed(0);
	return z;
}

/* ---- offsets ---- */

static double
floor_ms(int64_t utc_us)
{
	int64_t ms = utc_us / 1000 - (utc_us % 1000 < 0);

	return (double)ms + DT_UNIX_DAYS * 86400000.0;
}

static void
ask(struct dt_iana *z, double ms, struct span *s)
{
	UErrorCode e = U_ZERO_ERROR;
	UDate at;

	ucal_setMillis(z->cal, ms, &e);
	s->dst = ucal_get(z->cal, UCAL_DST_OFFSET, &e) != 0;
	s->offset = (ucal_get(z->cal, UCAL_ZONE_OFFSET, &e) +
			ucal_get(z->cal, UCAL_DST_OFFSET, &e)) /
		    1000;
	s->first = !ucal_getTimeZoneTransitionDate(
	    z->cal, UCAL_TZ_TRANSITION_PREVIOUS_INCLUSIVE, &at, &e);
	s->from = s->first ? -1e300 : at;
	s->to = ucal_getTimeZoneTransitionDate(
		    z->cal, UCAL_TZ_TRANSITION_NEXT, &at, &e)
		    ? at
		    : 1e300;
	s->set = true;
}

static const struct span *
span_at(struct dt_iana *z, int64_t utc_us)
{
	double ms = floor_ms(utc_us);
	struct span *s;

	for (size_t i = 0; i < SPANS; i++) {
		s = &z->spans[i];
		if (s->set && s->from <= ms && ms < s->to)
			return s;
	}
	s = &z->spans[z->turn++ % SPANS];
	ask(z, ms, s);
	return s;
}

int32_t
dt_zone_offset(const struct dt_zone *z, int64_t utc_us, bool *dst)
{
	const struct span *s;

	if (dst)
		*dst = false;
	if (!z->iana)
		return z->offset;
	s = span_at(z->iana, utc_us);
	if (dst)
		*dst = s->dst;
	return s->offset;
}

/* Sums that stay in range: what is beyond is refused by the range checks of
 * callers. */
static int64_t
shift(int64_t us, int64_t by)
{
	int64_t r;

	if (__builtin_add_overflow(us, by, &r))
		return by < 0 ? INT64_MIN + 1 : INT64_MAX - 1;
	return r;
}

int64_t
dt_to_local(const struct dt_zone *z, int64_t utc_us)
{
	return shift(utc_us, dt_zone_offset(z, utc_us, NULL) * DT_SEC);
}

int64_t
dt_to_utc(const struct dt_zone *z, int64_t local_us)
{
	int32_t before, after;
	int64_t by_before, by_after;

	if (!z->iana)
		return shift(local_us, -z->offset * DT_SEC);
	before = dt_zone_offset(z, shift(local_us, -DT_DAY), NULL);
	after = dt_zone_offset(z, shift(local_us, DT_DAY), NULL);
	by_before = shift(local_us, -before * DT_SEC);
	if (before == after)
		return by_before;
	/* A transition is near. In an overlap both readings are right and the
	 * later offset holds; in a gap neither is and the earlier holds. */
	by_after = shift(local_us, -after * DT_SEC);
	if (dt_zone_offset(z, by_after, NULL) == after)
		return by_after;
	return by_before;
}

/* ---- abbreviations ---- */

static void
numeric_abbrev(int32_t offset, char *out)
{
	int32_t m = abs(offset);

	if (m % 3600 == 0)
		snprintf(out, 16, "%c%02d", offset < 0 ? '-' : '+', m / 3600);
	else
		snprintf(out, 16, "%c%02d%02d", offset < 0 ? '-' : '+',
		    m / 3600, m / 60 % 60);
}

/* What IANA still calls by letters; other zones go by their offset. */
static bool
is_in_use(const char *name)
{
	static const char used[] =
	    " UTC GMT BST IST IDT WET WEST CET CEST EET EEST MSK SAST EAT CAT "
	    "WAT PKT WIB WITA WIT JST KST CST HKT PST ACST ACDT AEST AEDT "
	    "AWST NZST NZDT ChST SST HST HDT AKST AKDT PDT MST MDT CDT EST "
	    "EDT AST ADT NST NDT ";
	char word[16];

	snprintf(word, sizeof(word), " %s ", name);
	return strstr(used, word) != NULL;
}

/* ICU knows an abbreviation in those locales that use it. */
static bool
icu_abbrev(const struct dt_iana *z, bool dst, char *out)
{
	static const char *const locales[] = {
	    "en_US", "en_GB", "en_AU", "en_NZ", "en_ZA", "en_IN", "en_CA"};
	UChar name[16];
	size_t n;

	for (size_t i = 0; i < sizeof(locales) / sizeof(locales[0]); i++) {
		UErrorCode e = U_ZERO_ERROR;

		int32_t len = ucal_getTimeZoneDisplayName(z->cal,
		    dst ? UCAL_SHORT_DST : UCAL_SHORT_STANDARD, locales[i],
		    name, 15, &e);
		if (U_FAILURE(e) || len < 2 || len > 6)
			continue;
		for (n = 0;
		     n < (size_t)len && name[n] < 128 && isalpha(name[n]); n++)
			out[n] = (char)name[n];
		out[n] = '\0';
		if (n == (size_t)len && is_in_use(out))
			return true;
	}
	return false;
}

void
dt_zone_abbrev(const struct dt_zone *z, int64_t utc_us, char *out)
{
	const struct span *s;

	if (!z->iana) {
		if (z->abbrev[0])
			snprintf(out, 16, "%s", z->abbrev);
		else
			numeric_abbrev(z->offset, out);
		return;
	}
	s = span_at(z->iana, utc_us);
	if (s->first && s->to < 1e299)
		snprintf(out, 16, "LMT");
	else if (!icu_abbrev(z->iana, s->dst, out))
		numeric_abbrev(s->offset, out);
}
