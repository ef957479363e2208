#include "expr/expr.h"

#include "expr/t/calc.h"
#include "regress/lib/cu.h"
static void
x(void)
{
}
CU_MAIN("expr", {"x", x})
