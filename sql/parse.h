/* The front half's own seams; the entry is sql_parse in sql.h. */
#ifndef SQL_PARSE_H
#define SQL_PARSE_H

#include "sql/ast.h"

/* How deep trees may be: deeper ones are 54001.  Whoever walks a tree by
 * recursion needs that much stack. */
#define SQL_DEPTH_MAX 2000u

/* Parses statements whose trees are known, so that a parser library other than
 * the one built against is noticed at start and not by a client. XX000. */
struct err *sql_parser_selftest(struct arena *a);

#endif
