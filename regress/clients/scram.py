#!/usr/bin/python3
"""Passwords: a client from another address than loopback must prove itself.
It stands in a network namespace of its own; the server is a further gateway of
the cluster in SKAIDB_DIR, which also listens on that network."""
import atexit
import os
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cluster"))
from lib import Process, free_ports  # noqa: E402
from claims import Failed, check, claim, equal, main, wait_for  # noqa: E402

import psycopg2  # noqa: E402
import psycopg2.extensions  # noqa: E402

NAMESPACE = "skaidb%d" % os.getpid()
LINK = "sk%d" % os.getpid()
NET = "10.%d.%d" % (200 + os.getpid() % 50, os.getpid() // 50 % 250)
PORT = free_ports()


def sh(*argv, check_status=True):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    if check_status and p.returncode != 0:
        raise Failed("%s: %s" % (" ".join(argv), p.stdout.decode()))
    return p.returncode, p.stdout.decode().strip()


def make_network():
    atexit.register(sh, "ip", "netns", "del", NAMESPACE, check_status=False)
    sh("ip", "netns", "add", NAMESPACE)
    sh("ip", "link", "add", LINK + "a", "type", "veth", "peer", "name",
       LINK + "b", "netns", NAMESPACE)
    sh("ip", "address", "add", NET + ".1/30", "dev", LINK + "a")
    sh("ip", "link", "set", LINK + "a", "up")
    inside = ("ip", "-n", NAMESPACE)
    sh(*inside, "address", "add", NET + ".2/30", "dev", LINK + "b")
    sh(*inside, "link", "set", LINK + "b", "up")


def start_gateway():
    """As gateway 1 of the cluster, but on all addresses."""
    model = Process(os.path.join(os.environ["SKAIDB_DIR"], "gateway-1.pid"))
    argv = [a for a in model.argv if a.split("=")[0] not in
            ("--listen", "--pid-file", "--http", "--http-listen")]
    log = open(os.path.join(os.environ["SKAIDB_DIR"], "scram.log"), "wb")
    child = subprocess.Popen(argv + ["--listen=0.0.0.0:%d" % PORT],
                             stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                             start_new_session=True)
    atexit.register(child.wait)
    atexit.register(child.send_signal, signal.SIGTERM)

    def answers():
        check(child.poll() is None, "it ended:", open(log.name).read())
        try:
            psycopg2.connect(host="127.0.0.1", port=PORT, user="postgres",
                             dbname="postgres").close()
            return True
        except psycopg2.Error:
            return False
    wait_for(answers, 60, "the gateway answers on loopback without a password")


def run(sql):
    c = psycopg2.connect("")
    c.autocommit = True
    try:
        c.cursor().execute(sql)
    finally:
        c.close()


def outside(user, password, sql="select current_user, 1 + 1"):
    """psql from the other address: exit status and what it said."""
    env = "PGPASSWORD=" + password if password is not None else "X=X"
    return sh("ip", "netns", "exec", NAMESPACE, "env", "-u", "PGPASSWORD", env,
              "psql", "-X", "-A", "-t", "-w", "-v", "VERBOSITY=verbose",
              "-h", NET + ".1", "-p", str(PORT), "-U", user, "-d", "postgres",
              "-c", sql, check_status=False)


def refused(user, password, message="password authentication failed"):
    status, said = outside(user, password)
    check(status == 2 and message in said, "was let in, or:", said)


def role(name, rest):
    run("drop role if exists " + name)
    run("create role %s %s" % (name, rest))


@claim
def the_right_password_connects():
    role("ann", "login password 'se cret'")
    equal(outside("ann", "se cret"), (0, "ann|2"))


@claim
def a_wrong_password_is_refused():
    role("ann", "login password 'secret'")
    refused("ann", "Secret")


@claim
def the_refusal_is_28P01():
    role("ann", "login password 'secret'")
    code = subprocess.run(
        ["ip", "netns", "exec", NAMESPACE, "/usr/bin/python3", "-c",
         "import psycopg2, sys\n"
         "sys.path.insert(0, %r)\n"
         "import pgwire as w\n"
         "s = w.connect(%r, %d)\n"
         "s.sendall(w.startup_packet('ann', 'postgres'))\n"
         "head = s.recv(4096)\n"
         "assert head[:1] == b'R' and b'SCRAM-SHA-256' in head, head\n"
         "first = b'n,,n=,r=abcdefgh'\n"
         "s.sendall(w.message('p', w.string('SCRAM-SHA-256') +\n"
         "    len(first).to_bytes(4, 'big') + first))\n"
         "challenge = s.recv(4096)\n"
         "nonce = challenge[9:].split(b',')[0][2:]\n"
         "s.sendall(w.message('p', b'c=biws,r=' + nonce + b',p=' +\n"
         "    b'A' * 43 + b'='))\n"
         "answer = s.recv(4096)\n"
         "assert answer[:1] == b'E', answer\n"
         "print(w.fields(answer[5:])['C'])\n"
         % (os.path.join(HERE, "..", "lib"), NET + ".1", PORT)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal(code.stdout.decode().strip(), "28P01")


@claim
def a_role_without_password_cannot_come_from_outside():
    role("bob", "login")
    refused("bob", "bob")
    refused("bob", "anything")
    refused("postgres", "postgres")


@claim
def an_unknown_role_is_refused_like_a_wrong_password():
    run("drop role if exists nobody_here")
    refused("nobody_here", "secret")


@claim
def a_role_that_may_not_log_in_is_told_so():
    role("cleo", "password 'secret'")
    refused("cleo", "secret", "is not permitted to log in")
    run("alter role cleo login")
    equal(outside("cleo", "secret"), (0, "cleo|2"))


@claim
def a_changed_password_holds_at_once():
    role("ann", "login password 'old'")
    run("alter role ann password 'new'")
    refused("ann", "old")
    equal(outside("ann", "new"), (0, "ann|2"))
    run("alter role ann password null")
    refused("ann", "new")


@claim
def a_verifier_made_by_the_client_is_kept_as_it_is():
    c = psycopg2.connect("")
    verifier = psycopg2.extensions.encrypt_password(
        "secret", "ann", scope=c, algorithm="scram-sha-256")
    c.close()
    role("ann", "login password '%s'" % verifier)
    equal(outside("ann", "secret"), (0, "ann|2"))
    refused("ann", verifier)


@claim
def rows_are_read_and_written_after_a_password():
    role("ann", "login superuser password 'secret'")
    status, said = outside(
        "ann", "secret", "drop table if exists scram_t; "
        "create table scram_t (id int primary key); "
        "insert into scram_t values (1), (2); "
        "delete from scram_t where id = 1; select * from scram_t")
    equal((status, said.splitlines()[-1]), (0, "2"))


if os.getuid() != 0:
    print("a network of its own takes root: not run")
    print("0 passed, 0 failed")
    sys.exit(0)
make_network()
if os.environ.get("SKAIDB_DIR"):
    start_gateway()
else:
    PORT = int(os.environ["PGPORT"])  # a PostgreSQL set up to ask
main()
