"""Clusters of real processes, started by contrib/start, whose programs tests
kill, pause and start again with the same command line; and a workload that
remembers what was acknowledged."""
import os
import random
import re
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
# What contrib/check --long sets: more and longer rounds.
LONG = os.environ.get("SKAIDB_LONG") == "1"


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


def program(name):
    """Where the build keeps it."""
    return os.path.join(os.environ.get("SKAIDB_BUILD") or
                        os.path.join(TOP, "build"),
                        os.environ.get("SKAIDB_VARIANT", "release"),
                        name.replace("skaidb-", ""), name)


class Process:
    """A program that runs, or ran, under a pid file; or with a command line
    here, that is to be started (by way of another one, prefix)."""

    def __init__(self, pid_file, argv=None, prefix=()):
        self.pid_file, self.prefix = pid_file, list(prefix)
        self.name = os.path.basename(pid_file)[:-4]
        self.log = pid_file[:-4] + ".log"
        self.child = self.pid = None
        if argv:
            self.argv = list(argv)
            return
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
        if self.pid is None:
            return False
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
        argv = self.prefix + self.argv + list(more)
        # A cluster is formed once.
        self.argv = [a for a in self.argv if a != "--init"]
        with open(self.log, "ab") as log:
            self.child = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)
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
                print("-- %s" % name)
                print("\n".join(self.log_lines(name)[-15:]))

    def log_lines(self, name):
        with open(os.path.join(self.dir, name), "rb") as f:
            return f.read().decode(errors="replace").splitlines()

    def quiet_logs(self, *expected):
        """No program has logged an error, or said anything that is not a line
        of the log, but for lines with one of these words."""
        for name in sorted(os.listdir(self.dir)):
            if not name.endswith(".log"):
                continue
            bad = [x for x in self.log_lines(name)
                   if (" level=" not in x or " level=error " in x)
                   and not any(w in x for w in expected)]
            check(not bad, name, "has", len(bad), "such lines:", bad[:5])

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

    def wait_voters(self, n):
        """Until so many nodes have a vote about the catalog: members get one
        after they joined, one by one."""
        said = " n=%d " % n
        wait_for(lambda: any("event=voters" in x and said in x
                             for name in os.listdir(self.dir)
                             if name.endswith(".log")
                             for x in self.log_lines(name)), 60,
                 "the catalog has %d voters" % n)

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

    def leader(self, sql, gateway=0):
        """The node that answers the last request of a statement."""
        c = self.connect(gateway)
        try:
            cur = c.cursor()
            cur.execute("set skaidb.trace = on")
            cur.execute(sql)
            for n in reversed(c.notices):
                m = re.search(r"trace: \w+ (?:to|of|at|from) node (\d+)", n)
                if m:
                    return self.nodes[int(m[1]) - 1]
            raise Failed("no trace of %s: %s" % (sql, c.notices))
        finally:
            c.close()

    def rows(self, table, consistency, gateway=0):
        c = self.connect(gateway, options="-c statement_timeout=20s")
        try:
            cur = c.cursor()
            cur.execute("set consistency " + consistency)
            cur.execute("select * from " + table)
            return sorted(cur.fetchall())
        finally:
            c.close()

    def same_copies(self, tables, times=8):
        """What all members have applied reads the same from every one: ONE
        begins with a member by chance, so ask several times."""
        for t in tables:
            want = self.rows(t, "all")
            for i in range(times):
                got = self.rows(t, "one", i % len(self.gateways))
                check(got == want, "a copy of", t, "lacks",
                      sorted(set(want) - set(got))[:5], "has",
                      sorted(set(got) - set(want))[:5])

    def each_copy(self, tables):
        """The same, surely of each node: the others are paused meanwhile."""
        want = {t: self.rows(t, "all") for t in tables}
        for node in self.nodes:
            others = [n for n in self.nodes if n is not node]
            for n in others:
                n.pause()
            try:
                for t in tables:
                    got = self.rows(t, "one")
                    check(got == want[t], node.name, "differs in", t, ":",
                          sorted(set(got) ^ set(want[t]))[:5])
            finally:
                for n in others:
                    n.resume()
        self.wait_works()

    def wait_works(self, seconds=60):
        for g in range(len(self.gateways)):
            wait_for(lambda: self.works(g), seconds,
                     "gateway %d serves every slot" % (g + 1))


# ---- the workload ----

