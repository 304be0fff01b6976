// SPDX-License-Identifier: Apache-2.0
package georep.it.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import georep.it.Cluster;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import java.util.Enumeration;
import java.util.HexFormat;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.LedgerEntry;
import org.apache.bookkeeper.client.LedgerHandle;
import org.apache.bookkeeper.mledger.Entry;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.client.api.RawMessage;
import org.apache.pulsar.client.impl.RawMessageImpl;
import org.awaitility.Awaitility;

/** Topics' logs: entries out of them and into them, byte for byte. */
final class Logs {
    private final Cluster cluster;

    Logs(Cluster cluster) {
        this.cluster = cluster;
    }

    private PersistentTopic topic(String name) throws Exception {
        return (PersistentTopic) cluster.broker.getBrokerService().getTopic(name, !name.startsWith("segment://"))
                .get(30, TimeUnit.SECONDS).orElseThrow();
    }

    /** All entries of a topic, as they lie in its ledgers, in hex. */
    ArrayNode read(String name) throws Exception {
        ArrayNode all = JsonNodeFactory.instance.arrayNode();
        var ledger = topic(name).getManagedLedger();
        ManagedCursor cursor = ledger.newNonDurableCursor(PositionFactory.EARLIEST);
        try {
            while (cursor.hasMoreEntries()) {
                for (Entry e : cursor.readEntries(100)) {
                    all.add(HexFormat.of().formatHex(e.getData()));
                    e.release();
                }
            }
        } finally {
            ledger.deleteCursor(cursor.getName());
        }
        return all;
    }

    /** Compacts a topic; the entries of the compacted ledger. */
    ArrayNode compacted(String name) throws Exception {
        PersistentTopic t = topic(name);
        t.triggerCompaction();
        Awaitility.await().atMost(java.time.Duration.ofSeconds(30)).until(() -> switch (t.compactionStatus().status) {
            case SUCCESS -> t.getCompactedTopicContext().isPresent();
            case ERROR -> throw new IllegalStateException(t.compactionStatus().lastError);
            default -> false;
        });
        ArrayNode all = JsonNodeFactory.instance.arrayNode();
        LedgerHandle ledger = t.getCompactedTopicContext().orElseThrow().getLedger();
        for (Enumeration<LedgerEntry> e = ledger.readEntries(0, ledger.getLastAddConfirmed()); e.hasMoreElements();) {
            try (RawMessage m = RawMessageImpl.deserializeFrom(e.nextElement().getEntryBuffer())) {
                all.add(ByteBufUtil.hexDump(m.getHeadersAndPayload()));
            }
        }
        return all;
    }

    /** Appends entries to a topic; returns when all are stored. */
    void store(String name, JsonNode entries) throws Exception {
        PersistentTopic t = topic(name);
        long sequence = 0;
        for (JsonNode e : entries) {
            CompletableFuture<Void> stored = new CompletableFuture<>();
            ByteBuf bytes = Unpooled.wrappedBuffer(HexFormat.of().parseHex(e.asText()));
            t.publishMessage(bytes, new Store(sequence++, stored));
            stored.get(30, TimeUnit.SECONDS);
        }
    }

    private record Store(long getSequenceId, CompletableFuture<Void> stored) implements Topic.PublishContext {
        @Override
        public String getProducerName() {
            return "interop";
        }

        @Override
        public void completed(Exception failure, long ledgerId, long entryId) {
            if (failure == null) {
                stored.complete(null);
            } else {
                stored.completeExceptionally(failure);
            }
        }
    }
}
