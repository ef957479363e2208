/* Metrics: counters, gauges and histograms, listed once in base/metrics.def
 * (name, kind, unit, one sentence).  Each thread counts into its own block with
 * plain adds; a scrape sums the blocks. */
#ifndef BASE_METRICS_H
#define BASE_METRICS_H

#include "base/buf.h"

enum metric {
#define METRIC(id, kind, name, help) id,
#include "base/metrics.def"
#undef METRIC
	METRIC_COUNT
};

void metric_add(enum metric m, uint64_t n);
#define metric_inc(m) metric_add((m), 1)
void metric_set(enum metric m, int64_t v);  /* gauge of this thread */
void metric_move(enum metric m, int64_t d); /* gauge up or down */
/* Histogram of microseconds: powers of two from 1 us to 64 s. */
void metric_time(enum metric m, uint64_t us);
/* BY_MEMBER: the value of one member, of the whole process. */
void metric_set_member(enum metric m, uint32_t member, int64_t v);
/* PEAK: raises the highest value seen. */
void metric_peak(enum metric m, uint64_t v);
/* Sum over threads (PEAK: the highest; HISTOGRAM: how many values; BY_MEMBER:
 * 0). */
uint64_t metric_total(enum metric m);
/* Prometheus text format 0.0.4. */
void metrics_print(struct buf *out);

#endif
