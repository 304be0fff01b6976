// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.service.AbstractReplicator;

/**
 * Holds every session of a replication producer to "nothing later after a refusal", which the watermarks rest on: were
 * the entry behind a refused one stored, the refused one would count as stored too when it comes again. A source has
 * entries on their way when it learns of a refusal, so it cannot keep the rule alone.
 *
 * <pre>
 *   sequence ids of one session:  0 1 2 (3 refused: size, delay, checksum) 4 5 -> refused as well, until it reconnects
 * </pre>
 *
 * A session's SEND commands are numbered from 0 without a gap, so a gap is an entry that was refused, by whomever: a
 * bad checksum never reaches the topic. Classic replicators number otherwise and are let through; their names tell them
 * apart. One session's calls come from its connection's thread.
 */
final class SessionOrder {
    private static final class Session {
        final Object producer;
        long next;

        Session(Object producer) {
            this.producer = producer;
        }
    }

    private final Map<String, Session> sessions = new ConcurrentHashMap<>();

    /** A producer is connected; its first entry is still to come. */
    void begin(String name, Object producer) {
        if (!name.contains(AbstractReplicator.REPL_PRODUCER_NAME_DELIMITER)) {
            sessions.put(name, new Session(producer));
        }
    }

    /** It is gone; unknown ones are ignored. */
    void end(String name, Object producer) {
        sessions.computeIfPresent(name, (n, s) -> s.producer == producer ? null : s);
    }

    /** False where an earlier entry of the session was not accepted. */
    boolean follows(String name, long sequence) {
        Session s = sessions.get(name);
        return s == null || s.next == sequence;
    }

    /** The entry goes to the log, or is there already. */
    void accepted(String name, long sequence) {
        Session s = sessions.get(name);
        if (s != null) {
            s.next = sequence + 1;
        }
    }
}
