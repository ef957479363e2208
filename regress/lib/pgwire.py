"""PostgreSQL's protocol 3.0 by hand, for what drivers do not let one send."""
import os
import socket
import struct

PROTOCOL = 196608


class Closed(Exception):
    """The server ended the connection."""


def fields(body):
    """The fields of an ErrorResponse or NoticeResponse."""
    out = {}
    for part in body.split(b"\0"):
        if part:
            out[chr(part[0])] = part[1:].decode()
    return out


def packet(body):
    return struct.pack("!i", len(body) + 4) + body


def message(kind, body=b""):
    return kind.encode() + packet(body)


def string(s):
    return (s.encode() if isinstance(s, str) else s) + b"\0"


def connect(host=None, port=None, timeout=30):
    """A socket, with nothing said yet."""
    s = socket.create_connection(
        (host or os.environ["PGHOST"], int(port or os.environ["PGPORT"])),
        timeout)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def startup_packet(user, database, **params):
    body = struct.pack("!i", PROTOCOL)
    for k, v in dict(params, user=user, database=database).items():
        body += string(k) + string(v)
    return packet(body + b"\0")


class Conn:
    """A connection as a trusted role; messages are (type, body) pairs."""

    def __init__(self, host=None, port=None, timeout=30, **params):
        self.sock = connect(host, port, timeout)
        self.buf = b""
        user = params.pop("user", os.environ.get("PGUSER", "postgres"))
        database = params.pop("database", os.environ.get("PGDATABASE", user))
        self.send(startup_packet(user, database, **params))
        self.hello = self.until_ready()

    def send(self, *messages):
        self.sock.sendall(b"".join(messages))

    def _take(self, n):
        while len(self.buf) < n:
            piece = self.sock.recv(65536)
            if not piece:
                raise Closed("closed after %r" % self.buf[:200])
            self.buf += piece
        out, self.buf = self.buf[:n], self.buf[n:]
        return out

    def read(self):
        head = self._take(5)
        size = struct.unpack("!i", head[1:])[0]
        return head[:1].decode("latin-1"), self._take(size - 4)

    def until(self, kinds):
        """Messages up to and including the first whose type is in kinds."""
        got = []
        while True:
            got.append(self.read())
            if got[-1][0] in kinds:
                return got

    def until_ready(self):
        return self.until("Z")

    def query(self, text):
        self.send(message("Q", string(text)))
        return self.until_ready()

    def close(self):
        self.sock.close()


def types(messages):
    return "".join(t for t, _ in messages)


def error(messages):
    """The fields of the first error among them; {} when there is none."""
    for t, body in messages:
        if t == "E":
            return fields(body)
    return {}


def rows(messages):
    """The rows among them, values as bytes or None."""
    out = []
    for t, body in messages:
        if t != "D":
            continue
        n, at, row = struct.unpack("!h", body[:2])[0], 2, []
        for _ in range(n):
            size = struct.unpack("!i", body[at:at + 4])[0]
            at += 4
            row.append(None if size < 0 else body[at:at + size])
            at += max(size, 0)
        out.append(row)
    return out


def tags(messages):
    return [b.rstrip(b"\0").decode() for t, b in messages if t == "C"]


# ---- messages of the extended protocol ----
def parse(query, name="", oids=()):
    return message("P", string(name) + string(query) + struct.pack(
        "!h%dI" % len(oids), len(oids), *oids))


def bind(params=(), portal="", name="", formats=(), results=()):
    body = string(portal) + string(name)
    body += struct.pack("!h%dh" % len(formats), len(formats), *formats)
    body += struct.pack("!H", len(params))
    for p in params:
        if p is None:
            body += struct.pack("!i", -1)
        else:
            p = p.encode() if isinstance(p, str) else p
            body += struct.pack("!i", len(p)) + p
    body += struct.pack("!h%dh" % len(results), len(results), *results)
    return message("B", body)


def describe(kind, name=""):
    return message("D", kind.encode() + string(name))


def execute(portal="", limit=0):
    return message("E", string(portal) + struct.pack("!i", limit))


def close(kind, name=""):
    return message("C", kind.encode() + string(name))


SYNC = message("S")
FLUSH = message("H")
TERMINATE = message("X")
