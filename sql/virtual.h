/* Virtual tables: relations whose rows are computed when a query reads them, by
 * whoever knows them.  They can be read only, and their names come before those
 * of the catalog.  Who implements the table source lists them in sql_env. */
#ifndef SQL_VIRTUAL_H
#define SQL_VIRTUAL_H

#include "sql/source.h"

struct sql_virtual_column {
	const char *name;
	uint32_t type;
};

struct sql_virtual_rows;

struct sql_virtual {
	const char *schema, *name;
	const struct sql_virtual_column *columns;
	uint32_t n_columns;
	/* All rows, in `a`, where they stay until the statement ends. It may
	 * wait. */
	struct err *(*fill)(struct sql_source *s, struct arena *a,
	    struct sql_virtual_rows *out);
};

/* A new row, all NULL: its values, by column. */
struct val *sql_virtual_add(struct sql_virtual_rows *rows);

#endif
