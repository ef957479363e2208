#!/usr/bin/python3
"""What drivers do not let one send: the protocol by hand."""
import os
import socket
import struct
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "lib"))
import pgwire as w  # noqa: E402
from claims import check, claim, equal, main  # noqa: E402

INT4, INT8, TEXT = 23, 20, 25


def table(c, name, n):
    c.query("drop table if exists %s" % name)
    got = c.query("create table %s (id int primary key, t text)" % name)
    equal(w.tags(got), ["CREATE TABLE"])
    if n == 0:
        return
    values = ",".join("(%d, 'row %d')" % (i, i) for i in range(n))
    got = c.query("insert into %s values %s" % (name, values))
    equal(w.tags(got), ["INSERT 0 %d" % n])


@claim
def the_greeting_has_what_drivers_need():
    c = w.Conn(application_name="hand")
    said = dict(b.rstrip(b"\0").split(b"\0") for t, b in c.hello if t == "S")
    for name in ("server_version", "server_encoding", "client_encoding",
                 "application_name", "is_superuser", "session_authorization",
                 "DateStyle", "IntervalStyle", "TimeZone", "integer_datetimes",
                 "standard_conforming_strings", "in_hot_standby",
                 "default_transaction_read_only"):
        check(name.encode() in said, name, "was not said")
    equal(said[b"application_name"], b"hand")
    equal(said[b"integer_datetimes"], b"on")
    check(any(t == "K" and len(b) == 8 for t, b in c.hello), "no cancel key")
    equal(c.hello[-1][1], b"I")


@claim
def an_encryption_request_is_answered_n_on_the_same_socket():
    s = w.connect()
    s.sendall(w.packet(struct.pack("!i", 80877103)))
    equal(s.recv(1), b"N")
    s.sendall(w.startup_packet("postgres", "postgres"))
    equal(s.recv(1), b"R")


@claim
def a_newer_minor_protocol_is_negotiated_down():
    s = w.connect()
    body = struct.pack("!i", 196608 + 9) + w.string("user") + \
        w.string("postgres") + w.string("_pq_.novelty") + w.string("on")
    s.sendall(w.packet(body + b"\0"))
    head = s.recv(1)
    equal(head, b"v")


@claim
def several_statements_get_one_result_each_and_one_ready():
    c = w.Conn()
    got = c.query("select 1; select 'b' as x, null; ;  ")
    equal(w.types(got), "TDCTDCZ")
    equal(w.rows(got), [[b"1"], [b"b", None]])
    equal(w.tags(got), ["SELECT 1", "SELECT 1"])
    for text in ("", " ", ";", "-- nothing"):
        equal(w.types(c.query(text)), "IZ", repr(text))


@claim
def an_error_ends_the_string_and_the_session_goes_on():
    c = w.Conn()
    got = c.query("select 1; select 1/0; select 3")
    check(w.types(got) in ("TDCEZ", "TDCTEZ"), w.types(got))
    equal(w.error(got)["C"], "22012")
    equal(w.rows(c.query("select 4")), [[b"4"]])


@claim
def describe_before_bind_tells_types_of_parameters_and_columns():
    c = w.Conn()
    table(c, "hand_d", 1)
    c.send(w.parse("select id, t from hand_d where id = $1 and t < $2", "s"),
           w.describe("S", "s"), w.SYNC)
    got = c.until_ready()
    equal(w.types(got), "1tTZ")
    equal(struct.unpack("!hII", got[1][1]), (2, INT4, TEXT))
    # name, table, attnum, type, length, typmod, format
    first = got[2][1][2:].split(b"\0", 1)
    oid, attnum, kind, size, mod, fmt = struct.unpack(
        "!IhIhih", first[1][:18])
    equal((first[0], attnum, kind, size, mod, fmt), (b"id", 1, INT4, 4, -1, 0))
    check(oid >= 16384, "table oid", oid)
    c.send(w.parse("delete from hand_d where id = 77"), w.describe("S"), w.SYNC)
    equal(w.types(c.until_ready()), "1tnZ")


@claim
def row_limits_suspend_a_portal_and_resume_it():
    c = w.Conn()
    table(c, "hand_r", 10)
    c.send(w.parse("select id from hand_r order by id"),
           w.bind(portal="p"), w.execute("p", 4), w.execute("p", 4), w.FLUSH)
    first = c.until("s") + c.until("s")
    c.send(w.execute("p", 4), w.SYNC)
    got = first + c.until_ready()
    equal(w.types(got), "12" + "DDDDs" * 2 + "DDCZ")
    equal([int(r[0]) for r in w.rows(got)], list(range(10)))


