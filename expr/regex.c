#include "expr/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define CACHE_MAX       32
#define PATTERN_MAX     (64u << 10)
#define MATCH_LIMIT_MAX 5000000 /* steps from one place; about a second */
/* PCRE2 cannot be interrupted, so in all but short texts it calls back at each
 * item of the pattern, and at each so many of those the clock is asked. */
#define WATCH_MIN         64 /* bytes */
#define WATCH_STEPS       64
#define MATCH_LIMIT_SHORT 1000000
#define MATCH_HEAP_KIB    16384
#define PARENS_MAX        24 /* PCRE2's compiler recurses over them */

struct ex_regex {
	struct arena *arena;
	struct str pattern;
	int flags;
	uint64_t used;   /* for eviction */
	struct str text; /* the pattern for PCRE2, and its options */
	uint32_t options;
	pcre2_compile_context *context;
	pcre2_code *code, *watched; /* watched: calls back; made when needed */
	pcre2_match_data *match;
	pcre2_match_context *limits;
};

static _Thread_local struct ex_regex cache[CACHE_MAX];
static _Thread_local uint64_t tick;

/* PCRE2's memory: from the pattern's arena, freed with it. */
static void *
take(size_t n, void *arg)
{
	return arena_alloc_raw(arg, n);
}

static void
give_back(void *p, void *arg)
{
	(void)p;
	(void)arg;
}

struct err *
ex_regex_flags(struct arena *a, struct str letters, bool global, int *out)
{
	*out = 0;
	for (size_t i = 0; i < letters.len; i++) {
		switch (letters.p[i]) {
		case 'i':
			*out |= EX_REGEX_ICASE;
			break;
		case 'c':
			*out &= ~EX_REGEX_ICASE;
			break;
		case 'm':
		case 'n':
			*out |= EX_REGEX_NEWLINE;
			break;
		case 's':
			*out &= ~EX_REGEX_NEWLINE;
			break;
		case 'q':
			*out |= EX_REGEX_LITERAL;
			break;
		case 'x':
			*out |= EX_REGEX_EXPANDED;
			break;
		case 't':
			*out &= ~EX_REGEX_EXPANDED;
			break;
		case 'e':
			break;
		case 'g':
			if (global) {
				*out |= EX_REGEX_GLOBAL;
				break;
			}
			return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
			    "regular expression does not support the "
			    "\"global\" option");
		default:
			return ERR(a, ERRCODE_INVALID_PARAMETER_VALUE,
			    "invalid regular expression option: \"%.*s\"",
			    (int)(letters.len - i), letters.p + i);
		}
	}
	return NULL;
}

/* ---- from PostgreSQL's syntax to PCRE2's ---- */

/* Copies a bracket expression whose '[' has been read; returns what follows.
 */
static struct str
put_brackets(struct buf *b, struct str s)
{
	bool first = true;

	buf_u8(b, '[');
	if (s.len && s.p[0] == '^') {
		buf_u8(b, '^');
		s = str_skip(s, 1);
	}
	while (s.len) {
		char c = s.p[0];

		if (c == ']' && !first)
			break;
		first = false;
		if (c == '[' && s.len > 1 &&
		    (s.p[1] == ':' || s.p[1] == '.' || s.p[1] == '=')) {
			char end[2] = {s.p[1], ']'};
			const char *e = s.len > 2
					    ? memmem(s.p + 2, s.len - 2, end, 2)
					    : NULL;
			size_t len = e ? (size_t)(e - s.p) + 2 : 2;

			buf_put(b, s.p, len);
			s = str_skip(s, len);
			continue;
		}
		if (c == '[')
			buf_u8(b, '\\');
		buf_u8(b, (uint8_t)c);
		s = str_skip(s, 1);
		if (c == '\\' && s.len) {
			buf_u8(b, (uint8_t)s.p[0]);
			s = str_skip(s, 1);
		}
	}
	return s;
}

/* \u and \U: a character by 4 or 8 digits; returns what follows. */
static struct str
put_code(struct buf *b, struct str s, size_t digits)
{
	size_t n = 0;

	while (
	    n < digits && n < s.len && strchr("0123456789abcdefABCDEF", s.p[n]))
		n++;
	if (n < digits) {
		buf_str(b, STR("\\j")); /* an escape that PCRE2 refuses */
		return s;
	}
	buf_str(b, STR("\\x{"));
	buf_put(b, s.p, digits);
	buf_u8(b, '}');
	return str_skip(s, digits);
}

