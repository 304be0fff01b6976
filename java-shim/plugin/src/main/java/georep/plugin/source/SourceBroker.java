// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import georep.nativelib.Peer;
import georep.plugin.GeorepConfig;
import georep.plugin.GeorepPlugin;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.impl.PulsarClientImpl;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.scalable.SegmentTopicName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all replicators of one broker share: threads, timer, budget, and the topics that they replicate with their
 * remotes. One per broker, a service of the plugin. Thread-safe.
 */
public final class SourceBroker implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(SourceBroker.class);
    private static final int MAX_SWEEP_SECONDS = 15;
    private static final int IDLE_THREAD_SECONDS = 30;

    private record RemoteKey(TopicName topic, String remote) { }

    private final GeorepPlugin plugin;
    private final PulsarService pulsar;
    private final GeorepConfig config;
    private final ExecutorService workers;
    private final ScheduledThreadPoolExecutor timer;
    private final BudgetService budget;
    private final ReplicationStatus status;
    private final ParkedPositions parked = new ParkedPositions();
    private final RemoteClients clients;
    private final ScheduledFuture<?> sweep;
    private final long startNanos = System.nanoTime();
    private final Map<TopicName, LocalTopic> locals = new HashMap<>();
    private final Map<RemoteKey, RemoteTopic> remotes = new HashMap<>();

    private SourceBroker(GeorepPlugin plugin) {
        this.plugin = plugin;
        this.pulsar = plugin.pulsar();
        this.config = plugin.config();
        this.clients = RemoteClients.of(plugin);
        String name = "georep-" + pulsar.getConfiguration().getClusterName();
        ThreadPoolExecutor pool = new ThreadPoolExecutor(config.threads(), config.threads(), IDLE_THREAD_SECONDS,
                TimeUnit.SECONDS, new LinkedBlockingQueue<>(), new DefaultThreadFactory(name, true));
        pool.allowCoreThreadTimeOut(true);
        this.workers = pool;
        this.timer = new ScheduledThreadPoolExecutor(1, new DefaultThreadFactory(name + "-timer", true));
        this.timer.setKeepAliveTime(IDLE_THREAD_SECONDS, TimeUnit.SECONDS);
        this.timer.allowCoreThreadTimeOut(true);
        this.budget = new BudgetService(config, timer);
        this.status = new ReplicationStatus(this);
        int sweepSeconds = Math.max(1, Math.min(config.idleProducerSeconds() / 2, MAX_SWEEP_SECONDS));
        this.sweep = timer.scheduleWithFixedDelay(this::sweep, sweepSeconds, sweepSeconds, TimeUnit.SECONDS);
    }

    private void sweep() {
        status.closeIdleProducers(TimeUnit.SECONDS.toNanos(config.idleProducerSeconds()));
        checkClients();
    }

    /** What works with a client of data that a cluster no longer has begins anew. */
    public void checkClients() {
        List<RemoteTopic> all;
        synchronized (this) {
            all = List.copyOf(remotes.values());
        }
        all.stream().collect(Collectors.groupingBy(RemoteTopic::remote)).forEach((remote, topics) ->
                pulsar.getPulsarResources().getClusterResources().getClusterAsync(remote).thenAccept(data -> {
                    clients.check(remote, data);
                    topics.forEach(RemoteTopic::checkClient);
                }).exceptionally(e -> {
                    LOG.debug("data of cluster {}: {}", remote, e.toString());
                    return null; // looked at again with the next sweep
                }));
    }

    /** The instance of a broker; made at the first call. The plugin must be running there. */
    public static SourceBroker of(PulsarService pulsar) {
        GeorepPlugin plugin = GeorepPlugin.of(pulsar);
        if (plugin == null || !plugin.usable()) {
            throw new IllegalStateException("georep does not run on this broker");
        }
        return plugin.service(SourceBroker.class, SourceBroker::new);
    }

    RemoteClients clients() {
        return clients;
    }

    PulsarService pulsar() {
        return pulsar;
    }

    String cluster() {
        return pulsar.getConfiguration().getClusterName();
    }

    GeorepConfig config() {
        return config;
    }

    ExecutorService workers() {
        return workers;
    }

    ScheduledExecutorService timer() {
        return timer;
    }

    BudgetService budget() {
        return budget;
    }

    /** What the replicators of this broker do. */
    public ReplicationStatus status() {
        return status;
    }

    /** The parked positions that this broker has met. */
    public ParkedPositions parked() {
        return parked;
    }

    /** Status of a segment of this cluster by the broker that owns it; 404 where there is none. */
    public CompletableFuture<String> segmentStatus(TopicName segment) {
        try {
            return PeerClient.of(pulsar.getAdminClient()).get(SegmentTopicName.getParentTopicName(segment), "segment/"
                    + SegmentTopicName.formatDescriptor(segment.getSegmentRange().orElseThrow(),
                            segment.getSegmentId()));
        } catch (PulsarServerException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    long startNanos() {
        return startNanos;
    }

    /** Profile of segments without a record. */
    int defaultProfile() {
        return plugin.profile().equals("pip486") ? Peer.PROFILE_PIP486 : Peer.PROFILE_M1;
    }

    /** The topic's layout in this cluster; every call is to be paired with {@link #release(LocalTopic)}. */
    synchronized LocalTopic local(TopicName topic) {
        LocalTopic t = locals.get(topic);
        if (t == null) {
            t = new LocalTopic(this, topic);
            t.start();
            locals.put(topic, t);
        }
        t.users++;
        return t;
    }

    synchronized void release(LocalTopic t) {
        if (--t.users == 0) {
            locals.values().remove(t);
            t.close();
        }
    }

    /** The topic on a remote; every call is to be paired with {@link #release(RemoteTopic)}. */
    synchronized RemoteTopic remote(TopicName topic, String remote, PulsarClientImpl client, PulsarAdmin admin) {
        RemoteKey k = new RemoteKey(topic, remote);
        RemoteTopic t = remotes.get(k);
        if (t == null || t.client() != client) { // new addresses: new clients; the old topic ends with its users
            t = open(k, client, admin);
            remotes.put(k, t);
        }
        t.users++;
        return t;
    }

    private RemoteTopic open(RemoteKey k, PulsarClientImpl client, PulsarAdmin admin) {
        PeerClient peer = PeerClient.of(admin); // throws before there is anything to give back
        LocalTopic local = local(k.topic);
        try {
            RemoteTopic t = new RemoteTopic(this, k.topic, k.remote, client, peer, local);
            t.start();
            return t;
        } catch (RuntimeException e) {
            release(local);
            throw e;
        }
    }

    synchronized void release(RemoteTopic t) {
        if (--t.users == 0) {
            remotes.values().remove(t);
            t.close();
            release(t.local());
        }
    }

    /**
     * The plugin ends; topics are closed after it, so threads and budget stay until nothing uses them.
     */
    @Override
    public void close() {
        sweep.cancel(false);
        budget.close();
    }
}
