#!/usr/bin/python3
"""Three nodes with one copy of each row: a node that is away takes its slots
along, and brings every acknowledged row back."""
from lib import Cluster, Workload
from claims import claim, main, wait_for

cluster = None


def before():
    global cluster
    if cluster is None:
        cluster = Cluster(nodes=3, gateways=2, options=("--replication", "1"))
    cluster.wait_works()


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
    load = Workload(cluster, timeout="2s")
    load.wait_more(200)
    cluster.nodes[2].pause()
    wait_for(load.codes, 30, "statements for its slots end")
    cluster.nodes[2].resume()
    load.wait_all_writers()
    load.stop()
    load.verify()


@claim
def all_nodes_killed_at_once_have_every_row():
    load = Workload(cluster)
    load.wait_more(300)
    for p in cluster.nodes:
        p.kill()
    for p in cluster.nodes:
        p.start()
    load.wait_all_writers(90)
    load.stop()
    load.verify()


def after():
    cluster.revive()


try:
    main(before, after)
finally:
    if cluster:
        cluster.__exit__(None)
