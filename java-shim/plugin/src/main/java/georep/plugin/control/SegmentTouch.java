// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.client.admin.ScalableTopics;

/**
 * Has segments loaded by the brokers that own them, by asking for their replication backlog: a segment that is loaded
 * opens its replication cursors and replicates, whether a client ever comes or not. A few at a time.
 */
public final class SegmentTouch {
    private static final int AT_ONCE = 8;

    private final ScalableTopics admin;
    private final Iterator<String[]> todo;

    private SegmentTouch(ScalableTopics admin, Iterator<String[]> todo) {
        this.admin = admin;
        this.todo = todo;
    }

    /** Each element: segment topic name, subscription. Completes when all were asked; answers do not matter. */
    public static CompletableFuture<Void> all(PulsarService pulsar, List<String[]> segments) {
        SegmentTouch t;
        try {
            t = new SegmentTouch(pulsar.getAdminClient().scalableTopics(), segments.iterator());
        } catch (PulsarServerException e) {
            return CompletableFuture.failedFuture(e);
        }
        CompletableFuture<?>[] lanes = new CompletableFuture<?>[Math.min(AT_ONCE, segments.size())];
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = t.next();
        }
        return CompletableFuture.allOf(lanes);
    }

    private CompletableFuture<Void> next() {
        String[] one;
        synchronized (this) {
            if (!todo.hasNext()) {
                return CompletableFuture.completedFuture(null);
            }
            one = todo.next();
        }
        return admin.getSegmentSubscriptionBacklogAsync(one[0], one[1]).handle((n, e) -> null)
                .thenCompose(x -> next());
    }
}
