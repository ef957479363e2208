/* libpq, as a C program uses it: parameters in text and binary, prepared
 * statements, pipelines, COPY, cancel, notices and error fields. */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libpq-fe.h>

static const char *claim_name;
static bool claim_holds;

static void __attribute__((format(printf, 1, 2))) failed(const char *fmt, ...)
{
	va_list ap;

	claim_holds = false;
	printf("FAIL %s: ", claim_name);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
}

#define CHECK(cond, c)                                                         \
	do {                                                                   \
		if (!(cond))                                                   \
			failed("line %d: %s: %s", __LINE__, #cond,             \
			    PQerrorMessage(c));                                \
	} while (0)

static void
same(int line, const char *got, const char *want)
{
	if (!got || strcmp(got, want) != 0)
		failed("line %d: got %s, want %s", line, got ? got : "-", want);
}
#define SAME(got, want) same(__LINE__, (got), (want))

static PGconn *
session(const char *info)
{
	PGconn *c = PQconnectdb(info);

	if (PQstatus(c) != CONNECTION_OK) {
		failed("connect: %s", PQerrorMessage(c));
		exit(1);
	}
	return c;
}

static void
drop_notice(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* Runs one command that must succeed. */
static void
run(PGconn *c, const char *sql)
{
	PGresult *r = PQexec(c, sql);
	ExecStatusType s = PQresultStatus(r);

	if (s != PGRES_COMMAND_OK && s != PGRES_TUPLES_OK)
		failed("%s: %s", sql, PQerrorMessage(c));
	PQclear(r);
}

static PGconn *
with_table(void)
{
	PGconn *c = session("");

	PQsetNoticeProcessor(c, drop_notice, NULL);
	run(c, "drop table if exists c_t");
	run(c, "create table c_t (id int primary key, t text, b bytea)");
	return c;
}

static void
expect(PGconn *c, const char *sql, const char *want)
{
	PGresult *r = PQexec(c, sql);

	if (PQntuples(r) != 1)
		failed("%s: %s", sql, PQerrorMessage(c));
	else
		SAME(PQgetvalue(r, 0, 0), want);
	PQclear(r);
}

static void
parameters_go_in_text_and_in_binary(void)
{
	PGconn *c = with_table();
	uint32_t seven = htonl(7);
	const char *v[] = {(char *)&seven, "te'xt", "\0\xff"};
	int lengths[] = {4, 0, 2}, formats[] = {1, 0, 1};
	Oid types[] = {23, 25, 17};
	uint32_t back = 0;
	PGresult *r = PQexecParams(c,
	    "insert into c_t values ($1, $2, $3) returning id, t, b", 3, types,
	    v, lengths, formats, 1);

	CHECK(PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 1, c);
	if (claim_holds) {
		memcpy(&back, PQgetvalue(r, 0, 0), 4);
		CHECK(ntohl(back) == 7 && PQfformat(r, 0) == 1, c);
		CHECK(PQgetlength(r, 0, 2) == 2, c);
		CHECK(memcmp(PQgetvalue(r, 0, 2), "\0\xff", 2) == 0, c);
		CHECK(PQftype(r, 0) == 23 && PQftype(r, 2) == 17, c);
		CHECK(PQftable(r, 0) != 0 && PQftablecol(r, 1) == 2, c);
		SAME(PQcmdTuples(r), "1");
	}
	PQclear(r);
	expect(c, "select b from c_t where id = 7", "\\x00ff");
	PQfinish(c);
}

static void
rows_are_changed_and_deleted_by_parameter(void)
{
	PGconn *c = with_table();
	const char *v[] = {"2", "after"};
	PGresult *r;

	run(c, "insert into c_t values (1, 'a'), (2, 'b'), (3, 'c')");
	r = PQexecParams(c, "update c_t set t = $2 where id = $1", 2, NULL, v,
	    NULL, NULL, 0);
	SAME(PQcmdStatus(r), "UPDATE 1");
	PQclear(r);
	expect(c, "select t from c_t where id = 2", "after");
	r = PQexecParams(
	    c, "delete from c_t where id < $1", 1, NULL, v, NULL, NULL, 0);
	SAME(PQcmdStatus(r), "DELETE 1");
	PQclear(r);
	expect(c, "select count(*) from c_t", "2");
	PQfinish(c);
}

static void
a_prepared_statement_is_described_and_run_again(void)
{
	PGconn *c = with_table();
	const char *v[] = {"41", "7"};
	PGresult *r;

	run(c, "insert into c_t values (7, 'seven')");
	r = PQprepare(c, "p",
	    "select $1::int8 + 1 as x, t from c_t where id = $2", 0, NULL);
	CHECK(PQresultStatus(r) == PGRES_COMMAND_OK, c);
	PQclear(r);
	r = PQdescribePrepared(c, "p");
	CHECK(PQnparams(r) == 2 && PQparamtype(r, 0) == 20, c);
	CHECK(PQparamtype(r, 1) == 23 && PQftype(r, 0) == 20, c);
	SAME(PQfname(r, 0), "x");
	PQclear(r);
	for (int i = 0; i < 7; i++) {
		r = PQexecPrepared(c, "p", 2, v, NULL, NULL, 0);
		CHECK(PQntuples(r) == 1, c);
		SAME(PQgetvalue(r, 0, 0), "42");
		SAME(PQgetvalue(r, 0, 1), "seven");
		PQclear(r);
	}
	run(c, "deallocate p");
	r = PQexecPrepared(c, "p", 2, v, NULL, NULL, 0);
	SAME(PQresultErrorField(r, PG_DIAG_SQLSTATE), "26000");
	PQclear(r);
	PQfinish(c);
}

static void
errors_carry_position_and_constraint(void)
{
	PGconn *c = with_table();
	PGresult *r = PQexec(c, "select nosuch from c_t");

	SAME(PQresultErrorField(r, PG_DIAG_SQLSTATE), "42703");
	SAME(PQresultErrorField(r, PG_DIAG_STATEMENT_POSITION), "8");
	SAME(PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED), "ERROR");
	PQclear(r);
	run(c, "insert into c_t values (1)");
	r = PQexec(c, "insert into c_t values (1)");
	SAME(PQresultErrorField(r, PG_DIAG_SQLSTATE), "23505");
	SAME(PQresultErrorField(r, PG_DIAG_CONSTRAINT_NAME), "c_t_pkey");
	SAME(PQresultErrorField(r, PG_DIAG_TABLE_NAME), "c_t");
	SAME(PQresultErrorField(r, PG_DIAG_SCHEMA_NAME), "public");
	PQclear(r);
	CHECK(PQtransactionStatus(c) == PQTRANS_IDLE, c);
	PQfinish(c);
}