# After these nothing of the statement was or will be done.
DEFINITE = {"57P03", "40001", "53100", "53200", "53300", "0A000", "57014"}
# What a lost connection or gateway looks like.
GONE = {None, "57P01", "08006", "08007"}
COUNTERS = 5


class Tally(threading.Thread):
    """What one writer was told of its inserts (writer, seq), no seq of which is
    ever sent twice, and of its counter."""

    def __init__(self, load, number):
        super().__init__(daemon=True)
        self.load, self.number = load, number
        # Some tables cannot refuse a row that comes twice.
        self.table = "load" if number % 2 else "blind"
        self.counter = number % COUNTERS
        self.acked, self.unknown, self.refused = set(), set(), set()
        self.counted = self.counted_unknown = 0
        self.codes, self.said = {}, {}
        self.broken = None
        self.last_ack = time.monotonic()
        self.longest = 0  # between two acknowledgements

    def inserted(self, seq):
        now = time.monotonic()
        self.acked.add(seq)
        self.longest = max(self.longest, now - self.last_ack)
        self.last_ack = now

    def not_inserted(self, seq, code, why):
        self.saw(code, why)
        (self.refused if code in DEFINITE else self.unknown).add(seq)

    def counted_to(self, n):
        self.counted += 1
        self.load.counters.reached(self.counter, n)

    def not_counted(self, code, why):
        self.saw(code, why)
        if code not in DEFINITE:
            self.counted_unknown += 1

    def saw(self, code, why):
        self.codes[code] = self.codes.get(code, 0) + 1
        self.said[code] = str(why).strip()


class Writer(Tally):
    """Inserts and counts up, through one gateway after another, until told to
    stop."""

    def __init__(self, load, number):
        super().__init__(load, number)
        self.cluster, self.over = load.cluster, False
        self.options = "-c statement_timeout=" + load.timeout

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
        while not self.over:
            seq += 1
            if not self.insert(cur, seq) or not self.count(cur):
                return seq
        return seq

    def insert(self, cur, seq):
        """False when the connection is of no more use."""
        try:
            cur.execute("insert into %s values (%%s, %%s, %%s)" % self.table,
                        (self.number, seq, "x" * 100))
            self.inserted(seq)
            return True
        except psycopg2.Error as e:
            self.not_inserted(seq, e.pgcode, e)
            return not cur.connection.closed

    def count(self, cur):
        try:
            cur.execute("update counter set n = n + 1 where id = %s "
                        "returning n", (self.counter,))
            self.counted_to(cur.fetchone()[0])
            return True
        except psycopg2.Error as e:
            self.not_counted(e.pgcode, e)
            return not cur.connection.closed


class Counters:
    """The highest value that anybody was told of each counter."""

    def __init__(self):
        self.lock = threading.Lock()
        self.known = [0] * COUNTERS

    def reached(self, k, n):
        with self.lock:
            self.known[k] = max(self.known[k], n)


class Watcher(threading.Thread):
    """Reads counters through all gateways in turn: none is ever below what was
    known, to anybody, before the read began."""

    def __init__(self, load, number):
        super().__init__(daemon=True)
        self.load, self.number = load, number
        self.over, self.broken, self.reads = False, None, 0
        self.stale = []

    def run(self):
        try:
            links = {}
            i = self.number
            while not self.over:
                i += 1
                self.look(links, i % len(self.load.cluster.gateways),
                          i % COUNTERS)
        except Exception as e:
            self.broken = e

    def look(self, links, gateway, k):
        try:
            if gateway not in links or links[gateway].closed:
                links[gateway] = self.load.cluster.connect(
                    gateway, options="-c statement_timeout=2s")
            cur = links[gateway].cursor()
            known = self.load.counters.known[k]
            cur.execute("select n from counter where id = %s", (k,))
            n = cur.fetchone()[0]
        except psycopg2.Error:
            time.sleep(0.02)
            return
        self.reads += 1
        if n < known:
            self.stale.append("counter %d was %d after %d, gateway %d" %
                              (k, n, known, gateway + 1))
        self.load.counters.reached(k, n)


