#include "regress/sim/rng.h"

#include <math.h>
#include <string.h>

static uint64_t
mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

struct rng
rng_of(uint64_t seed, uint64_t stream)
{
	return (struct rng){mix(mix(seed) ^ mix(stream + 0x632be59bd9b4e019u))};
}

/* splitmix64: any state is good, and that is all that is needed here. */
uint64_t
rng_u64(struct rng *r)
{
	r->state += 0x9e3779b97f4a7c15u;
	return mix(r->state);
}

uint64_t
rng_below(struct rng *r, uint64_t below)
{
	/* The bias of a 64-bit remainder is of no concern for a test. */
	return rng_u64(r) % below;
}

uint64_t
rng_between(struct rng *r, uint64_t low, uint64_t high)
{
	return low + rng_below(r, high - low + 1);
}

bool
rng_ppm(struct rng *r, uint32_t n)
{
	return n > 0 && rng_below(r, 1000000) < n;
}

uint64_t
rng_exp(struct rng *r, uint64_t mean)
{
	double u = ((double)(rng_u64(r) >> 11) + 1) / 9007199254740993.0;
	double x = -log(u) * (double)mean;

	if (x > 20.0 * (double)mean)
		x = 20.0 * (double)mean;
	return (uint64_t)x;
}

void
rng_fill(struct rng *r, void *p, size_t n)
{
	char *to = p;

	while (n > 0) {
		uint64_t v = rng_u64(r);
		size_t k = n < sizeof v ? n : sizeof v;

		memcpy(to, &v, k);
		to += k;
		n -= k;
	}
}
