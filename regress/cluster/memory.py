#!/usr/bin/python3
"""Large results stay small in memory: a client that reads slowly holds up the
scan, not the gateway's or the node's memory."""
import threading

from lib import Cluster
from claims import check, claim, equal, main, wait_for

import pgwire as w

ROWS, WIDTH = 300_000, 1000
MB = 1024
# What a program may have, while gigabytes pass through it. The node's engine
# has a cache of 64 MB, and its own ideas beside that.
GATEWAY_KB, NODE_KB = 96 * MB, 384 * MB

cluster = loaded = None


class Lines:
    """ROWS lines for COPY, made as they are read."""

    def __init__(self):
        self.next, self.left = 0, b""
        self.pad = bytes(65 + i % 26 for i in range(WIDTH))

    def read(self, size):
        while len(self.left) < size and self.next < ROWS:
            last = min(self.next + 1000, ROWS)
            self.left += b"".join(b"%d\t%s\n" % (i, self.pad)
                                  for i in range(self.next, last))
            self.next = last
        out, self.left = self.left[:size], self.left[size:]
        return out


def before():
    global cluster, loaded
    if cluster:
        return
    cluster = Cluster(nodes=1, gateways=1)
    cluster.query("create table wide (id int primary key, t text)")
    loaded = Peaks()
    c = cluster.connect()
    c.cursor().copy_expert("copy wide from stdin", Lines(), 1 << 18)
    c.close()


class Peaks:
    """The most that the programs had since this was made."""

    def __init__(self):
        self.programs = [(cluster.gateways[0], GATEWAY_KB),
                         (cluster.nodes[0], NODE_KB)]
        for p, _ in self.programs:
            p.reset_peak()

    def verify(self, what):
        for p, limit in self.programs:
            peak = p.status_kb("VmHWM")
            print("   %s: %s had %d MB at most" % (what, p.name, peak // MB))
            check(peak < limit, p.name, "had", peak // MB, "MB")


def stalled(seconds=30):
    """Waits until the pressure went all the way back: the programs use no more
    processor time."""
    def ticks():
        total = 0
        for p in cluster.gateways + cluster.nodes:
            with open("/proc/%d/stat" % p.pid) as f:
                v = f.read().rsplit(")", 1)[1].split()
            total += int(v[11]) + int(v[12])
        return total
    seen = [ticks(), 0]

    def quiet():
        now = ticks()
        # 50 polls 20 ms apart with next to nothing done.
        seen[1] = seen[1] + 1 if now - seen[0] <= 1 else 0
        seen[0] = now
        return seen[1] >= 50
    wait_for(quiet, seconds, "the scan is held up")


class Reader:
    def __init__(self, sql):
        self.c = w.Conn("127.0.0.1", cluster.port, timeout=120)
        self.c.send(w.message("Q", w.string(sql)))

    def count(self):
        """Reads to the end; how many rows came."""
        n, size = 0, 0
        sock, left = self.c.sock, self.c.buf
        while True:
            at = 0
            while len(left) - at >= 5:
                kind = left[at:at + 1]
                end = at + 1 + int.from_bytes(left[at + 1:at + 5], "big")
                if end > len(left):
                    break
                if kind in b"Dd":
                    n, size = n + 1, size + end - at
                check(kind != b"E", left[at:end])
                if kind == b"Z":
                    return n, size
                at = end
            left = left[at:] + sock.recv(1 << 20)


@claim
def loading_a_table_stays_small():
    equal(cluster.query("select count(*) from wide"), [(ROWS,)])
    loaded.verify("copy in")


@claim
def a_slow_reader_holds_up_the_scan():
    peaks = Peaks()
    r = Reader("select * from wide")
    stalled()
    peaks.verify("select, nobody reads")
    n, size = r.count()
    equal(n, ROWS)
    check(size > ROWS * WIDTH, size)
    peaks.verify("select")


@claim
def an_ordered_scan_stays_small_too():
    peaks = Peaks()
    r = Reader("select * from wide order by id")
    stalled()
    equal(r.count()[0], ROWS)
    peaks.verify("select order by key")


@claim
def copying_out_stays_small():
    peaks = Peaks()
    r = Reader("copy wide to stdout")
    stalled()
    equal(r.count()[0], ROWS)
    peaks.verify("copy out")


@claim
def several_slow_readers_do_not_add_up_to_the_table():
    peaks = Peaks()
    readers = [Reader("select * from wide") for _ in range(5)]
    stalled()
    peaks.verify("five readers")
    # One who leaves in the middle leaves nothing behind.
    for r in readers[1:]:
        r.c.close()
    equal(readers[0].count()[0], ROWS)
    equal(cluster.query("select count(*) from wide"), [(ROWS,)])


@claim
def others_are_served_while_one_does_not_read():
    r = Reader("select * from wide")
    stalled()
    done = threading.Event()

    def work():
        for i in range(50):
            cluster.query("update wide set t = 'x' where id = %s", (i,))
        done.set()
    threading.Thread(target=work, daemon=True).start()
    check(done.wait(30), "others are held up")
    equal(r.count()[0], ROWS)


try:
    main(before)
finally:
    if cluster:
        cluster.__exit__(None)