static void
count_notice(void *arg, const PGresult *r)
{
	int *n = arg;

	*n += 1;
	SAME(PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED), "NOTICE");
}

static void
notices_reach_the_receiver(void)
{
	PGconn *c = session("");
	int n = 0;

	PQsetNoticeReceiver(c, count_notice, &n);
	run(c, "drop table if exists there_is_no_such_table");
	CHECK(n == 1, c);
	PQfinish(c);
}

static void
a_string_of_statements_gives_a_result_each(void)
{
	PGconn *c = session("");
	PGresult *r;
	int n = 0;

	CHECK(PQsendQuery(c, "select 1; select 2, 3;") == 1, c);
	while ((r = PQgetResult(c))) {
		n++;
		CHECK(PQnfields(r) == n, c);
		PQclear(r);
	}
	CHECK(n == 2, c);
	r = PQexec(c, "");
	CHECK(PQresultStatus(r) == PGRES_EMPTY_QUERY, c);
	PQclear(r);
	PQfinish(c);
}

/* What comes back through one pipeline, counted by kind. */
struct tally {
	int ok, failed, skipped, syncs;
};

static struct tally
drain_pipeline(PGconn *c, int syncs)
{
	struct tally t = {0};
	PGresult *r;
	int empty = 0;

	while (t.syncs < syncs && empty < 100) {
		r = PQgetResult(c);
		if (!r) {
			empty++;
			continue;
		}
		empty = 0;
		switch (PQresultStatus(r)) {
		case PGRES_PIPELINE_SYNC:
			t.syncs++;
			break;
		case PGRES_PIPELINE_ABORTED:
			t.skipped++;
			break;
		case PGRES_FATAL_ERROR:
			t.failed++;
			break;
		default:
			t.ok++;
		}
		PQclear(r);
	}
	return t;
}