/* What follows a backslash; returns what follows that. */
static struct str
put_escape(struct buf *b, struct str s)
{
	static const char ours[] = "mMyYZB", *const theirs[] = {"[[:<:]]",
						 "[[:>:]]", "\\b", "\\B", "\\z",
						 "\\\\"};
	char c = s.p[0];
	const char *at = strchr(ours, c);
	bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

	s = str_skip(s, 1);
	if (c == 'u' || c == 'U')
		return put_code(b, s, c == 'u' ? 4 : 8);
	if (c && at) {
		buf_str(b, str_c(theirs[at - ours]));
	} else if (letter && !strchr("abcdDefnrsStvwWxA", c)) {
		buf_str(b, STR("\\j")); /* PCRE2's own, such as \K */
	} else {
		buf_u8(b, '\\');
		buf_u8(b, (uint8_t)c);
	}
	return s;
}

/* What a quantifier would apply to. */
enum operand { OPERAND_NONE, OPERAND_ATOM, OPERAND_QUANTIFIED };

/* Length of the quantifier that s begins with, 0 if none. A brace without a
 * digit behind it stands for itself. */
static size_t
quantifier(struct str s)
{
	const char *end;

	if (strchr("*+?", s.p[0]))
		return s.p[0] ? 1 : 0;
	if (s.p[0] != '{' || s.len < 2 || s.p[1] < '0' || s.p[1] > '9')
		return 0;
	end = memchr(s.p, '}', s.len);
	return end ? (size_t)(end - s.p) + 1 : s.len;
}

/* After "(": its kind, such as "?:"; returns what follows. */
static struct str
put_group(struct buf *b, struct str s)
{
	static const char *const kinds[] = {
	    "?:", "?=", "?!", "?<=", "?<!", "?#"};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (!str_has_prefix(s, str_c(kinds[i])))
			continue;
		buf_str(b, str_c(kinds[i]));
		return str_skip(s, strlen(kinds[i]));
	}
	return s;
}

/* One piece other than a quantifier; returns what follows. */
static struct str
put_atom(struct buf *b, struct str s, enum operand *operand)
{
	char c = s.p[0];

	s = str_skip(s, 1);
	*operand = OPERAND_ATOM;
	if (c == '[')
		return put_brackets(b, s);
	if (c == '\\' && s.len)
		return put_escape(b, s);
	buf_u8(b, (uint8_t)c);
	if (c == '(' || c == '|' || c == '^')
		*operand = OPERAND_NONE;
	return c == '(' ? put_group(b, s) : s;
}

/* PCRE2 gives meaning to more than PostgreSQL does: possessive quantifiers,
 * (?>...), (*VERBS). All of it shows as a quantifier without an operand. */
static struct err *
translated(struct arena *errs, struct arena *a, struct str s, struct str *out)
{
	enum operand operand = OPERAND_NONE;
	struct buf b;

	buf_init(&b, a);
	if (str_has_prefix(s, STR("***:")))
		s = str_skip(s, 4);
	while (s.len) {
		size_t n = quantifier(s);

		if (!n) {
			s = put_atom(&b, s, &operand);
			continue;
		}
		if (operand != OPERAND_ATOM)
			return ERR(errs, ERRCODE_INVALID_REGULAR_EXPRESSION,
			    "invalid regular expression: "
			    "quantifier operand invalid");
		if (s.p[0] == '{' && s.p[n - 1] != '}')
			return ERR(errs, ERRCODE_INVALID_REGULAR_EXPRESSION,
			    "invalid regular expression: braces {} not "
			    "balanced");
		operand = OPERAND_QUANTIFIED;
		n += n < s.len && s.p[n] == '?'; /* the shortest match */
		buf_put(&b, s.p, n);
		s = str_skip(s, n);
	}
	*out = buf_view(&b);
	return NULL;
}

