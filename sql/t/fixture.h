/* A database in memory that runs SQL text: a catalog made from CREATE TABLE
 * statements, rows in a memsource, and results as text:
 *
 *   |1|a          one line per row, NULL for null
 *   SELECT 1      the command tag
 *   ERROR 42703 8 column "x" does not exist
 *   DETAIL ...    HINT ...    each on a line */
#ifndef SQL_T_FIXTURE_H
#define SQL_T_FIXTURE_H

#include "sql/sql.h"
#include "sql/t/memsource.h"

struct fixture {
	struct arena *arena;
	struct cl_catalog *catalog;
	struct memsource mem;
	struct ex_env ex;
	struct sql_env env;
	uint32_t path[1];
	uint32_t next_id;
	uint64_t version;
};

void fixture_init(struct fixture *f);
void fixture_fini(struct fixture *f);
/* Runs the statements of a text; the results one after the other. Parameters
 * are given as text and input by the types that were inferred. */
const char *fixture_run(struct fixture *f, const char *sql);
const char *fixture_run_with(
    struct fixture *f, const char *sql, const char *const *params, uint32_t n);
/* As "int4,text": the parameters' types; or the error. */
const char *fixture_params(struct fixture *f, const char *sql);
/* As "a:int4,b:text": the result columns; or the error. */
const char *fixture_columns(struct fixture *f, const char *sql);
uint32_t fixture_table(struct fixture *f, const char *name);

#endif