static void
a_pipeline_skips_from_an_error_to_its_sync(void)
{
	PGconn *c = session("");
	struct tally t;

	CHECK(PQenterPipelineMode(c) == 1, c);
	for (int i = 0; i < 4; i++)
		CHECK(PQsendQueryParams(c, i == 1 ? "select 1/0" : "select 1",
			  0, NULL, NULL, NULL, NULL, 0) == 1,
		    c);
	CHECK(PQpipelineSync(c) == 1, c);
	CHECK(
	    PQsendQueryParams(c, "select 2", 0, NULL, NULL, NULL, NULL, 0) == 1,
	    c);
	CHECK(PQpipelineSync(c) == 1, c);
	t = drain_pipeline(c, 2);
	CHECK(t.ok == 2 && t.failed == 1 && t.skipped == 2, c);
	CHECK(PQexitPipelineMode(c) == 1, c);
	expect(c, "select 3", "3");
	PQfinish(c);
}

static void
single_rows_come_one_by_one(void)
{
	PGconn *c = with_table();
	PGresult *r;
	int n = 0;

	run(c, "insert into c_t values (1), (2), (3), (4), (5)");
	CHECK(PQsendQuery(c, "select id from c_t order by id") == 1, c);
	CHECK(PQsetSingleRowMode(c) == 1, c);
	while ((r = PQgetResult(c))) {
		if (PQresultStatus(r) == PGRES_SINGLE_TUPLE)
			n++;
		PQclear(r);
	}
	CHECK(n == 5, c);
	PQfinish(c);
}

static void
copy_goes_in_and_comes_out(void)
{
	PGconn *c = with_table();
	PGresult *r = PQexec(c, "copy c_t (id, t) from stdin");
	char *line;
	int n = 0, len;

	CHECK(PQresultStatus(r) == PGRES_COPY_IN && PQnfields(r) == 2, c);
	PQclear(r);
	CHECK(PQputCopyData(c, "1\tone\n2\t", 8) == 1, c);
	CHECK(PQputCopyData(c, "two\n", 4) == 1, c);
	CHECK(PQputCopyEnd(c, NULL) == 1, c);
	r = PQgetResult(c);
	SAME(PQcmdStatus(r), "COPY 2");
	PQclear(r);
	CHECK(!PQgetResult(c), c);
	r = PQexec(c, "copy c_t (id, t) to stdout");
	CHECK(PQresultStatus(r) == PGRES_COPY_OUT, c);
	PQclear(r);
	while ((len = PQgetCopyData(c, &line, 0)) > 0) {
		n++;
		PQfreemem(line);
	}
	CHECK(n == 2 && len == -1, c);
	r = PQgetResult(c);
	SAME(PQcmdStatus(r), "COPY 2");
	PQclear(r);
	CHECK(!PQgetResult(c), c);
	PQfinish(c);
}

static void
a_copy_ended_by_the_client_is_an_error(void)
{
	PGconn *c = with_table();
	PGresult *r = PQexec(c, "copy c_t (id) from stdin");

	CHECK(PQresultStatus(r) == PGRES_COPY_IN, c);
	PQclear(r);
	CHECK(PQputCopyEnd(c, "changed my mind") == 1, c);
	r = PQgetResult(c);
	SAME(PQresultErrorField(r, PG_DIAG_SQLSTATE), "57014");
	PQclear(r);
	CHECK(!PQgetResult(c), c);
	expect(c, "select count(*) from c_t", "0");
	PQfinish(c);
}

/* Sends cancel requests until the statement ends: one that comes before the
 * statement runs has nothing to cancel. */
struct canceller {
	PGcancel *cancel;
	pthread_mutex_t lock;
	bool over;
};

static void *
keep_cancelling(void *arg)
{
	struct canceller *k = arg;
	struct timespec pause = {0, 50 * 1000 * 1000};
	char why[256];
	bool over = false;

	while (!over) {
		PQcancel(k->cancel, why, sizeof why);
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&k->lock);
		over = k->over;
		pthread_mutex_unlock(&k->lock);
	}
	return NULL;
}

