#include "gateway/clock.h"

cl_stamp
gw_clock_now(const struct gw_clock *c, uint64_t mono_us)
{
	uint64_t since = mono_us > c->seen_us ? mono_us - c->seen_us : 0;

	if (!c->stamp)
		return 0;
	return c->stamp + CL_STAMP_OF_MS(since / 1000);
}

void
gw_clock_observe(struct gw_clock *c, cl_stamp s, uint64_t mono_us)
{
	if (s <= gw_clock_now(c, mono_us))
		return;
	c->stamp = s;
	c->seen_us = mono_us;
}

cl_stamp
gw_clock_deadline(const struct gw_clock *c, uint64_t mono_us, uint64_t after_us)
{
	if (after_us > GW_DEADLINE_MAX_US)
		after_us = GW_DEADLINE_MAX_US;
	return gw_clock_now(c, mono_us) + CL_STAMP_OF_MS(after_us / 1000);
}
