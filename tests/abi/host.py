#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host in Python (ctypes, standard library only): places and re-batches entries through
libgeorep.so and checks what it gets with a parser of its own.

    host.py build/lib/libgeorep.so
"""
import ctypes as c
import json
import pathlib
import struct
import sys
import zlib

WHOLE = 2**63 - 1
VERBATIM, SINGLE, UNKEYED, REBATCH, PARK, DROP = range(1, 7)


class Error(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("code", c.c_int32), ("text", c.c_char * 504)]


class Bytes(c.Structure):
    _fields_ = [("addr", c.c_uint64), ("len", c.c_uint32), ("reserved", c.c_uint32)]


class Source(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("profile", c.c_uint32), ("cluster", Bytes), ("remote", Bytes),
                ("topic", Bytes), ("instance", Bytes), ("generation", c.c_uint64), ("segment", c.c_uint64),
                ("range_start", c.c_uint32), ("range_end", c.c_uint32), ("legacy", c.c_uint32),
                ("place_encrypted_batch", c.c_uint32), ("max_message_bytes", c.c_uint32), ("reserved", c.c_uint32)]


class Entry(c.Structure):
    _fields_ = [("addr", c.c_uint64), ("len", c.c_uint32), ("flags", c.c_uint32), ("ledger", c.c_int64),
                ("entry", c.c_int64)]


class Decision(c.Structure):
    _fields_ = [("action", c.c_uint32), ("reason", c.c_uint32), ("segment", c.c_uint64), ("header_addr", c.c_uint64),
                ("header_len", c.c_uint32), ("bucket", c.c_int32), ("route", c.c_uint32),
                ("payload_offset", c.c_uint32), ("payload_len", c.c_uint32), ("messages", c.c_uint32),
                ("error_offset", c.c_uint32), ("reserved", c.c_uint32)]


class Part(c.Structure):
    _fields_ = [("segment", c.c_uint64), ("part", c.c_int64), ("addr", c.c_uint64), ("header_len", c.c_uint32),
                ("payload_len", c.c_uint32), ("bucket", c.c_int32), ("messages", c.c_uint32),
                ("first_message", c.c_uint32), ("hash_min", c.c_uint32), ("hash_max", c.c_uint32),
                ("uncompressed_bytes", c.c_uint32)]


def same(got, want, what):
    if got != want:
        sys.exit(f"{what}: got {got!r}, want {want!r}")


# ---------------------------------------------------------------- Pulsar's format, written and read here

def murmur3(key: bytes) -> int:
    """Murmur3_32, seed 0."""
    h, n = 0, len(key)
    for i in range(0, n - n % 4, 4):
        k = int.from_bytes(key[i:i + 4], "little") * 0xCC9E2D51 & 0xFFFFFFFF
        k = (k << 15 | k >> 17) & 0xFFFFFFFF
        h ^= k * 0x1B873593 & 0xFFFFFFFF
        h = ((h << 13 | h >> 19) & 0xFFFFFFFF) * 5 + 0xE6546B64 & 0xFFFFFFFF
    tail = int.from_bytes(key[n - n % 4:], "little")
    if n % 4:
        k = tail * 0xCC9E2D51 & 0xFFFFFFFF
        h ^= ((k << 15 | k >> 17) & 0xFFFFFFFF) * 0x1B873593 & 0xFFFFFFFF
    h ^= n
    h = (h ^ h >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return h ^ h >> 16


TABLE = []
for _i in range(256):
    for _ in range(8):
        _i = _i >> 1 ^ (0x82F63B78 if _i & 1 else 0)
    TABLE.append(_i)


def crc32c(b: bytes) -> int:
    crc = 0xFFFFFFFF
    for x in b:
        crc = TABLE[(crc ^ x) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def varint(v: int) -> bytes:
    out = b""
    while v > 127:
        out, v = out + bytes([v & 127 | 128]), v >> 7
    return out + bytes([v])


def number(field: int, v: int) -> bytes:
    return varint(field << 3) + varint(v)


def data(field: int, v: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(v)) + v


def entry(meta: bytes, payload: bytes) -> bytes:
    body = struct.pack(">I", len(meta)) + meta + payload
    return b"\x0e\x01" + struct.pack(">I", crc32c(body)) + body


def batch(keys, stamped=True) -> bytes:
    payload = b""
    for i, k in enumerate(keys):
        body = b"body-%d" % i
        m = data(2, k) + number(3, len(body)) + number(8, 50 + i)
        payload += struct.pack(">I", len(m)) + m + body
    buckets = [murmur3(k) & 0xFFFF for k in keys]
    meta = data(1, b"py") + number(2, 50) + number(3, 1764470000000) + number(11, len(keys)) + data(900, b"unknown")
    if stamped:
        meta += number(33, min(buckets)) + number(34, max(buckets))
    return entry(meta, payload)


def fields(b: bytes):
    at = 0

    def take():
        nonlocal at
        v = shift = 0
        while True:
            x = b[at]
            at += 1
            v |= (x & 127) << shift
            shift += 7
            if x < 128:
                return v
    while at < len(b):
        tag = take()
        if tag & 7 == 0:
            yield tag >> 3, take()
        elif tag & 7 in (1, 5):
            n = 8 if tag & 7 == 1 else 4
            yield tag >> 3, b[at:at + n]
            at += n
        else:
            same(tag & 7, 2, "wire type")
            n = take()
            yield tag >> 3, b[at:at + n]
            at += n


def frame(b: bytes):
    """Metadata fields as a list, and the payload; checks magic and checksum."""
    same(b[:2], b"\x0e\x01", "magic")
    same(struct.unpack(">I", b[2:6])[0], crc32c(b[6:]), "checksum")
    n = struct.unpack(">I", b[6:10])[0]
    return list(fields(b[10:10 + n])), b[10 + n:]


def properties(meta):
    return [(dict(fields(v))[1].decode(), dict(fields(v))[2].decode()) for f, v in meta if f == 4]


def messages(payload: bytes):
    while payload:
        n = struct.unpack(">I", payload[:4])[0]
        m = dict(fields(payload[4:4 + n]))
        end = 4 + n + m[3]
        yield m[2], payload[4 + n:end]
        payload = payload[end:]


# ---------------------------------------------------------------- the library

class Library:
    def __init__(self, path):
        self.so = c.CDLL(path)
        self.err = Error(struct_size=c.sizeof(Error))
        self.keep = []

    def call(self, name, *args, status=0):
        s = getattr(self.so, name)(*args, c.byref(self.err))
        same(s, status, f"{name}: {self.err.text.decode()!r}: status")

    def bytes(self, b: bytes) -> Bytes:
        buf = c.create_string_buffer(b, max(1, len(b)))
        self.keep.append(buf)
        return Bytes(c.addressof(buf), len(b), 0)

    def entry(self, b: bytes, ledger, number_, flags=0) -> Entry:
        v = self.bytes(b)
        return Entry(v.addr, v.len, flags, ledger, number_)

    def source(self, first, last, profile=2, **more) -> Source:
        return Source(c.sizeof(Source), profile, self.bytes(b"eu"), self.bytes(b"us"), self.bytes(b"topic://t/n/x"),
                      self.bytes(b"ab"), 1, 9, first, last, **more)

    def layout(self, record) -> c.c_uint64:
        text, out = json.dumps(record).encode(), c.c_uint64()
        self.call("georep_layout_new", text, len(text), c.c_uint32(0), c.byref(out))
        return out


def segment(i, start, end, splits):
    return {"segmentId": i, "hashRange": {"start": start, "end": end}, "state": "ACTIVE", "entryBucketSplits": splits}


def place(lib, dst):
    """One call for several entries: decisions, then headers in an arena of the size it asked for."""
    low = [k for k in (b"a%d" % i for i in range(400)) if murmur3(k) >> 16 < 0x4000 and murmur3(k) & 0xFFFF < 20000]
    raw = [batch(low[:3]), batch(low[:3], stamped=False), entry(data(1, b"p") + number(2, 1) + number(3, 1) +
           data(6, b"k1"), b"single"), b"\x0e\x01junk"]
    n = len(raw)
    entries = (Entry * n)(*[lib.entry(b, 3, i) for i, b in enumerate(raw)])
    out, used, needed = (Decision * n)(), c.c_uint64(), c.c_uint64()
    src = lib.source(0, 0x3FFF)
    args = [dst, c.byref(src), entries, n, out]
    lib.call("georep_place", *args, None, c.c_uint64(0), c.byref(used), c.byref(needed))
    same([d.action for d in out], [VERBATIM, REBATCH, SINGLE, PARK], "actions")
    same([d.reason for d in out], [0, 9, 0, 13], "reasons")
    same((out[0].segment, out[0].bucket), (0, 0), "segment and bucket")
    h = murmur3(b"k1")
    same((out[2].segment, out[2].bucket, out[2].route), (int(h >> 16 >= 0x8000), int(h & 0xFFFF >= 20000), h >> 16), "single")
    arena = c.create_string_buffer(needed.value)
    lib.call("georep_place", *args, arena, needed, c.byref(used), c.byref(needed))
    same(used.value, needed.value, "arena")
    wire = c.string_at(out[0].header_addr, out[0].header_len) + raw[0][out[0].payload_offset:]
    meta, payload = frame(wire)
    old, old_payload = frame(raw[0])
    same(payload, old_payload, "payload")
    same(meta[:len(old)], old, "the entry's own fields")
    same(properties(meta), [("__MSG_PROP_REPL_SOURCE_POSITION", "3:0"),
                            ("__GEOREP_ORIGIN", "1|eu|ab|9|1|3:0|segment://t/n/x/0000-7fff-0")], "properties")
    same(dict(meta)[5], b"eu", "replicated_from")


def rebatch(lib, dst, starts):
    keys = [b"key-%d" % i for i in range(200)]
    raw = batch(keys)
    e, src = lib.entry(raw, 7, 8), lib.source(0, 0xFFFF)
    parts, n, needed = (Part * 64)(), c.c_uint32(), c.c_uint64()
    head = [dst, c.byref(src), None, c.byref(e)]
    lib.call("georep_rebatch", *head, None, c.c_uint64(0), parts, 64, c.byref(n), c.byref(needed), status=5)
    arena = c.create_string_buffer(needed.value)
    lib.call("georep_rebatch", *head, arena, c.c_uint64(needed.value - 1), parts, 64, c.byref(n), c.byref(needed), status=5)
    same(len(arena), needed.value, "needed")
    lib.call("georep_rebatch", *head, arena, needed, parts, 64, c.byref(n), c.byref(needed))

    # The same cut, computed here: messages by segment and bucket, ranks over a segment's messages.
    want = []
    for seg in (0, 1):
        rank = -1
        for bucket in range(len(starts[seg]) + 1):
            inside = [i for i, k in enumerate(keys) if murmur3(k) >> 31 == seg
                      and sum(s <= murmur3(k) & 0xFFFF for s in starts[seg]) == bucket]
            rank += len(inside)
            if inside:
                want.append((seg, bucket, rank, inside))
    same(n.value, len(want), "number of parts")
    for p, (seg, bucket, rank, inside) in zip(parts, want):
        same((p.segment, p.bucket, p.part, p.messages, p.first_message), (seg, bucket, rank, len(inside), inside[0]), "part")
        meta, payload = frame(c.string_at(p.addr, p.header_len + p.payload_len))
        same(list(messages(payload)), [(keys[i], b"body-%d" % i) for i in inside], "messages")
        hashes = [murmur3(keys[i]) & 0xFFFF for i in inside]
        m = dict(meta)
        same((m[11], m[33], m[34], m[900]), (len(inside), min(hashes), max(hashes), b"unknown"), "metadata")
        same((p.hash_min, p.hash_max, p.uncompressed_bytes), (min(hashes), max(hashes), len(payload)), "part's numbers")
        same(properties(meta)[0][1], f"7:8:{rank}", "source position")


def inside(raw: bytes):
    """Metadata fields and payload of an entry with or without broker metadata and checksum."""
    if raw[:2] == b"\x0e\x02":
        raw = raw[6 + struct.unpack(">I", raw[2:6])[0]:]
    if raw[:2] == b"\x0e\x01":
        raw = raw[6:]
    n = struct.unpack(">I", raw[:4])[0]
    return list(fields(raw[4:4 + n])), raw[4 + n:]


def messages_of(meta, payload):
    """The messages of a batch that Python can open: uncompressed or zlib; None for the others."""
    codec = dict(meta).get(8, 0)
    if codec == 2:
        payload = zlib.decompressobj().decompress(payload)  # Java's streams have no end
    return list(raw_messages(payload)) if codec in (0, 2) else None


def raw_messages(payload):
    while payload:
        n = struct.unpack(">I", payload[:4])[0]
        m = dict(fields(payload[4:4 + n]))
        end = 4 + n + m[3]
        yield payload[:end], m.get(2)
        payload = payload[end:]


def interop(lib, folder):
    """What real clients wrote: sent whole with the same payload, or cut with the same messages."""
    low = {"segmentId": 0, "hashRange": {"start": 0, "end": 0x7FFF}, "state": "ACTIVE"}
    dst = lib.layout({"epoch": 1, "segments": {"0": low, "1": {"segmentId": 1, "hashRange": {
        "start": 0x8000, "end": 0xFFFF}, "state": "ACTIVE"}}})
    src, seen = lib.source(0, 0xFFFF, profile=1), {}
    for path in sorted(pathlib.Path(folder).glob("*.hex")):
        raw = bytes.fromhex("".join(line.split("#")[0] for line in path.read_text().splitlines()))
        e, d, arena = lib.entry(raw, 4, 2), Decision(), c.create_string_buffer(1 << 20)
        used, needed, n, parts = c.c_uint64(), c.c_uint64(), c.c_uint32(), (Part * 8)()
        size = c.c_uint64(len(arena))
        lib.call("georep_place", dst, c.byref(src), c.byref(e), 1, c.byref(d), arena, size, c.byref(used), c.byref(needed))
        seen[d.action] = seen.get(d.action, 0) + 1
        old, payload = inside(raw)
        if d.action in (VERBATIM, SINGLE):
            meta, got = frame(c.string_at(d.header_addr, d.header_len) + raw[d.payload_offset:])
            same(got, payload, f"{path.name}: payload")
            # Everything but transaction ids and what replication writes is still there, in order.
            kept = [f for f in old if f[0] not in (5, 22, 23) and not (f[0] == 4 and b"__MSG_PROP_REPL" in f[1])]
            same(meta[:len(kept)], kept, f"{path.name}: fields")
        if d.action != REBATCH:
            continue
        lib.call("georep_rebatch", dst, c.byref(src), None, c.byref(e), arena, size, parts, 8, c.byref(n), c.byref(needed))
        got = []
        for p in parts[:n.value]:
            meta, body = frame(c.string_at(p.addr, p.header_len + p.payload_len))
            if p.part == WHOLE:
                same(body, payload, f"{path.name}: payload of a batch without keys")
                body = body if dict(meta).get(8, 0) == 0 else b""
            for m, key in raw_messages(body):
                got.append((m, key))
                if key is not None:
                    same(int(murmur3(key) & 0xFFFF >= 0x8000), p.segment, f"{path.name}: segment of {key}")
        want = messages_of(old, payload)
        if want is not None and n.value:
            same(sorted(got, key=lambda x: x[0]), sorted(want, key=lambda x: x[0]), f"{path.name}: messages")
        elif n.value and parts[0].part != WHOLE:
            same(len(got), dict(old)[11], f"{path.name}: number of messages")
    if not (seen.get(SINGLE, 0) >= 5 and seen.get(REBATCH, 0) >= 10 and seen.get(DROP, 0) >= 2):
        sys.exit(f"interop: too few paths were taken: {seen}")
    same(lib.so.georep_layout_free(dst), 0, "free")


def proto(lib, name, message):
    """The bytes of a message of georep.proto, given as JSON."""
    text, size = json.dumps(message).encode(), c.c_uint64()
    out = c.create_string_buffer(1 << 16)
    lib.call("georep_proto_from_json", name.encode(), len(name), text, len(text), out, c.c_uint64(len(out)), c.byref(size))
    return out.raw[:size.value]


def answer(lib, function, request_name, request, name):
    """What a call of the control plane answers, as JSON."""
    req = proto(lib, request_name, request)
    out, size = c.create_string_buffer(1 << 16), c.c_uint64()
    lib.call(function, req, len(req), out, c.c_uint64(len(out)), c.byref(size))
    text, length = c.create_string_buffer(1 << 16), c.c_uint64()
    lib.call("georep_proto_to_json", name.encode(), len(name), out, c.c_uint32(size.value), text,
             c.c_uint64(len(text)), c.byref(length))
    return json.loads(text.raw[:length.value])


def algebra(lib):
    """Layouts are joined, planned and compared."""
    def layout_of(*starts):
        ends = [s - 1 for s in starts[1:]] + [65535]
        return {"epoch": "1", "segments": [
            {"id": str(i), "range": {"start": s, "end": e}, "state": "SEGMENT_STATE_ACTIVE", "profile": "PROFILE_PIP486",
             "bucketsKnown": True} for i, (s, e) in enumerate(zip(starts, ends))]}
    a, b = layout_of(0, 21845, 43690), layout_of(0, 32768)
    join = answer(lib, "georep_join", "JoinRequest", {"layouts": [a, b]}, "Shape")
    same([s.get("start", 0) for s in join["segments"]], [0, 21845, 32768, 43690], "join")
    plan = answer(lib, "georep_plan", "PlanRequest", {"local": b, "peers": [a]}, "PlanResponse")
    same([(o["kind"], o["parents"], len(o["children"])) for o in plan["ops"]],
         [("LAYOUT_OP_KIND_SPLIT_EXPLICIT", ["0"], 2), ("LAYOUT_OP_KIND_SPLIT_EXPLICIT", ["1"], 2)], "plan")
    diff = answer(lib, "georep_diff", "DiffRequest", {"local": a, "peer": b}, "DiffResponse")
    same(diff, {"diverged": [{"range": {"end": 65535}, "localSegments": 3, "peerSegments": 2, "localIsCoarser": True,
                              "peerIsCoarser": True}]}, "diff")


def main():
    lib = Library(sys.argv[1])
    same(lib.so.georep_abi_version() >> 16, 1, "ABI major version")
    lib.call("georep_init", None)
    starts = {0: [20000], 1: [10000, 40000, 65535]}
    dst = lib.layout({"epoch": 1, "segments": {"0": segment(0, 0, 0x7FFF, starts[0]),
                                               "1": segment(1, 0x8000, 0xFFFF, starts[1])}})
    place(lib, dst)
    rebatch(lib, dst, starts)
    algebra(lib)
    interop(lib, pathlib.Path(__file__).parent.parent / "interop")
    same(lib.so.georep_layout_free(dst), 0, "free")
    same(lib.so.georep_layout_free(dst), 2, "free of a stale handle")
    print("python host ok")


if __name__ == "__main__":
    main()
