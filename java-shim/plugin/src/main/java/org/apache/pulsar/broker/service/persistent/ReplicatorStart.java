// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Starts replication of a segment again after it ended or could not begin (no data of the remote cluster, a client that
 * does not come up), with doubling pauses, until it runs or is not wanted any more. The broker itself looks only when a
 * policy changes, and every ten minutes. Thread-safe.
 */
final class ReplicatorStart {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicatorStart.class);
    private static final long FIRST_MILLIS = 500;
    private static final long MAX_MILLIS = 30_000;

    private final ReplicatedSegmentTopic topic;
    private final ScheduledExecutorService timer;
    private final Set<String> waiting = ConcurrentHashMap.newKeySet();
    private final Map<String, Long> pauses = new ConcurrentHashMap<>();

    ReplicatorStart(ReplicatedSegmentTopic topic, ScheduledExecutorService timer) {
        this.topic = topic;
        this.timer = timer;
    }

    /** After a pause; one that is running serves all callers. */
    void later(String remote) {
        if (waiting.add(remote)) {
            long pause = pauses.merge(remote, FIRST_MILLIS, (old, first) -> Math.min(MAX_MILLIS, old * 2));
            timer.schedule(() -> {
                waiting.remove(remote);
                now(remote);
            }, pause, TimeUnit.MILLISECONDS);
        }
    }

    void now(String remote) {
        if (!topic.wantsReplicator(remote)) {
            pauses.remove(remote);
            return;
        }
        topic.checkReplication().whenComplete((x, e) -> {
            if (e != null) {
                LOG.warn("[{}] replication to {} does not start: {}", topic.getName(), remote, e.toString());
            }
            if (topic.wantsReplicator(remote)) {
                later(remote);
            } else {
                pauses.remove(remote);
            }
        });
    }
}
