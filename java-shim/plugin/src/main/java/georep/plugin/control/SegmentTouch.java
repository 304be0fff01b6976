// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import georep.plugin.source.PeerClient;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;

/**
 * Has segments loaded by the brokers that own them, and has them read the topic's record. One that is loaded opens
 * its replication cursors and replicates, whether a client ever comes or not, and one that missed a pause finds it.
 * A few at a time.
 */
public final class SegmentTouch {
    private static final int AT_ONCE = 8;

    private final PeerClient brokers;
    private final TopicName topic;
    private final Iterator<String> todo;
    private final List<String> failures = Collections.synchronizedList(new ArrayList<>());

    private SegmentTouch(PeerClient brokers, TopicName topic, Iterator<String> todo) {
        this.brokers = brokers;
        this.topic = topic;
        this.todo = todo;
    }

    /** Segments by descriptor. Completes when all were told, with a line for each that could not be. */
    public static CompletableFuture<List<String>> all(PulsarService pulsar, TopicName topic, List<String> segments) {
        SegmentTouch t;
        try {
            t = new SegmentTouch(PeerClient.of(pulsar.getAdminClient()), topic, segments.iterator());
        } catch (PulsarServerException e) {
            return CompletableFuture.failedFuture(e);
        }
        CompletableFuture<?>[] lanes = new CompletableFuture<?>[Math.min(AT_ONCE, segments.size())];
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = t.next();
        }
        return CompletableFuture.allOf(lanes).thenApply(x -> t.failures);
    }

    private CompletableFuture<Void> next() {
        String one;
        synchronized (this) {
            if (!todo.hasNext()) {
                return CompletableFuture.completedFuture(null);
            }
            one = todo.next();
        }
        return brokers.post(topic, "segment/" + one + "/read-record", "{}").handle((n, e) -> {
            if (e != null) {
                failures.add(one + ": " + FutureUtil.unwrapCompletionException(e).getMessage());
            }
            return null;
        }).thenCompose(x -> next());
    }
}
