"""Servers to measure: skaidb in its shapes, PostgreSQL 15 alone and with quorum
standbys, each with what it cost so far."""
import http.client
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "cluster"))
from lib import Cluster, Failed, TOP, free_ports, wait_for  # noqa: E402

import psycopg2  # noqa: E402

BIN = "/usr/lib/postgresql/15/bin/"
TICK = os.sysconf("SC_CLK_TCK")


def answers(port):
    try:
        psycopg2.connect(host="127.0.0.1", port=port, user="postgres",
                         dbname="postgres", connect_timeout=5).close()
        return True
    except psycopg2.Error:
        return False


def wait_answers(port, alive):
    """Seconds until the first connection succeeds."""
    begin = time.monotonic()
    while not answers(port):
        if not alive():
            raise Failed("it ended while it started")
        if time.monotonic() - begin > 60:
            raise Failed("no answer within 60 s")
        time.sleep(0.002)
    return time.monotonic() - begin


class Cost:
    """What a server used since its start: processor seconds by kind of process;
    frames between its processes, their bytes, flushes (None: not known)."""

    def __init__(self, cpu, frames, sent, flushes):
        self.cpu = cpu
        self.frames, self.sent, self.flushes = frames, sent, flushes

    def since(self, before):
        def less(a, b):
            return None if a is None or b is None else a - b
        return Cost({k: v - before.cpu.get(k, 0) for k, v in self.cpu.items()},
                    less(self.frames, before.frames),
                    less(self.sent, before.sent),
                    less(self.flushes, before.flushes))


class Server:
    """pids(): lists of process ids by kind."""

    def connect(self):
        c = psycopg2.connect(host="127.0.0.1", port=self.port, user="postgres",
                             dbname="postgres")
        c.autocommit = True
        return c

    def query(self, sql):
        c = self.connect()
        cur = c.cursor()
        cur.execute(sql)
        got = cur.fetchall() if cur.description else None
        c.close()
        return got

    def load(self, size, table="bench"):
        """Seconds to COPY a fresh table of that many rows in."""
        self.query("drop table if exists " + table)
        self.query("create table %s (id bigint primary key, t text)" % table)
        c = self.connect()
        begin = time.monotonic()
        c.cursor().copy_expert("copy %s from stdin" % table, Rows(size),
                               1 << 17)
        seconds = time.monotonic() - begin
        c.close()
        return seconds

    def prepare(self, size):
        """The tables that operations work on."""
        self.load(size)
        self.query("drop table if exists counter")
        self.query("create table counter (id int primary key, n bigint)")
        self.query("insert into counter values (1, 0)")

    def cpu(self):
        total = {}
        for kind, pids in self.pids().items():
            for pid in pids:
                try:
                    with open("/proc/%d/stat" % pid) as f:
                        v = f.read().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                # Children that ended are in their parent's sum.
                total[kind] = total.get(kind, 0) + sum(
                    int(x) for x in v[11:15]) / TICK
        return total

    def memory(self):
        """(program, MB): its share of what is shared, too (PSS)."""
        out = []
        for pid in [p for v in self.pids().values() for p in v]:
            try:
                with open("/proc/%d/comm" % pid) as f:
                    name = f.read().strip()
                with open("/proc/%d/smaps_rollup" % pid) as f:
                    text = f.read()
            except OSError:
                continue
            out.append((name, int(re.search(r"Rss: *(\d+)", text)[1]) / 1024,
                        int(re.search(r"Pss: *(\d+)", text)[1]) / 1024))
        return out


class Rows:
    """Lines for COPY."""

    def __init__(self, size):
        self.size, self.next, self.left = size, 0, b""

    def read(self, n):
        while len(self.left) < n and self.next < self.size:
            end = min(self.next + 5000, self.size)
            self.left += b"".join(
                b"%d\trow %d with some text as rows have it, and more\n" %
                (i, i) for i in range(self.next, end))
            self.next = end
        out, self.left = self.left[:n], self.left[n:]
        return out


