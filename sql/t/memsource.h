/* A table source in memory, for tests of the planner and executor: rows are
 * encoded as on disk, and what was asked of the source is counted. */
#ifndef SQL_T_MEMSOURCE_H
#define SQL_T_MEMSOURCE_H

#include "sql/source.h"

struct mem_row {
	struct str key;
	struct str value;
	cl_stamp stamp;
};

/* What an index holds, made again when the table has changed. */
struct mem_index {
	uint32_t id;
	uint64_t changes;     /* of the table, when it was made */
	struct mem_row *rows; /* key: the index's; value: the row's key */
	size_t n;
	struct arena *arena;
	struct mem_index *next;
};

struct mem_table {
	uint32_t id;
	struct mem_row *rows; /* by key */
	size_t n, cap;
	uint64_t changes;
	struct mem_index *indexes;
};

struct memsource {
	struct sql_source source;
	struct arena *arena;
	struct mem_table *tables;
	size_t n_tables;
	cl_stamp stamp;
	uint64_t block;
	/* what was asked */
	size_t keys_got, scans, rows_scanned, counts, writes;
	/* what it was told that may be reached; `all`: from the first row on */
	size_t told, told_keys, told_ranges, told_all;
	bool refuse; /* what it is told */
	bool last_ordered, last_filtered;
	uint32_t last_index; /* id; 0: the primary key */
	uint64_t last_limit;
	/* Runs once before the next write, with this set to NULL: a racing
	 * writer. */
	void (*before_write)(struct memsource *m, void *arg);
	void *before_arg;
	struct err *fail_check; /* what check says; NULL: fine */
};

void memsource_init(struct memsource *m, struct arena *a);
/* Forgets what was counted. */
void memsource_count_reset(struct memsource *m);
size_t memsource_rows(struct memsource *m, uint32_t table);

#endif
