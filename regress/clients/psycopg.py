#!/usr/bin/python3
"""psycopg2, as Django and SQLAlchemy use it."""
import datetime
import decimal
import io
import os
import sys
import threading
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
from claims import check, claim, equal, main, wait_for  # noqa: E402

import psycopg2  # noqa: E402
import psycopg2.extras  # noqa: E402
from psycopg2 import errors  # noqa: E402


def session(**more):
    c = psycopg2.connect("", **more)
    c.autocommit = True
    return c, c.cursor()


def fresh(cur, columns, name="py_t"):
    cur.execute("drop table if exists " + name)
    cur.execute("create table %s (%s)" % (name, columns))


@claim
def rows_are_created_read_changed_and_deleted():
    c, cur = session()
    fresh(cur, "id int primary key, t text, n numeric(10,2)")
    cur.execute("insert into py_t values (%s, %s, %s) returning id, n",
                (1, "it's \\ \u00fc", decimal.Decimal("1.5")))
    equal(cur.fetchone(), (1, decimal.Decimal("1.50")))
    psycopg2.extras.execute_values(
        cur, "insert into py_t values %s", [(i, "v", i) for i in range(2, 40)])
    cur.execute("select t from py_t where id = %s", (1,))
    equal(cur.fetchone()[0], "it's \\ \u00fc")
    cur.execute("update py_t set t = %s where id in %s", ("w", (2, 3)))
    equal((cur.rowcount, cur.statusmessage), (2, "UPDATE 2"))
    cur.execute("delete from py_t where id > %s", (10,))
    equal((cur.rowcount, cur.statusmessage), (29, "DELETE 29"))
    cur.execute("select count(*), sum(n) from py_t")
    equal(cur.fetchone(), (10, decimal.Decimal("55.50")))


@claim
def values_of_every_type_come_back_as_they_went():
    c, cur = session()
    psycopg2.extras.register_uuid()
    fresh(cur, "id int primary key, b bool, i2 smallint, i8 bigint, "
          "f4 real, f8 float8, n numeric, t text, v varchar(9), by bytea, "
          "u uuid, d date, ti time, ts timestamp, tz timestamptz, "
          "iv interval, j json, jb jsonb")
    utc = datetime.timezone.utc
    row = (1, True, -3, 2**62, 0.5, 1e-300, decimal.Decimal("12.340"),
           "text", "nine char", b"\0\xff\\x", uuid.UUID(int=77),
           datetime.date(2024, 2, 29), datetime.time(23, 59, 59, 123456),
           datetime.datetime(1969, 12, 31, 1, 2, 3, 4),
           datetime.datetime(2024, 1, 2, 3, 4, 5, 6, tzinfo=utc),
           datetime.timedelta(days=40, seconds=5),
           psycopg2.extras.Json({"a": [1, None]}),
           psycopg2.extras.Json({"b": "x"}))
    cur.execute("insert into py_t values (%s)" % ",".join(["%s"] * 18), row)
    cur.execute("select * from py_t")
    got = list(cur.fetchone())
    got[9] = bytes(got[9])
    want = list(row)
    want[16], want[17] = {"a": [1, None]}, {"b": "x"}
    for d, g, x in zip(cur.description, got, want):
        equal(g, x, d.name)
    equal([d.type_code for d in cur.description],
          [23, 16, 21, 20, 700, 701, 1700, 25, 1043, 17, 2950, 1082, 1083,
           1114, 1184, 1186, 114, 3802])
    cur.execute("insert into py_t (id) values (2)")
    cur.execute("select * from py_t where id = 2")
    equal(cur.fetchone()[1:], (None,) * 17)


@claim
def the_connection_says_what_it_is():
    c, cur = session(application_name="claims")
    check(c.server_version >= 150000, c.server_version)
    equal(c.encoding, "UTF8")
    cur.execute("show application_name")
    equal(cur.fetchone(), ("claims",))


