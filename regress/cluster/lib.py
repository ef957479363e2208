"""Clusters of real processes, started by contrib/start, whose programs tests
kill, pause and start again with the same command line; and a workload that
remembers what was acknowledged."""
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what we started
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(TOP, "regress", "lib"))
from claims import Failed, check, equal, wait_for  # noqa: E402

import psycopg2  # noqa: E402

START = os.path.join(TOP, "contrib", "start")


def free_ports(n=40):
    """The first of n ports in a row that nobody listens on."""
    while True:
        base = random.randrange(20000, 31000, n)
        try:
            for p in range(base, base + n):
                with socket.socket() as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    s.bind(("127.0.0.1", p))
            return base
        except OSError:
            pass


class Process:
    """A program that runs, or ran, under a pid file."""

    def __init__(self, pid_file):
        self.pid_file = pid_file
        self.name = os.path.basename(pid_file)[:-4]
        self.log = pid_file[:-4] + ".log"
        self.child = None
        self.pid = int(open(pid_file).read())
        with open("/proc/%d/cmdline" % self.pid, "rb") as f:
            self.argv = [a.decode() for a in f.read().split(b"\0")[:-1]]
        check(os.path.basename(self.argv[0]).startswith("skaidb"),
              self.argv[0], "is not ours")
        # A cluster is formed once.
        self.argv = [a for a in self.argv if a != "--init"]

    def alive(self):
        if self.child:
            return self.child.poll() is None
        try:
            with open("/proc/%d/stat" % self.pid) as f:
                return f.read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False

    def signal(self, sig):
        check(self.alive(), self.name, "is not running")
        os.kill(self.pid, sig)

    def wait_end(self, seconds=30):
        wait_for(lambda: not self.alive(), seconds, self.name + " ends")

    def kill(self):
        self.signal(signal.SIGKILL)
        self.wait_end()

    def terminate(self, seconds=30):
        self.signal(signal.SIGTERM)
        self.wait_end(seconds)

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def start(self, *more):
        """The same command line again (and more); does not wait."""
        check(not self.alive(), self.name, "is running")
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                self.argv + list(more), stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, start_new_session=True)
        self.pid = self.child.pid
        with open(self.pid_file, "w") as f:
            f.write("%d\n" % self.pid)

    def run(self, *more, replace=None, seconds=30):
        """Runs the command line, with options replaced by name, until it
        ends: exit status and what it said."""
        argv = [a for a in self.argv
                if a.split("=")[0] not in (replace or {})]
        argv += ["%s=%s" % kv for kv in (replace or {}).items()] + list(more)
        try:
            p = subprocess.run(argv, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=seconds)
        except subprocess.TimeoutExpired as e:
            raise Failed("%s did not end: %s" % (argv, e.stdout))
        return p.returncode, p.stdout.decode(errors="replace")

    def option(self, name):
        for a in self.argv:
            if a.startswith("--%s=" % name):
                return a.split("=", 1)[1]
        raise Failed("%s has no --%s" % (self.argv, name))

    def port(self):
        return int(self.option("listen").rsplit(":", 1)[1])

    def listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port()), 1).close()
            return True
        except OSError:
            return False

    def status_kb(self, field):
        """VmHWM, VmRSS, ... of /proc/PID/status."""
        with open("/proc/%d/status" % self.pid) as f:
            for line in f:
                if line.startswith(field + ":"):
                    return int(line.split()[1])
        raise Failed("no %s of %s" % (field, self.name))

    def reset_peak(self):
        """Makes VmHWM start anew from what is resident now."""
        with open("/proc/%d/clear_refs" % self.pid, "w") as f:
            f.write("5")


