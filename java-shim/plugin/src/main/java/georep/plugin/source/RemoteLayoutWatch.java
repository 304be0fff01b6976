// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.pulsar.client.impl.ClientCnx;
import org.apache.pulsar.client.impl.DagWatchSession;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.common.api.proto.ScalableTopicDAG;
import org.apache.pulsar.common.api.proto.ServerError;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.protocol.Commands;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Tells when the layout of a topic on a remote cluster changes, over the broker's replication client. The DAG that a
 * 5.0.0-M1 broker pushes has no bucket lists, so only its epoch is used: the listener then reads the full state.
 * Reconnects for ever with growing pauses. One per (topic, remote). Thread-safe.
 */
final class RemoteLayoutWatch implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(RemoteLayoutWatch.class);

    /** Session ids are per connection and shared with v5 clients, which count from 0. */
    private static final AtomicLong IDS = new AtomicLong(1L << 40);

    /** Receives epochs; called on a connection's thread, must not block. */
    interface Listener {
        void onEpoch(long epoch);
    }

    private final PulsarClientImpl client;
    private final TopicName topic;
    private final Listener listener;
    private final Consumer<Throwable> failures;
    private final Retry retry = new Retry(500, 60_000);
    private long session;
    private ClientCnx cnx;
    private boolean closed;

    /** @param failures is told why there is no connection; on a connection's thread, must not block */
    RemoteLayoutWatch(PulsarClientImpl client, TopicName topic, Listener listener, Consumer<Throwable> failures) {
        this.client = client;
        this.topic = topic;
        this.listener = listener;
        this.failures = failures;
    }

    /** Begins watching. */
    void start() {
        client.getConnection(topic.toString()).whenComplete((c, e) -> {
            if (e != null) {
                failures.accept(e);
                again(0, String.valueOf(e));
            } else if (!c.isSupportsScalableTopics()) {
                again(0, "the remote broker has no scalable topics");
            } else {
                open(c);
            }
        });
    }

    private void open(ClientCnx c) {
        long id;
        synchronized (this) {
            if (closed) {
                return;
            }
            id = IDS.incrementAndGet();
            session = id;
            cnx = c;
        }
        c.registerDagWatchSession(id, new Session(id));
        c.ctx().writeAndFlush(Commands.newScalableTopicLookup(id, topic.toString())).addListener(f -> {
            if (!f.isSuccess()) {
                c.removeDagWatchSession(id);
                again(id, String.valueOf(f.cause()));
            }
        });
    }

    /** One registration; a late call of an earlier one changes nothing. */
    private final class Session implements DagWatchSession {
        private final long id;

        Session(long id) {
            this.id = id;
        }

        @Override
        public void onUpdate(ScalableTopicDAG dag, String resolved) {
            synchronized (RemoteLayoutWatch.this) {
                if (closed || session != id) {
                    return;
                }
                retry.reset();
            }
            listener.onEpoch(dag.getEpoch());
        }

        @Override
        public void onError(ServerError error, String message) {
            again(id, error + " " + message);
        }

        @Override
        public void connectionClosed() {
            again(id, "connection closed");
        }
    }

    /** @param id the session that ended; 0 = none was open */
    private void again(long id, String why) {
        long pause;
        synchronized (this) {
            if (closed || id != session) {
                return;
            }
            session = 0;
            cnx = null;
            pause = retry.next();
        }
        LOG.debug("[{}] layout watch: {}; again in {} ms", topic, why, pause);
        client.timer().newTimeout(t -> start(), pause, TimeUnit.MILLISECONDS);
    }

    @Override
    public void close() {
        ClientCnx c;
        long id;
        synchronized (this) {
            closed = true;
            c = cnx;
            id = session;
            cnx = null;
        }
        if (c != null && id != 0) {
            c.removeDagWatchSession(id);
            c.ctx().writeAndFlush(Commands.newScalableTopicClose(id));
        }
    }
}