@claim
def errors_have_their_class_and_their_fields():
    c, cur = session()
    fresh(cur, "id int primary key, t text not null")
    cur.execute("insert into py_t values (1, 'a')")
    for statement, kind in (
            ("insert into py_t values (1, 'b')", errors.UniqueViolation),
            ("insert into py_t values (2, null)", errors.NotNullViolation),
            ("select 1/0", errors.DivisionByZero),
            ("select nope from py_t", errors.UndefinedColumn),
            ("select * from nowhere", errors.UndefinedTable),
            ("selekt 1", errors.SyntaxError),
            ("select 'x'::int", errors.InvalidTextRepresentation)):
        try:
            cur.execute(statement)
        except kind as e:
            if kind is errors.UniqueViolation:
                equal(e.diag.constraint_name, "py_t_pkey")
                equal(e.diag.table_name, "py_t")
        else:
            check(False, statement, "was not refused")
    cur.execute("select 1")


@claim
def copy_goes_both_ways():
    c, cur = session()
    fresh(cur, "id int primary key, t text")
    cur.copy_expert("copy py_t from stdin with (format csv)",
                    io.StringIO('1,a\n2,"b,""c"\n3,\n'))
    cur.copy_from(io.StringIO("4\td\\te\n5\t\\N\n"), "py_t")
    out = io.StringIO()
    cur.copy_expert("copy py_t to stdout with (format csv, header)", out)
    lines = out.getvalue().splitlines()
    equal(lines[0], "id,t")
    equal(sorted(lines[1:]), ["1,a", '2,"b,""c"', "3,", "4,d\te", "5,"])
    out = io.StringIO()
    cur.copy_to(out, "py_t")
    equal(sorted(out.getvalue().splitlines()),
          ["1\ta", '2\tb,"c', "3\t\\N", "4\td\\te", "5\t\\N"])


@claim
def a_statement_can_be_cancelled_from_another_thread():
    c, cur = session()
    done = threading.Event()
    seen = []

    def sleep():
        try:
            cur.execute("select pg_sleep(60)")
        except psycopg2.Error as e:
            seen.append(type(e))
        done.set()

    t = threading.Thread(target=sleep)
    t.start()
    wait_for(lambda: c.cancel() or done.wait(0.1), 20, "a cancel that hits")
    t.join()
    equal(seen, [errors.QueryCanceled])
    cur.execute("select 1")


@claim
def statement_timeout_ends_a_statement():
    c, cur = session(options="-c statement_timeout=100")
    try:
        cur.execute("select pg_sleep(60)")
    except errors.QueryCanceled as e:
        equal(e.pgcode, "57014")
    else:
        check(False, "not ended")
    cur.execute("select 1")


@claim
def a_transaction_block_that_commits_keeps_its_rows():
    c = psycopg2.connect("")
    cur = c.cursor()
    fresh(cur, "id int primary key")
    c.commit()
    cur.execute("insert into py_t values (1)")
    cur.execute("insert into py_t values (2)")
    c.commit()
    cur.execute("select count(*) from py_t")
    equal(cur.fetchone(), (2,))
    c.commit()


@claim
def an_asynchronous_connection_works():
    c = psycopg2.connect("", async_=1)
    psycopg2.extras.wait_select(c)
    cur = c.cursor()
    cur.execute("select 5")
    psycopg2.extras.wait_select(c)
    equal(cur.fetchone(), (5,))


@claim
def twenty_connections_write_at_once():
    c, cur = session()
    fresh(cur, "id int primary key, w int")
    failed = []

    def write(k):
        try:
            mine, cur = session()
            for i in range(20):
                cur.execute("insert into py_t values (%s, %s)",
                            (k * 100 + i, k))
            mine.close()
        except Exception as e:
            failed.append(e)

    threads = [threading.Thread(target=write, args=(k,)) for k in range(20)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    equal(failed, [])
    cur.execute("select w, count(*) from py_t group by w order by w")
    equal(cur.fetchall(), [(k, 20) for k in range(20)])


main()
