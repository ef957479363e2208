#include "wire/copy.h"

#include "regress/lib/cu.h"

/* Reads all of `text`, fed in pieces of `step` bytes, and prints the rows as
 * "a|b;c|<null>". */
static char *
rows(struct arena *a, const struct wire_copy_opts *o, struct str text,
    size_t step, struct err **e)
{
	struct wire_copy_in *in = wire_copy_in_new(a, o, 2);
	struct buf b;
	size_t at = 0;

	*e = NULL;
	buf_init(&b, a);
	for (;;) {
		struct wire_copy_field *f;
		struct arena *line = arena_new(a, "line");
		uint32_t n;
		bool have;

		*e = wire_copy_in_next(in, line, &f, &n, &have);
		if (*e)
			break;
		if (!have && at < text.len) {
			size_t k = text.len - at < step ? text.len - at : step;

			wire_copy_in_feed(in, str_of(text.p + at, k));
			at += k;
			if (at == text.len)
				wire_copy_in_end(in);
			continue;
		}
		if (!have)
			break;
		for (uint32_t i = 0; i < n; i++) {
			buf_str(&b, i ? STR("|") : STR(""));
			buf_str(&b, f[i].null ? STR("<null>") : f[i].bytes);
		}
		buf_u8(&b, ';');
		arena_free(line);
	}
	return buf_cstr(&b);
}

static void
check_rows(bool csv, struct str text, const char *want)
{
	/* However the bytes are cut, the rows are the same. */
	for (size_t step = 1; step <= text.len; step++) {
		struct arena *a = arena_new(NULL, "test");
		struct wire_copy_opts o;
		struct err *e;
		char *got;

		wire_copy_defaults(&o, csv);
		got = rows(a, &o, text, step, &e);
		CHECK(e == NULL);
		CHECK_STR(got, want);
		arena_free(a);
	}
}

static void
text_format_reads_escapes_and_nulls_however_cut(void)
{
	check_rows(false, STR("1\tten\n2\t\\N\n"), "1|ten;2|<null>;");
	check_rows(false, STR("a\\tb\tc\\\\d\n"), "a\tb|c\\d;");
	check_rows(false, STR("\\x41\\102\tx"), "AB|x;");
	check_rows(false, STR("1\\\n2\tx\r\n"), "1\n2|x;");
	check_rows(false, STR("1\t2\n\\.\nrubbish"), "1|2;");
	check_rows(false, STR("\t\n"), "|;");
}

static void
csv_format_reads_quotes_and_newlines_however_cut(void)
{
	check_rows(true, STR("1,\"d,d\"\n2,\n"), "1|d,d;2|<null>;");
	check_rows(true, STR("\"a\"\"b\",\"\"\n"), "a\"b|;");
	check_rows(true, STR("\"x\ny\",z\r\n"), "x\ny|z;");
}

static void
csv_with_an_open_quote_is_refused(void)
{
	struct arena *a = arena_new(NULL, "test");
	struct wire_copy_opts o;
	struct err *e;

	wire_copy_defaults(&o, true);
	rows(a, &o, STR("1,\"abc\n"), 3, &e);
	CHECK(err_is(e, ERRCODE_BAD_COPY_FILE_FORMAT));
	arena_free(a);
}

static void
what_is_written_reads_back(void)
{
	static const char *const nasty[] = {"", "\\N", "\\.", "a\tb", "\"q\"",
	    "x\ny", "\r", "\\", ",", "plain", "\b\f\v"};
	size_t n = sizeof nasty / sizeof *nasty;

	for (int csv = 0; csv < 2; csv++)
		for (size_t i = 0; i < n * n; i++) {
			struct arena *a = arena_new(NULL, "test");
			struct str x = str_c(nasty[i / n]);
			struct str y = str_c(nasty[i % n]);
			struct wire_copy_field f[2] = {{false, x}, {false, y}};
			struct wire_copy_opts o;
			struct err *e;
			struct buf b;

			wire_copy_defaults(&o, csv);
			buf_init(&b, a);
			wire_copy_out_line(&b, &o, f, 2);
			CHECK_STR(rows(a, &o, buf_view(&b), 5, &e),
			    arena_printf(a, "%s|%s;", x.p, y.p));
			arena_free(a);
		}
}

CU_MAIN("wire/copy",
    {"text_format_reads_escapes_and_nulls_however_cut",
	text_format_reads_escapes_and_nulls_however_cut},
    {"csv_format_reads_quotes_and_newlines_however_cut",
	csv_format_reads_quotes_and_newlines_however_cut},
    {"csv_with_an_open_quote_is_refused", csv_with_an_open_quote_is_refused},
    {"what_is_written_reads_back", what_is_written_reads_back})
