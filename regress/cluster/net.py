#!/usr/bin/python3
"""Nodes and gateways in network namespaces of their own, cut off from each
other one way and both, under load by way of psycopg2 and JDBC: what holds for
killed processes (faults.py) holds for those that others do not hear.

The whole program runs in a network and mount namespace of its own, so nothing
that it makes is seen outside, or stays."""
import os
import subprocess
import sys
import tempfile
import threading
import time

from lib import COUNTERS, HERE, LONG, Cluster, Process, Tally, Workload, program
from claims import Failed, check, claim, equal, main, wait_for

import psycopg2

JAR = "/usr/share/java/postgresql.jar"
PATIENT = "25s"
PORT = 5433
PASSWORD = "by the network"


def sh(*argv):
    p = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)
    if p.returncode != 0:
        raise Failed("%s: %s" % (" ".join(argv), p.stdout.decode()))
    return p.stdout.decode()


def own_network():
    """Runs this program again in namespaces of its own; root has the right to
    that, and whoever may make user namespaces."""
    if "SKAIDB_OWN_NETWORK" in os.environ:
        return
    new = ["unshare", "--net", "--mount"]
    if os.getuid() != 0:
        new.append("--map-root-user")
    try:
        sh(*new, "true")
    except (Failed, OSError) as e:
        print("FAIL network namespaces take root: nothing was run (%s)" % e)
        print("0 passed, 1 failed")
        sys.exit(1)
    os.environ["SKAIDB_OWN_NETWORK"] = "1"
    os.execvp(new[0], new + [sys.executable, *sys.argv])


