/* Coroutines: a stack of its own and the switch to and from it.  The scheduler
 * (sched.c, fiber.c) is built on these; nobody else uses them. */
#ifndef BASE_CORO_H
#define BASE_CORO_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct coro {
	jmp_buf at;   /* where it stopped */
	jmp_buf back; /* who entered it */
	char *low;    /* lowest usable byte; the guard page is below */
	size_t size;
	void (*fn)(void *arg);
	void *arg;
	bool begun;
	bool done;
	unsigned valgrind_id;
	/* For AddressSanitizer: both sides' fake stacks, the other stack. */
	void *fake, *from_fake;
	const void *from_low;
	size_t from_size;
	/* For ThreadSanitizer: its name for both. */
	void *tsan, *from_tsan;
};

/* `size` bytes of stack above a guard page, mapped lazily; ends the process
 * when the system has no more. */
char *coro_stack_map(size_t size);
void coro_stack_unmap(char *low, size_t size);
/* How many bytes of it were ever touched, to the page. */
size_t coro_stack_touched(char *low, size_t size);

/* The coroutine will run on low .. low + size. */
void coro_init(struct coro *c, char *low, size_t size);
void coro_fini(struct coro *c);
/* What the next coro_enter starts; the coroutine is new or done. */
void coro_set(struct coro *c, void (*fn)(void *arg), void *arg);
/* Runs it until it leaves or fn returns (then c->done). */
void coro_enter(struct coro *c);
/* From inside: back to who entered. Returns at the next coro_enter. */
void coro_leave(struct coro *c);

#endif