@claim
def a_portal_at_its_end_has_no_more_rows_and_writes_nothing_twice():
    c = w.Conn()
    table(c, "hand_e", 2)
    c.send(w.parse("select id from hand_e"), w.bind(portal="p"),
           w.execute("p"), w.execute("p"), w.SYNC)
    got = c.until_ready()
    equal(w.types(got), "12DDCCZ")
    equal(w.tags(got), ["SELECT 2", "SELECT 0"])
    c.send(w.parse("insert into hand_e (id) values (9)"),
           w.bind(portal="p"), w.execute("p"), w.execute("p"), w.SYNC)
    got = c.until_ready()
    equal(w.tags(got), ["INSERT 0 1"])
    equal(w.error(got)["C"], "55000")


@claim
def flush_brings_answers_without_sync():
    c = w.Conn()
    c.send(w.parse("select 41 + 1"), w.bind(), w.execute(), w.FLUSH)
    equal(w.rows(c.until("C")), [[b"42"]])
    c.send(w.SYNC)
    equal(w.types(c.until_ready()), "Z")


@claim
def after_an_error_messages_are_skipped_until_sync():
    c = w.Conn()
    c.send(w.parse("select nothing_there"), w.bind(), w.execute(),
           w.parse("select 1", "kept"), w.SYNC, w.parse("select 2"), w.bind(),
           w.execute(), w.SYNC)
    first, second = c.until_ready(), c.until_ready()
    equal(w.types(first), "EZ")
    equal(w.error(first)["C"], "42703")
    equal(w.error(first)["P"], "8")
    equal(w.rows(second), [[b"2"]])
    c.send(w.bind(name="kept"), w.SYNC)
    equal(w.error(c.until_ready())["C"], "26000")


@claim
def formats_may_be_none_one_or_one_per_value():
    c = w.Conn()
    query = w.parse("select $1::int4, $2::int8, $3::text")
    four, eight = struct.pack("!i", 7), struct.pack("!q", 8)
    text, binary = [b"7", b"8", b"x"], [four, eight, b"x"]
    for formats, params, results, want in (
            ((), ["7", "8", "x"], (), text),
            ((0,), ["7", "8", "x"], (1,), binary),
            ((1, 1, 0), [four, eight, "x"], (0,), text),
            ((1,), [four, eight, "x"], (1, 0, 0), [four, b"8", b"x"])):
        c.send(query, w.bind(params, formats=formats, results=results),
               w.execute(), w.SYNC)
        got = c.until_ready()
        equal(w.rows(got), [want], "formats %r %r" % (formats, results))


@claim
def a_wrong_binary_length_is_an_error_of_the_statement():
    c = w.Conn()
    c.send(w.parse("select $1::int4"), w.bind([b"\0\0\1"], formats=(1,)),
           w.execute(), w.SYNC)
    got = c.until_ready()
    check(w.error(got)["C"] in ("22P03", "08P01"), w.error(got))
    equal(w.rows(c.query("select 1")), [[b"1"]])


@claim
def named_statements_live_until_closed():
    c = w.Conn()
    c.send(w.parse("select $1::int8 + 1", "plus"), w.SYNC)
    equal(w.types(c.until_ready()), "1Z")
    for i in range(3):
        c.send(w.bind([str(i)], name="plus"), w.execute(), w.SYNC)
        equal(w.rows(c.until_ready()), [[str(i + 1).encode()]])
    c.send(w.parse("select 2", "plus"), w.SYNC)
    equal(w.error(c.until_ready())["C"], "42P05")
    c.send(w.close("S", "plus"), w.close("S", "never"), w.SYNC)
    equal(w.types(c.until_ready()), "33Z")
    c.send(w.bind(["1"], name="plus"), w.SYNC)
    equal(w.error(c.until_ready())["C"], "26000")


@claim
def the_unnamed_statement_ends_with_a_simple_query():
    c = w.Conn()
    c.send(w.parse("select 1"), w.SYNC)
    equal(w.types(c.until_ready()), "1Z")
    for _ in range(2):
        c.send(w.bind(), w.execute(), w.SYNC)
        equal(w.types(c.until_ready()), "2DCZ")
    c.query("select 2")
    c.send(w.bind(), w.execute(), w.SYNC)
    got = c.until_ready()
    equal((w.types(got), w.error(got)["C"]), ("EZ", "26000"))


@claim
def a_simple_query_knows_no_plan_of_before():
    # The table becomes another between binding and reading, now and then.
    end = time.time() + 3

    def remake():
        c = w.Conn()
        while time.time() < end:
            for columns in "a int primary key", "b text primary key, c int":
                c.query("drop table if exists hand_again")
                c.query("create table hand_again (%s)" % columns)
        c.close()

    other = threading.Thread(target=remake)
    other.start()
    c = w.Conn()
    seen = set()
    while time.time() < end:
        got = c.query("select * from hand_again")
        seen.add(w.error(got).get("C", w.types(got)))
    other.join()
    check(seen <= {"TCZ", "42P01"}, seen)


