#!/usr/bin/python3
"""The HTTP side of the programs: health, readiness, metrics, status."""
import http.client
import json
import socket

from lib import Cluster, free_ports
from claims import check, claim, equal, main, wait_for

cluster = http_port = None


def before():
    global cluster, http_port
    if cluster is None:
        http_port = free_ports()
        cluster = Cluster(nodes=2, gateways=1,
                          options=("--http-port", str(http_port)))
        cluster.wait_works()


def get(path, at=0, method="GET"):
    """Status and body, from the at-th program."""
    c = http.client.HTTPConnection("127.0.0.1", http_port + at, timeout=10)
    c.request(method, path)
    r = c.getresponse()
    body = r.read().decode()
    c.close()
    return r.status, body


@claim
def every_program_says_that_it_is_healthy_and_ready():
    for at in range(3):
        equal(get("/healthz", at)[0], 200)
        equal(get("/readyz", at)[0], 200)


@claim
def metrics_are_prometheus_text():
    for at in range(3):
        status, body = get("/metrics", at)
        equal(status, 200)
        names = set()
        for line in body.splitlines():
            if line.startswith("#"):
                check(line.split()[1] in ("HELP", "TYPE"), line)
                continue
            name, value = line.rsplit(" ", 1)
            float(value)
            names.add(name.split("{")[0])
        check(len(names) > 5, "only", sorted(names))
        check(all(n.startswith("skaidb_") or n.startswith("process_")
                  for n in names), sorted(names))


@claim
def status_is_json_with_version_and_members():
    for at in range(3):
        status, body = get("/status", at)
        equal(status, 200)
        doc = json.loads(body)
        check("version" in doc and "members" in doc, sorted(doc))
        equal(len(doc["members"]), 2)


@claim
def status_lists_tables_and_transitions():
    doc = json.loads(get("/status")[1])
    check("tables" in doc and "transitions" in doc, sorted(doc))
    check("works" in json.dumps(doc["tables"]), doc["tables"])


@claim
def a_counter_goes_up_with_work():
    def total():
        return sum(float(line.rsplit(" ", 1)[1])
                   for line in get("/metrics")[1].splitlines()
                   if line.startswith("skaidb_gateway_requests_total"))
    was = total()
    for i in range(10):
        cluster.query("select n from works where id = %s", (i,))
    wait_for(lambda: total() >= was + 10, 10, "requests are counted")


@claim
def what_there_is_not_is_404_and_other_methods_do_no_harm():
    for at in range(3):
        equal(get("/nothing", at)[0], 404)
        check(get("/healthz", at, "POST")[0] in (200, 404, 405, 501), "POST")
        for junk in (b"\xff" * 500 + b"\r\n\r\n", b"GET",
                     b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 200_000):
            with socket.create_connection(
                    ("127.0.0.1", http_port + at), 10) as s:
                try:
                    s.sendall(junk)
                    s.shutdown(socket.SHUT_WR)
                    while s.recv(65536):
                        pass
                except OSError:
                    pass
        equal(get("/healthz", at)[0], 200)


@claim
def a_gateway_without_nodes_is_healthy_but_not_ready():
    for n in cluster.nodes:
        n.kill()
    wait_for(lambda: get("/readyz")[0] == 503, 30, "it says 503")
    equal(get("/healthz")[0], 200)
    for n in cluster.nodes:
        n.start()
    cluster.wait_works()
    wait_for(lambda: get("/readyz")[0] == 200, 30, "it is ready again")


try:
    main(before)
finally:
    if cluster:
        cluster.__exit__(None)
