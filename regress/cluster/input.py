#!/usr/bin/python3
"""Bad input: whatever arrives, the answer is a clear error, the programs stay
alive and small, and the next client is served."""
import os
import random
import socket
import struct

from lib import Cluster
from claims import check, claim, equal, main, wait_for

import pgwire as w

cluster = None
pids = None
RNG = random.Random(20261201)


def before():
    global cluster, pids
    if cluster is None:
        cluster = Cluster(nodes=1, gateways=1, options=("--http-port", "0"))
        cluster.wait_works()
        pids = [p.pid for p in cluster.nodes + cluster.gateways]
        cluster.query("create table bad (id int primary key, t text, b bytea)")


def after():
    for p, pid in zip(cluster.nodes + cluster.gateways, pids):
        check(p.alive() and p.pid == pid, p.name, "ended")
        peak = p.status_kb("VmHWM")
        check(peak < 600 * 1024, p.name, "had", peak // 1024, "MB")
    equal(cluster.query("select 1"), [(1,)])
    equal(cluster.query("select count(*) from works"), [(64,)])


def raw():
    return w.connect("127.0.0.1", cluster.port, 20)


def conn():
    return w.Conn("127.0.0.1", cluster.port, timeout=60)


def all_of(s):
    """What the other side says until it closes."""
    got = b""
    try:
        while True:
            piece = s.recv(65536)
            if not piece:
                return got
            got += piece
    except (ConnectionResetError, BrokenPipeError):
        return got
    except socket.timeout:
        check(False, "neither closed nor answered; it said", got)


def send(s, data):
    try:
        s.sendall(data)
    except OSError:
        pass  # closed while we were talking
    return s


def ends(data, *codes):
    """Sent first thing, it ends the connection, at most with an error of one
    of these codes."""
    s = send(raw(), data)
    try:
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    got = all_of(s)
    if got:
        equal(got[:1], b"E", data[:40])
        code = w.fields(got[5:])["C"]
        check(code in codes or not codes, "said", code)
    return got


def fails(c, codes, *messages):
    """Sent in a session, they are refused with one of the codes, and the
    session goes on; returns the fields of the error."""
    send(c.sock, b"".join(messages))
    e = w.error(c.until_ready())
    check(e.get("C") in codes.split("|"), "said", e, "wanted", codes)
    equal(w.rows(c.query("select 1")), [[b"1"]])
    return e


def refused(sql, code):
    return fails(conn(), code, w.message("Q", w.string(sql)))


# ---- the first packet ----
@claim
def a_greeting_of_garbage_ends_only_that_connection():
    for _ in range(50):
        ends(RNG.randbytes(RNG.randrange(1, 300)))
    ends(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    ends(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(300))
    ends(b"\0" * 1000)
    ends(b"\xff" * 1000)


@claim
def a_greeting_of_an_impossible_length_is_refused():
    for size in (0, 1, 3, 4, 7, 10_001, 0x7fffffff, 0x80000000, 0xffffffff):
        ends(struct.pack("!II", size, w.PROTOCOL) + b"user\0postgres\0\0")


@claim
def a_greeting_cut_short_ends_quietly():
    whole = w.startup_packet("postgres", "postgres")
    for n in range(1, len(whole)):
        ends(whole[:n])


@claim
def a_greeting_without_its_end_is_a_protocol_violation():
    for body in (b"user\0postgres", b"user", b"user\0", b"\0user\0x\0\0",
                 b"database\0postgres\0\0", b"user\0postgres\0\0excess"):
        got = ends(w.packet(struct.pack("!i", w.PROTOCOL) + body))
        check(got, body, "was closed without a word")


@claim
def other_protocol_versions_are_named():
    for version in (0x20000, 0x40000, 0x10000):
        got = ends(w.packet(struct.pack("!i", version) + b"user\0x\0\0"))
        check(b"protocol" in got, got)


@claim
def a_cancel_request_of_nonsense_is_ignored():
    for body in (b"", b"\0", bytes(7), bytes(8), bytes(9), bytes(500)):
        got = ends(w.packet(struct.pack("!i", 80877102) + body))
        check(not got or got[:1] == b"E", got)


@claim
def names_that_are_not_utf8_are_refused():
    got = ends(w.packet(struct.pack("!i", w.PROTOCOL) +
                        b"user\0\xff\xfe\0database\0postgres\0\0"))
    check(got, "was closed without a word")


@claim
def hundreds_of_silent_connections_do_no_harm():
    held = [raw() for _ in range(300)]
    equal(cluster.query("select 2"), [(2,)])
    for s in held:
        s.close()


# ---- messages ----
@claim
def an_unknown_message_is_a_protocol_violation():
    for kind in "\0", "?", "z", "\x7f":
        c = conn()
        send(c.sock, w.message(kind, b"hello"))
        got = all_of(c.sock)
        check(b"C08P01\0" in got, got)


@claim
def a_message_of_an_impossible_length_ends_the_session():
    for kind in b"QPBEDCSHdcfpX":
        for size in (0, 3, 0x7fffffff, 0x80000000, 0xffffffff):
            c = conn()
            send(c.sock, bytes([kind]) + struct.pack("!I", size) + b"xxxx")
            got = all_of(c.sock)
            check(b"C08P01\0" in got or b"C54000\0" in got or not got or
                  b"C53200\0" in got, kind, size, got)


@claim
def small_messages_that_are_huge_are_refused_before_they_are_read():
    for kind in b"SHEDC":
        c = conn()
        send(c.sock, bytes([kind]) + struct.pack("!I", 100 << 20))
        got = all_of(c.sock)
        check(b"C08P01\0" in got or b"C54000\0" in got, kind, got)


@claim
def messages_cut_short_inside_are_protocol_violations():
    whole = {
        "P": w.parse("select $1::int", "s", (23,))[5:],
        "B": w.bind(["1", None], "", "", (0, 1), (1,))[5:],
        "D": b"Sname\0", "E": w.execute("p", 5)[5:], "C": b"Pname\0",
        "Q": w.string("select 1"),
    }
    for kind, body in whole.items():
        c = conn()
        for n in range(len(body)):
            cut = w.message(kind, body[:n])
            # What is left may be a whole message of another meaning.
            if kind != "Q":
                fails(c, "08P01|34000|26000|42601|42P02", cut, w.SYNC)
            else:
                c = conn()
                send(c.sock, cut)
                equal(w.error(c.until("E"))["C"], "08P01")


@claim
def counts_that_promise_more_than_there_is_are_refused():
    c = conn()
    name = w.string("")
    fails(c, "08P01", w.message("P", name + w.string("select 1") +
                                struct.pack("!H", 65535)), w.SYNC)
    fails(c, "08P01", w.message("B", name + name + struct.pack("!H", 65535)),
          w.SYNC)
    fails(c, "08P01", w.message("B", name + name + struct.pack(
        "!HHi", 0, 1, 0x7fffffff)), w.SYNC)
    fails(c, "08P01", w.message("B", name + name + struct.pack(
        "!HHi", 0, 1, -2)), w.SYNC)


@claim
def formats_that_there_are_not_are_refused():
    c = conn()
    fails(c, "22023|08P01", w.parse("select 1"), w.bind(results=(7,)),
          w.execute(), w.SYNC)
    fails(c, "08P01", w.parse("select 1"), w.bind(results=(0, 0)), w.execute(),
          w.SYNC)
    fails(c, "08P01", w.parse("select $1::int"), w.bind(["1"], formats=(0, 0)),
          w.SYNC)
    fails(c, "08P01", w.parse("select $1::int"), w.bind(), w.SYNC)


@claim
def messages_out_of_place_do_no_harm():
    c = conn()
    send(c.sock, w.message("d", b"no copy here") + w.message("c"))
    send(c.sock, w.message("f", b"nor here\0"))
    equal(w.rows(c.query("select 1")), [[b"1"]])
    c = conn()
    send(c.sock, w.message("p", b"a password, unasked\0") +
         w.SYNC)
    got = all_of_or_ready(c)
    check(b"08P01" in got, got)


def all_of_or_ready(c):
    try:
        return b"".join(t.encode() + b for t, b in c.until_ready())
    except w.Closed as e:
        return str(e).encode()


@claim
def random_messages_never_stop_the_server():
    for _ in range(150):
        c = conn()
        for _ in range(RNG.randrange(1, 8)):
            send(c.sock, w.message(RNG.choice("QPBEDCHdcfpF"),
                                   RNG.randbytes(RNG.randrange(0, 60))))
        send(c.sock, w.SYNC + w.TERMINATE)
        all_of(c.sock)


# ---- text ----
@claim
def invalid_utf8_is_refused_wherever_it_stands():
    c = conn()
    for bad in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf5\x80\x80\x80",
                b"\xe2\x82", b"ab\x80"):
        fails(c, "22021", w.message("Q", b"select '" + bad + b"'\0"))
        fails(c, "22021", w.message("Q", b"select \"" + bad + b"\"\0"))
        fails(c, "22021", w.parse("select $1::text"), w.bind([bad]),
              w.execute(), w.SYNC)
        fails(c, "22021", w.parse("select $1::text"),
              w.bind([bad], formats=(1,)), w.execute(), w.SYNC)
    c.send(w.message("Q", w.string("copy bad (id, t) from stdin")))
    c.until("GE")
    fails(c, "22021", w.message("d", b"1\t\xff\xfe\n"), w.message("c"))
    equal(cluster.query("select count(*) from bad"), [(0,)])


@claim
def nul_bytes_are_refused_wherever_they_stand():
    c = conn()
    send(c.sock, w.message("Q", b"select 1\0 and more\0"))
    got = c.until("EC")
    equal(w.error(got)["C"], "08P01")
    c = conn()
    fails(c, "22021", w.parse("select $1::text"), w.bind([b"a\0b"]),
          w.execute(), w.SYNC)
    fails(c, "22021", w.parse("select $1::text"),
          w.bind([b"a\0b"], formats=(1,)), w.execute(), w.SYNC)
    fails(c, "22021|22P05", w.message("Q", w.string(r"select e'a\000b'")))
    fails(c, "54000|22P05|22021", w.message("Q", w.string("select chr(0)")))
    fails(c, "22P05", w.message("Q", w.string(
        r"""select '"a\u0000b"'::jsonb""")))
    c.send(w.message("Q", w.string("copy bad (id, t) from stdin")))
    c.until("GE")
    fails(c, "22021|22P04", w.message("d", b"1\ta\0b\n"), w.message("c"))


# ---- size ----
@claim
def a_megabyte_of_sql_works_or_is_refused_by_name():
    c = conn()
    text = "x" * 1_000_000
    equal(w.rows(c.query("select '%s'" % text)), [[text.encode()]])
    got = c.query("select 1" + " " * 1_000_000)
    equal(w.rows(got), [[b"1"]])
    got = c.query("select 1 -- " + text)
    equal(w.rows(got), [[b"1"]])
    values = ",".join("(%d)" % i for i in range(100_000))
    got = c.query("select count(*), max(x) from (values %s) as t (x)" % values)
    equal(w.rows(got), [[b"100000", b"99999"]])
    e = refused("select " + ",".join(["1"] * 500_000), "54011")
    check("1664" in e["M"] + e.get("D", ""), e)
    refused("select * from " + "a" * 1_000_000, "42P01|42622|54000")
    refused("select '" + text, "42601")
    refused("select /* " + text, "42601")
    refused("(" * 1_000_000, "42601|54001|54000")
    refused("select 1;" * 111_000 + "bogus", "42601|54000")


@claim
def more_sql_than_the_limit_is_refused_by_name():
    c = conn()
    send(c.sock, w.message("Q", w.string("select '" + "x" * (17 << 20) + "'")))
    got = all_of_or_ready(c)
    check(b"54000" in got, got[:300])


@claim
def ten_thousand_parameters_work():
    c = conn()
    n = 10_000
    cluster.query("drop table if exists params")
    cluster.query("create table params (id int primary key)")
    c.send(w.parse("insert into params values " +
                   ",".join("($%d)" % (i + 1) for i in range(n))),
           w.bind([str(i) for i in range(n)]), w.execute(), w.SYNC)
    got = c.until_ready()
    equal(w.tags(got), ["INSERT 0 %d" % n])
    c.send(w.parse("select count(*) from params where id in (%s)" %
                   ",".join("$%d" % (i + 1) for i in range(n))),
           w.bind([str(2 * i) for i in range(n)]), w.execute(), w.SYNC)
    equal(w.rows(c.until_ready()), [[b"5000"]])
    fails(c, "42P02|54000|54023", w.parse("select $65536::int"),
          w.describe("S"), w.SYNC)
    fails(c, "42P02", w.parse("select $0::int"), w.describe("S"), w.SYNC)
    fails(c, "42P02|42601|54000|22003|54023",
          w.parse("select $99999999999::int"), w.describe("S"), w.SYNC)


@claim
def an_expression_of_depth_ten_thousand_is_refused_or_works():
    c = conn()
    n = 10_000
    deep = {
        "(" * n + "1" + ")" * n: b"1",
        "- " * n + "1": b"1",
        "not " * n + "true": b"t",
        "1" + "+1" * n: str(n + 1).encode(),
        "true" + " and true" * n: b"t",
        "false" + " or false" * n: b"f",
        "''" + " || ''" * n: b"",
        "abs(" * n + "1" + ")" * n: b"1",
        "case when true then " * n + "1" + " end" * n: b"1",
        "coalesce(" * n + "1" + ")" * n: b"1",
        "(select " * n + "1" + ")" * n: b"1",
        "1" + "::int" * n: b"1",
        "(1 = 1) = (" * n + "true" + ")" * n: b"t",
        "1 in (" + ",".join(map(str, range(n))) + ")": b"t",
        "array[" * n + "1" + "]" * n: b"",
    }
    for text, want in deep.items():
        got = c.query("select " + text)
        e = w.error(got)
        if e:
            check(e["C"] in ("54001", "54000", "0A000", "42601"), text[:40], e)
        else:
            equal(w.rows(got), [[want]], text[:40])
    for text in ("select 1 from " + "(select 1 from " * n + "bad" +
                 ") as x" * n,
                 "select 1 where " + "exists (select 1 where " * n + "true" +
                 ")" * n,
                 "select 1" + " union select 1" * n,
                 "with a as (" * n + "select 1" + ") select 1" * n,
                 "create table deep (id int primary key default " +
                 "(" * n + "1" + ")" * n + ")"):
        got = c.query(text)
        e = w.error(got)
        check(not e or e["C"] in ("54001", "54000", "0A000", "42601"),
              text[:40], e)
    equal(w.rows(c.query("select 1")), [[b"1"]])


@claim
def deep_and_long_json_is_refused_or_kept():
    c = conn()
    for text, kind in (("[" * 100_000 + "]" * 100_000, "json"),
                       ("[" * 100_000, "jsonb"),
                       ('{"a":' * 50_000 + "1" + "}" * 50_000, "jsonb")):
        got = c.query("select '%s'::%s is null" % (text, kind))
        e = w.error(got)
        check(not e or e["C"] in ("54001", "22P02", "54000"), e)


@claim
def a_value_above_the_limit_names_column_and_limit():
    c = conn()
    got = c.query("insert into bad values (1, repeat('x', %d))" % (9 << 20))
    e = w.error(got)
    equal(e.get("C"), "54000", e)
    check("\"t\"" in e["M"] + e.get("D", "") or "t" in e.get("c", ""), e)
    got = c.query("select repeat('x', 2000000000)")
    check(w.error(got)["C"] in ("54000", "53200"), w.error(got))
    got = c.query("select length(repeat(repeat('x', 1000000), 1000000))")
    check(w.error(got)["C"] in ("54000", "53200"), w.error(got))


@claim
def a_key_above_the_limit_is_refused_by_name():
    c = conn()
    c.query("create table longkey (k text primary key)")
    equal(w.error(c.query("insert into longkey values (repeat('k', 100))")), {})
    e = w.error(c.query("insert into longkey values (repeat('k', 100000))"))
    equal(e.get("C"), "54000", e)
    c.query("drop table longkey")


@claim
def numbers_beyond_every_range_are_refused():
    for sql, code in (("select 9223372036854775807::bigint + 1", "22003"),
                      ("select 99999999999::int", "22003"),
                      ("select 1e400::float8", "22003"),
                      ("select 10::numeric ^ 200000", "22003"),
                      ("select '1e1000000000'::numeric", "22003"),
                      ("select 'infinity'::date + 1.5", "42883"),
                      ("select '294277-01-01'::timestamp", "22008"),
                      ("select (-9223372036854775808)::bigint / -1", "22003"),
                      ("select '%s'::numeric" % ("9" * 200_000), "22003"),
                      ("select lpad('x', 2000000000)", "54000|53200")):
        refused(sql, code)


# ---- the node's port ----
def node():
    return w.connect("127.0.0.1", cluster.nodes[0].port(), 20)


def node_ends(data):
    s = send(node(), data)
    try:
        s.shutdown(socket.SHUT_WR)
    except OSError:
        pass
    all_of(s)


@claim
def garbage_at_the_nodes_port_ends_only_that_connection():
    for _ in range(50):
        node_ends(RNG.randbytes(RNG.randrange(1, 500)))
    node_ends(b"GET / HTTP/1.1\r\n\r\n")
    node_ends(w.startup_packet("postgres", "postgres"))
    node_ends(b"\0" * 4096)
    node_ends(b"\xff" * 4096)


FORMAT = 2  # of frames between programs


def frame(size=None, kind=1, fmt=FORMAT, flags=0, body=b""):
    """As cluster/msg.h has it, but with a checksum of zeros."""
    whole = struct.pack("<HBBQQQQ", kind, fmt, flags, 1, 0, 0, 0) + body
    return struct.pack("<I", len(whole) + 12 if size is None else size) + \
        whole + bytes(8)


@claim
def frames_of_impossible_length_are_refused():
    for size in (0, 1, 8, 47, 48, (4 << 20) + 1, 0x7fffffff, 0xffffffff):
        node_ends(frame(size))


@claim
def a_frame_of_another_format_is_refused():
    log = cluster.nodes[0].log
    since = os.path.getsize(log)
    node_ends(frame(fmt=FORMAT + 1))

    def told():
        with open(log) as f:
            f.seek(since)
            return "format" in f.read()
    wait_for(told, 10, "the log names the format")


@claim
def frames_with_a_wrong_checksum_are_refused():
    for kind in range(64):
        node_ends(frame(kind=kind, body=RNG.randbytes(kind)))


@claim
def silent_connections_to_the_node_do_no_harm():
    held = [node() for _ in range(200)]
    equal(cluster.query("select 2"), [(2,)])
    for s in held:
        s.close()


try:
    main(before, after)
finally:
    if cluster:
        cluster.__exit__(None)
