// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import georep.plugin.GeorepPlugin;
import georep.plugin.control.ConvergeDriver;
import georep.plugin.control.ConvergeHost;
import georep.plugin.control.LayoutMutation;
import georep.plugin.control.PeerExchange;
import georep.plugin.control.ReplicationSetup;
import georep.plugin.control.TopicFanOut;
import georep.plugin.control.TopicRecord;
import jakarta.ws.rs.core.Response;
import java.util.Collection;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.resources.ScalableTopicResources.MetadataPathListener;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.apache.pulsar.metadata.api.Notification;
import org.apache.pulsar.metadata.api.NotificationType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How a topic's layout follows those of its peers, while this broker leads it and there are peers: starts and ends the
 * {@link ConvergeDriver}, and lends it the controller's queue, store and policy. Thread-safe.
 */
public final class TopicConvergence implements ConvergeHost {
    private static final Logger LOG = LoggerFactory.getLogger(TopicConvergence.class);
    /** How long a wish waits for another change, or for peers that a new leader has not heard. */
    private static final long WISH_MILLIS = 65_000;
    /** 5.0.0-M1 has no such setting: the library's default. */
    private static final int MAX_BUCKETS = 64;
    private static final int DEFAULT_LOOK_SECONDS = 60;

    private final ReplicatedController controller;
    private final GeorepPlugin plugin;
    private final PulsarService pulsar;
    private final ScalePolicy policy;
    private final TopicFanOut elsewhere;
    private volatile ConvergeDriver driver;
    private volatile JsonNode known = MissingNode.getInstance(); // the status of the driver before, at its end
    private volatile boolean termRaised;
    private volatile CompletableFuture<Void> ended = CompletableFuture.completedFuture(null); // the driver before
    private volatile SealedBacklog sealed; // of the layout that was asked about last; null: none was by this leader
    private ScheduledFuture<?> looks; // guarded by this
    private final MetadataPathListener deletion = new MetadataPathListener() {
        @Override
        public String getMetadataPath() {
            return plugin.records().resources().topicPath(topic());
        }

        @Override
        public void onNotification(Notification n) {
            if (n.getType() == NotificationType.Deleted && n.getPath().equals(getMetadataPath())) {
                pulsar.getExecutor().execute(TopicConvergence.this::deleted);
            }
        }
    };

    TopicConvergence(ReplicatedController controller, GeorepPlugin plugin) {
        this.controller = controller;
        this.plugin = plugin;
        this.pulsar = plugin.pulsar();
        this.policy = new ScalePolicy(pulsar, plugin.records(), controller.getTopicName());
        this.elsewhere = new TopicFanOut(plugin, controller.getTopicName());
    }

    private String cluster() {
        return pulsar.getConfiguration().getClusterName();
    }

    // ------------------------------------------------------------------ life

    /** True while the layout is decided with peers. */
    public boolean on() {
        return driver != null;
    }

    /** The leader has prepared replication: there are peers now, others than before, or none. In the queue. */
    CompletableFuture<Void> update(ReplicationSetup.Result r) {
        if (r.remotes().isEmpty() || !plugin.config().convergence()) {
            boolean raise = r.replicated() && !termRaised;
            stop();
            return raise ? raiseTerm().thenApply(m -> null) : CompletableFuture.completedFuture(null);
        }
        ConvergeDriver running = driver;
        if (running != null && TopicRecord.of(r.record()).term() <= running.term()) {
            running.members(members(r));
            elsewhere.create(r.record(), controller::created);
            return CompletableFuture.completedFuture(null);
        }
        if (running != null) { // somebody else believed to lead, and this one has given up
            stop();
        }
        return begin(r);
    }

    private CompletableFuture<Void> begin(ReplicationSetup.Result r) {
        if (!leads()) { // a later leader's term must not be raised
            return CompletableFuture.completedFuture(null);
        }
        plugin.records().resources().registerPathListener(deletion); // before anything that takes a while
        return ended.thenCompose(x -> raiseTerm()).thenCompose(m ->
                policy.look(SegmentLayout.fromMetadata(m), controller).thenAccept(view -> {
                    start(r, m, view);
                    elsewhere.create(m, controller::created);
                }));
    }

    private CompletableFuture<ScalableTopicMetadata> raiseTerm() {
        return plugin.records().change(topic(), TopicRecord::raiseTerm).thenApply(m -> {
            termRaised = true;
            return m;
        });
    }

    private synchronized void start(ReplicationSetup.Result r, ScalableTopicMetadata m, ScalePolicy.View view) {
        if (!leads()) { // not any more
            return;
        }
        ScheduledExecutorService executor = pulsar.getExecutor();
        ConvergeDriver d = new ConvergeDriver(topic().toString(), cluster(), plugin.config(), plugin.profile(), this,
                PeerExchange.of(plugin), executor);
        sealed = null;
        d.stored(json(m));
        d.members(members(r));
        d.policy(view.maxSegments(), MAX_BUCKETS, view.cold());
        d.lead(TopicRecord.of(m).term());
        driver = d;
        int seconds = pulsar.getConfiguration().getScalableTopicAutoScaleIntervalSeconds();
        int every = seconds > 0 ? seconds : DEFAULT_LOOK_SECONDS;
        looks = executor.scheduleWithFixedDelay(() -> lookAtPolicy().exceptionally(e -> {
            LOG.debug("[{}] the policy cannot be looked at, again later: {}", topic(), e.toString());
            return null;
        }), every, every, TimeUnit.SECONDS);
    }

