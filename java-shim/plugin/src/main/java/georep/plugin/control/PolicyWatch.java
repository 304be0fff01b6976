// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import georep.plugin.source.SourceBroker;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.resources.ClusterResources;
import org.apache.pulsar.broker.resources.NamespaceResources;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.broker.service.scalable.ReplicatedScalableTopicService;
import org.apache.pulsar.common.naming.NamespaceName;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.metadata.api.Notification;
import org.apache.pulsar.metadata.api.NotificationType;
import org.apache.pulsar.metadata.api.extended.SessionEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sees to it that every topic of a replicated namespace has a controller, whether a client ever comes or not: after a
 * change of policies at once, and by a sweep of the elected broker, which also finds topics whose broker died. A topic
 * with a backlog must go on replicating although nobody publishes to it any more. And segments that found their remote
 * not registered try again when a cluster is, and controllers look who leads when the store's session was lost.
 */
public final class PolicyWatch implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PolicyWatch.class);

    private final PulsarService pulsar;
    private final TopicRecords records;
    private final ReplicatedScalableTopicService service;
    private volatile boolean closed;
    private ScheduledFuture<?> timer;

    public PolicyWatch(PulsarService pulsar, TopicRecords records, ReplicatedScalableTopicService service) {
        this.pulsar = pulsar;
        this.records = records;
        this.service = service;
    }

    public synchronized void start(int sweepSeconds) {
        // a metadata store cannot forget a listener: this one does nothing once closed
        pulsar.getConfigurationMetadataStore().registerListener(this::changed);
        pulsar.getLocalMetadataStore().registerSessionListener(this::sessionChanged);
        timer = pulsar.getExecutor().scheduleWithFixedDelay(this::sweep, Math.min(5, sweepSeconds), sweepSeconds,
                TimeUnit.SECONDS);
    }

    private void changed(Notification n) {
        if (!closed && ClusterResources.pathRepresentsClusterName(n.getPath())
                && n.getType() != NotificationType.Deleted) {
            pulsar.getExecutor().execute(this::clustersChanged);
        }
        if (closed || !NamespaceResources.pathIsFromNamespace(n.getPath())) {
            return;
        }
        NamespaceName ns;
        try {
            ns = NamespaceResources.namespaceFromPath(n.getPath());
        } catch (RuntimeException e) {
            return; // deeper than a namespace
        }
        pulsar.getExecutor().execute(() -> {
            service.policiesChanged(ns);
            if (elected()) {
                load(ns);
            }
        });
    }

    private void sessionChanged(SessionEvent e) {
        if (!closed) {
            pulsar.getExecutor().execute(() -> service.sessionChanged(e));
        }
    }

    private void clustersChanged() {
        SourceBroker.of(pulsar).checkClients();
        pulsar.getBrokerService().forEachTopic(t -> {
            if (t instanceof ReplicatedSegmentTopic segment) {
                segment.checkReplication().exceptionally(e -> {
                    LOG.warn("[{}] replication cannot be checked after a cluster has changed: {}", t.getName(),
                            e.toString());
                    return null;
                });
            }
        });
    }

    private boolean elected() {
        return pulsar.getLeaderElectionService() == null || pulsar.getLeaderElectionService().isLeader();
    }

    private void sweep() {
        if (closed) {
            return;
        }
        service.sessionChanged(SessionEvent.Reconnected); // elections that were over too late for what told of them
        if (!elected()) {
            return;
        }
        pulsar.getPulsarResources().getTenantResources().listTenantsAsync().thenCompose(tenants -> {
            CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
            for (String t : tenants) {
                all = all.thenCompose(x -> pulsar.getPulsarResources().getNamespaceResources().listNamespacesAsync(t)
                        .thenCompose(names -> loadAll(t, names)));
            }
            return all;
        }).exceptionally(e -> {
            LOG.debug("sweep: {}", e.toString());
            return null;
        });
    }

    private CompletableFuture<Void> loadAll(String tenant, List<String> namespaces) {
        List<CompletableFuture<Void>> all = new ArrayList<>();
        for (String n : namespaces) {
            all.add(load(NamespaceName.get(tenant, n)));
        }
        return FutureUtil.waitForAll(all);
    }

    private CompletableFuture<Void> load(NamespaceName ns) {
        return records.policyRemotes(ns).thenCompose(remotes -> {
            if (remotes.isEmpty() || closed) {
                return CompletableFuture.<Void>completedFuture(null);
            }
            return records.resources().listScalableTopicsAsync(ns).thenCompose(topics -> {
                CompletableFuture<Void> all = CompletableFuture.completedFuture(null);
                for (String t : topics) {
                    all = all.thenCompose(x -> led(TopicName.get(t)));
                }
                return all;
            });
        }).exceptionally(e -> {
            LOG.debug("[{}] controllers not loaded: {}", ns, e.toString());
            return null;
        });
    }

    /** A topic that has a leader is looked after; one that has none gets one here. */
    private CompletableFuture<Void> led(TopicName topic) {
        return records.resources().getStore().exists(records.resources().controllerLockPath(topic))
                .thenCompose(there -> there ? CompletableFuture.completedFuture(null)
                        : service.getOrCreateController(topic)).handle((c, e) -> null);
    }

    @Override
    public synchronized void close() {
        closed = true;
        if (timer != null) {
            timer.cancel(false);
        }
    }
}