static void
cancel_ends_a_running_statement(void)
{
	PGconn *c = session("");
	struct canceller k = {.cancel = PQgetCancel(c)};
	pthread_t thread;
	PGresult *r;

	pthread_mutex_init(&k.lock, NULL);
	CHECK(k.cancel, c);
	CHECK(pthread_create(&thread, NULL, keep_cancelling, &k) == 0, c);
	r = PQexec(c, "select pg_sleep(60)");
	pthread_mutex_lock(&k.lock);
	k.over = true;
	pthread_mutex_unlock(&k.lock);
	pthread_join(thread, NULL);
	SAME(PQresultErrorField(r, PG_DIAG_SQLSTATE), "57014");
	PQclear(r);
	PQfreeCancel(k.cancel);
	PQfinish(c);
}

static void
statement_timeout_ends_a_statement(void)
{
	PGconn *c = session("options='-c statement_timeout=100ms'");
	PGresult *r = PQexec(c, "select pg_sleep(60)");

	SAME(PQresultErrorField(r, PG_DIAG_SQLSTATE), "57014");
	PQclear(r);
	run(c, "set statement_timeout = 0");
	expect(c, "select 1", "1");
	PQfinish(c);
}

static void
settings_are_reported_when_they_change(void)
{
	PGconn *c = session("application_name=first");

	SAME(PQparameterStatus(c, "application_name"), "first");
	SAME(PQparameterStatus(c, "standard_conforming_strings"), "on");
	run(c, "set datestyle = 'SQL, DMY'");
	SAME(PQparameterStatus(c, "DateStyle"), "SQL, DMY");
	run(c, "reset all");
	SAME(PQparameterStatus(c, "DateStyle"), "ISO, MDY");
	CHECK(PQserverVersion(c) >= 150000, c);
	CHECK(PQbackendPID(c) != 0, c);
	CHECK(PQping("") == PQPING_OK, c);
	PQfinish(c);
}

static void
large_values_come_back_whole(void)
{
	PGconn *c = with_table();
	size_t size = 1000000;
	char *big = malloc(size + 1);
	const char *v[] = {big};
	PGresult *r;

	for (size_t i = 0; i < size; i++)
		big[i] = (char)('a' + i % 26);
	big[size] = '\0';
	r = PQexecParams(
	    c, "insert into c_t values (1, $1)", 1, NULL, v, NULL, NULL, 0);
	CHECK(PQresultStatus(r) == PGRES_COMMAND_OK, c);
	PQclear(r);
	r = PQexec(c, "select t from c_t where id = 1");
	CHECK(PQntuples(r) == 1 && strcmp(PQgetvalue(r, 0, 0), big) == 0, c);
	PQclear(r);
	free(big);
	PQfinish(c);
}

#define CLAIM(name)                                                            \
	{                                                                      \
#name, name                                                    \
	}
static const struct {
	const char *name;
	void (*fn)(void);
} claims[] = {
    CLAIM(parameters_go_in_text_and_in_binary),
    CLAIM(rows_are_changed_and_deleted_by_parameter),
    CLAIM(a_prepared_statement_is_described_and_run_again),
    CLAIM(errors_carry_position_and_constraint),
    CLAIM(notices_reach_the_receiver),
    CLAIM(a_string_of_statements_gives_a_result_each),
    CLAIM(a_pipeline_skips_from_an_error_to_its_sync),
    CLAIM(single_rows_come_one_by_one),
    CLAIM(copy_goes_in_and_comes_out),
    CLAIM(a_copy_ended_by_the_client_is_an_error),
    CLAIM(cancel_ends_a_running_statement),
    CLAIM(statement_timeout_ends_a_statement),
    CLAIM(settings_are_reported_when_they_change),
    CLAIM(large_values_come_back_whole),
};

int
main(void)
{
	unsigned n = sizeof claims / sizeof *claims, n_failed = 0;

	for (unsigned i = 0; i < n; i++) {
		claim_name = claims[i].name;
		claim_holds = true;
		claims[i].fn();
		if (claim_holds)
			printf("ok %s\n", claim_name);
		else
			n_failed++;
		fflush(stdout);
	}
	printf("%u passed, %u failed\n", n - n_failed, n_failed);
	return n_failed != 0;
}