    /** The topic is deleted: so it is where this cluster replicates it to, if the namespace still does. */
    private void deleted() {
        stop();
        controller.deleted().exceptionally(e -> {
            LOG.warn("[{}] is deleted, and something of it is left in the store: {}", topic(), e.toString());
            return null;
        });
        elsewhere.delete(controller.remotes(), known);
    }

    private Set<String> members(ReplicationSetup.Result r) {
        Set<String> all = new TreeSet<>(r.remotes());
        all.add(cluster());
        return all;
    }

    /** This time as leader is over; there may be another one. That the topic is deleted is heard in between, too. */
    void end() {
        termRaised = false;
        halt();
    }

    /** This controller does not lead, or is closed. */
    void close() {
        termRaised = false;
        stop();
    }

    private void stop() {
        plugin.records().resources().deregisterPathListener(deletion);
        halt();
    }

    private synchronized void halt() {
        ConvergeDriver d = driver;
        driver = null;
        if (looks != null) {
            looks.cancel(false);
            looks = null;
        }
        if (d != null) {
            JsonNode last = d.status();
            known = last == null ? known : last;
            ended = d.end();
        }
    }

    // ------------------------------------------------------------------ what happens

    void stored(ScalableTopicMetadata m) {
        ConvergeDriver d = driver;
        if (d != null) {
            d.stored(json(m));
        }
    }

    /** Completes when the split is durable; waits where it has to. */
    CompletableFuture<Void> split(long segment) {
        return present().thenCompose(d -> d.split(segment, WISH_MILLIS));
    }

    /** Fails with verdict MARKED until everybody agrees. */
    CompletableFuture<Void> merge(long left, long right) {
        return present().thenCompose(d -> d.merge(left, right, WISH_MILLIS));
    }

    /** Other bucket starts for a segment: more of them at once; fewer are MARKED until everybody agrees. */
    public CompletableFuture<Void> rebucket(long segment, Collection<Integer> starts) {
        return told(d -> d.rebucket(segment, starts, WISH_MILLIS));
    }

    /** An operator's mark goes: of a boundary, or, where that is 0, of the buckets of the segment that starts so. */
    public CompletableFuture<Void> cancelMark(int boundary, int segmentStart) {
        return told(d -> d.cancelMark(boundary, segmentStart, WISH_MILLIS));
    }

    /** An operator's wish; a verdict is an answer with a status and a text. */
    private CompletableFuture<Void> told(Function<ConvergeDriver, CompletableFuture<Void>> wish) {
        return controller.look().thenCompose(r -> present()).thenCompose(wish)
                .exceptionally(OperatorVerdict::thrown);
    }

    private CompletableFuture<ConvergeDriver> present() {
        ConvergeDriver d = driver;
        return d != null ? CompletableFuture.completedFuture(d)
                : CompletableFuture.failedFuture(new RestException(Response.Status.CONFLICT, topic()
                + " does not converge with other clusters here"));
    }

    /** What the policy would merge now. */
    CompletableFuture<Void> lookAtPolicy() {
        ConvergeDriver d = driver;
        return d == null ? CompletableFuture.completedFuture(null) : policy.look(controller.getLayout().join(),
                controller).thenAccept(v -> d.policy(v.maxSegments(), MAX_BUCKETS, v.cold()));
    }

    /** ConvergeStatus, now; null where the layout does not converge. */
    public JsonNode status() {
        ConvergeDriver d = driver;
        return d == null ? null : d.status();
    }

    public TopicName topic() {
        return controller.getTopicName();
    }

    // ------------------------------------------------------------------ what the machine has done for it

    @Override
    public boolean leads() {
        return controller.isLeader();
    }

    @Override
    public CompletableFuture<String> stored() {
        return plugin.records().fresh(topic()).thenApply(TopicConvergence::json);
    }

    @Override
    public CompletableFuture<String> change(JsonNode mutation) {
        return controller.change(new LayoutMutation(mutation, System.currentTimeMillis()))
                .thenApply(TopicConvergence::json);
    }

    @Override
    public CompletableFuture<Boolean> drained(long epoch) {
        SegmentLayout layout = controller.getLayout().join();
        if (layout.getEpoch() != epoch) { // not taken over yet, or not told to the machine yet
            return CompletableFuture.completedFuture(false);
        }
        SealedBacklog b = sealed;
        if (b == null || b.epoch() != epoch) {
            b = new SealedBacklog(pulsar, topic(), epoch);
            sealed = b;
        }
        return b.drained(layout, controller.pins());
    }

    private static String json(ScalableTopicMetadata m) {
        try {
            return ObjectMapperFactory.getMapper().writer().writeValueAsString(m);
        } catch (JsonProcessingException e) {
            throw new IllegalStateException(e);
        }
    }
}
