// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.common.naming.TopicName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Waits until a topic's controller leader has prepared replication to a remote (instance, generation, segment records,
 * pins), which a segment's replicator must not precede. Loads the controller, so that some broker becomes leader, and
 * looks again with growing pauses; ends when its future is completed or cancelled.
 */
public final class EnabledWait {
    private static final Logger LOG = LoggerFactory.getLogger(EnabledWait.class);
    private static final long FIRST_PAUSE_MILLIS = 50;
    private static final long MAX_PAUSE_MILLIS = 5_000;

    private final PulsarService pulsar;
    private final TopicRecords records;
    private final TopicName topic;
    private final long segment;
    private final String remote;
    private final CompletableFuture<TopicRecord> future = new CompletableFuture<>();

    private EnabledWait(PulsarService pulsar, TopicRecords records, TopicName topic, long segment, String remote) {
        this.pulsar = pulsar;
        this.records = records;
        this.topic = topic;
        this.segment = segment;
        this.remote = remote;
    }

    /** Completes with the record in which replication of the segment to the remote is prepared. Cancel to give up. */
    public static CompletableFuture<TopicRecord> start(PulsarService pulsar, TopicRecords records, TopicName topic,
                                                       long segment, String remote) {
        EnabledWait w = new EnabledWait(pulsar, records, topic, segment, remote);
        w.look(FIRST_PAUSE_MILLIS);
        return w.future;
    }

    private void look(long pause) {
        if (future.isDone()) {
            return;
        }
        records.fresh(topic).thenCompose(this::take).whenComplete((done, e) -> {
            if (e != null) {
                LOG.debug("[{}] not prepared for {} yet: {}", topic, remote, e.toString());
            }
            if (e != null || !done) {
                pulsar.getExecutor().schedule(() -> look(Math.min(MAX_PAUSE_MILLIS, pause * 2)), pause,
                        TimeUnit.MILLISECONDS);
            }
        });
    }

    private CompletableFuture<Boolean> take(ScalableTopicMetadata m) {
        TopicRecord r = TopicRecord.of(m);
        if (r.instance() != null && r.remotes().contains(remote) && r.segment(segment) != null) {
            future.complete(r);
            return CompletableFuture.completedFuture(true);
        }
        return pulsar.getBrokerService().getScalableTopicService().getOrCreateController(topic).thenApply(c -> false);
    }
}
