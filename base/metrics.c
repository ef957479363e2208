#include "base/metrics.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/err.h"

/* A histogram has a slot per power of two from 1 us to 2^26 us (67 s), one for
 * all above, and the sum of the values. */
#define HIST_BOUNDS 27
#define HIST_SUM    (HIST_BOUNDS + 1)

enum kind { COUNTER, GAUGE, PEAK, HISTOGRAM, BY_MEMBER };

#define SLOTS_COUNTER   1
#define SLOTS_GAUGE     1
#define SLOTS_PEAK      1
#define SLOTS_HISTOGRAM (HIST_SUM + 1)
#define SLOTS_BY_MEMBER 1 /* unused */

enum {
#define METRIC(id, kind, name, help)                                           \
	AT_##id, LAST_##id = AT_##id + SLOTS_##kind - 1,
#include "base/metrics.def"
#undef METRIC
	SLOTS
};

static const struct {
	enum kind kind;
	unsigned at;
	const char *name;
	const char *help;
} defs[METRIC_COUNT] = {
#define METRIC(id, kind, name, help) [id] = {kind, AT_##id, name, help},
#include "base/metrics.def"
#undef METRIC
};

/* One writer, its thread; a scrape reads it from another: relaxed loads and
 * stores, which cost what plain ones do. */
