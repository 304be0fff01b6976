// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.core.JsonProcessingException;
import georep.plugin.source.PeerClient;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentInfo;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/**
 * Has segments loaded by the brokers that own them, and has them read the topic's record. One that is loaded opens
 * its replication cursors and replicates, whether a client ever comes or not, and one that missed a pause finds it.
 * A few at a time.
 */
public final class SegmentTouch {
    private static final int AT_ONCE = 8;

    private final PeerClient brokers;
    private final TopicName topic;
    private final Iterator<SegmentInfo> todo;
    private final List<String> failures = Collections.synchronizedList(new ArrayList<>());
    private final List<Long> ended = Collections.synchronizedList(new ArrayList<>());

    /**
     * What came of it.
     *
     * @param failures a line for each segment that could not be told
     * @param ended    ids of those that take no entry any more
     */
    public record Result(List<String> failures, List<Long> ended) {
    }

    private SegmentTouch(PeerClient brokers, TopicName topic, Iterator<SegmentInfo> todo) {
        this.brokers = brokers;
        this.topic = topic;
        this.todo = todo;
    }

    /** Completes when all have been told or cannot be. */
    public static CompletableFuture<Result> all(PulsarService pulsar, TopicName topic, List<SegmentInfo> segments) {
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
        return CompletableFuture.allOf(lanes).thenApply(x -> new Result(t.failures, t.ended));
    }

    private CompletableFuture<Void> next() {
        SegmentInfo s;
        synchronized (this) {
            if (!todo.hasNext()) {
                return CompletableFuture.completedFuture(null);
            }
            s = todo.next();
        }
        String one = SegmentTopicName.formatDescriptor(s.hashRange(), s.segmentId());
        return brokers.post(topic, "segment/" + one + "/read-record", "{}").handle((answer, e) -> {
            if (e != null) {
                failures.add(one + ": " + FutureUtil.unwrapCompletionException(e).getMessage());
            } else if (ended(answer)) {
                ended.add(s.segmentId());
            }
            return null;
        }).thenCompose(x -> next());
    }

    private static boolean ended(String answer) {
        try {
            return ObjectMapperFactory.getMapper().reader().readTree(answer).path("ended").asBoolean();
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e); // a broker of this cluster has written it
        }
    }
}
