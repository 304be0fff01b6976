// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import georep.nativelib.Georep;
import georep.plugin.control.SegmentRecord;
import georep.plugin.control.TopicRecords;
import georep.plugin.dest.NativeWatermarks;
import georep.plugin.dest.Watermarks;
import georep.plugin.source.ReplicatorFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.service.persistent.SegmentReplicator;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The plugin on one broker: configuration, what the start-up check found, and the factories that the topics use. There
 * is one per PulsarService, from the servlet's {@code setPulsarService} to its {@code close}; a topic that finds none
 * does not replicate. Thread-safe.
 */
public final class GeorepPlugin implements AutoCloseable {
    public static final String VERSION = "0.1.0";

    private static final Logger LOG = LoggerFactory.getLogger(GeorepPlugin.class);
    private static final Map<PulsarService, GeorepPlugin> RUNNING = new ConcurrentHashMap<>();

    private final PulsarService pulsar;
    private final GeorepConfig config;
    private volatile List<String> problems;
    private final HashTags hashTags;
    private final TopicRecords records;
    private final PluginCounters counters = new PluginCounters();
    private final PluginServices services = new PluginServices();

    private GeorepPlugin(PulsarService pulsar) {
        this.pulsar = pulsar;
        List<String> found = new ArrayList<>();
        GeorepConfig c = null;
        HashTags tags = new HashTags(0, 0);
        try {
            c = new GeorepConfig(pulsar.getConfiguration().getProperties());
            SelfCheck.missing(c.requiredMembers()).forEach(m -> found.add("broker member missing: " + m));
            tags = HashTags.ofBroker();
            if (found.isEmpty()) {
                Georep.init(new Georep.Options(c.nativeMaxProcs(), c.nativeGcPercent(), tags.min(), tags.max(),
                        c.maxMessagesPerBatch(), c.nativeMemoryLimitBytes(), c.maxEntryBytes(),
                        c.maxDecompressedBytes()));
            }
        } catch (IllegalArgumentException e) {
            found.add("configuration: " + e.getMessage());
        } catch (LinkageError | RuntimeException e) {
            found.add("native library: " + e.getMessage());
        }
        if (pulsar.getPulsarResources().getScalableTopicResources() == null) {
            found.add("this broker has scalable topics disabled");
        }
        this.config = c;
        this.hashTags = tags;
        this.problems = List.copyOf(found);
        this.records = problems.isEmpty() ? new TopicRecords(pulsar, c.uninstall()) : null;
    }

    /** Starts the plugin on a broker; one that cannot work says why and stays passive. */
    static GeorepPlugin start(PulsarService pulsar) {
        GeorepPlugin p = new GeorepPlugin(pulsar);
        RUNNING.put(pulsar, p);
        if (p.usable()) {
            LOG.info("georep {} with libgeorep {} from {}", VERSION, Georep.version(), Georep.loadedFrom());
        } else {
            p.complain();
        }
        return p;
    }

    private void complain() {
        LOG.error("georep {} does not work with this broker; scalable topics are not replicated, all other topics are "
                + "as ever: {}", VERSION, problems);
    }

    /** Something went wrong while the plugin was attached: it stays passive from now on. */
    void fail(String problem) {
        problems = List.of(problem);
        complain();
    }

    /** The plugin of a broker; null before its servlet was started and after it was closed. */
    public static GeorepPlugin of(PulsarService pulsar) {
        return RUNNING.get(pulsar);
    }

    public PulsarService pulsar() {
        return pulsar;
    }

    /** False: nothing is replicated, see {@link #problems()}. */
    public boolean usable() {
        return problems.isEmpty();
    }

    /** Why the plugin does not work; empty when it does. */
    public List<String> problems() {
        return problems;
    }

    public GeorepConfig config() {
        return config;
    }

    public TopicRecords records() {
        return records;
    }

    public PluginCounters counters() {
        return counters;
    }

    public Watermarks.Factory watermarks() {
        return NativeWatermarks::new;
    }

    public ReplicatorFactory replicators() {
        return SegmentReplicator::new;
    }

    /** How keys are routed by this broker's clients: {@code m1} or {@code pip486}. */
    public String profile() {
        String p = config.segmentProfile();
        return !p.equals("auto") ? p : hashTags.known() ? "pip486" : "m1";
    }

    /** The record of a segment that has no parent to inherit from. */
    public SegmentRecord firstSegment() {
        return new SegmentRecord(profile(), List.of(), config.cutCapBytes());
    }

    /** A part of the plugin that exists once per broker; made by the first who asks, closed with the plugin. */
    public <T> T service(Class<T> type, Function<GeorepPlugin, T> make) {
        return services.get(type, () -> make.apply(this));
    }

    @Override
    public void close() {
        RUNNING.remove(pulsar, this);
        services.close();
    }
}
