#include "expr/text_int.h"
#include "expr/tochar_int.h"

/* A keyword matches as it stands or all in lower case; longer ones first. */
static const struct {
	const char *word;
	enum dch kind;
	int width;
} words[] = {
    {"A.D.", DCH_AD_DOTS, 0},
    {"A.M.", DCH_AM_DOTS, 0},
    {"B.C.", DCH_AD_DOTS, 0},
    {"P.M.", DCH_AM_DOTS, 0},
    {"Y,YYY", DCH_Y_YYY, 0},
    {"MONTH", DCH_MONTH, 0},
    {"SSSSS", DCH_SSSS, 0},
    {"HH24", DCH_HH24, 0},
    {"HH12", DCH_HH12, 0},
    {"IDDD", DCH_IDDD, 0},
    {"IYYY", DCH_IYYY, 4},
    {"SSSS", DCH_SSSS, 0},
    {"YYYY", DCH_YYYY, 4},
    {"DAY", DCH_DAY, 0},
    {"DDD", DCH_DDD, 0},
    {"FF1", DCH_FF, 1},
    {"FF2", DCH_FF, 2},
    {"FF3", DCH_FF, 3},
    {"FF4", DCH_FF, 4},
    {"FF5", DCH_FF, 5},
    {"FF6", DCH_FF, 6},
    {"IYY", DCH_IYYY, 3},
    {"MON", DCH_MON, 0},
    {"TZH", DCH_TZH, 0},
    {"TZM", DCH_TZM, 0},
    {"YYY", DCH_YYYY, 3},
    {"AD", DCH_AD, 0},
    {"AM", DCH_AM, 0},
    {"BC", DCH_AD, 0},
    {"CC", DCH_CC, 0},
    {"DD", DCH_DD, 0},
    {"DY", DCH_DY, 0},
    {"HH", DCH_HH12, 0},
    {"ID", DCH_ID, 0},
    {"IW", DCH_IW, 0},
    {"IY", DCH_IYYY, 2},
    {"MI", DCH_MI, 0},
    {"MM", DCH_MM, 0},
    {"MS", DCH_MS, 0},
    {"OF", DCH_OF, 0},
    {"PM", DCH_AM, 0},
    {"RM", DCH_RM, 0},
    {"SS", DCH_SS, 0},
    {"TZ", DCH_TZ, 0},
    {"US", DCH_US, 0},
    {"WW", DCH_WW, 0},
    {"YY", DCH_YYYY, 2},
    {"D", DCH_D, 0},
    {"I", DCH_IYYY, 1},
    {"J", DCH_J, 0},
    {"Q", DCH_Q, 0},
    {"W", DCH_W, 0},
    {"Y", DCH_YYYY, 1},
};

static bool
has_names(enum dch k)
{
	return k == DCH_MONTH || k == DCH_MON || k == DCH_DAY || k == DCH_DY;
}

/* Whether s begins with the word, in which case of letters. */
static bool
match(struct str s, size_t word, enum dch_case *letters)
{
	size_t len = strlen(words[word].word), lower = 0, upper = 0;

	if (s.len < len)
		return false;
	for (size_t i = 0; i < len; i++) {
		char w = words[word].word[i];

		if (s.p[i] != w && s.p[i] != ex_lower(w))
			return false;
		if (ex_lower(w) != w) {
			lower += s.p[i] != w;
			upper += s.p[i] == w;
		}
	}
	*letters = !lower ? DCH_UPPER : !upper ? DCH_LOWER : DCH_CAPITAL;
	return *letters != DCH_CAPITAL ||
	       (has_names(words[word].kind) && upper == 1 &&
		   s.p[0] == words[word].word[0]);
}

size_t
ex_quoted(struct arena *a, struct str s, struct str *text)
{
	size_t i = 1;
	struct buf b;

	ASSERT(s.len > 0 && s.p[0] == '"');
	buf_init(&b, a);
	for (; i < s.len && s.p[i] != '"'; i++) {
		if (s.p[i] == '\\' && i + 1 < s.len)
			i++;
		buf_u8(&b, (uint8_t)s.p[i]);
	}
	*text = buf_view(&b);
	return i < s.len ? i + 1 : i;
}

static size_t
literal(struct arena *a, struct str s, struct dch_token *t)
{
	t->kind = DCH_TEXT;
	if (s.p[0] == '\\' && s.len > 1) {
		t->text = str_of(s.p + 1, ex_char_len(str_skip(s, 1)));
		return 1 + t->text.len;
	}
	if (s.p[0] != '"') {
		t->text = str_of(s.p, ex_char_len(s));
		return t->text.len;
	}
	return ex_quoted(a, s, &t->text);
}

static size_t
keyword(struct str s, struct dch_token *t)
{
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t len = strlen(words[i].word);

		if (!match(s, i, &t->letters))
			continue;
		t->kind = words[i].kind;
		t->width = words[i].width;
		t->text = str_of(s.p, len);
		if (str_has_prefix(str_skip(s, len), STR("TH")))
			t->th = 'T';
		else if (str_has_prefix(str_skip(s, len), STR("th")))
			t->th = 't';
		return t->th ? len + 2 : len;
	}
	return 0;
}

#define PATTERN_MAX 4096

struct err *
ex_dch_parse(const struct ex_ctx *ctx, struct str s, struct dch_pattern *p)
{
	*p = (struct dch_pattern){0};
	if (s.len > PATTERN_MAX)
		return ERR(ctx->arena, ERRCODE_PROGRAM_LIMIT_EXCEEDED,
		    "date pattern is longer than %d bytes", PATTERN_MAX);
	p->token = NEW_N(ctx->arena, struct dch_token, s.len + 1);
	while (s.len) {
		struct dch_token *t = &p->token[p->n];
		size_t len;

		if (str_has_prefix(s, STR("FM")) ||
		    str_has_prefix(s, STR("fm"))) {
			t->fill = true;
			s = str_skip(s, 2);
		} else if (str_has_prefix(s, STR("FX")) ||
			   str_has_prefix(s, STR("fx"))) {
			s = str_skip(s, 2);
		}
		if (!s.len)
			break;
		len = keyword(s, t);
		if (!len)
			len = literal(ctx->arena, s, t);
		p->n++;
		s = str_skip(s, len);
	}
	return NULL;
}
