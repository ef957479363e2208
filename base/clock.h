/* The system's clocks and random numbers: for the real world and for what must
 * work without a world (the log).  Everybody else asks a world. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

uint64_t clock_mono_us(void); /* counts suspended time */
uint64_t clock_wall_us(void); /* since 1970 */
/* Never fails (ends the process). */
void clock_random(void *p, size_t n);

#endif