class Instance:
    """One PostgreSQL server process tree, in a directory of its own."""

    def __init__(self, dir, port):
        self.dir, self.port = dir, port

    @staticmethod
    def run(*argv):
        user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
        p = subprocess.run(user + [BIN + argv[0], *argv[1:]],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT)
        if p.returncode != 0:
            raise Failed("%s: %s" % (argv[0], p.stdout.decode()))

    def start(self):
        # As it comes; only room for the connections, and no other socket.
        self.run("pg_ctl", "-D", self.dir, "-W", "-s", "-l", self.dir + "/log",
                 "-o", "-p %d -k %s" % (self.port, self.dir), "start")
        return wait_answers(self.port, lambda: True)

    def stop(self):
        self.run("pg_ctl", "-D", self.dir, "-w", "-s", "-m", "fast", "stop")

    def pids(self):
        main = int(open(self.dir + "/postmaster.pid").readline())
        kids = open("/proc/%d/task/%d/children" % (main, main)).read().split()
        return [main] + [int(k) for k in kids]


class Postgres(Server):
    name = "postgresql"

    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="skaidb-bench.")
        self.port = free_ports()
        if os.getuid() == 0:
            subprocess.run(["chown", "postgres", self.dir], check=True)
        self.primary = Instance(self.dir + "/primary", self.port)
        self.standbys = []
        Instance.run("initdb", "-D", self.primary.dir, "-U", "postgres",
                     "--locale=C", "--encoding=UTF8", "-A", "trust")
        self.primary.start()

    def restart(self):
        self.primary.stop()
        return self.primary.start()

    def pids(self):
        return {"primary": self.primary.pids()}

    def cost(self):
        # Of the primary: standbys do not count theirs.
        flushes = self.query("select pg_stat_force_next_flush(), wal_sync "
                             "from pg_stat_wal")[0][1]
        return Cost(self.cpu(), None, self.sent(), flushes)

    def sent(self):
        return None

    def close(self):
        for i in self.standbys + [self.primary]:
            try:
                i.stop()
            except Failed as e:
                print(e)  # why it ended is what main() ends with
        subprocess.run(["rm", "-rf", self.dir])


class PostgresQuorum(Postgres):
    """A primary that waits until one of two standbys has flushed: as many disks
    as a majority of three copies."""
    name = "postgresql"

    def __init__(self):
        super().__init__()
        for i, name in enumerate(("s1", "s2"), 1):
            dir = self.dir + "/" + name
            Instance.run("pg_basebackup", "-D", dir, "-R", "-c", "fast", "-d",
                         "host=127.0.0.1 port=%d user=postgres "
                         "application_name=%s" % (self.port, name))
            self.standbys.append(Instance(dir, self.port + i))
            self.standbys[-1].start()
        for sql in ("alter system set synchronous_standby_names = "
                    "'ANY 1 (s1, s2)'",
                    "alter system set synchronous_commit = on",
                    "select pg_reload_conf()"):
            self.query(sql)
        wait_for(lambda: self.query(
            "select count(*) from pg_stat_replication where sync_state = "
            "'quorum'") == [(2,)], 60, "both standbys follow")

    def pids(self):
        return {"primary": self.primary.pids(),
                "standbys": [p for s in self.standbys for p in s.pids()]}

    def sent(self):
        return int(self.query(
            "select sum(pg_wal_lsn_diff(sent_lsn, '0/0')) from "
            "pg_stat_replication")[0][0])


class Skaidb(Server):
    def __init__(self, name, nodes):
        self.name = name
        self.http = free_ports()
        self.cluster = Cluster(nodes=nodes, gateways=1,
                               options=("--http-port", str(self.http)))
        self.port = self.cluster.port
        self.cluster.wait_works()

    def programs(self):
        return self.cluster.nodes + self.cluster.gateways

    def restart(self):
        for p in reversed(self.programs()):
            p.terminate()
        for p in self.programs():
            p.start()
        return wait_answers(self.port,
                            lambda: all(p.alive() for p in self.programs()))

    def pids(self):
        kinds = {"gateway": [p.pid for p in self.cluster.gateways]}
        if self.cluster.nodes:
            kinds["nodes"] = [p.pid for p in self.cluster.nodes]
        return kinds

    def metrics(self):
        """Sums over the programs, by name."""
        total = {}
        for at in range(len(self.programs())):
            c = http.client.HTTPConnection("127.0.0.1", self.http + at,
                                           timeout=10)
            c.request("GET", "/metrics")
            for line in c.getresponse().read().decode().splitlines():
                name, _, value = line.rpartition(" ")
                if not line.startswith("#"):
                    total[name] = total.get(name, 0) + float(value)
            c.close()
        return total

    def cost(self):
        m = self.metrics()
        return Cost(self.cpu(), m["skaidb_net_frames_out_total"],
                    m["skaidb_net_bytes_out_total"],
                    m["skaidb_engine_flushes_total"])

    def close(self):
        self.cluster.__exit__(None)
