#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C++ client, through its Python wrapper, behind standard input and output; see tests/interop/README.md."""

import base64
import json
import sys
import uuid

import _pulsar
import pulsar
from pulsar.schema import Schema

END = "__end"


def codec(name):
    return {
        "none": pulsar.CompressionType.NONE,
        "lz4": pulsar.CompressionType.LZ4,
        "zlib": pulsar.CompressionType.ZLib,
        "zstd": pulsar.CompressionType.ZSTD,
        "snappy": pulsar.CompressionType.SNAPPY,
    }[name]


class JsonText(Schema):
    """A JSON schema whose values are bytes already."""

    def __init__(self, definition):
        super().__init__(bytes, _pulsar.SchemaType.JSON, json.loads(definition), "x")

    def encode(self, obj):
        return obj

    def decode(self, data):
        return data

    def __str__(self):
        return "JsonText"


def produce(client, q):
    options = {
        "compression_type": codec(q["codec"]),
        "batching_enabled": q["batched"],
        "batching_max_messages": 1000,
        "batching_max_allowed_size_in_bytes": 1 << 20,
        "batching_max_publish_delay_ms": 600_000,
    }
    if q.get("schema"):
        options["schema"] = JsonText(q["schema"])
    if q.get("chunk"):
        options["chunking_enabled"] = True
    if q.get("publicKey"):
        options["encryption_key"] = "k"
        options["crypto_key_reader"] = pulsar.CryptoKeyReader(q["publicKey"], "")
    producer = client.create_producer(q["topic"], **options)
    failed = []

    def sent(result, _id):
        if result != pulsar.Result.Ok:
            failed.append(result)

    for m in q["messages"]:
        producer.send_async(
            base64.b64decode(m.get("value") or ""),
            sent,
            properties=m.get("props"),
            partition_key=m.get("key"),
            ordering_key=base64.b64decode(m["ordering"]).decode() if m.get("ordering") else None,
            sequence_id=m.get("seq"),
            event_timestamp=m.get("at"),
        )
    producer.flush()
    producer.close()
    if failed:
        raise RuntimeError(f"not sent: {failed}")


def received(m):
    out = {
        "value": base64.b64encode(m.data()).decode(),
        "producer": m.producer_name(),
        "published": m.publish_timestamp(),
        "props": m.properties(),
        "at": m.event_timestamp(),
    }
    if m.partition_key():
        out["key"] = m.partition_key()
    if m.ordering_key():
        out["ordering"] = base64.b64encode(m.ordering_key().encode()).decode()
    if m.schema_version():
        raw = m.schema_version()
        out["schema"] = base64.b64encode(raw if isinstance(raw, bytes) else raw.encode("latin-1")).decode()
    return out


def consume(client, q):
    reader = client.create_reader(
        q["topic"],
        pulsar.MessageId.earliest,
        reader_name=str(uuid.uuid4()),
        crypto_key_reader=pulsar.CryptoKeyReader("", q["privateKey"]),
    )
    out = []
    while sum(m.get("key") == END for m in out) < q.get("ends", 1):
        out.append(received(reader.read_next(30_000)))
    reader.close()
    return out


def main():
    client = pulsar.Client(sys.argv[1], logger=pulsar.FileLogger(pulsar.LoggerLevel.Warn, sys.argv[2]))
    print(json.dumps({"version": pulsar.__version__}), flush=True)
    for line in sys.stdin:
        q = json.loads(line)
        try:
            if q["op"] == "produce":
                produce(client, q)
                a = {}
            else:
                a = {"messages": consume(client, q)}
        except Exception as e:  # the driver decides what that means
            a = {"error": repr(e)}
        print(json.dumps(a), flush=True)
    client.close()


main()
