/* Structured log: one logfmt line per event on standard error or a file.
 * Levels: error (page someone), warn, info (rare), trace (state moves). No SQL
 * literals and no secrets, ever. Thread-safe; rate limited per call site (the
 * number left out is said with the next line). In the simulator lines carry
 * virtual time and go to the trace. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/world.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_TRACE };

/* key=value pairs follow as a printf format: "peer=%s ms=%u" (values that may
 * hold blanks: "why=\"%s\""). A line is cut at 2 KiB. w may be NULL. */
void log_at(struct world *w, enum log_level level, const char *area,
    const char *event, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 7, 8)));
#define LOG(w, level, area, event, ...)                                        \
	do {                                                                   \
		if (log_enabled(level))                                        \
			log_at((w), (level), (area), (event), __FILE__,        \
			    __LINE__, __VA_ARGS__);                            \
	} while (0)

bool log_enabled(enum log_level level);
void log_set_level(enum log_level level);
bool log_level_parse(const char *s, enum log_level *out);
/* Where lines go; NULL = standard error. */
void log_set_sink(
    void (*sink)(void *arg, const char *line, size_t len), void *arg);
/* Lines per second and call site; 0 = no limit, as a simulation wants it.
 * Forgets what was counted so far. */
#define LOG_RATE_DEFAULT 20
void log_set_rate(unsigned lines_per_second);

#endif
