/* The data directory as files: lock, format version, cluster key.  Used by the
 * real world only. */
#ifndef STORAGE_DATADIR_H
#define STORAGE_DATADIR_H

#include "base/err.h"
#include "base/str.h"

#define ST_DATA_VERSION "skaidb data format 2\n"

/* Creates the directory, 0700, unless it is there. */
struct err *st_datadir_make(struct arena *a, const char *dir);
/* Creates the directory if missing (0700), takes the lock against a second
 * process, and checks or writes VERSION. *lock_fd stays open as long as the
 * directory is used. */
struct err *st_datadir_open(struct arena *a, const char *dir, int *lock_fd);
void st_datadir_close(int lock_fd);

/* Reads the cluster key: hexadecimal, 32 bytes or more. With `create` a missing
 * file is made with a random key and mode 0600; an existing one is never
 * changed. `random` are 32 bytes to make it from. */
struct err *st_keyfile_load(struct arena *a, const char *path, bool create,
    const uint8_t *random, struct str *key);

#endif
