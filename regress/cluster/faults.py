#!/usr/bin/python3
"""Processes killed, paused and stopped under load, with three copies of each
row: no acknowledged row is missing, none is there twice, counters are exact, no
read is behind what anybody was told before; while a majority runs, no client
sees an error and nobody waits long; afterwards all copies are equal."""
import threading

from lib import GONE, LONG, Cluster, Workload
from claims import check, claim, equal, main, wait_for

import psycopg2

TABLES = ("load", "blind", "counter")
# Longer than any outage, so that an error is not our impatience.
PATIENT = "25s"
cluster = None


def before():
    global cluster
    if cluster is None:
        cluster = Cluster(nodes=3, gateways=2)
        cluster.wait_voters(3)
    cluster.wait_works()


def caught_up():
    """All members answer, and have applied what there is."""
    def all_answer():
        try:
            return cluster.rows("counter", "all")
        except psycopg2.Error:
            return False
    wait_for(all_answer, 60, "all members have caught up")


def each_node_in_turn(stop):
    load = Workload(cluster, timeout=PATIENT)
    for node in cluster.nodes * (4 if LONG else 1):
        load.wait_more(100)
        load.outage("before")
        stop(node)
        load.wait_all_writers()
        load.wait_more(100)
        load.outage(node.name + " stopped")
        # The catalog has other copies, too.
        for g in range(2):
            cluster.query("create table meanwhile (id int primary key)",
                          gateway=g)
            cluster.query("drop table meanwhile", gateway=1 - g)
        node.start()
        caught_up()
        load.wait_all_writers()
        load.outage(node.name + " started again")
    load.stop()
    load.only()
    load.verify_copies()


@claim
def a_killed_node_is_not_missed():
    each_node_in_turn(lambda node: node.kill())


@claim
def nodes_restarted_one_by_one_are_not_missed():
    each_node_in_turn(lambda node: node.terminate())


@claim
def a_node_killed_and_started_at_once_loses_nothing():
    load = Workload(cluster, timeout=PATIENT)
    for node in cluster.nodes:
        load.wait_more(100)
        node.kill()
        node.start()
        load.wait_all_writers()
    load.outage("three nodes killed and started")
    load.stop()
    load.verify_copies()


@claim
def a_leader_that_slept_over_its_lease_reads_nothing_stale():
    load = Workload(cluster, timeout=PATIENT, watchers=4)
    for k in range(5 if LONG else 2):
        load.wait_more(100)
        node = cluster.leader("select n from counter where id = %d" % k)
        load.outage("before")
        node.pause()
        load.wait_all_writers()
        load.wait_more(2000 if LONG else 200)
        load.outage(node.name + " paused")
        node.resume()
        load.wait_all_writers()
        load.wait_more(100)
        load.outage(node.name + " awake")
    load.stop()
    load.only()
    load.verify_copies()


@claim
def a_leader_and_a_gateway_that_slept_read_nothing_stale():
    load = Workload(cluster, timeout=PATIENT, watchers=4)
    load.wait_more(100)
    node = cluster.leader("select n from counter where id = 3")
    # This gateway wakes up believing that the node still leads.
    cluster.gateways[0].pause()
    node.pause()
    load.wait_more(300)
    cluster.gateways[0].resume()
    node.resume()
    load.wait_all_writers()
    load.wait_more(100)
    load.stop()
    load.verify_copies()


@claim
def without_a_majority_nothing_is_acknowledged():
    load = Workload(cluster, timeout="1s")
    load.wait_more(100)
    for node in cluster.nodes[1:]:
        node.kill()
    # What was under way may have been answered; a statement of each since then.
    wait_for(lambda: all(w.codes for w in load.writers), 30,
             "every writer is refused")
    have, seen = load.acked(), sum(load.codes().values())
    wait_for(lambda: sum(load.codes().values()) > seen + 10, 30,
             "statements go on to be refused")
    equal(load.acked(), have, "acknowledged without a majority")
    # The copy that is left can be read by who asks for it.
    check(len(cluster.rows("counter", "one")) == 5, "ONE does not read")
    for node in cluster.nodes[1:]:
        node.start()
    load.wait_all_writers()
    load.stop()
    load.verify_copies()


@claim
def clients_of_a_killed_gateway_use_the_other():
    load = Workload(cluster)
    load.wait_more(200)
    cluster.gateways[0].kill()
    load.wait_more(500)
    cluster.gateways[0].start()
    wait_for(cluster.works, 60, "the gateway is back")
    load.wait_all_writers()
    load.stop()
    load.only(*GONE)
    load.verify_copies()


@claim
def all_killed_at_once_and_started_again_have_every_row():
    load = Workload(cluster)
    for _ in range(5 if LONG else 1):
        load.wait_more(500)
        for p in cluster.nodes + cluster.gateways:
            p.kill()
        for p in cluster.nodes + cluster.gateways:
            p.start()
        load.wait_all_writers(90)
    load.outage("all killed", 30)
    load.stop()
    load.verify_copies()


@claim
def a_gateway_told_to_stop_lets_statements_finish():
    c = cluster.connect(gateway=1)
    idle = cluster.connect(gateway=1)
    cur = c.cursor()
    cur.execute("drop table if exists drained")
    cur.execute("create table drained (id int primary key)")
    seen = []

    def run():
        try:
            cur.execute("select pg_sleep(1.5), 7")
            seen.append(cur.fetchone()[1])
        except psycopg2.Error as e:
            seen.append(e)

    t = threading.Thread(target=run)
    t.start()
    wait_for(lambda: t.is_alive() and not seen, 1, "it runs")
    # The statement must have arrived: another's round trip is later than it.
    idle.cursor().execute("select pg_sleep(0.3)")
    cluster.gateways[1].terminate()
    t.join()
    equal(seen, [7])
    try:
        idle.cursor().execute("select 1")
        check(False, "an idle session outlived its gateway")
    except psycopg2.Error as e:
        check(e.pgcode in (None, "57P01"), e.pgcode, e)
    cluster.gateways[1].start()
    wait_for(lambda: cluster.works(1), 60, "it is back")


@claim
def a_session_outlives_a_restarted_node():
    c = cluster.connect()
    cur = c.cursor()
    cur.execute("set application_name = 'survivor'")
    cur.execute("prepare p as select count(*) from works")
    cluster.nodes[1].kill()
    cluster.nodes[1].start()
    cluster.wait_works()
    cur.execute("execute p")
    equal(cur.fetchone(), (64,))
    cur.execute("show application_name")
    equal(cur.fetchone(), ("survivor",))


@claim
def each_node_has_every_row():
    load = Workload(cluster)
    load.wait_more(200)
    load.stop()
    cluster.each_copy(TABLES)
    cluster.quiet_logs()


def after():
    cluster.revive()


try:
    main(before, after)
finally:
    if cluster:
        cluster.__exit__(None)
