/* What the programs with a gateway share: errors of the start, pid file, key
 * file, log level. */
#ifndef GATEWAY_PROGRAM_H
#define GATEWAY_PROGRAM_H

#include "base/conf.h"

void gw_program_error(const char *program, const struct err *e);
/* Of the setting log_level. */
struct err *gw_program_log_level(struct arena *a, const struct conf *c);
/* Of the setting pid_file; nothing when that is empty. */
struct err *gw_program_pid(struct arena *a, const struct conf *c);
void gw_program_pid_remove(const struct conf *c);
/* The cluster key out of a file: hexadecimal, 32 bytes or more. */
struct err *gw_program_key(struct arena *a, const char *path, struct str *key);

#endif