class Cluster:
    def __init__(self, nodes=3, gateways=2, dir=None, options=()):
        self.own_dir = dir is None
        self.dir = dir or tempfile.mkdtemp(prefix="skaidb-cluster.")
        self.port = free_ports()
        self.nodes, self.gateways = [], []
        self.shape = (nodes, gateways)
        self.options = options
        try:
            self.start()
        except Exception as e:
            self.__exit__(type(e))
            raise

    def command(self, *more):
        return subprocess.run([START, "--no-build", "--dir", self.dir] +
                              list(more), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=180)

    def start(self):
        nodes, gateways = self.shape
        p = self.command("--detach", "--port", str(self.port), "--nodes",
                         str(nodes), "--gateways", str(gateways),
                         *self.options)
        if p.returncode != 0:
            raise Failed("contrib/start: " + p.stdout.decode())
        self.nodes = [self._process("node", i) for i in range(1, nodes + 1)]
        self.gateways = [self._process("gateway", i)
                         for i in range(1, gateways + 1)]

    def _process(self, kind, i):
        return Process(os.path.join(self.dir, "%s-%d.pid" % (kind, i)))

    def stop(self):
        self.command("--stop")

    def __enter__(self):
        return self

    def __exit__(self, kind, *rest):
        for p in self.nodes + self.gateways:
            if p.alive():
                os.kill(p.pid, signal.SIGCONT)
        self.stop()
        if kind is not None:
            self.show_logs()
        if self.own_dir and "KEEP" not in os.environ:
            shutil.rmtree(self.dir, ignore_errors=True)

    def revive(self):
        """Starts what is down again, which is nothing after a good claim."""
        down = [p for p in self.nodes + self.gateways if not p.alive()]
        if down:
            self.show_logs()
        for p in down:
            p.start()
        check(not down, "ended by themselves or were left so:",
              [p.name for p in down])

    def show_logs(self):
        for name in sorted(os.listdir(self.dir)):
            if name.endswith(".log"):
                with open(os.path.join(self.dir, name), "rb") as f:
                    lines = f.read().decode(errors="replace").splitlines()
                print("-- %s" % name)
                print("\n".join(lines[-15:]))

    def connect(self, gateway=0, **more):
        c = psycopg2.connect(
            host="127.0.0.1", port=self.port + gateway, user="postgres",
            dbname="postgres", connect_timeout=10, **more)
        c.autocommit = True
        return c

    def query(self, sql, args=None, gateway=0, **more):
        c = self.connect(gateway, **more)
        try:
            cur = c.cursor()
            cur.execute(sql, args)
            return cur.fetchall() if cur.description else cur.rowcount
        finally:
            c.close()

    def works(self, gateway=0):
        """Whether every slot can be read and written, through a gateway."""
        try:
            c = self.connect(gateway, options="-c statement_timeout=5s")
        except psycopg2.Error:
            return False
        try:
            cur = c.cursor()
            cur.execute("create table if not exists works "
                        "(id int primary key, n int)")
            cur.execute("insert into works values %s on conflict (id) do "
                        "update set n = excluded.n" %
                        ",".join("(%d, 1)" % i for i in range(64)))
            cur.execute("select count(*) from works")
            return cur.fetchone() == (64,)
        except psycopg2.Error:
            return False
        finally:
            c.close()

    def wait_works(self, seconds=60):
        for g in range(len(self.gateways)):
            wait_for(lambda: self.works(g), seconds,
                     "gateway %d serves every slot" % (g + 1))


# ---- the workload ----

# After these nothing of the statement was or will be done.
DEFINITE = {"57P03", "40001", "53100", "53200", "53300", "0A000"}


class Writer(threading.Thread):
    """Inserts (writer, seq) and counts up, through one gateway after another,
    until told to stop; never sends the same seq twice."""

    def __init__(self, cluster, number, timeout):
        super().__init__(daemon=True)
        self.cluster, self.number = cluster, number
        self.options = "-c statement_timeout=" + timeout
        self.acked, self.unknown, self.refused = set(), set(), set()
        self.counted = self.counted_unknown = 0
        self.codes = {}
        self.over = False
        self.broken = None
        self.last_ack = time.monotonic()

    def run(self):
        try:
            gateway, seq = self.number, 0
            while not self.over:
                gateway += 1
                try:
                    c = self.cluster.connect(
                        gateway % len(self.cluster.gateways),
                        options=self.options)
                except psycopg2.OperationalError:
                    time.sleep(0.02)
                    continue
                try:
                    seq = self.write(c, seq)
                finally:
                    c.close()
        except Exception as e:
            self.broken = e

    def write(self, c, seq):
        cur = c.cursor()
        # Some tables cannot refuse a row that comes twice.
        table = "load" if self.number % 2 else "blind"
        while not self.over:
            seq += 1
            if not self.insert(cur, table, seq) or not self.count(cur):
                return seq
        return seq

    def insert(self, cur, table, seq):
        """False when the connection is of no more use."""
        try:
            cur.execute("insert into %s values (%%s, %%s, %%s)" % table,
                        (self.number, seq, "x" * 100))
            self.acked.add(seq)
            self.last_ack = time.monotonic()
            return True
        except psycopg2.Error as e:
            self.saw(e)
            if e.pgcode in DEFINITE:
                self.refused.add(seq)
            else:
                self.unknown.add(seq)
            return not cur.connection.closed

    def count(self, cur):
        try:
            cur.execute("update counter set n = n + 1 where id = %s",
                        (self.number % 5,))
            self.counted += cur.rowcount
            return True
        except psycopg2.Error as e:
            self.saw(e)
            if e.pgcode not in DEFINITE:
                self.counted_unknown += 1
            return not cur.connection.closed

    def saw(self, e):
        self.codes[e.pgcode] = self.codes.get(e.pgcode, 0) + 1


