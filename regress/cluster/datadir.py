#!/usr/bin/python3
"""What a data directory is protected from: a second process, another format, a
wrong key, another cluster."""
import os
import shutil
import subprocess
import tempfile

from lib import Cluster, free_ports
from claims import check, claim, equal, main, wait_for

cluster = None


def before():
    global cluster
    if cluster is None:
        cluster = Cluster(nodes=3, gateways=1)
    cluster.wait_works()


def says(output, *words):
    for w in words:
        check(w in output, "does not say", w, ":", output)


def elsewhere():
    """Options of a program that must not meet the running ones."""
    return {"--listen": "127.0.0.1:%d" % free_ports(),
            "--pid-file": os.path.join(cluster.dir, "elsewhere")}


@claim
def a_second_node_on_one_directory_is_refused():
    node = cluster.nodes[1]
    status, said = node.run(replace=elsewhere())
    equal(status, 1)
    says(said, node.option("dir"), "in use")
    check(node.alive(), "the first one ended")
    check(cluster.works(), "the cluster is disturbed")


@claim
def forming_a_second_cluster_in_a_used_directory_is_refused():
    node = cluster.nodes[1]
    node.terminate()
    status, said = node.run("--init")
    equal(status, 1)
    says(said, node.option("dir"), "belongs to a cluster")
    node.start()


@claim
def a_directory_of_another_format_is_refused():
    node = cluster.nodes[1]
    node.terminate()
    path = os.path.join(node.option("dir"), "VERSION")
    kept = open(path).read()
    try:
        with open(path, "w") as f:
            f.write("skaidb data format 999\n")
        status, said = node.run()
        equal(status, 1)
        says(said, "999", node.option("dir"))
        with open(path, "w") as f:
            f.write("\0\1garbage")
        status, said = node.run()
        equal(status, 1)
        os.remove(path)
        status, said = node.run()
        equal(status, 1)
    finally:
        with open(path, "w") as f:
            f.write(kept)
    node.start()


@claim
def a_damaged_log_is_refused_and_named():
    node = cluster.nodes[2]
    node.kill()
    data = node.option("dir")
    logs = sorted(os.path.join(d, n) for d, _, names in os.walk(data)
                  for n in names if n.startswith("WiredTigerLog."))
    check(logs, "no log files in", data)
    kept = data + ".kept"
    shutil.copytree(data, kept)
    try:
        # In the middle of what is used, so that records follow the damage.
        raw = open(logs[-1], "rb").read()
        used = len(raw.rstrip(b"\0"))
        with open(logs[-1], "r+b") as f:
            f.seek(max(128, used // 2))
            f.write(b"\xa5" * 64)
        status, said = node.run()
        check(status != 0, "it was opened")
        says(said, "log")
    finally:
        shutil.rmtree(data)
        os.rename(kept, data)
    node.start()


def acknowledge(first, n=200):
    """Rows that the cluster must have from now on."""
    cluster.query("create table if not exists kept (id int primary key)")
    cluster.query("insert into kept values " + ", ".join(
        "(%d)" % i for i in range(first, first + n)))


def every_row(n):
    cluster.wait_works()
    equal(cluster.query("select count(*) from kept"), [(n,)])


def does_not_start(node, data, why):
    """With what is in `data` now; then as it was, from `data`.kept."""
    try:
        status, said = node.run(seconds=60)
        check(status != 0, why, said)
    finally:
        shutil.rmtree(data, ignore_errors=True)
        os.rename(data + ".kept", data)
    node.start()


@claim
def a_node_whose_directory_was_emptied_does_not_vote_as_who_it_was():
    cluster.query("drop table if exists kept")
    acknowledge(0)
    node = cluster.nodes[2]
    node.kill()
    data = node.option("dir")
    os.rename(data, data + ".kept")
    does_not_start(node, data, "it serves under its old address:")
    every_row(200)


@claim
def a_directory_older_than_what_it_acknowledged_does_not_serve():
    cluster.query("drop table if exists kept")
    acknowledge(0)
    node = cluster.nodes[2]
    data = node.option("dir")
    node.terminate()
    shutil.copytree(data, data + ".old")
    node.start()
    cluster.wait_works()
    acknowledge(1000)
    cluster.rows("kept", "all")
    node.terminate()
    os.rename(data, data + ".kept")
    os.rename(data + ".old", data)
    does_not_start(node, data, "it serves with an older directory:")
    every_row(400)


@claim
def a_gateway_with_another_key_is_refused():
    key = tempfile.NamedTemporaryFile("w", prefix="skaidb-key.")
    key.write("ab" * 32 + "\n")
    key.flush()
    os.chmod(key.name, 0o600)
    gateway = cluster.gateways[0]
    options = dict(elsewhere(), **{"--cluster-key-file": key.name})
    argv = [a for a in gateway.argv if a.split("=")[0] not in options]
    with tempfile.NamedTemporaryFile("r", prefix="skaidb-log.") as log:
        child = subprocess.Popen(
            argv + ["%s=%s" % kv for kv in options.items()],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            def told():
                text = open(log.name).read()
                return child.poll() is not None or "key" in text
            wait_for(told, 20, "it says that the key is wrong")
            says(open(log.name).read(), "key")
        finally:
            child.kill()
            child.wait()
    check(cluster.works(), "the cluster is disturbed")


@claim
def a_key_file_that_others_can_read_or_that_is_none_is_refused():
    node = cluster.nodes[1]
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "key")
        options = dict(elsewhere(), **{"--cluster-key-file": path})
        status, said = node.run(replace=options)
        equal(status, 1)
        says(said, path)
        with open(path, "w") as f:
            f.write("not hexadecimal\n")
        os.chmod(path, 0o600)
        status, said = node.run(replace=options)
        equal(status, 1)
        says(said, path)


@claim
def a_node_of_another_cluster_is_not_taken_for_ours():
    one_copy = ("--replication", "1")
    with Cluster(nodes=3, gateways=1, options=one_copy) as ours, \
            Cluster(nodes=3, gateways=1, options=one_copy) as other:
        ours.wait_works()
        mine = ours.nodes[1]
        other.wait_works()
        theirs = other.nodes[1]
        theirs.terminate()
        mine.terminate()
        log = tempfile.NamedTemporaryFile("r", prefix="skaidb-log.")
        # Their data at our address, with our key.
        stranger = subprocess.Popen(
            [a for a in mine.argv if a.split("=")[0] not in
             ("--dir", "--pid-file")] + ["--dir=" + theirs.option("dir")],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_for(lambda: "another cluster" in open(log.name).read(), 20,
                     "it says that this is another cluster")
            check(not ours.works(), "its slots are served by a stranger")
        finally:
            stranger.terminate()
            stranger.wait()
            mine.start()
        ours.wait_works()
        theirs.start()
        other.wait_works()
        equal(other.query("select count(*) from works where n <> 1"), [(0,)])


@claim
def wrong_settings_are_named():
    node = cluster.nodes[1]
    for option, word in (("--no-such-setting=1", "no-such-setting"),
                         ("--storage-cache=lots", "storage"),
                         ("--slots=-5", "slots"),
                         ("--listen=nonsense", "nonsense")):
        name = option.split("=")[0]
        argv = dict(elsewhere())
        argv.pop(name, None)
        argv[name] = option.split("=")[1]
        argv["--dir"] = os.path.join(cluster.dir, "nowhere")
        status, said = node.run(replace=argv)
        check(status in (1, 2), option, "ended with", status, said)
        says(said, word)


def after():
    cluster.revive()


try:
    main(before, after)
finally:
    if cluster:
        cluster.__exit__(None)
