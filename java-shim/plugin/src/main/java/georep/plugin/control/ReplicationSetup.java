// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import georep.plugin.Audit;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.resources.ScalableTopicResources;
import org.apache.pulsar.broker.resources.SubscriptionType;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.metadata.api.MetadataStoreException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings a topic's record in line with its namespace's replication clusters, but for those that a pattern denies it.
 * Run by the topic's controller leader, one run at a time.
 *
 * <pre>
 *   remote added    pin registered -> instance, generation, segment records written -> replicators start (they wait
 *                   for the record)
 *   remote removed  record -> pin removed; the segments remove their cursors themselves
 *   local removed   nothing: record, pins and cursors stay until the namespace names this cluster again
 *   pin missing     registered again
 * </pre>
 *
 * A pin is a subscription record named like the replication cursor: the broker's garbage collection asks every segment
 * for every subscription's backlog and keeps what has one.
 */
public final class ReplicationSetup {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicationSetup.class);

    private final TopicRecords records;
    private final String pinPrefix;
    private final Supplier<SegmentRecord> firstSegment;
    private final boolean createThere;

    /**
     * {@code replicatorPrefix}: the broker's setting; {@code firstSegment}: for segments without a recorded parent;
     * {@code createThere}: a topic is also created at remotes that are added.
     */
    public ReplicationSetup(TopicRecords records, String replicatorPrefix, Supplier<SegmentRecord> firstSegment,
                            boolean createThere) {
        this.records = records;
        this.createThere = createThere;
        this.pinPrefix = replicatorPrefix + ".";
        this.firstSegment = firstSegment;
    }

    /**
     * What one run ended with.
     *
     * @param remotes    clusters that the topic is replicated to
     * @param added      those that were not in the record before
     * @param replicated true while there are remotes, and once there have been any
     * @param record     as it is stored now
     */
    public record Result(Set<String> remotes, Set<String> added, boolean replicated, ScalableTopicMetadata record) {
    }

    public boolean isPin(String subscription) {
        return subscription != null && subscription.startsWith(pinPrefix);
    }

    public String pin(String remote) {
        return pinPrefix + remote;
    }

    /**
     * Repeating it changes nothing. Fails, and is to be repeated, where policies or record cannot be read or
     * written.
     */
    public CompletableFuture<Result> reconcile(TopicName topic) {
        ScalableTopicResources resources = records.resources();
        // a pin of a topic that is gone would keep its name in the namespace's list for ever
        return records.fresh(topic).thenCompose(there -> desired(topic)).thenCompose(desired ->
                resources.listSubscriptionsAsync(topic).thenCompose(subscriptions -> {
                    Set<String> added = new HashSet<>();
                    return addPins(topic, desired, subscriptions)
                            .thenCompose(x -> writeRecord(topic, desired, added))
                            .thenCompose(m -> removePins(topic, desired, subscriptions).thenApply(x ->
                                    new Result(desired, added, TopicRecord.of(m).instance() != null, m)));
                }));
    }

    /** The topic is deleted: pins that were added beside that go. */
    public CompletableFuture<Void> removeAllPins(TopicName topic) {
        return records.fresh(topic).handle((m, e) -> e == null).thenCompose(there -> there
                ? CompletableFuture.completedFuture(null) // created again meanwhile
                : records.resources().listSubscriptionsAsync(topic).thenCompose(all ->
                        removePins(topic, Set.of(), all)));
    }

    private CompletableFuture<Set<String>> desired(TopicName topic) {
        return records.desired(topic).thenCompose(d -> {
            if (d.remotes().isPresent()) {
                return CompletableFuture.completedFuture(d.remotes().get());
            }
            LOG.warn("[{}] the namespace's clusters do not include this one: replication stays as it is", topic);
            return records.fresh(topic).thenApply(m -> TopicRecord.of(m).remotes());
        });
    }

    private CompletableFuture<Void> addPins(TopicName topic, Set<String> desired, List<String> present) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (String remote : desired) {
            if (!present.contains(pin(remote))) {
                all.add(records.resources().createSubscriptionAsync(topic, pin(remote), SubscriptionType.STREAM)
                        .exceptionally(ReplicationSetup::unlessThere)
                        .thenRun(() -> Audit.log("controller", "add-pin", topic.toString(), "remote=" + remote)));
            }
        }
        return FutureUtil.waitForAll(all);
    }

    private static Void unlessThere(Throwable e) {
        Throwable cause = FutureUtil.unwrapCompletionException(e);
        if (cause instanceof MetadataStoreException.AlreadyExistsException) {
            return null;
        }
        throw FutureUtil.wrapToCompletionException(cause);
    }

    private CompletableFuture<ScalableTopicMetadata> writeRecord(TopicName topic, Set<String> desired,
                                                                 Set<String> added) {
        return records.change(topic, (m, r) -> {
            added.clear(); // the store may run this again on a conflict
            desired.stream().filter(d -> !r.remotes().contains(d)).forEach(added::add);
            r.setRemotes(desired, m.getEpoch());
            if (createThere) {
                added.forEach(d -> r.setToCreate(d, true));
            } else { // else it would be created when that is switched on again, whatever has happened to it since
                r.toCreate().forEach(d -> r.setToCreate(d, false));
            }
            if (r.instance() != null) {
                r.recordSegments(m, firstSegment.get());
            }
        });
    }

    private CompletableFuture<Void> removePins(TopicName topic, Set<String> desired, List<String> present) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (String s : present) {
            if (isPin(s) && !desired.contains(s.substring(pinPrefix.length()))) {
                Audit.log("controller", "remove-pin", topic.toString(), "subscription=" + s);
                all.add(records.resources().deleteSubscriptionAsync(topic, s));
            }
        }
        return FutureUtil.waitForAll(all);
    }
}
