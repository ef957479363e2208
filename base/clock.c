#include "base/clock.h"

#include <errno.h>
#include <sys/random.h>
#include <time.h>

#include "base/err.h"

static uint64_t
read_us(clockid_t id)
{
	struct timespec t;

	ASSERT(clock_gettime(id, &t) == 0);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t
clock_mono_us(void)
{
	return read_us(CLOCK_BOOTTIME);
}

uint64_t
clock_wall_us(void)
{
	return read_us(CLOCK_REALTIME);
}

void
clock_random(void *p, size_t n)
{
	char *to = p;

	while (n > 0) {
		ssize_t r = getrandom(to, n, 0);

		if (r < 0 && errno == EINTR)
			continue;
		ASSERT(r > 0);
		to += r;
		n -= (size_t)r;
	}
}