@claim
def an_unknown_portal_is_named():
    c = w.Conn()
    c.send(w.execute("gone"), w.SYNC)
    equal(w.error(c.until_ready())["C"], "34000")


@claim
def many_statements_go_down_one_pipeline():
    c = w.Conn()
    table(c, "hand_p", 0)
    n = 500
    c.send(w.parse("insert into hand_p values ($1, $2)", "i"))
    for i in range(n):
        c.send(w.bind([str(i), "t%d" % i], name="i"), w.execute())
    c.send(w.SYNC)
    got = c.until_ready()
    equal(w.tags(got), ["INSERT 0 1"] * n)
    equal(w.rows(c.query("select count(*) from hand_p")),
          [[str(n).encode()]])


@claim
def copy_in_takes_lines_cut_anywhere():
    c = w.Conn()
    table(c, "hand_c", 0)
    c.send(w.message("Q", w.string("copy hand_c from stdin")))
    equal(c.until("GE")[-1][0], "G")
    data = b"1\tone\n2\ttwo \\t lines\n3\t\\N\n"
    for i in range(len(data)):
        c.send(w.message("d", data[i:i + 1]))
    c.send(w.message("c"))
    equal(w.tags(c.until_ready()), ["COPY 3"])
    got = c.query("copy hand_c to stdout")
    equal(b"".join(sorted(b for t, b in got if t == "d")), data)
    equal(w.types(got), "H" + "d" * 3 + "cCZ")


@claim
def a_copy_that_the_client_fails_writes_nothing():
    c = w.Conn()
    table(c, "hand_f", 0)
    c.send(w.message("Q", w.string("copy hand_f from stdin")))
    c.until("GE")
    c.send(w.message("d", b"1\tone\n"), w.message("f", w.string("no more")))
    got = c.until_ready()
    equal(w.error(got)["C"], "57014")
    check("no more" in w.error(got)["M"], w.error(got))
    equal(w.rows(c.query("select 1")), [[b"1"]])


@claim
def a_cancel_request_ends_the_statement_and_says_nothing():
    c = w.Conn()
    key = [b for t, b in c.hello if t == "K"][0]
    c.send(w.message("Q", w.string("select pg_sleep(60)")))
    while True:  # until it is running, a cancel may find nothing to cancel
        s = w.connect()
        s.sendall(w.packet(struct.pack("!i", 80877102) + key))
        equal(s.recv(1), b"")
        c.sock.settimeout(0.2)
        try:
            got = c.until_ready()
            break
        except socket.timeout:
            continue
    c.sock.settimeout(30)
    equal(w.error(got)["C"], "57014")
    equal(w.rows(c.query("select 5")), [[b"5"]])


@claim
def a_wrong_cancel_key_does_nothing():
    c = w.Conn()
    pid, secret = struct.unpack(
        "!II", [b for t, b in c.hello if t == "K"][0])
    c.send(w.message("Q", w.string("select pg_sleep(0.4), 6")))
    s = w.connect()
    s.sendall(w.packet(struct.pack("!iII", 80877102, pid, secret ^ 1)))
    equal(s.recv(1), b"")
    equal(w.rows(c.until_ready())[0][1], b"6")


@claim
def errors_name_constraint_table_and_column():
    c = w.Conn()
    table(c, "hand_e", 1)
    e = w.error(c.query("insert into hand_e values (0, 'again')"))
    equal((e["C"], e["n"], e["t"], e["s"], e["S"], e["V"]),
          ("23505", "hand_e_pkey", "hand_e", "public", "ERROR", "ERROR"))
    equal(e["D"], "Key (id)=(0) already exists.")
    e = w.error(c.query("insert into hand_e values (null, 'x')"))
    equal((e["C"], e["c"], e["t"]), ("23502", "id", "hand_e"))


@claim
def settings_that_are_reported_are_reported_again():
    c = w.Conn()
    got = c.query("set application_name = 'other'")
    check(("S", b"application_name\0other\0") in got, got)
    got = c.query("set timezone = 'Europe/Paris'")
    check(("S", b"TimeZone\0Europe/Paris\0") in got, got)


@claim
def startup_parameters_are_settings():
    c = w.Conn(options="-c statement_timeout=70s", TimeZone="Asia/Tokyo")
    equal(w.rows(c.query("show statement_timeout")), [[b"70s"]])
    equal(w.rows(c.query("show timezone")), [[b"Asia/Tokyo"]])


@claim
def an_unknown_database_or_role_is_refused_by_name():
    for user, database, code in (("postgres", "nowhere", "3D000"),
                                 ("nobody_here", "postgres", "28000")):
        s = w.connect()
        s.sendall(w.startup_packet(user, database))
        got = b""
        while True:
            piece = s.recv(4096)
            if not piece:
                break
            got += piece
        at = got.rfind(b"SFATAL\0")
        check(at >= 0, got)
        equal(w.fields(got[at:])["C"], code)


main()
