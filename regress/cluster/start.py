#!/usr/bin/python3
"""contrib/start, the command that everybody meets first."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from lib import START, free_ports
from claims import check, claim, equal, main, wait_for

import psycopg2

place = port = None


def before():
    global place, port
    place = tempfile.mkdtemp(prefix="skaidb-start.")
    port = free_ports()


def after():
    start("--stop")
    shutil.rmtree(place, ignore_errors=True)


def start(*options):
    """Exit status and what it said."""
    p = subprocess.run([START, "--no-build", "--dir", place, *options],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, timeout=120)
    return p.returncode, p.stdout.decode()


def up(*options):
    status, said = start("--detach", "--port", str(port), *options)
    equal(status, 0, said)
    check("psql -h 127.0.0.1 -p %d" % port in said, said)
    return said


def query(sql, at=0, user="postgres"):
    c = psycopg2.connect(host="127.0.0.1", port=port + at, user=user,
                         dbname=user, connect_timeout=10)
    c.autocommit = True
    cur = c.cursor()
    cur.execute(sql)
    got = cur.fetchall() if cur.description else None
    c.close()
    return got


def keeps_data(*shape):
    up(*shape)
    query("create table kept (id int primary key)")
    query("insert into kept values (1), (2), (3)")
    equal(start("--stop")[0], 0)
    check(not [n for n in os.listdir(place) if n.endswith(".pid")],
          "pid files are left")
    up(*shape)
    equal(query("select count(*) from kept"), [(3,)])


@claim
def the_embedded_default_finds_its_data_again():
    keeps_data()
    equal(sorted(n for n in os.listdir(place) if n.endswith(".pid")),
          ["gateway-1.pid"])


@claim
def a_cluster_finds_its_data_again():
    keeps_data("--nodes", "3", "--gateways", "2")
    equal(query("select count(*) from kept", at=1), [(3,)])
    equal(sorted(n for n in os.listdir(place) if n.endswith(".pid")),
          ["gateway-1.pid", "gateway-2.pid", "node-1.pid", "node-2.pid",
           "node-3.pid"])


@claim
def nodes_have_the_names_they_were_promised():
    up("--nodes", "2")
    got = str(query("show cluster"))
    for name in ("skai1", "skai2"):
        check(name in got, name, "is not in", got)


@claim
def the_invoking_user_has_a_role_and_a_database():
    me = subprocess.check_output(["id", "-un"]).decode().strip()
    up()
    equal(query("select current_user, current_database()", user=me),
          [(me, me)])


@claim
def a_taken_port_is_named():
    with socket.socket() as s:
        # Connections of the claims before may still be on their way out.
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("127.0.0.1", port))
        s.listen()
        status, said = start("--detach", "--port", str(port))
        check(status != 0 and "port %d is taken" % port in said, said)
        status, said = start("--detach", "--port", str(port - 1), "--nodes",
                             "1", "--gateways", "2")
        check(status != 0 and "port %d is taken" % port in said, said)
    check(not os.path.exists(os.path.join(place, "shape")),
          "a start that came to nothing left its shape")
    up("--reset")


@claim
def the_port_is_remembered():
    up("--nodes", "1")
    start("--stop")
    status, said = start("--detach", "--nodes", "1")
    check(status == 0 and "-p %d" % port in said, said)


@claim
def a_second_start_in_one_directory_is_refused():
    up()
    status, said = start("--detach", "--port", str(port + 5))
    check(status != 0 and "already running" in said, said)
    status, said = start("--detach", "--http-port", str(port + 5))
    check(status != 0 and "not applied: --http-port" in said, said)
    equal(query("select 1"), [(1,)])


@claim
def a_first_node_that_lost_its_data_forms_no_other_cluster():
    up("--nodes", "2")
    start("--stop")
    shutil.rmtree(os.path.join(place, "data-1"))
    status, said = start("--detach", "--nodes", "2")
    check(status != 0 and "data-1, is gone" in said, said)


@claim
def stopping_what_is_not_there_says_so():
    status, said = start("--stop", "--dir", os.path.join(place, "nothing"))
    check(status == 0 and "nothing runs" in said, said)


@claim
def another_shape_for_the_same_data_is_refused():
    up()
    start("--stop")
    status, said = start("--detach", "--port", str(port), "--nodes", "3")
    check(status != 0 and "--nodes 0" in said, said)


@claim
def reset_forgets():
    up()
    query("create table kept (id int primary key)")
    start("--stop")
    up("--reset")
    try:
        query("select * from kept")
        check(False, "the table is still there")
    except psycopg2.errors.UndefinedTable:
        pass


@claim
def wrong_options_are_named():
    for options in (["--nodes", "many"], ["--port"], ["--bogus"],
                    ["--replication", "3"], ["--gateways", "0"]):
        status, said = start("--detach", *options)
        check(status != 0 and options[0] in said, options, said)


@claim
def interrupting_it_stops_everything():
    p = subprocess.Popen([START, "--no-build", "--dir", place, "--port",
                          str(port), "--nodes", "2"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         start_new_session=True)

    def answers():
        try:
            return query("select 1") == [(1,)]
        except psycopg2.Error:
            check(p.poll() is None, "it ended")
            return False
    wait_for(answers, 60, "it answers")
    # It says so only after it answers.
    pids = [int(open(os.path.join(place, n)).read())
            for n in os.listdir(place) if n.endswith(".pid")]
    os.killpg(p.pid, signal.SIGINT)
    wait_for(lambda: p.poll() is not None, 60, "it ends")

    def gone(pid):
        try:
            with open("/proc/%d/stat" % pid) as f:
                return ") Z " in f.read()
        except OSError:
            return True
    wait_for(lambda: all(gone(pid) for pid in pids), 10, "its programs end")


main(before, after)
