/* Random numbers from a seed.  Every part of a simulation has a stream of its
 * own, so that drawing more in one place changes nothing elsewhere. */
#ifndef REGRESS_SIM_RNG_H
#define REGRESS_SIM_RNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

/* `stream` tells apart what shares a seed. */
struct rng rng_of(uint64_t seed, uint64_t stream);
uint64_t rng_u64(struct rng *r);
/* Uniform in 0 .. below - 1; below > 0. */
uint64_t rng_below(struct rng *r, uint64_t below);
/* Uniform in low .. high, both included. */
uint64_t rng_between(struct rng *r, uint64_t low, uint64_t high);
/* True with probability n of a million. */
bool rng_ppm(struct rng *r, uint32_t n);
/* Exponential with this mean, cut at twenty times of it. */
uint64_t rng_exp(struct rng *r, uint64_t mean);
void rng_fill(struct rng *r, void *p, size_t n);

#endif
