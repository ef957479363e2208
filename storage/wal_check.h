/* The check of WiredTiger's log before it is opened.
 *
 * Version 3.2.1 silently cuts its log at a damaged record and deletes what
 * follows, acknowledged transactions included.  So before each open the log
 * files are read: what looks like the end of the log must be its end. */
#ifndef STORAGE_WAL_CHECK_H
#define STORAGE_WAL_CHECK_H

#include "base/err.h"

/* CRC-32C (Castagnoli). */
uint32_t st_wal_crc32c(uint32_t crc, const void *p, size_t n);

/* NULL: the log is whole, or ends in a torn tail as crashes leave it. XX001: a
 * damaged record has valid ones behind it. No log files at all is fine. */
struct err *st_wal_check(struct arena *a, const char *dir);

#endif
