// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.TopicFilter;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.resources.ScalableTopicMetadata;
import org.apache.pulsar.broker.resources.ScalableTopicResources;
import org.apache.pulsar.broker.service.BrokerServiceException.TopicNotFoundException;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.common.api.proto.CommandSubscribe.InitialPosition;
import org.apache.pulsar.common.naming.NamespaceName;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.Policies;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/** Reads and changes the records of scalable topics. Thread-safe; nothing blocks. */
public final class TopicRecords {
    private final PulsarService pulsar;
    private final boolean uninstall;
    private final ScalableTopicResources resources;
    private final TopicPatterns patterns = new TopicPatterns();

    /** {@code uninstall}: no namespace counts as replicated, so what the topics have of it is taken away. */
    public TopicRecords(PulsarService pulsar, boolean uninstall) {
        this.pulsar = pulsar;
        this.uninstall = uninstall;
        this.resources = pulsar.getPulsarResources().getScalableTopicResources();
    }

    public ScalableTopicResources resources() {
        return resources;
    }

    /** The record as the store has it now; fails with TopicNotFoundException where there is none. */
    public CompletableFuture<ScalableTopicMetadata> fresh(TopicName topic) {
        return resources.getScalableTopicMetadataAsync(topic, true).thenApply(m -> present(topic, m));
    }

    /** Whether the topic is there, in the store as it is now; ZooKeeper keeps an empty node above a leader's lock. */
    public CompletableFuture<Boolean> exists(TopicName topic) {
        return pulsar.getLocalMetadataStore().get(resources.topicPath(topic))
                .thenApply(r -> r.isPresent() && r.get().getValue().length > 0);
    }

    private static ScalableTopicMetadata present(TopicName topic, Optional<ScalableTopicMetadata> m) {
        if (m.isEmpty()) {
            throw new java.util.concurrent.CompletionException(new TopicNotFoundException("no scalable topic "
                    + topic));
        }
        return m.get();
    }

    /** Changes the properties by compare-and-set (retried on conflict); returns the record that is stored then. */
    public CompletableFuture<ScalableTopicMetadata> change(TopicName topic,
                                                           BiConsumer<ScalableTopicMetadata, TopicRecord> change) {
        AtomicReference<ScalableTopicMetadata> stored = new AtomicReference<>();
        return fresh(topic).thenCompose(now -> {
            TopicRecord trial = TopicRecord.of(now);
            change.accept(now, trial);
            if (!trial.changed()) {
                return CompletableFuture.completedFuture(now); // no write: no notification to every watcher
            }
            return resources.updateScalableTopicAsync(topic, m -> {
                TopicRecord r = TopicRecord.of(m);
                change.accept(m, r);
                ScalableTopicMetadata next = r.changed() ? r.applyTo(m) : m;
                stored.set(next);
                return next;
            }).thenApply(x -> stored.get());
        });
    }

    /** The same for callers that need nothing of the layout. */
    public CompletableFuture<ScalableTopicMetadata> change(TopicName topic, Consumer<TopicRecord> change) {
        return change(topic, (m, r) -> change.accept(r));
    }

    /**
     * What the namespace's policies want of a topic.
     *
     * @param remotes  the clusters that it is to be replicated to. Empty where the policies name clusters but not this
     *                 one: what to do with the topic here is not for them to say, so it stays as it is
     * @param denied   clusters that only a pattern keeps it from, and which
     * @param troubles patterns that are not valid
     */
    public record Desired(Optional<Set<String>> remotes, Map<String, String> denied, List<String> troubles) {
    }

    /** By the namespace's policies now. */
    public CompletableFuture<Desired> desired(TopicName topic) {
        return uninstall ? CompletableFuture.completedFuture(new Desired(Optional.of(Set.of()), Map.of(), List.of()))
                : policies(topic.getNamespaceObject()).thenApply(p -> desired(p, topic));
    }

    private Desired desired(Policies p, TopicName topic) {
        Set<String> remotes = remotes(p, local());
        TopicFilter.Verdicts v = patterns.verdicts(p, topic, remotes);
        remotes = new TreeSet<>(remotes);
        remotes.removeAll(v.denied().keySet());
        return new Desired(withoutLocal(p, local()) ? Optional.empty() : Optional.of(remotes), v.denied(),
                v.troubles());
    }

    /** The namespace's policies as they are for one topic: they do not name the clusters that a pattern denies it. */
    public Policies policiesOf(TopicName topic, Policies ofNamespace) {
        return patterns.of(ofNamespace, topic, local());
    }

    /** The clusters that the namespace replicates to, without this one; empty where it does not replicate. */
    public CompletableFuture<Set<String>> policyRemotes(NamespaceName namespace) {
        return policies(namespace).thenApply(p -> remotes(p, local()));
    }

    /**
     * What has been said about where replication of existing data to a remote begins: georep.v1.StartQuery.
     */
    public CompletableFuture<ObjectNode> startQuery(TopicName topic, String remote) {
        return fresh(topic).thenCombine(policies(topic.getNamespaceObject()), (m, p) -> {
            ObjectNode q = ObjectMapperFactory.getMapper().getObjectMapper().createObjectNode().put("remote", remote)
                    .put("replicationStartAt", broker(pulsar.getConfiguration().getReplicationStartAt()));
            starts(m.getProperties(), q.putObject("topicProperties"));
            starts(p.properties, q.putObject("namespaceProperties"));
            return q;
        });
    }

    private static void starts(Map<String, String> properties, ObjectNode into) {
        if (properties != null) {
            properties.forEach((k, v) -> {
                if (k.startsWith(TopicRecord.START_AT)) {
                    into.put(k, v);
                }
            });
        }
    }

    /** As the broker reads its key. */
    private static String broker(String startAt) {
        return MessageId.earliest.toString().equalsIgnoreCase(startAt)
                || InitialPosition.Earliest.name().equalsIgnoreCase(startAt) ? "earliest" : "latest";
    }

    /** For all topics of a namespace that say nothing themselves; null takes it away. */
    public CompletableFuture<Void> setStartAt(NamespaceName namespace, String remote, String text) {
        return pulsar.getPulsarResources().getNamespaceResources().setPoliciesAsync(namespace, p -> {
            TopicRecord.put(p.properties, TopicRecord.START_AT + "." + remote, text);
            return p;
        });
    }

    private String local() {
        return pulsar.getConfiguration().getClusterName();
    }

    private CompletableFuture<Policies> policies(NamespaceName namespace) {
        return pulsar.getPulsarResources().getNamespaceResources().getPoliciesAsync(namespace).thenApply(p ->
                p.orElseThrow(() -> new IllegalStateException("no policies for namespace " + namespace)));
    }

    static boolean withoutLocal(Policies policies, String local) {
        Set<String> all = policies.replication_clusters;
        return !policies.deleted && all != null && !all.isEmpty() && !all.contains(local);
    }

    /** As the broker counts: a set with a single cluster means "not replicated". */
    static Set<String> remotes(Policies policies, String local) {
        Set<String> all = policies.replication_clusters;
        if (policies.deleted || all == null || all.size() < 2 || !all.contains(local)) {
            return Set.of();
        }
        Set<String> remotes = new TreeSet<>(all);
        remotes.remove(local);
        return remotes;
    }
}
