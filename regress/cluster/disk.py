#!/usr/bin/python3
"""A node whose disk fills up: it refuses writes with 53100 before the engine
could fail, goes on reading, loses nothing, and takes writes again when there
is room; with three copies, nobody waits for it.  The disk is a small tmpfs, so this
takes root."""
import os
import subprocess
import sys
import tempfile

from lib import Cluster, Workload
from claims import check, claim, equal, main, wait_for

import psycopg2


class Disk:
    """A file system of its own under data-2 of a cluster's directory."""

    def __init__(self, mb):
        self.dir = tempfile.mkdtemp(prefix="skaidb-disk.")
        self.path = os.path.join(self.dir, "data-2")
        os.mkdir(self.path, 0o700)
        self.mount("size=%dm,mode=0700" % mb, "tmpfs", "-t", "tmpfs")
        self.ballast = os.path.join(self.path, "ballast")

    def mount(self, options, *more):
        subprocess.run(["mount", *more, "-o", options, self.path], check=True)

    def free(self):
        s = os.statvfs(self.path)
        return s.f_bavail * s.f_frsize

    def fill(self, leave):
        with open(self.ballast, "wb") as f:
            try:
                os.posix_fallocate(f.fileno(), 0, max(self.free() - leave, 1))
            except OSError:
                pass

    def give_back(self):
        os.remove(self.ballast)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", self.path])
        subprocess.run(["rm", "-rf", self.dir])


def alone(disk):
    """Three nodes with a copy each of a third of the rows."""
    return Cluster(nodes=3, gateways=1, dir=disk.dir,
                   options=("--replication", "1"))


def code(cluster, sql, args=None):
    """The SQLSTATE of a statement, None when it works."""
    try:
        cluster.query(sql, args, options="-c statement_timeout=10s")
    except psycopg2.Error as e:
        return e.pgcode
    return None


def write_all_slots(cluster, first):
    """Writes 200 small rows; the codes that were seen."""
    return {code(cluster, "insert into fill values (%s, '')", (first + i,))
            for i in range(200)}


@claim
def a_full_disk_refuses_writes_and_takes_them_again():
    with Disk(256) as disk, alone(disk) as c:
        c.wait_works()
        c.query("create table fill (id int primary key, t text)")
        equal(write_all_slots(c, 0), {None})
        load = Workload(c)
        load.wait_more(100)
        disk.fill(leave=4 << 20)
        wait_for(lambda: load.codes().get("53100"), 60,
                 "writes are refused with 53100 (%s)" % load.codes())
        # Nodes with room go on, and reads everywhere.
        load.wait_more(50)
        equal(c.query("select count(*) from fill"), [(200,)])
        equal(write_all_slots(c, 1000), {None, "53100"})
        check(c.nodes[1].alive(), "the node ended")
        disk.give_back()
        wait_for(lambda: write_all_slots(c, 2000) <= {None, "23505"}, 60,
                 "writes are taken again")
        load.stop()
        load.verify()


@claim
def a_disk_filled_by_rows_keeps_all_that_were_acknowledged():
    with Disk(160) as disk, alone(disk) as c:
        c.wait_works()
        c.query("create table fill (id int primary key, t text)")
        acked, seen, i = set(), None, 0
        text = "".join(chr(33 + n * 7 % 90) for n in range(200_000))
        while seen != "53100":
            i += 1
            check(i < 5000, "the disk never got full:", disk.free())
            seen = code(c, "insert into fill values (%s, %s)",
                        (i, "%d %s" % (i, text)))
            check(seen in (None, "53100"), "refused with", seen)
            if seen is None:
                acked.add(i)
        check(disk.free() > 0, "the last byte was used")
        got = {r[0] for r in c.query("select id from fill")}
        equal(got, acked)
        disk.mount("remount,size=512m")
        wait_for(lambda: code(c, "insert into fill values (%s, 'late')" % i)
                 is None, 60, "writes are taken again")
        got = {r[0] for r in c.query("select id from fill")}
        equal(got, acked | {i})


@claim
def a_disk_without_a_byte_left_loses_nothing():
    with Disk(256) as disk, alone(disk) as c:
        c.wait_works()
        load = Workload(c)
        load.wait_more(100)
        disk.fill(leave=0)
        wait_for(lambda: load.codes(), 60, "writes are refused")
        load.wait_more(50)
        disk.give_back()
        # It may have ended rather than guess what is on the disk.
        if not c.nodes[1].alive():
            c.nodes[1].start()
        load.wait_all_writers()
        load.stop()
        load.verify()


@claim
def a_full_disk_of_three_copies_loses_nothing():
    with Disk(256) as disk, Cluster(nodes=3, gateways=2, dir=disk.dir) as c:
        c.wait_works()
        load = Workload(c, timeout="10s")
        load.wait_more(100)
        load.outage("before")
        disk.fill(leave=4 << 20)
        load.wait_more(200)
        load.wait_all_writers()
        load.outage("a full disk", 15)
        check(c.nodes[1].alive(), "the node ended")
        disk.give_back()
        load.wait_all_writers()
        load.stop()
        load.verify_copies()


if os.getuid() != 0:
    print("a disk of its own takes root: not run")
    print("0 passed, 0 failed")
    sys.exit(0)
main()
