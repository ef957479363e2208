/* base/engine.h on WiredTiger 3.2.1: how the real world opens its engine (pass
 * engine_wt_open to world_real_new).
 *
 * Four files hold everything.  Jobs run on engine threads, each with a session
 * and cursors of its own; one more thread flushes, one flush serving all who
 * wait.  With config.threads = 0 all of it happens on the loop.
 *
 * The process ends (exit status ENGINE_WT_EXIT, without closing anything) when
 * the engine panics: nothing after a failed write or flush may be believed. */
#ifndef STORAGE_ENGINE_WT_H
#define STORAGE_ENGINE_WT_H

#include "base/engine.h"

#define ENGINE_WT_EXIT 70

struct err *engine_wt_open(struct world *w, struct arena *a,
    const struct engine_config *conf, struct engine **out);

/* Free bytes below which an engine with this configuration refuses writes, on
 * a file system of `total` bytes. */
uint64_t engine_wt_reserve(const struct engine_config *conf, uint64_t total);

#endif