/* PostgreSQL's words for PCRE2's common complaints. */
static const char *
complaint(int code)
{
	switch (code) {
	case PCRE2_ERROR_MISSING_CLOSING_PARENTHESIS:
	case PCRE2_ERROR_UNMATCHED_CLOSING_PARENTHESIS:
		return "parentheses () not balanced";
	case PCRE2_ERROR_MISSING_SQUARE_BRACKET:
		return "brackets [] not balanced";
	case PCRE2_ERROR_QUANTIFIER_INVALID:
		return "quantifier operand invalid";
	case PCRE2_ERROR_QUANTIFIER_OUT_OF_ORDER:
	case PCRE2_ERROR_QUANTIFIER_TOO_BIG:
		return "invalid repetition count(s)";
	case PCRE2_ERROR_END_BACKSLASH:
	case PCRE2_ERROR_UNKNOWN_ESCAPE:
		return "invalid escape \\ sequence";
	case PCRE2_ERROR_CLASS_RANGE_ORDER:
	case PCRE2_ERROR_CLASS_INVALID_RANGE:
		return "invalid character range";
	case PCRE2_ERROR_UNKNOWN_POSIX_CLASS:
		return "invalid character class";
	case PCRE2_ERROR_BAD_SUBPATTERN_REFERENCE:
		return "invalid backreference number";
	case PCRE2_ERROR_PARENTHESES_NEST_TOO_DEEP:
	case PCRE2_ERROR_PATTERN_TOO_LARGE:
		return "regular expression is too complex";
	default:
		return NULL;
	}
}

static struct err *
bad_pattern(struct arena *a, int code)
{
	const char *why = complaint(code);
	PCRE2_UCHAR text[128] = "";

	if (!why) {
		(void)pcre2_get_error_message(code, text, sizeof text);
		why = (const char *)text;
	}
	return ERR(a, ERRCODE_INVALID_REGULAR_EXPRESSION,
	    "invalid regular expression: %s", why);
}

static uint32_t
options(int flags)
{
	uint32_t o = PCRE2_UTF;

	o |= PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY;
	o |= flags & EX_REGEX_NEWLINE ? PCRE2_MULTILINE : PCRE2_DOTALL;
	if (flags & EX_REGEX_ICASE)
		o |= PCRE2_CASELESS;
	if (flags & EX_REGEX_LITERAL)
		o = PCRE2_UTF | PCRE2_LITERAL | (o & PCRE2_CASELESS);
	else if (flags & EX_REGEX_EXPANDED)
		o |= PCRE2_EXTENDED;
	return o;
}

/* Options that a pattern begins with, as "(?i)"; *s becomes what follows. */
static struct err *
embedded_options(struct arena *a, struct str *s, int *flags)
{
	struct str letters;
	size_t n = 2;
	int more;

	if (!str_has_prefix(*s, STR("(?")))
		return NULL;
	while (n < s->len && s->p[n] >= 'a' && s->p[n] <= 'z')
		n++;
	if (n == 2 || n == s->len || s->p[n] != ')')
		return NULL;
	letters = (struct str){s->p + 2, n - 2};
	TRY(ex_regex_flags(a, letters, true, &more));
	*flags |= more & ~EX_REGEX_GLOBAL;
	if (memchr(letters.p, 'c', letters.len))
		*flags &= ~EX_REGEX_ICASE;
	*s = str_skip(*s, n + 1);
	return NULL;
}

static struct err *
build(struct arena *errs, struct ex_regex *re, uint32_t more, pcre2_code **out)
{
	PCRE2_SIZE at;
	int code;

	*out = pcre2_compile((PCRE2_SPTR)(re->text.len ? re->text.p : ""),
	    re->text.len, re->options | more, &code, &at, re->context);
	return *out ? NULL : bad_pattern(errs, code);
}

static struct err *
compile(struct arena *a, struct ex_regex *re)
{
	pcre2_general_context *g;

	re->text = re->pattern;
	if (re->text.len > PATTERN_MAX)
		return bad_pattern(a, PCRE2_ERROR_PATTERN_TOO_LARGE);
	if (str_has_prefix(re->text, STR("***="))) {
		re->flags |= EX_REGEX_LITERAL;
		re->text = str_skip(re->text, 4);
	}
	if (!(re->flags & EX_REGEX_LITERAL))
		TRY(embedded_options(a, &re->text, &re->flags));
	if (!(re->flags & EX_REGEX_LITERAL))
		TRY(translated(a, re->arena, re->text, &re->text));
	re->options = options(re->flags);
	g = pcre2_general_context_create(take, give_back, re->arena);
	re->context = pcre2_compile_context_create(g);
	pcre2_set_parens_nest_limit(re->context, PARENS_MAX);
	TRY(build(a, re, 0, &re->code));
	re->match = pcre2_match_data_create(EX_REGEX_GROUPS, g);
	re->limits = pcre2_match_context_create(g);
	pcre2_set_heap_limit(re->limits, MATCH_HEAP_KIB);
	return NULL;
}

