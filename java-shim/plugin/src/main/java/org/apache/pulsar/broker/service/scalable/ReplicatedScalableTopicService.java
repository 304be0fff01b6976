// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.scalable;

import georep.plugin.GeorepPlugin;
import georep.plugin.SelfCheck;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.common.naming.NamespaceName;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.metadata.api.coordination.CoordinationService;
import org.apache.pulsar.metadata.api.extended.SessionEvent;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The broker's scalable-topic service with {@link ReplicatedController}s. Takes the place of the broker's own, which
 * everything reads through a getter, before the web service starts and hence before there is any controller.
 */
public class ReplicatedScalableTopicService extends ScalableTopicService {
    private static final Logger LOG = LoggerFactory.getLogger(ReplicatedScalableTopicService.class);

    private final BrokerService brokerService;
    private final CoordinationService coordination;
    private final GeorepPlugin plugin;
    private final ConcurrentHashMap<String, CompletableFuture<ScalableTopicController>> controllers;

    @SuppressWarnings("unchecked")
    private ReplicatedScalableTopicService(BrokerService brokerService, CoordinationService coordination,
                                           GeorepPlugin plugin) {
        super(brokerService, plugin.records().resources(), coordination);
        this.brokerService = brokerService;
        this.coordination = coordination;
        this.plugin = plugin;
        this.controllers = (ConcurrentHashMap<String, CompletableFuture<ScalableTopicController>>)
                SelfCheck.CONTROLLERS.get(this);
    }

    /** Puts the service in place of the broker's own. */
    public static ReplicatedScalableTopicService install(GeorepPlugin plugin) {
        PulsarService pulsar = plugin.pulsar();
        BrokerService bs = pulsar.getBrokerService();
        ReplicatedScalableTopicService own = new ReplicatedScalableTopicService(bs, pulsar.getCoordinationService(),
                plugin);
        ScalableTopicService stock = bs.getScalableTopicService();
        SelfCheck.SCALABLE_TOPIC_SERVICE.set(bs, own);
        if (stock != null) {
            stock.close();
        }
        own.start();
        return own;
    }

    @Override
    public CompletableFuture<ScalableTopicController> getOrCreateController(TopicName topic) {
        String key = topic.toString();
        CompletableFuture<ScalableTopicController> f = controllers.computeIfAbsent(key, k -> {
            ScalableTopicController c = new ReplicatedController(topic, brokerService, coordination, plugin);
            return c.initialize().thenApply(x -> c);
        });
        return f.exceptionally(e -> {
            controllers.remove(key, f); // the next caller tries again
            throw new CompletionException("no controller for " + topic, e);
        });
    }

    @Override
    public CompletableFuture<Void> splitSegment(TopicName topic, long segmentId) {
        return super.splitSegment(topic, segmentId).exceptionally(OperatorVerdict::thrown);
    }

    /** An operator's: with peers it is a mark, where the policy's own is what it finds cold. */
    @Override
    public CompletableFuture<Void> mergeSegments(TopicName topic, long segmentId1, long segmentId2) {
        return getOrCreateController(topic)
                .thenCompose(c -> ((ReplicatedController) c).mergeAsked(segmentId1, segmentId2))
                .<Void>thenApply(l -> null).exceptionally(OperatorVerdict::thrown);
    }

    /** A namespace's policies have changed: its topics' leaders look at them again. */
    public void policiesChanged(NamespaceName namespace) {
        controllers.forEach((name, f) -> {
            if (TopicName.get(name).getNamespaceObject().equals(namespace)) {
                f.thenCompose(c -> ((ReplicatedController) c).reconcile()).exceptionally(e -> {
                    LOG.warn("[{}] cannot apply the new policies, again with the next garbage collection: {}", name,
                            e.toString());
                    return null;
                });
            }
        });
    }

    /** The session with the metadata store was lost, or is back: its locks may be others' now. */
    public void sessionChanged(SessionEvent e) {
        boolean lost = e == SessionEvent.SessionLost;
        controllers.values().forEach(f -> f.thenAccept(c -> {
            Leadership l = ((ReplicatedController) c).leadership();
            if (lost) {
                l.interrupt();
            } else {
                l.follow();
            }
        }));
    }

    /** Topics led here whose layouts follow those of peers. */
    public List<TopicConvergence> converging() {
        List<TopicConvergence> all = new ArrayList<>();
        controllers.values().forEach(f -> {
            if (f.isDone() && !f.isCompletedExceptionally()
                    && f.join() instanceof ReplicatedController c && c.convergence().on()) {
                all.add(c.convergence());
            }
        });
        return all;
    }

    /** Whether this broker has a controller of the topic, or is about to. */
    boolean has(TopicName topic) {
        return controllers.containsKey(topic.toString());
    }

    /** Topics whose controller this broker has, leader or not. */
    public List<TopicName> topics() {
        List<TopicName> all = new ArrayList<>();
        controllers.forEach((name, f) -> {
            if (f.isDone() && !f.isCompletedExceptionally()) {
                all.add(TopicName.get(name));
            }
        });
        return all;
    }
}
