#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/metrics.h"

#define LINE_MAX_BYTES 2048
#define SITES          1024 /* a power of two; call sites are fewer */
#define WINDOW_US      1000000u

/* A call site in its present second. */
struct site {
	const char *file;
	int line;
	uint64_t since_us;
	unsigned lines;
	uint64_t dropped; /* not yet told */
};

static const char *const names[] = {"error", "warn", "info", "trace"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct site sites[SITES];
static unsigned rate = LOG_RATE_DEFAULT;
static void (*sink)(void *arg, const char *line, size_t len);
static void *sink_arg;
static _Atomic int level_max = LOG_INFO;

bool
log_enabled(enum log_level level)
{
	return (int)level <=
	       atomic_load_explicit(&level_max, memory_order_relaxed);
}

void
log_set_level(enum log_level level)
{
	atomic_store(&level_max, (int)level);
}

bool
log_level_parse(const char *s, enum log_level *out)
{
	for (int i = LOG_ERROR; i <= LOG_TRACE; i++)
		if (strcasecmp(s, names[i]) == 0) {
			*out = (enum log_level)i;
			return true;
		}
	return false;
}

void
log_set_sink(void (*fn)(void *arg, const char *line, size_t len), void *arg)
{
	pthread_mutex_lock(&lock);
	sink = fn;
	sink_arg = arg;
	pthread_mutex_unlock(&lock);
}

void
log_set_rate(unsigned lines_per_second)
{
	pthread_mutex_lock(&lock);
	rate = lines_per_second;
	memset(sites, 0, sizeof sites);
	pthread_mutex_unlock(&lock);
}

static struct site *
find_site(const char *file, int line)
{
	uint64_t h = ((uintptr_t)file ^ (uint64_t)line) * 0x9e3779b97f4a7c15u;
	size_t at = (size_t)(h >> 54) & (SITES - 1);

	for (size_t i = 0; i < SITES; i++) {
		struct site *s = &sites[(at + i) & (SITES - 1)];

		if (!s->file) {
			s->file = file;
			s->line = line;
		}
		if (s->file == file && s->line == line)
			return s;
	}
	return &sites[at]; /* a full table: they share a limit */
}

/* False when this line is one too many; *before is what was left out since
 * the last line of this site. */
static bool
admit(const char *file, int line, uint64_t now_us, uint64_t *before)
{
	struct site *s = find_site(file, line);

	*before = 0;
	if (rate == 0)
		return true;
	if (now_us < s->since_us || now_us - s->since_us >= WINDOW_US) {
		s->since_us = now_us;
		s->lines = 0;
	}
	if (s->lines >= rate) {
		s->dropped++;
		metric_inc(M_LOG_LINES_DROPPED);
		return false;
	}
	s->lines++;
	*before = s->dropped;
	s->dropped = 0;
	return true;
}

struct line {
	char text[LINE_MAX_BYTES];
	size_t len;
};

static void put(struct line *l, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

__attribute__((format(printf, 2, 0))) static void
vput(struct line *l, const char *fmt, va_list ap)
{
	size_t room = sizeof l->text - 1 - l->len; /* 1 for the newline */
	int n = vsnprintf(l->text + l->len, room, fmt, ap);

	if (n > 0)
		l->len += (size_t)n < room ? (size_t)n : room - 1;
}

static void
put(struct line *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vput(l, fmt, ap);
	va_end(ap);
}

static void
put_time(struct line *l, uint64_t wall_us)
{
	time_t secs = (time_t)(wall_us / 1000000);
	struct tm tm;

	gmtime_r(&secs, &tm);
	put(l, "t=%04d-%02d-%02dT%02d:%02d:%02d.%06uZ", tm.tm_year + 1900,
	    tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
	    (unsigned)(wall_us % 1000000));
}

/* One event is one line whatever a peer put into a value. */
static void
finish(struct line *l)
{
	for (size_t i = 0; i < l->len; i++)
		if ((unsigned char)l->text[i] < ' ' || l->text[i] == 0x7f)
			l->text[i] = ' ';
	while (l->len > 0 && l->text[l->len - 1] == ' ')
		l->len--;
	l->text[l->len++] = '\n';
}

static void
emit(const struct line *l)
{
	size_t at = 0;

	if (sink) {
		sink(sink_arg, l->text, l->len);
		return;
	}
	while (at < l->len) {
		ssize_t n = write(STDERR_FILENO, l->text + at, l->len - at);

		if (n <= 0)
			return; /* nobody to tell */
		at += (size_t)n;
	}
}

void
log_at(struct world *w, enum log_level level, const char *area,
    const char *event, const char *file, int line, const char *fmt, ...)
{
	uint64_t now_us = w ? world_wall_us(w) : clock_wall_us();
	uint64_t before;
	struct line l;
	va_list ap;

	pthread_mutex_lock(&lock);
	if (admit(file, line, now_us, &before)) {
		l.len = 0;
		put_time(&l, now_us);
		put(&l, " level=%s area=%s event=%s", names[level], area,
		    event);
		if (w && w->name)
			put(&l, " world=%s", w->name);
		if (before)
			put(&l, " left_out=%llu", (unsigned long long)before);
		put(&l, " ");
		va_start(ap, fmt);
		vput(&l, fmt, ap);
		va_end(ap);
		finish(&l);
		emit(&l);
	}
	pthread_mutex_unlock(&lock);
}
