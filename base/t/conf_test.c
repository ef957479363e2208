#include "base/conf.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "regress/lib/cu.h"

static const struct conf_item items[] = {
    {"listen", CONF_TEXT, "127.0.0.1:5433", 0, 0, "ADDR",
	"Where clients connect."},
    {"workers", CONF_INT, "2", 1, 64, "N", "Threads."},
    {"trace", CONF_BOOL, "off", 0, 0, NULL, "Whether to trace."},
    {"storage.cache", CONF_BYTES, "64MB", 1 << 20, INT64_C(1) << 40, "SIZE",
	"Memory of the engine."},
    {"storage.idle_limit", CONF_DURATION, "30s", 0, 0, "TIME",
	"When idle connections end."},
    {"comment", CONF_TEXT, NULL, 0, 0, NULL, ".starts like a macro."},
    {NULL, CONF_TEXT, NULL, 0, 0, NULL, NULL},
};

#define FILE_PATH "conf_test.ini"

static struct arena *a;
static struct conf *c;

static const char *const variables[] = {"SKAIDB_LISTEN", "SKAIDB_WORKERS",
    "SKAIDB_TRACE", "SKAIDB_STORAGE_CACHE", "SKAIDB_CONFIG"};

static void
begin(void)
{
	a = arena_new(NULL, "t");
	for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
		unsetenv(variables[i]);
}

static void
end(void)
{
	arena_free(a);
	unlink(FILE_PATH);
}

static void
write_file(const char *text)
{
	FILE *f = fopen(FILE_PATH, "w");

	MUST(f != NULL);
	fputs(text, f);
	fclose(f);
}

/* Up to 4 arguments. */
static struct err *
load(const char *x, const char *y, const char *z, const char *u)
{
	const char *const given[] = {"prog", x, y, z, u};
	char *argv[6];
	int argc = 0;

	while (argc < 5 && given[argc]) {
		argv[argc] = arena_strdup(a, given[argc]);
		argc++;
	}
	argv[argc] = NULL;
	return conf_load(a, "prog", items, argc, argv, &c);
}

static const char *
load_message(const char *x, const char *y)
{
	struct err *e = load(x, y, NULL, NULL);

	if (!e)
		return "no error";
	CHECK(c == NULL);
	CHECK(err_is(e, ERRCODE_CONFIG_FILE_ERROR));
	return e->message;
}

static void
defaults_hold_without_a_source(void)
{
	begin();
	MUST(!load(NULL, NULL, NULL, NULL));
	CHECK_STR(conf_text(c, "listen"), "127.0.0.1:5433");
	CHECK(conf_int(c, "workers") == 2);
	CHECK(!conf_bool(c, "trace"));
	CHECK(conf_int(c, "storage.cache") == 64 << 20);
	CHECK(conf_int(c, "storage.idle_limit") == 30000000);
	CHECK_STR(conf_text(c, "comment"), "");
	CHECK(conf_action(c) == CONF_RUN);
	end();
}

static void
a_flag_beats_a_variable_beats_the_file(void)
{
	begin();
	write_file("listen = file\nworkers = 3\ntrace = yes\n"
		   "; a comment\n[storage]\ncache = 3MB\nidle_limit = 5\n");
	setenv("SKAIDB_LISTEN", "env", 1);
	setenv("SKAIDB_WORKERS", "4", 1);
	MUST(!load("--listen=flag", "--config", FILE_PATH, NULL));
	CHECK_STR(conf_text(c, "listen"), "flag");
	CHECK(conf_int(c, "workers") == 4);
	CHECK(conf_bool(c, "trace"));
	CHECK(conf_int(c, "storage.cache") == 3 << 20);
	CHECK(conf_int(c, "storage.idle_limit") == 5000000);
	MUST(!load("--config=" FILE_PATH, "--no-trace", "--workers", "5"));
	CHECK(!conf_bool(c, "trace"));
	CHECK(conf_int(c, "workers") == 5);
	setenv("SKAIDB_CONFIG", FILE_PATH, 1);
	MUST(!load("--trace", "--storage-cache", "4MB", "--trace=off"));
	CHECK(conf_int(c, "storage.cache") == 4 << 20);
	CHECK(!conf_bool(c, "trace"));
	end();
}

static void
bad_flags_are_named(void)
{
	begin();
	CHECK_STR(load_message("--wrokers", "3"), "unknown option --wrokers");
	CHECK_STR(load_message("-x", NULL), "unexpected argument \"-x\"");
	CHECK_STR(
	    load_message("--workers", NULL), "option --workers needs a value");
	CHECK_STR(load_message("--workers", "many"),
	    "--workers: invalid value \"many\" for workers: "
	    "expected a whole number");
	CHECK_STR(load_message("--workers=65", NULL),
	    "--workers: value \"65\" of workers is outside 1 .. 64");
	CHECK_STR(load_message("--no-trace=on", NULL),
	    "option --no-trace takes no value");
	CHECK_STR(
	    load_message("--no-workers", NULL), "unknown option --no-workers");
	setenv("SKAIDB_STORAGE_CACHE", "1kB", 1);
	CHECK_STR(load_message(NULL, NULL),
	    "SKAIDB_STORAGE_CACHE: value \"1kB\" of storage.cache is outside "
	    "1048576 .. 1099511627776");
	end();
}