static void
forget(struct ex_regex *re)
{
	arena_free(re->arena);
	*re = (struct ex_regex){0};
}

struct err *
ex_regex_get(
    struct arena *a, struct str pattern, int flags, struct ex_regex **out)
{
	struct ex_regex *old = &cache[0];
	struct err *err;

	*out = NULL;
	flags &= ~EX_REGEX_GLOBAL;
	for (size_t i = 0; i < CACHE_MAX; i++) {
		struct ex_regex *re = &cache[i];

		if (re->arena && re->flags == flags &&
		    str_eq(re->pattern, pattern)) {
			re->used = ++tick;
			*out = re;
			return NULL;
		}
		if (re->used < old->used)
			old = re;
	}
	if (old->arena)
		forget(old);
	old->arena = arena_new(NULL, "regex");
	old->pattern = arena_str(old->arena, pattern);
	old->flags = flags;
	old->used = ++tick;
	err = compile(a, old);
	if (err) {
		forget(old);
		return err;
	}
	old->flags = flags;
	*out = old;
	return NULL;
}

static void
groups(const struct ex_regex *re, struct ex_match *m)
{
	const PCRE2_SIZE *v = pcre2_get_ovector_pointer(re->match);
	uint32_t count = 0;

	(void)pcre2_pattern_info(re->code, PCRE2_INFO_CAPTURECOUNT, &count);
	m->n_groups = (int)count;
	for (size_t i = 0; i < EX_REGEX_GROUPS; i++) {
		bool set = v[2 * i] != PCRE2_UNSET;

		m->group[i].from = set ? v[2 * i] : SIZE_MAX;
		m->group[i].to = set ? v[2 * i + 1] : SIZE_MAX;
	}
}

struct watch {
	const struct ex_ctx *ctx;
	struct ex_work *work;
	uint32_t steps;
	struct err *err;
};

static int
step_ev(pcre2_callout_block *at, void *arg)
{
	struct watch *w = arg;

	(void)at;
	if (++w->steps % WATCH_STEPS)
		return 0;
	w->err = ex_work_check(w->ctx, w->work, "regular expression");
	return w->err ? PCRE2_ERROR_CALLOUT : 0;
}

struct err *
ex_regex_match(const struct ex_ctx *ctx, struct ex_regex *re, struct str s,
    size_t from, bool *found, struct ex_match *m)
{
	struct watch w = {.ctx = ctx, .work = &m->work};
	bool watched = s.len > WATCH_MIN;
	/* Checking the text each time would make the time of many matches in
	 * one that is long grow with its square. */
	uint32_t how = m->checked ? PCRE2_NO_UTF_CHECK : 0;
	int r;

	*found = false;
	if (watched && !re->watched)
		TRY(build(ctx->arena, re, PCRE2_AUTO_CALLOUT, &re->watched));
	pcre2_set_match_limit(
	    re->limits, watched ? MATCH_LIMIT_MAX : MATCH_LIMIT_SHORT);
	pcre2_set_callout(re->limits, watched ? step_ev : NULL, &w);
	r = pcre2_match(watched ? re->watched : re->code,
	    (PCRE2_SPTR)(s.len ? s.p : ""), s.len, from, how, re->match,
	    re->limits);
	m->checked = r >= 0;
	if (r == PCRE2_ERROR_NOMATCH)
		return NULL;
	if (r >= 0) {
		*found = true;
		groups(re, m);
		return NULL;
	}
	return w.err ? w.err
		     : ERR(ctx->arena, ERRCODE_STATEMENT_TOO_COMPLEX,
			   "regular expression failed: it takes too many "
			   "steps");
}

void
ex_regex_fini(void)
{
	for (size_t i = 0; i < CACHE_MAX; i++)
		if (cache[i].arena)
			forget(&cache[i]);
}