class Workload:
    """Writers under way; stop() and then verify() what is there."""

    def __init__(self, cluster, writers=10, timeout="4s"):
        self.cluster = cluster
        c = cluster.connect()
        cur = c.cursor()
        for t in ("load", "blind", "counter"):
            cur.execute("drop table if exists " + t)
        cur.execute("create table load (w int, s int, t text, "
                    "primary key (w, s))")
        cur.execute("create table blind (w int, s int, t text)")
        cur.execute("create table counter (id int primary key, n bigint)")
        cur.execute("insert into counter values (0, 0), (1, 0), (2, 0), "
                    "(3, 0), (4, 0)")
        c.close()
        self.writers = [Writer(cluster, i, timeout)
                        for i in range(writers)]
        for w in self.writers:
            w.start()

    def acked(self):
        return sum(len(w.acked) for w in self.writers)

    def wait_more(self, n, seconds=60):
        """Until n more inserts were acknowledged."""
        want = self.acked() + n
        wait_for(lambda: self.acked() >= want, seconds,
                 "%d more rows are acknowledged (have %d of %d; %s)" %
                 (n, self.acked(), want, self.codes()))

    def wait_all_writers(self, seconds=60):
        """Until every writer had a row acknowledged from now on."""
        now = time.monotonic()
        wait_for(lambda: all(w.last_ack > now for w in self.writers), seconds,
                 "every writer goes on")

    def codes(self):
        all = {}
        for w in self.writers:
            for k, v in w.codes.items():
                all[k] = all.get(k, 0) + v
        return all

    def stop(self):
        for w in self.writers:
            w.over = True
        for w in self.writers:
            w.join(60)
            check(not w.is_alive(), "a statement hangs")
            if w.broken:
                raise w.broken

    def verify(self, gateway=0):
        """Every acknowledged row once, none that was surely refused, counters
        within what is known."""
        for table, odd in (("load", 1), ("blind", 0)):
            got = self.cluster.query("select w, s from " + table,
                                     gateway=gateway)
            rows = set(got)
            equal(len(got), len(rows), "rows that are there twice in " + table)
            mine = [w for w in self.writers if w.number % 2 == odd]
            acked = {(w.number, s) for w in mine for s in w.acked}
            unknown = {(w.number, s) for w in mine for s in w.unknown}
            check(not acked - rows, "lost, though acknowledged, in", table,
                  len(acked - rows), "of", len(acked), ":",
                  sorted(acked - rows)[:5])
            check(not rows - acked - unknown, "written, though refused, in",
                  table, ":", sorted(rows - acked - unknown)[:5])
        for k, n in self.cluster.query("select id, n from counter",
                                       gateway=gateway):
            mine = [w for w in self.writers if w.number % 5 == k]
            low = sum(w.counted for w in mine)
            high = low + sum(w.counted_unknown for w in mine)
            check(low <= n <= high, "counter %d is %d, should be in %d..%d" %
                  (k, n, low, high))
        print("   %d rows acknowledged, %d unknown, %d refused; errors %s" % (
            self.acked(), sum(len(w.unknown) for w in self.writers),
            sum(len(w.refused) for w in self.writers), self.codes()))
