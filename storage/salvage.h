/* Files of the engine, seen from outside: keeping a copy before a salvage, and
 * counting their bytes. */
#ifndef STORAGE_SALVAGE_H
#define STORAGE_SALVAGE_H

#include "base/err.h"

/* Copies every WiredTiger* file of `dir` into a new directory salvage-N in it,
 * flushed. */
struct err *st_salvage_keep(struct arena *a, const char *dir);

/* Bytes that the directory's files occupy; kept copies are not counted. */
uint64_t st_dir_bytes(const char *dir);

#endif
