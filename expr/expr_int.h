/* What the files of expr/ share about trees. */
#ifndef EXPR_EXPR_INT_H
#define EXPR_EXPR_INT_H

#include "expr/expr.h"
#include "expr/func.h"

/* NULL when e (its args given, not looked into) is well-typed: what eval may
 * rely on; else what is wrong with it. */
const char *ex_check_node(const struct expr *e);
/* Comparison of two non-null values of one type that has an order. */
int ex_cmp(struct val x, struct val y);
bool ex_has_order(uint32_t type);
struct err *ex_too_deep(struct arena *a);

#endif
