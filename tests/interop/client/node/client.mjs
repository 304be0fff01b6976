// SPDX-License-Identifier: Apache-2.0
// The Node client behind standard input and output; see tests/interop/README.md.
import { createInterface } from 'node:readline';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

// the package is installed outside of the source tree: argument 2 is the folder that has node_modules
const require = createRequire(`${process.argv[3]}/`);
const Pulsar = require('pulsar-client');
const END = '__end';
const CODECS = { none: undefined, lz4: 'LZ4', zlib: 'Zlib', zstd: 'ZSTD', snappy: 'SNAPPY' };

async function produce(client, q) {
  const options = {
    topic: q.topic, compressionType: CODECS[q.codec], batchingEnabled: q.batched, batchingMaxMessages: 1000,
    batchingMaxAllowedSizeInBytes: 1 << 20, batchingMaxPublishDelayMs: 600000,
  };
  if (q.schema) options.schema = { name: 'x', schemaType: 'Json', schema: q.schema };
  if (q.chunk) options.chunkingEnabled = true;
  if (q.publicKey) Object.assign(options, { publicKeyPath: q.publicKey, encryptionKey: 'k' });
  const producer = await client.createProducer(options);
  const sent = q.messages.map((m) => producer.send({
    data: Buffer.from(m.value ?? '', 'base64'), properties: m.props, sequenceId: m.seq, eventTimestamp: m.at,
    partitionKey: m.key, orderingKey: m.ordering && Buffer.from(m.ordering, 'base64').toString(),
  }));
  await producer.flush();
  await Promise.all(sent);
  await producer.close();
}

function received(m) {
  const out = {
    value: m.getData().toString('base64'), producer: m.getProducerName(), published: m.getPublishTimestamp(),
    props: m.getProperties(), at: m.getEventTimestamp(), ...(m.isReplicated() && { from: m.getReplicatedFrom() }),
  };
  if (m.getPartitionKey()) out.key = m.getPartitionKey();
  if (m.getOrderingKey()) out.ordering = Buffer.from(m.getOrderingKey()).toString('base64');
  return out;
}

async function consume(client, q) {
  const reader = await client.createReader({
    topic: q.topic, startMessageId: Pulsar.MessageId.earliest(), readerName: randomUUID(), privateKeyPath: q.privateKey,
  });
  const out = [];
  while (out.filter((m) => m.key === END).length < (q.ends ?? 1)) out.push(received(await reader.readNext(30000)));
  await reader.close();
  return out;
}

Pulsar.Client.setLogHandler(() => {});
const client = new Pulsar.Client({ serviceUrl: process.argv[2] });
const { version } = JSON.parse(readFileSync(`${process.argv[3]}/node_modules/pulsar-client/package.json`));
process.stdout.write(`${JSON.stringify({ version })}\n`);
for await (const line of createInterface({ input: process.stdin })) {
  const q = JSON.parse(line);
  let a;
  try {
    a = q.op === 'produce' ? (await produce(client, q)) ?? {} : { messages: await consume(client, q) };
  } catch (e) {
    a = { error: String(e) };
  }
  process.stdout.write(`${JSON.stringify(a)}\n`);
}
await client.close();