class Workload:
    """Writers under way; stop() and then verify() what is there."""
    under_way = []

    def __init__(self, cluster, writers=10, timeout="4s", watchers=2,
                 others=()):
        # Of a claim that failed: its rows would be found among these.
        for w in list(Workload.under_way):
            w.end()
        self.cluster, self.timeout = cluster, timeout
        self.counters = Counters()
        c = cluster.connect()
        cur = c.cursor()
        for t in ("load", "blind", "counter"):
            cur.execute("drop table if exists " + t)
        cur.execute("create table load (w int, s int, t text, "
                    "primary key (w, s))")
        cur.execute("create table blind (w int, s int, t text)")
        cur.execute("create table counter (id int primary key, n bigint)")
        cur.execute("insert into counter values " +
                    ", ".join("(%d, 0)" % k for k in range(COUNTERS)))
        c.close()
        self.writers = [Writer(self, i) for i in range(writers)]
        # Writers of another kind, numbered after these.
        self.writers += [kind(self, writers + i)
                         for i, kind in enumerate(others)]
        self.watchers = [Watcher(self, i) for i in range(watchers)]
        Workload.under_way.append(self)
        for t in self.writers + self.watchers:
            t.start()

    def acked(self):
        return sum(len(w.acked) for w in self.writers)

    def wait_more(self, n, seconds=60):
        """Until n more inserts were acknowledged."""
        want = self.acked() + n
        wait_for(lambda: self.acked() >= want, seconds,
                 "%d more rows are acknowledged (had %d of %d; %s)" %
                 (n, self.acked(), want, self.codes()))

    def wait_all_writers(self, seconds=60):
        """Until every writer had a row acknowledged from now on."""
        now = time.monotonic()
        wait_for(lambda: all(w.last_ack > now for w in self.writers), seconds,
                 "every writer goes on")

    def outage(self, what, bound=10):
        """The longest that any writer waited for an acknowledgement since the
        last such call: told, and bounded."""
        longest = max(w.longest for w in self.writers)
        for w in self.writers:
            w.longest = 0
        print("   %s: no writer waited longer than %.1f s" % (what, longest))
        check(longest < bound, what, ": a writer waited", longest, "s")

    def codes(self):
        all = {}
        for w in self.writers:
            for k, v in w.codes.items():
                all[k] = all.get(k, 0) + v
        return all

    def only(self, *codes):
        """Clients saw no other errors than these."""
        other = {k: v for k, v in self.codes().items() if k not in codes}
        check(not other, "clients saw", other, [
            w.said[k] for w in self.writers for k in other if k in w.said][:3])

    def end(self):
        """Tells all to end, and waits; who does not is seen by is_alive()."""
        if self in Workload.under_way:
            Workload.under_way.remove(self)
        for t in self.writers + self.watchers:
            t.over = True
        for t in self.writers + self.watchers:
            t.join(60)

    def stop(self):
        self.end()
        for t in self.writers + self.watchers:
            check(not t.is_alive(), "a statement hangs")
            if t.broken:
                raise t.broken

    def verify(self, gateway=0):
        """Every acknowledged row once, none that was surely refused, counters
        within what is known, no stale read."""
        for table in ("load", "blind"):
            got = self.cluster.query("select w, s from " + table,
                                     gateway=gateway)
            rows = set(got)
            equal(len(got), len(rows), "rows that are there twice in " + table)
            mine = [w for w in self.writers if w.table == table]
            acked = {(w.number, s) for w in mine for s in w.acked}
            unknown = {(w.number, s) for w in mine for s in w.unknown}
            check(not acked - rows, "lost, though acknowledged, in", table,
                  len(acked - rows), "of", len(acked), ":",
                  sorted(acked - rows)[:5])
            check(not rows - acked - unknown, "written, though refused, in",
                  table, ":", sorted(rows - acked - unknown)[:5])
        for k, n in self.cluster.query("select id, n from counter",
                                       gateway=gateway):
            mine = [w for w in self.writers if w.counter == k]
            low = sum(w.counted for w in mine)
            high = low + sum(w.counted_unknown for w in mine)
            check(low <= n <= high, "counter %d is %d, should be in %d..%d" %
                  (k, n, low, high))
        check("23505" not in self.codes(), "a row came before it was sent")
        stale = [s for w in self.watchers for s in w.stale]
        check(not stale, len(stale), "stale reads:", stale[:5])
        print("   %d rows acknowledged, %d unknown, %d refused, %d reads; "
              "errors %s" % (
                  self.acked(), sum(len(w.unknown) for w in self.writers),
                  sum(len(w.refused) for w in self.writers),
                  sum(w.reads for w in self.watchers), self.codes()))

    def verify_copies(self):
        self.verify()
        self.verify(gateway=len(self.cluster.gateways) - 1)
        self.cluster.same_copies(("load", "blind", "counter"))