struct metric_block {
	struct metric_block *next;
	bool registered;
	_Atomic uint64_t v[SLOTS];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct metric_block *blocks; /* of living threads */
static struct metric_block dead;    /* counters of ended ones */
/* What is known of members: few, and set now and then, so one lock does. */
#define BY_MEMBER_MAX 4096u
static struct by_member {
	enum metric metric;
	uint32_t member;
	int64_t value;
} by_member[BY_MEMBER_MAX];
static uint32_t n_by_member;
static pthread_key_t block_key;
static pthread_once_t block_once = PTHREAD_ONCE_INIT;
static _Thread_local struct metric_block own;

static uint64_t
get(const struct metric_block *b, unsigned at)
{
	return atomic_load_explicit(&b->v[at], memory_order_relaxed);
}

static void
put(struct metric_block *b, unsigned at, uint64_t v)
{
	atomic_store_explicit(&b->v[at], v, memory_order_relaxed);
}

static uint64_t
merge(uint64_t a, uint64_t b, bool peak)
{
	if (!peak)
		return a + b;
	return a > b ? a : b;
}

/* A thread's end: its counts stay, its gauges go. */
static void
retire(void *arg)
{
	struct metric_block *b = arg, **at;

	pthread_mutex_lock(&lock);
	for (at = &blocks; *at && *at != b; at = &(*at)->next)
		continue;
	if (*at)
		*at = b->next;
	for (int m = 0; m < METRIC_COUNT; m++) {
		unsigned n = defs[m].kind == HISTOGRAM ? SLOTS_HISTOGRAM : 1;

		for (unsigned i = defs[m].at; i < defs[m].at + n; i++)
			if (defs[m].kind != GAUGE)
				put(&dead, i,
				    merge(get(&dead, i), get(b, i),
					defs[m].kind == PEAK));
	}
	pthread_mutex_unlock(&lock);
	b->registered = false;
}

static void
make_key(void)
{
	ASSERT(pthread_key_create(&block_key, retire) == 0);
}

static struct metric_block *
register_own(void)
{
	pthread_once(&block_once, make_key);
	pthread_setspecific(block_key, &own);
	pthread_mutex_lock(&lock);
	if (!own.registered) {
		for (unsigned i = 0; i < SLOTS; i++)
			put(&own, i, 0);
		own.registered = true;
		own.next = blocks;
		blocks = &own;
	}
	pthread_mutex_unlock(&lock);
	return &own;
}

static inline struct metric_block *
block(void)
{
	return own.registered ? &own : register_own();
}

void
metric_add(enum metric m, uint64_t n)
{
	struct metric_block *b = block();
	unsigned at = defs[m].at;

	put(b, at, get(b, at) + n);
}

void
metric_set(enum metric m, int64_t v)
{
	put(block(), defs[m].at, (uint64_t)v);
}

void
metric_move(enum metric m, int64_t d)
{
	metric_add(m, (uint64_t)d);
}

/* Under the lock. */
static struct by_member *
find_member(enum metric m, uint32_t member)
{
	for (uint32_t i = 0; i < n_by_member; i++) {
		if (by_member[i].metric == m && by_member[i].member == member)
			return &by_member[i];
	}
	return NULL;
}

void
metric_set_member(enum metric m, uint32_t member, int64_t v)
{
	struct by_member *x;

	ASSERT(defs[m].kind == BY_MEMBER);
	pthread_mutex_lock(&lock);
	x = find_member(m, member);
	if (!x && n_by_member < BY_MEMBER_MAX)
		x = &by_member[n_by_member++];
	if (x)
		*x = (struct by_member){m, member, v};
	pthread_mutex_unlock(&lock);
}

void
metric_peak(enum metric m, uint64_t v)
{
	struct metric_block *b = block();

	if (v > get(b, defs[m].at))
		put(b, defs[m].at, v);
}

void
metric_time(enum metric m, uint64_t us)
{
	unsigned slot = us <= 1 ? 0 : 64 - (unsigned)__builtin_clzl(us - 1);
	struct metric_block *b = block();
	unsigned at = defs[m].at;

	ASSERT(defs[m].kind == HISTOGRAM);
	if (slot > HIST_BOUNDS)
		slot = HIST_BOUNDS;
	put(b, at + slot, get(b, at + slot) + 1);
	put(b, at + HIST_SUM, get(b, at + HIST_SUM) + us);
}

/* Under the lock. */
static uint64_t
sum(unsigned at, bool peak)
{
	uint64_t total = get(&dead, at);

	for (const struct metric_block *b = blocks; b; b = b->next)
		total = merge(total, get(b, at), peak);
	return total;
}

static uint64_t
histogram_count(const uint64_t *slots)
{
	uint64_t n = 0;

	for (unsigned i = 0; i <= HIST_BOUNDS; i++)
		n += slots[i];
	return n;
}

static void
read_slots(enum metric m, uint64_t *slots)
{
	unsigned n = defs[m].kind == HISTOGRAM ? SLOTS_HISTOGRAM : 1;

	for (unsigned i = 0; i < n; i++)
		slots[i] = sum(defs[m].at + i, defs[m].kind == PEAK);
}

uint64_t
metric_total(enum metric m)
{
	uint64_t slots[SLOTS_HISTOGRAM];

	pthread_mutex_lock(&lock);
	read_slots(m, slots);
	pthread_mutex_unlock(&lock);
	return defs[m].kind == HISTOGRAM ? histogram_count(slots) : slots[0];
}

/* A name may carry labels: foo_total{kind="a"}. */
static struct str
bare(const char *name)
{
	return str_of(name, strcspn(name, "{"));
}

static void
print_head(struct buf *out, enum metric m)
{
	static const char *const types[] = {
	    "counter", "gauge", "gauge", "histogram", "gauge"};
	struct str name = bare(defs[m].name);

	if (m > 0 && str_eq(name, bare(defs[m - 1].name)))
		return;
	buf_printf(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", STR_FMT(name),
	    defs[m].help, STR_FMT(name), types[defs[m].kind]);
}

static void
print_members(struct buf *out, enum metric m)
{
	for (uint32_t i = 0; i < n_by_member; i++) {
		if (by_member[i].metric == m)
			buf_printf(out, "%s{member=\"%u\"} %" PRId64 "\n",
			    defs[m].name, by_member[i].member,
			    by_member[i].value);
	}
}

static void
print_histogram(struct buf *out, const char *name, const uint64_t *slots)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < HIST_BOUNDS; i++) {
		n += slots[i];
		buf_printf(out, "%s_bucket{le=\"%.6f\"} %" PRIu64 "\n", name,
		    (double)(UINT64_C(1) << i) / 1e6, n);
	}
	n += slots[HIST_BOUNDS];
	buf_printf(out, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, n);
	buf_printf(out, "%s_sum %.6f\n%s_count %" PRIu64 "\n", name,
	    (double)slots[HIST_SUM] / 1e6, name, n);
}

void
metrics_print(struct buf *out)
{
	uint64_t slots[SLOTS_HISTOGRAM];

	pthread_mutex_lock(&lock);
	for (int i = 0; i < METRIC_COUNT; i++) {
		enum metric m = (enum metric)i;

		read_slots(m, slots);
		print_head(out, m);
		if (defs[m].kind == HISTOGRAM)
			print_histogram(out, defs[m].name, slots);
		else if (defs[m].kind == BY_MEMBER)
			print_members(out, m);
		else if (defs[m].kind == GAUGE)
			buf_printf(out, "%s %" PRId64 "\n", defs[m].name,
			    (int64_t)slots[0]);
		else
			buf_printf(
			    out, "%s %" PRIu64 "\n", defs[m].name, slots[0]);
	}
	pthread_mutex_unlock(&lock);
}
