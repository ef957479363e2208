#include "base/log.h"

#include "base/buf.h"
#include "base/metrics.h"
#include "base/t/fake_world.h"
#include "regress/lib/cu.h"

static struct fake_world fw;
static struct buf out;
static int lines;

static void
sink(void *arg, const char *line, size_t len)
{
	(void)arg;
	CHECK(line[len - 1] == '\n');
	CHECK(memchr(line, '\n', len) == line + len - 1);
	buf_put(&out, line, len);
	lines++;
}

static void
begin(void)
{
	fake_start(&fw);
	/* 2026-12-01 05:36:04.000250 */
	fw.now_us = UINT64_C(1796103364000250);
	buf_init(&out, fw.w.arena);
	lines = 0;
	log_set_sink(sink, NULL);
	log_set_level(LOG_INFO);
	log_set_rate(LOG_RATE_DEFAULT);
}

static void
end(void)
{
	log_set_sink(NULL, NULL);
	fake_stop(&fw);
}

static void
a_line_says_when_where_and_what(void)
{
	begin();
	LOG(&fw.w, LOG_WARN, "net", "peer-lost", "peer=%s ms=%d", "n2", 30);
	CHECK_STR(buf_cstr(&out),
	    "t=2026-12-01T05:36:04.000250Z level=warn area=net "
	    "event=peer-lost world=fake peer=n2 ms=30\n");
	out.len = 0;
	LOG(NULL, LOG_ERROR, "start", "failed", "why=\"%s\"", "x");
	CHECK(strstr(buf_cstr(&out), " level=error area=start event=failed "
				     "why=\"x\"\n") != NULL);
	end();
}

static int evaluated;

static int
evaluate(void)
{
	return ++evaluated;
}

static void
levels_above_the_chosen_cost_nothing(void)
{
	enum log_level l;

	begin();
	log_set_level(LOG_WARN);
	LOG(&fw.w, LOG_INFO, "a", "b", "n=%d", evaluate());
	CHECK(lines == 0 && evaluated == 0);
	LOG(&fw.w, LOG_WARN, "a", "b", "n=%d", evaluate());
	CHECK(lines == 1 && evaluated == 1);
	CHECK(log_level_parse("TRACE", &l) && l == LOG_TRACE);
	CHECK(!log_level_parse("loud", &l));
	end();
}

static void
shout(int times)
{
	for (int i = 0; i < times; i++)
		LOG(&fw.w, LOG_INFO, "a", "loud", "i=%d", i);
}

static void
a_loud_call_site_is_limited_and_says_so(void)
{
	uint64_t before;

	begin();
	before = metric_total(M_LOG_LINES_DROPPED);
	shout(100);
	CHECK(lines == LOG_RATE_DEFAULT);
	CHECK(metric_total(M_LOG_LINES_DROPPED) == before + 80);
	/* Another site is not. */
	LOG(&fw.w, LOG_INFO, "a", "quiet", "x=%d", 1);
	CHECK(lines == LOG_RATE_DEFAULT + 1);
	fw.now_us += 1000000;
	out.len = 0;
	shout(2);
	CHECK(lines == LOG_RATE_DEFAULT + 3);
	CHECK(strstr(buf_cstr(&out), " left_out=80 i=0\n") != NULL);
	CHECK(strstr(buf_cstr(&out), " world=fake i=1\n") != NULL);
	log_set_rate(0);
	shout(100);
	CHECK(lines == LOG_RATE_DEFAULT + 103);
	end();
}

static void
hostile_values_stay_one_line(void)
{
	static char big[5000];

	begin();
	LOG(&fw.w, LOG_INFO, "a", "b", "v=\"%s\"", "x\nlevel=error\r\x1b[2J");
	CHECK(lines == 1);
	CHECK(strchr(buf_cstr(&out), 0x1b) == NULL);
	memset(big, 'z', sizeof big - 1);
	out.len = 0;
	LOG(&fw.w, LOG_INFO, "a", "b", "v=%s", big);
	CHECK(lines == 2);
	CHECK(out.len > 1900 && out.len <= 2048);
	end();
}

CU_MAIN("log",
    {"a_line_says_when_where_and_what", a_line_says_when_where_and_what},
    {"levels_above_the_chosen_cost_nothing",
	levels_above_the_chosen_cost_nothing},
    {"a_loud_call_site_is_limited_and_says_so",
	a_loud_call_site_is_limited_and_says_so},
    {"hostile_values_stay_one_line", hostile_values_stay_one_line})
