#!/usr/bin/python3
"""Processes killed, paused and stopped under load: no acknowledged row is
missing, none is there twice, counters are exact."""
import threading

from lib import Cluster, Workload
from claims import check, claim, equal, main, wait_for

import psycopg2

cluster = None


def before():
    global cluster
    if cluster is None:
        cluster = Cluster(nodes=3, gateways=2)
    cluster.wait_works()


@claim
def a_killed_node_loses_nothing():
    load = Workload(cluster)
    load.wait_more(200)
    for node in cluster.nodes:
        node.kill()
        node.start()
        load.wait_more(200)
        load.wait_all_writers()
    load.stop()
    load.verify()
    load.verify(gateway=1)


@claim
def a_node_that_stays_away_stops_its_slots_only():
    load = Workload(cluster, timeout="1s")
    load.wait_more(100)
    cluster.nodes[1].kill()
    # Statements for its slots end with errors; others go on.
    wait_for(load.codes, 30, "statements for its slots are refused")
    load.wait_more(100)
    cluster.nodes[1].start()
    load.wait_all_writers()
    load.stop()
    load.verify()


@claim
def a_paused_node_goes_on_where_it_was():
    load = Workload(cluster)
    load.wait_more(200)
    paused = threading.Event()
    cluster.nodes[2].pause()
    paused.wait(5)
    cluster.nodes[2].resume()
    load.wait_all_writers()
    load.stop()
    load.verify()


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
    load.verify()


@claim
def all_killed_at_once_and_started_again_have_every_row():
    load = Workload(cluster)
    load.wait_more(500)
    for p in cluster.nodes + cluster.gateways:
        p.kill()
    for p in cluster.nodes + cluster.gateways:
        p.start()
    load.wait_all_writers(90)
    load.stop()
    load.verify()


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
def a_node_told_to_stop_answers_what_it_took():
    load = Workload(cluster)
    load.wait_more(200)
    cluster.nodes[0].terminate()
    cluster.nodes[0].start()
    load.wait_all_writers()
    load.stop()
    load.verify()


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


def after():
    cluster.revive()


try:
    main(before, after)
finally:
    if cluster:
        cluster.__exit__(None)
