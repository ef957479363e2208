#!/usr/bin/python3
"""BEGIN ATOMIC over the protocol, which no driver knows: what is answered, in
which state, and that the extended protocol has it like simple queries."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
import pgwire as w  # noqa: E402
from claims import check, claim, equal, main  # noqa: E402

BEGIN = "begin atomic partition (tenant = 't')"


def fresh(name, rows=0):
    """A table, and a connection with an open transaction over it."""
    c = w.Conn()
    c.query("drop table if exists %s" % name)
    got = c.query("create table %s (tenant text, id int, v text, "
                  "primary key (tenant, id)) with (distribute_by = (tenant))"
                  % name)
    equal(w.error(got), {})
    if rows:
        c.query("insert into %s select 't', g, 'base' from "
                "generate_series(1, %d) g" % (name, rows))
    equal(state(c.query(BEGIN)), b"T")
    return c


def state(messages):
    equal(messages[-1][0], "Z")
    return messages[-1][1]


def insert(name, row):
    return "insert into %s values ('t', %d, 'new')" % (name, row)


def once(text, params=()):
    return w.parse(text) + w.bind(params) + w.execute()


def count(name):
    got = w.Conn().query("select count(*) from %s" % name)
    return int(w.rows(got)[0][0])


@claim
def tags_and_states_are_those_of_a_transaction():
    c = fresh("atom_a")
    got = c.query(insert("atom_a", 1))
    equal((w.tags(got), state(got)), (["INSERT 0 1"], b"T"))
    got = c.query("savepoint s")
    equal((w.tags(got), state(got)), (["SAVEPOINT"], b"T"))
    got = c.query("commit")
    equal((w.tags(got), state(got)), (["COMMIT"], b"I"))
    equal(count("atom_a"), 1)


@claim
def an_error_leaves_it_open_in_either_protocol():
    c = fresh("atom_b", 1)
    got = c.query(insert("atom_b", 1))
    equal((w.error(got)["C"], state(got)), ("23505", b"T"))
    got = c.query("selec")
    equal((w.error(got)["C"], state(got)), ("42601", b"T"))
    for text in (insert("atom_b", 1), "select nope", "selec"):
        c.send(once(text), w.SYNC)
        got = c.until_ready()
        check(w.error(got), text)
        equal(state(got), b"T")
    got = c.query(insert("atom_b", 2) + "; commit")
    equal((w.tags(got), state(got)), (["INSERT 0 1", "COMMIT"], b"I"))
    equal(count("atom_b"), 2)


@claim
def a_pipeline_stops_at_an_error_and_keeps_what_came_before():
    c = fresh("atom_c")
    c.send(once(insert("atom_c", 1)), once(insert("atom_c", 1)),
           once(insert("atom_c", 2)), w.SYNC,
           once(insert("atom_c", 3)), w.SYNC)
    got = c.until_ready()
    equal((w.tags(got), w.error(got)["C"]), (["INSERT 0 1"], "23505"))
    equal(state(got), b"T")
    equal(w.tags(c.until_ready()), ["INSERT 0 1"])
    c.send(once("select id from atom_c where tenant = $1 order by id", "t"),
           once("commit"), w.SYNC)
    got = c.until_ready()
    equal(w.rows(got), [[b"1"], [b"3"]])
    equal(state(got), b"I")
    equal(count("atom_c"), 2)


@claim
def a_whole_transaction_fits_one_pipeline():
    c = fresh("atom_d")
    c.query("rollback")
    c.send(once(BEGIN), once(insert("atom_d", 1)), once(insert("atom_d", 2)),
           once("commit"), w.SYNC)
    got = c.until_ready()
    equal(w.tags(got), ["BEGIN", "INSERT 0 1", "INSERT 0 1", "COMMIT"])
    equal(state(got), b"I")
    equal(count("atom_d"), 2)


@claim
def a_portal_shows_what_there_was_when_it_was_opened():
    c = fresh("atom_e", 4)
    c.query("update atom_e set v = 'mine' where tenant = 't' and id = 2")
    c.send(w.parse("select id, v from atom_e where tenant = 't' order by id"),
           w.bind(portal="p"), w.execute("p", 1), w.FLUSH)
    equal(w.rows(c.until("s")), [[b"1", b"base"]])
    c.send(once("delete from atom_e where tenant = 't' and id = 3"),
           once("update atom_e set v = 'later' where tenant = 't'"),
           w.execute("p"), w.SYNC)
    got = c.until_ready()
    equal(w.tags(got)[:2], ["DELETE 1", "UPDATE 3"])
    equal(w.rows(got), [[b"2", b"mine"], [b"3", b"base"], [b"4", b"base"]])
    got = c.query("select count(*) from atom_e where tenant = 't' and "
                  "v = 'later'")
    equal(w.rows(got), [[b"3"]])


@claim
def rows_of_returning_may_be_fetched_in_parts():
    c = fresh("atom_f")
    c.send(w.parse("insert into atom_f select 't', g, 'x' from "
                   "generate_series(1, 3) g returning id"),
           w.bind(portal="p"), w.execute("p", 2), w.execute("p", 2), w.SYNC)
    got = c.until_ready()
    equal(w.rows(got), [[b"1"], [b"2"], [b"3"]])
    equal((w.tags(got), state(got)), (["INSERT 0 3"], b"T"))
    c.query("commit")
    equal(count("atom_f"), 3)


@claim
def a_commit_that_fails_ends_it():
    c = fresh("atom_g")
    c.query(insert("atom_g", 1))
    c.query(insert("atom_g", 2))
    w.Conn().query(insert("atom_g", 2))
    c.send(once("commit"), w.SYNC)
    got = c.until_ready()
    equal(w.error(got)["C"], "23505")
    equal(w.error(got)["n"], "atom_g_pkey")
    equal(state(got), b"I")
    equal(count("atom_g"), 1)
    got = c.query("commit")
    check(("N" in w.types(got)) and state(got) == b"I", got)


@claim
def a_lost_connection_leaves_nothing():
    c = fresh("atom_h")
    c.query(insert("atom_h", 1))
    c.close()
    equal(count("atom_h"), 0)


@claim
def a_held_cursor_outlives_commit_and_not_rollback():
    c = fresh("atom_i", 2)
    c.query(insert("atom_i", 3))
    c.query("declare h cursor with hold for select id from atom_i "
            "where tenant = 't' order by id")
    equal(w.rows(c.query("fetch 1 from h")), [[b"1"]])
    c.query("commit")
    c.query(BEGIN)
    equal(w.rows(c.query("fetch 1 from h")), [[b"2"]])
    c.query("declare g cursor with hold for select id from atom_i "
            "where tenant = 't'")
    c.query("rollback")
    equal(w.rows(c.query("fetch 5 from h")), [[b"3"]])
    equal(w.error(c.query("fetch 1 from g"))["C"], "34000")


main()