class Host:
    def __init__(self, name, address):
        self.name, self.address = name, address
        sh("ip", "netns", "add", name)
        sh("ip", "link", "add", "to-" + name, "master", "bridge", "up", "type",
           "veth", "peer", "name", "eth0", "netns", name)
        sh("ip", "-n", name, "address", "add", address + "/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            sh("ip", "-n", name, "link", "set", device, "up")

    def run(self, *argv):
        return sh("ip", "netns", "exec", self.name, *argv)

    def rule(self, *rule):
        self.run("iptables", "-w", "-A", "INPUT", *rule)

    def hears_not(self, *others):
        for o in others:
            self.rule("-s", o.address, "-j", "DROP")

    def heal(self):
        self.run("iptables", "-w", "-F", "INPUT")


class NetCluster(Cluster):
    """Each program on a host of its own; clients on another."""

    def start(self):
        sh("mount", "-t", "tmpfs", "tmpfs", "/run")
        sh("ip", "link", "set", "lo", "up")
        sh("ip", "link", "add", "bridge", "type", "bridge")
        sh("ip", "link", "set", "bridge", "up")
        sh("ip", "address", "add", "10.0.0.100/24", "dev", "bridge")
        nodes, gateways = self.shape
        self.node_hosts = [Host("node%d" % i, "10.0.0.%d" % i)
                           for i in range(1, nodes + 1)]
        self.gateway_hosts = [Host("gateway%d" % i, "10.0.0.%d" % (10 + i))
                              for i in range(1, gateways + 1)]
        for h in self.node_hosts:
            self.start_node(h)
        for h in self.gateway_hosts:
            self.start_gateway(h)
        self.gateway_hosts[0].run(
            "psql", "-X", "-h", "127.0.0.1", "-p", str(PORT), "-U", "postgres",
            "-c", "alter role postgres password '%s'" % PASSWORD)

    def launch(self, host, name, into, *options):
        name, number = name[:-1], name[-1]
        pid_file = os.path.join(self.dir, "%s-%s.pid" % (name, number))
        into.append(Process(
            pid_file, [*options, "--pid-file=" + pid_file, "--cluster-key-file="
                       + os.path.join(self.dir, "cluster.key")],
            ("ip", "netns", "exec", host.name)))
        into[-1].start()
        return into[-1]

    def start_node(self, h):
        how = ["--init", "--replication=3"]
        if self.nodes:
            how = ["--join=%s:7433" % self.node_hosts[0].address]
        p = self.launch(h, h.name, self.nodes, program("skaidb-storage"),
                        "--dir=" + os.path.join(self.dir, "data-" + h.name),
                        "--listen=%s:7433" % h.address, *how)
        wait_for(lambda: any("event=serving" in x for x in self.log_lines(
            os.path.basename(p.log))), 60, p.name + " serves")

    def start_gateway(self, h):
        self.launch(h, h.name, self.gateways, program("skaidb-gateway"),
                    "--listen=0.0.0.0:%d" % PORT, "--seeds=" + ",".join(
                        n.address + ":7433" for n in self.node_hosts))

        def answers():
            try:
                return h.run("psql", "-X", "-h", "127.0.0.1", "-p", str(PORT),
                             "-U", "postgres", "-c", "select 1")
            except Failed:
                return False
        wait_for(answers, 60, h.name + " answers")

    def stop(self):
        for p in self.gateways + self.nodes:
            if p.alive():
                p.terminate()

    def connect(self, gateway=0, **more):
        c = psycopg2.connect(
            host=self.gateway_hosts[gateway].address, port=PORT,
            user="postgres", password=PASSWORD, dbname="postgres",
            connect_timeout=10, **more)
        c.autocommit = True
        return c

    def host(self, node):
        return self.node_hosts[self.nodes.index(node)]

    def others(self, host):
        return [h for h in self.node_hosts if h is not host]

    def heal(self):
        for h in self.node_hosts + self.gateway_hosts:
            h.heal()


class JdbcWriter(Tally):
    """What lib.Writer does, by way of JDBC and its list of hosts."""

    def __init__(self, load, number):
        super().__init__(load, number)
        url = ("jdbc:postgresql://%s/postgres?user=postgres&password=%s"
               "&loadBalanceHosts=true&connectTimeout=5&socketTimeout=60"
               "&options=-c%%20statement_timeout=%s" % (
                   ",".join("%s:%d" % (h.address, PORT)
                            for h in cluster.gateway_hosts),
                   PASSWORD.replace(" ", "%20"), load.timeout))
        self.child = subprocess.Popen(
            ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx64m",
             "-cp", JAR + ":" + classes.name, "Load", url, str(number),
             self.table, str(self.counter)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)

    @property
    def over(self):
        return self.child.stdin.closed

    @over.setter
    def over(self, _):
        self.child.stdin.close()

    def run(self):
        last = "it said nothing"
        try:
            for line in self.child.stdout:
                last = line.strip()
                self.line(last.split(" ", 4))
            equal((last, self.child.wait()), ("over", 0))
        except Exception as e:
            self.broken = e

    def line(self, words):
        if words[0] == "acked":
            self.inserted(int(words[1]))
        elif words[0] == "counted":
            self.counted_to(int(words[1]))
        elif words[0] == "error":
            code = words[3] if words[3] != "null" else None
            if words[1] == "insert":
                self.not_inserted(int(words[2]), code, words[4])
            else:
                self.not_counted(code, words[4])
        else:
            check(words == ["over"], "JDBC:", *words)


cluster = classes = None


def before():
    global cluster, classes
    if cluster is None:
        classes = tempfile.TemporaryDirectory(prefix="skaidb-net.")
        sh("javac", "-cp", JAR, "-d", classes.name,
           os.path.join(HERE, "Load.java"))
        cluster = NetCluster(nodes=3, gateways=2)
        cluster.wait_voters(3)
    cluster.wait_works()


def after():
    cluster.heal()
    cluster.revive()


def workload(timeout=PATIENT):
    load = Workload(cluster, writers=8, timeout=timeout, watchers=3,
                    others=(JdbcWriter,))
    load.wait_all_writers()
    load.wait_more(100)
    load.outage("before", 60)
    return load


def leader_of(k):
    return cluster.host(cluster.leader(
        "select n from counter where id = %d" % k))


def from_nodes(host):
    hears_no_node(host)
    no_node_hears(host)


def hears_no_node(host):
    host.hears_not(*cluster.others(host))


def no_node_hears(host):
    for o in cluster.others(host):
        o.hears_not(host)


def from_all(host):
    from_nodes(host)
    for g in cluster.gateway_hosts:
        host.hears_not(g)
        g.hears_not(host)


def from_one_node(host):
    other = cluster.others(host)[0]
    host.hears_not(other)
    other.hears_not(host)


@claim
def a_leader_that_is_cut_off_is_replaced():
    load = workload()
    for cut in (from_nodes, hears_no_node, no_node_hears, from_all,
                from_one_node) * (5 if LONG else 1):
        host = leader_of(len(load.writers[0].acked) % COUNTERS)
        cut(host)
        load.wait_all_writers()
        load.wait_more(2000 if LONG else 200)
        load.outage("%s, %s" % (host.name, cut.__name__))
        cluster.heal()
        load.wait_all_writers()
        load.wait_more(100)
        load.outage(host.name + " healed")
    load.stop()
    load.only()
    load.verify_copies()


@claim
def a_client_waits_once_for_a_cut_off_leader_not_for_each_slot():
    cluster.query("drop table if exists patience")
    cluster.query("create table patience (id int primary key)")
    c = cluster.connect()
    cur = c.cursor()
    for i in range(150):  # whoever leads its slot is known from now on
        cur.execute("insert into patience values (%s)", (i,))
    from_nodes(leader_of(0))
    begin = time.monotonic()
    for i in range(150):
        cur.execute("delete from patience where id = %s", (i,))
        equal(cur.rowcount, 1)
    seconds = time.monotonic() - begin
    print("   150 statements took %.1f s" % seconds)
    # A third of their slots had been led there: two seconds for each are more.
    check(seconds < 25, "150 statements took", seconds, "s")
    c.close()


@claim
def connections_that_are_reset_repeat_nothing():
    load = workload()
    for k in range(10 if LONG else 3):
        host = leader_of(k % COUNTERS)
        for h in cluster.gateway_hosts + cluster.others(host):
            host.rule("-s", h.address, "-p", "tcp", "-j", "REJECT",
                      "--reject-with", "tcp-reset")
        load.wait_more(50)
        cluster.heal()
        load.wait_all_writers()
    load.outage("connections reset")
    load.stop()
    load.only()
    load.verify_copies()


@claim
def a_gateway_that_reaches_only_the_old_leader_reads_nothing_stale():
    load = workload(timeout="1s")
    host = leader_of(0)
    gateway, there = cluster.gateway_hosts[0], cluster.gateway_hosts[1]
    for o in cluster.others(host):
        host.hears_not(o)
        o.hears_not(host, gateway)
        gateway.hears_not(o)
    there.hears_not(host)
    host.hears_not(there)
    # Writers at the other gateway go on; the watchers look through both.
    load.wait_more(300)
    cluster.heal()
    load.wait_all_writers()
    load.stop()
    load.verify_copies()


@claim
def a_gateway_cut_off_from_a_node_disturbs_no_other():
    load = workload(timeout="1s")
    host, gateway = leader_of(0), cluster.gateway_hosts[0]
    host.hears_not(gateway)
    gateway.hears_not(host)
    load.wait_more(300)
    cluster.heal()
    load.wait_all_writers()
    load.stop()
    load.verify_copies()


@claim
def of_two_tables_of_one_name_on_both_sides_one_is_made():
    cluster.query("drop table if exists sides")
    # The first gateway sees only a node that sees nobody else.
    host, gateway = cluster.node_hosts[0], cluster.gateway_hosts[0]
    here = cluster.connect(0, options="-c statement_timeout=20s")
    for o in cluster.others(host):
        host.hears_not(o)
        o.hears_not(host, gateway)
        gateway.hears_not(o)
    said = []

    def lonely():
        try:
            here.cursor().execute("create table sides (id int primary key, "
                                  "here text)")
            said.append(None)
        except psycopg2.Error as e:
            said.append(e.pgcode)
    t = threading.Thread(target=lonely, daemon=True)
    t.start()
    wait_for(lambda: table_made(1), 30, "the majority makes its table")
    equal(said, [], "the other side was answered")
    cluster.heal()
    t.join(60)
    check(said in (["42P07"], ["57P03"], ["57014"]), "the loser was told", said)
    for g in range(2):
        cluster.query("insert into sides (id, there) values (%s, 'x')", (g,),
                      gateway=g)
        try:
            cluster.query("create table sides (id int primary key)", gateway=g)
            check(False, "it was made twice")
        except psycopg2.errors.DuplicateTable:
            pass
    equal(cluster.query("select id, there from sides order by id"),
          [(0, "x"), (1, "x")])


def table_made(gateway):
    try:
        cluster.query("create table sides (id int primary key, there text)",
                      gateway=gateway, options="-c statement_timeout=10s")
        return True
    except psycopg2.errors.DuplicateTable:
        return True
    except psycopg2.Error:
        return False


@claim
def each_node_has_every_row():
    load = workload()
    load.stop()
    cluster.each_copy(("load", "blind", "counter"))
    cluster.quiet_logs()


own_network()
try:
    main(before, after)
finally:
    if cluster:
        cluster.__exit__(None)
