// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.client.impl;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.common.protocol.ByteBufPair;
import org.apache.pulsar.common.protocol.Commands;
import org.apache.pulsar.common.schema.SchemaInfo;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One session of the replication producer of a source segment on one remote segment. It ships bytes that the core has
 * already framed, so nothing passes through LightProto and unknown metadata fields survive:
 *
 * <pre>
 *   [u32 total | u32 size | SEND command] [0x0e01 | crc | size | metadata] [payload]
 *    `------------- built here ----------' `------- the core's header --'   slice of the entry or of the arena
 * </pre>
 *
 * <p><b>A session lives once.</b> {@link ProducerImpl} is used for what a connection needs (lookup, CreateProducer,
 * registration for receipts); its queue of pending messages stays empty. When the connection or the remote topic goes
 * away after the producer was created, the session does not reconnect: every send in flight is reported UNKNOWN and
 * the owner opens a new session once {@link Owner#closed} has been called. Re-sending is the core's decision, and since
 * each session has its own producer id, a receipt can only belong to this session: matching is first in, first out.
 *
 * <p>Lives in this package for ProducerImpl's package-private members, hence must be loaded by the class loader that
 * loads the Pulsar client. Thread-safe. Owner's methods are called from Netty threads, never under this object's lock.
 */
public final class VerbatimProducer extends ProducerImpl<byte[]> {
    private static final Logger LOG = LoggerFactory.getLogger(VerbatimProducer.class);
    private static final int CREATION_GRACE_SECONDS = 2;

    /** What became of one send; the meanings are georep.h's. */
    public enum Outcome { ACKED, DUPLICATE, REFUSED, UNKNOWN, TOO_LARGE, CHECKSUM_ERROR }

    /** Receives what happens to a session; calls for one session come in order. */
    public interface Owner {
        /** The send with this id has its outcome; exactly one call per accepted send. */
        void outcome(VerbatimProducer producer, long sendId, Outcome outcome);

        /** The remote segment is sealed. Outcomes of what was in flight follow. */
        void sealed(VerbatimProducer producer);

        /** The last call: the producer is gone from the remote broker and its name is free again. */
        void closed(VerbatimProducer producer);
    }

    private static final class Send {
        final long id;
        final long sequence;
        final long ledger;
        final long entry;
        ByteBufPair wire;

        Send(long id, long sequence, long ledger, long entry, ByteBufPair wire) {
            this.id = id;
            this.sequence = sequence;
            this.ledger = ledger;
            this.entry = entry;
            this.wire = wire;
        }
    }

    private final Owner owner;
    private final ArrayDeque<Send> inFlight = new ArrayDeque<>();
    private final ArrayDeque<ByteBufPair> toWrite = new ArrayDeque<>();
    private final SendFrame frame = new SendFrame(producerId);
    private boolean writing;
    private final CompletableFuture<VerbatimProducer> ready;
    private long nextSequence;
    private volatile boolean opened;
    private volatile boolean dead;

    private VerbatimProducer(PulsarClientImpl client, String topic, ProducerConfigurationData conf,
                             CompletableFuture<Producer<byte[]>> created, Schema<byte[]> schema, Owner owner) {
        super(client, topic, conf, created, -1, schema, null, Optional.empty());
        this.owner = owner;
        // the constructor above may already be answered on another thread, before this object's fields are set: what
        // follows runs on the finished object
        this.ready = created.thenApply(x -> {
            opened = true;
            return this;
        });
    }

    /**
     * Opens a session; {@link #ready} tells the result.
     *
     * @param segmentTopic the remote segment, segment://…
     * @param name         producer name; one producer of a name may be connected to a topic
     * @param schema       announced at creation, or null; needed where the remote enforces schema validation
     * @throws RuntimeException when the client is closed
     */
    public static VerbatimProducer open(PulsarClientImpl client, String segmentTopic, String name, SchemaInfo schema,
                                        Owner owner) {
        ProducerConfigurationData conf = new ProducerConfigurationData();
        conf.setTopicName(segmentTopic);
        conf.setProducerName(name);
        conf.setBatchingEnabled(false);
        conf.setSendTimeoutMs(0);
        conf.setMaxPendingMessages(0);
        conf.setNonPartitionedTopicExpected(true);
        conf.setReplProducer(true);
        return new VerbatimProducer(client, segmentTopic, conf, new CompletableFuture<>(), new AnnouncedSchema(schema),
                owner);
    }

    /**
     * Completes when the producer is connected. A failure is a PulsarClientException (see {@link #isSealed}); unless
     * {@link #shutdown} has been called, none of the owner's methods is called after it.
     */
    public CompletableFuture<VerbatimProducer> ready() {
        return ready;
    }

    /** Largest [header | payload] that the remote broker's frame decoder accepts, bytes. */
    public int maxEntryBytes() {
        return getConnectionHandler().getMaxMessageSize() + Commands.MESSAGE_SIZE_FRAME_PADDING / 2;
    }

    /**
     * Queues one entry; {@link #flush} writes what is queued.
     *
     * @param header  the core's header (magic to metadata), copied before return
     * @param payload taken over (released here in every case)
     * @return false when the session is dead: then nothing was queued and no outcome will be reported for the id
     */
    public boolean send(long sendId, long ledger, long entry, int messages, ByteBuf header, ByteBuf payload) {
        boolean tooLarge = header.readableBytes() + payload.readableBytes() > maxEntryBytes();
        synchronized (this) {
            if (dead) {
                payload.release();
                return false;
            }
            if (!tooLarge) {
                Send s = new Send(sendId, nextSequence++, ledger, entry, null);
                s.wire = frame.of(s.sequence, messages, header, payload);
                inFlight.add(s);
                toWrite.add(s.wire);
                return true;
            }
        }
        payload.release();
        owner.outcome(this, sendId, Outcome.TOO_LARGE);
        die(); // what follows must not be stored before it
        return true;
    }

    /** Writes everything queued in one go on the connection's thread. */
    public void flush() {
        ClientCnx cnx;
        synchronized (this) {
            if (dead || writing || toWrite.isEmpty()) {
                return;
            }
            cnx = getCnxIfReady();
            writing = cnx != null;
        }
        if (cnx == null) {
            die();
        } else {
            cnx.ctx().channel().eventLoop().execute(() -> write(cnx.ctx()));
        }
    }

    private void write(ChannelHandlerContext ctx) {
        List<ByteBufPair> batch;
        synchronized (this) {
            writing = false;
            batch = new ArrayList<>(toWrite);
            toWrite.clear();
        }
        for (ByteBufPair wire : batch) {
            ctx.write(wire, ctx.voidPromise()); // releases the pair
        }
        ctx.flush();
    }

    /** Bytes and entries are not kept once written; this counts sends that have no outcome yet. */
    public synchronized int inFlight() {
        return inFlight.size();
    }

    /** Whether the session has ended or is ending. */
    public boolean hasEnded() {
        return dead;
    }

    /** Ends the session: what is in flight gets UNKNOWN, then {@link Owner#closed} is called. Idempotent. */
    public void shutdown() {
        die();
    }

    private void die() {
        List<Send> lost;
        synchronized (this) {
            if (dead) {
                return;
            }
            dead = true;
            lost = new ArrayList<>(inFlight);
            inFlight.clear();
            toWrite.forEach(ByteBufPair::release);
            toWrite.clear();
        }
        for (Send s : lost) {
            owner.outcome(this, s.id, Outcome.UNKNOWN);
        }
        if (opened || ready.isDone()) {
            finish();
        } else {
            // a CreateProducer may be under way: closing now would make the client drop the shared connection
            ready.copy().orTimeout(CREATION_GRACE_SECONDS, TimeUnit.SECONDS).whenComplete((p, e) -> finish());
        }
    }

    private void finish() {
        // the broker answers CloseProducer only when its pending publishes are done, so the next session of this name
        // meets a settled dedup table
        CompletableFuture<Void> closing;
        try {
            closing = closeAsync();
        } catch (RuntimeException e) {
            closing = CompletableFuture.failedFuture(e);
        }
        closing.whenComplete((v, e) -> {
            if (e != null) {
                LOG.debug("[{}] {}: closing the replication producer: {}", topic, producerName, e.toString());
                closeAndClearPendingMessages();
            }
            owner.closed(this);
        });
    }

    /** Takes the send with this sequence id out of the queue; null when it is not there. */
    private synchronized Send take(long sequence) {
        for (var it = inFlight.iterator(); it.hasNext();) {
            Send s = it.next();
            if (s.sequence == sequence) {
                it.remove();
                return s;
            }
        }
        return null;
    }

    // ---- what the connection reports

    /** A receipt carries the source position (ledger, entry) and the stored position, -1:-1 for a duplicate. */
    @Override
    protected void ackReceived(ClientCnx cnx, long sourceLedger, long sourceEntry, long ledgerId, long entryId) {
        Send head;
        boolean matches;
        synchronized (this) {
            head = dead ? null : inFlight.peek();
            if (head == null) {
                return;
            }
            matches = head.ledger == sourceLedger && head.entry == sourceEntry;
            if (matches) {
                inFlight.poll();
            }
        }
        if (!matches) {
            LOG.warn("[{}] {}: receipt for {}:{} while {}:{} is the oldest in flight; closing the session", topic,
                    producerName, sourceLedger, sourceEntry, head.ledger, head.entry);
            die();
            return;
        }
        owner.outcome(this, head.id, ledgerId == -1 && entryId == -1 ? Outcome.DUPLICATE : Outcome.ACKED);
    }

    @Override
    public void printWarnLogWhenCanNotDetermineDeduplication(Channel channel, long sourceLedger, long sourceEntry) {
        // a duplicate is an ordinary answer here
    }

    @Override
    protected void recoverChecksumError(ClientCnx cnx, long sequenceId) {
        Send s = take(sequenceId);
        if (s != null) {
            owner.outcome(this, s.id, Outcome.CHECKSUM_ERROR);
        }
        die();
    }

    @Override
    protected void recoverNotAllowedError(long sequenceId, String message) {
        Send s = take(sequenceId);
        if (s != null) {
            LOG.warn("[{}] {}: {}:{} refused: {}", topic, producerName, s.ledger, s.entry, message);
            boolean size = message != null && message.contains("maximum message size");
            owner.outcome(this, s.id, size ? Outcome.TOO_LARGE : Outcome.REFUSED);
        }
        die();
    }

    @Override
    public void terminated(ClientCnx cnx) {
        if (!opened) {
            super.terminated(cnx);
            return;
        }
        if (!dead) {
            owner.sealed(this);
        }
        die();
    }

    /** The connection broke, the broker closed the producer, or a send failed with an error of unknown meaning. */
    @Override
    void connectionClosed(ClientCnx cnx, Optional<Long> initialConnectionDelayMs, Optional<URI> hostUrl) {
        if (!opened) {
            super.connectionClosed(cnx, initialConnectionDelayMs, hostUrl); // still being created: the stock retry
            return;
        }
        if (cnx.channel().isActive()) {
            // when the broker closed the producer, the connection has forgotten it and a receipt that is still under
            // way would be a NullPointerException there, which ends the connection for all; closeAsync forgets it for
            // good
            cnx.registerProducer(producerId, this);
        }
        die();
    }

    /**
     * The stock client goes on for half a minute with credentials that were refused, and tells nobody: the owner has to
     * know at once, and tries again at its own pace.
     */
    @Override
    public boolean connectionFailed(PulsarClientException e) {
        return super.connectionFailed(!opened && isDenied(e)
                ? new PulsarClientException.AuthorizationException(e.getMessage()) : e);
    }

    /** True when the error says that the remote does not accept these credentials, or not for this. */
    public static boolean isDenied(Throwable t) {
        for (Throwable c = t; c != null; c = c.getCause()) {
            if (c instanceof PulsarClientException.AuthenticationException
                    || c instanceof PulsarClientException.AuthorizationException
                    || c instanceof PulsarClientException.UnsupportedAuthenticationException) {
                return true;
            }
        }
        return false;
    }

    /** True when the error says that the segment takes no more entries. */
    public static boolean isSealed(Throwable t) {
        for (Throwable c = t; c != null; c = c.getCause()) {
            if (c instanceof PulsarClientException.TopicTerminatedException) {
                return true;
            }
        }
        return false;
    }

    /** True when the error says that the session should have announced a schema, or another one. */
    public static boolean isWithoutSchema(Throwable t) {
        for (Throwable c = t; c != null; c = c.getCause()) {
            if (c instanceof PulsarClientException.IncompatibleSchemaException) {
                return true;
            }
        }
        return false;
    }

    /** True when the error says that the segment does not exist (any more). */
    public static boolean isGone(Throwable t) {
        for (Throwable c = t; c != null; c = c.getCause()) {
            if (c instanceof PulsarClientException.TopicDoesNotExistException
                    || c instanceof PulsarClientException.NotFoundException) {
                return true;
            }
        }
        return false;
    }
}
