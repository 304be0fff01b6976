// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.bookkeeper.client.BKException;
import org.apache.bookkeeper.client.BookKeeper;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.apache.bookkeeper.mledger.impl.ManagedLedgerImpl;
import org.apache.bookkeeper.mledger.proto.ManagedLedgerInfo.LedgerInfo;
import org.apache.pulsar.client.api.v5.Producer;
import org.apache.pulsar.client.api.v5.PulsarClient;
import org.apache.pulsar.client.api.v5.schema.Schema;
import org.awaitility.Awaitility;

/** One segment whose ledgers a test closes, offloads and takes from bookkeeper, all by the broker's own means. */
final class OffloadedLog {
    private final Cluster cluster;
    private final String topic;
    private final String segment;
    private int published;

    private OffloadedLog(Cluster cluster, String topic, String segment) {
        this.cluster = cluster;
        this.topic = topic;
        this.segment = segment;
    }

    /** The active segment that has this hash. */
    static OffloadedLog of(Cluster cluster, String topic, int hash) throws Exception {
        return new OffloadedLog(cluster, topic, SourcePair.active(cluster, topic, hash));
    }

    String segment() {
        return segment;
    }

    /** So many more messages to the topic, each an entry; numbered from 0 on. */
    void publish(int messages) throws Exception {
        try (PulsarClient client = cluster.v5();
             Producer<byte[]> p = client.newProducer(Schema.bytes()).topic(topic).create()) {
            for (int to = published + messages; published < to; published++) {
                Publish.v5(p, published, published + 1, 8);
            }
        }
    }

    private ManagedLedgerImpl log() throws Exception {
        return (ManagedLedgerImpl) cluster.segment(segment).getManagedLedger();
    }

    List<LedgerInfo> ledgers() throws Exception {
        return new ArrayList<>(log().getLedgersInfo().values());
    }

    /** Those that are not written to any more. */
    List<LedgerInfo> closed() throws Exception {
        List<LedgerInfo> all = ledgers();
        return all.subList(0, all.size() - 1);
    }

    /** The first ledgers of the log, so many, have a complete copy in the folder then. */
    void offload(int ledgers) throws Exception {
        log().offloadPrefix(PositionFactory.create(ledgers().get(ledgers).getLedgerId(), 0));
    }

    /** What is offloaded leaves bookkeeper. */
    void deleteFromBookies() throws Exception {
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            CompletableFuture<Void> trimmed = new CompletableFuture<>();
            log().trimConsumedLedgersInBackground(trimmed);
            trimmed.get(20, TimeUnit.SECONDS);
            for (LedgerInfo g : ledgers()) {
                if (g.hasOffloadContext() && g.getOffloadContext().isComplete()) {
                    assertThat(g.getOffloadContext().isBookkeeperDeleted()).isTrue();
                    assertThat(inBookies(g.getLedgerId())).isFalse(); // a little after the record says so
                }
            }
        });
    }

    /** Asked of bookkeeper itself. */
    boolean inBookies(long ledger) throws Exception {
        BookKeeper bookies = cluster.broker.getBookKeeperClient();
        CompletableFuture<Boolean> there = new CompletableFuture<>();
        bookies.getLedgerManager().readLedgerMetadata(ledger).whenComplete((m, e) -> {
            if (e == null) {
                there.complete(true);
            } else if (e instanceof BKException b
                    && b.getCode() == BKException.Code.NoSuchLedgerExistsOnMetadataServerException) {
                there.complete(false);
            } else {
                there.completeExceptionally(e);
            }
        });
        return there.get(20, TimeUnit.SECONDS);
    }
}
