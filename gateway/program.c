#include "gateway/program.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"

#define KEY_MIN      32
#define KEY_FILE_MAX 4096

void
gw_program_error(const char *program, const struct err *e)
{
	(void)fprintf(stderr, "%s: %s\n", program, e->message);
	if (e->detail)
		(void)fprintf(stderr, "DETAIL: %s\n", e->detail);
	if (e->hint)
		(void)fprintf(stderr, "HINT: %s\n", e->hint);
}

struct err *
gw_program_log_level(struct arena *a, const struct conf *c)
{
	enum log_level level;

	if (!log_level_parse(conf_text(c, "log_level"), &level))
		return err_hint(
		    ERR(a, ERRCODE_CONFIG_FILE_ERROR,
			"unknown log_level \"%s\"", conf_text(c, "log_level")),
		    "It is error, warn, info or trace.");
	log_set_level(level);
	return NULL;
}

struct err *
gw_program_pid(struct arena *a, const struct conf *c)
{
	const char *path = conf_text(c, "pid_file");
	FILE *f;
	bool ok;

	if (!*path)
		return NULL;
	f = fopen(path, "we");
	ok = f && fprintf(f, "%ld\n", (long)getpid()) > 0;
	if (f)
		ok = fclose(f) == 0 && ok;
	return ok ? NULL
		  : ERR(a, ERRCODE_IO_ERROR,
			"could not write pid file \"%s\": %s", path,
			strerror(errno));
}

void
gw_program_pid_remove(const struct conf *c)
{
	const char *path = conf_text(c, "pid_file");

	if (*path)
		(void)remove(path);
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* False: something else than whole bytes in hexadecimal, and blanks at the
 * end. */
static bool
key_decode(struct buf *out, struct str text)
{
	while (text.len && strchr(" \t\r\n", text.p[text.len - 1]))
		text.len--;
	if (text.len % 2)
		return false;
	for (size_t i = 0; i < text.len; i += 2) {
		int hi = hex_digit(text.p[i]), lo = hex_digit(text.p[i + 1]);

		if (hi < 0 || lo < 0)
			return false;
		buf_u8(out, (uint8_t)(hi * 16 + lo));
	}
	return true;
}

struct err *
gw_program_key(struct arena *a, const char *path, struct str *key)
{
	char text[KEY_FILE_MAX];
	FILE *f = *path ? fopen(path, "re") : NULL;
	struct buf b;
	size_t n;

	if (!f)
		return err_hint(
		    ERR(a, ERRCODE_CONFIG_FILE_ERROR,
			"could not read the cluster key file \"%s\": %s", path,
			*path ? strerror(errno) : "none is named"),
		    "Copy the file that the first node made, and name it "
		    "with --cluster-key-file.");
	n = fread(text, 1, sizeof text, f);
	(void)fclose(f);
	buf_init(&b, a);
	if (n == sizeof text || !key_decode(&b, str_of(text, n)) ||
	    b.len < KEY_MIN)
		return ERR(a, ERRCODE_CONFIG_FILE_ERROR,
		    "the cluster key file \"%s\" must have at least %d "
		    "hexadecimal digits and nothing else",
		    path, 2 * KEY_MIN);
	*key = buf_view(&b);
	return NULL;
}
