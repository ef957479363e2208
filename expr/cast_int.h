/* Function ids of conversions through the text form: base plus target type. */
#ifndef EXPR_CAST_INT_H
#define EXPR_CAST_INT_H

#define EX_FN_OUT        1100000u /* any type to a string type */
#define EX_FN_OUT_STABLE 1200000u /* the same, text depends on the session */
#define EX_FN_IN         1300000u /* a string to any type */

#endif