static void
bad_files_are_named_with_their_line(void)
{
	char line[400];

	begin();
	CHECK_STR(load_message("--config=nowhere.ini", NULL),
	    "could not open nowhere.ini: No such file or directory");
	write_file("\n[storage]\ncahce = 3MB\n");
	CHECK_STR(load_message("--config=" FILE_PATH, NULL),
	    FILE_PATH ":3: unknown setting storage.cahce");
	write_file("workers = 3\nworkers = 4\n");
	CHECK_STR(load_message("--config=" FILE_PATH, NULL),
	    FILE_PATH ":2: setting workers is given twice");
	write_file("workers = 3\n\nworkers 4\n");
	CHECK_STR(load_message("--config=" FILE_PATH, NULL),
	    FILE_PATH ":3: expected [section] or name = value");
	memset(line, 'x', sizeof line - 1);
	line[sizeof line - 1] = 0;
	memcpy(line, "listen = ", 9);
	write_file(line);
	CHECK_STR(load_message("--config=" FILE_PATH, NULL),
	    FILE_PATH ":1: line longer than 198 characters");
	/* Help works all the same. */
	MUST(!load("--config=" FILE_PATH, "--help", NULL, NULL));
	CHECK(conf_action(c) == CONF_HELP);
	end();
}

static void
a_last_line_may_lack_its_newline(void)
{
	begin();
	write_file("workers = 7");
	MUST(!load("--config=" FILE_PATH, NULL, NULL, NULL));
	CHECK(conf_int(c, "workers") == 7);
	end();
}

/* What conf_show prints. */
static const char *
shown(enum conf_action action)
{
	static char text[8192];
	int keep = dup(1), fd;
	ssize_t n;

	fflush(stdout);
	fd = open(FILE_PATH ".out", O_RDWR | O_CREAT | O_TRUNC, 0600);
	MUST(fd >= 0 && dup2(fd, 1) == 1);
	conf_show(c, action);
	fflush(stdout);
	dup2(keep, 1);
	close(keep);
	n = pread(fd, text, sizeof text - 1, 0);
	text[n > 0 ? n : 0] = 0;
	close(fd);
	unlink(FILE_PATH ".out");
	return text;
}

static void
one_table_makes_help_and_manual(void)
{
	const char *text;

	begin();
	MUST(!load("--workers=9", NULL, NULL, NULL));
	text = shown(CONF_HELP);
	CHECK(strstr(text, "--storage-cache SIZE\n      Memory of the engine. "
			   "(default: 64MB)") != NULL);
	CHECK(strstr(text, "--trace\n") != NULL);
	text = shown(CONF_MANUAL);
	CHECK(strstr(text, "\n\\fB\\-\\-storage\\-idle\\-limit\\fR "
			   "\\fITIME\\fR\n") != NULL);
	CHECK(strstr(text, "\n.BR SKAIDB_STORAGE_IDLE_LIMIT ") != NULL);
	CHECK(strstr(text, "\n\\&.starts like a macro.") != NULL);
	text = shown(CONF_VERSION);
	CHECK(strncmp(text, "prog (skaidb) ", 14) == 0);
	end();
}

static void
a_printed_config_can_be_read_again(void)
{
	begin();
	MUST(!load("--workers=9", "--storage-cache=5MB", NULL, NULL));
	write_file(shown(CONF_PRINT));
	MUST(!load("--config=" FILE_PATH, NULL, NULL, NULL));
	CHECK(conf_int(c, "workers") == 9);
	CHECK(conf_int(c, "storage.cache") == 5 << 20);
	CHECK_STR(conf_text(c, "listen"), "127.0.0.1:5433");
	end();
}

static int64_t
bytes(const char *s)
{
	int64_t v;

	return conf_parse_bytes(str_c(s), &v) ? v : -1;
}

static int64_t
duration(const char *s)
{
	int64_t v;

	return conf_parse_duration(str_c(s), 1000, &v) ? v : -1;
}

static void
units_are_exact_or_refused(void)
{
	CHECK(bytes("64") == 64);
	CHECK(bytes("64 kB") == 65536);
	CHECK(bytes(" 2mb ") == 2 << 20);
	CHECK(bytes("1TB") == INT64_C(1) << 40);
	CHECK(bytes("9999999999TB") == -1);
	CHECK(bytes("MB") == -1);
	CHECK(bytes("1.5MB") == -1);
	CHECK(bytes("1MBx") == -1);
	CHECK(bytes("") == -1);
	CHECK(duration("7") == 7000);
	CHECK(duration("7us") == 7);
	CHECK(duration("500ms") == 500000);
	CHECK(duration("10min") == 600000000);
	CHECK(duration("24h") == INT64_C(86400000000));
	CHECK(duration("1d") == INT64_C(86400000000));
	CHECK(duration("7 years") == -1);
	CHECK(duration("9223372036854775807s") == -1);
}

CU_MAIN("conf",
    {"defaults_hold_without_a_source", defaults_hold_without_a_source},
    {"a_flag_beats_a_variable_beats_the_file",
	a_flag_beats_a_variable_beats_the_file},
    {"bad_flags_are_named", bad_flags_are_named},
    {"bad_files_are_named_with_their_line",
	bad_files_are_named_with_their_line},
    {"a_last_line_may_lack_its_newline", a_last_line_may_lack_its_newline},
    {"one_table_makes_help_and_manual", one_table_makes_help_and_manual},
    {"a_printed_config_can_be_read_again", a_printed_config_can_be_read_again},
    {"units_are_exact_or_refused", units_are_exact_or_refused})
