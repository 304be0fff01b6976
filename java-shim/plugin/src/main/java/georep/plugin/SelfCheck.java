// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.bookkeeper.mledger.impl.ManagedLedgerFactoryImpl;
import org.apache.pulsar.broker.service.AbstractTopic;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.persistent.MessageDeduplication;
import org.apache.pulsar.broker.service.persistent.PersistentTopic;
import org.apache.pulsar.broker.service.scalable.ScalableTopicController;
import org.apache.pulsar.broker.service.scalable.ScalableTopicService;
import org.apache.pulsar.broker.service.scalable.SegmentLayout;
import org.apache.pulsar.client.admin.internal.PulsarAdminImpl;
import org.apache.pulsar.common.policies.data.Policies;

/**
 * The broker's members that are no API and that the plugin uses or overrides, and the check that all of them are there.
 * An override of a method that has gone would be silently without effect, so those are checked too.
 */
public final class SelfCheck {
    public static final BrokerField MESSAGE_DEDUPLICATION = new BrokerField(PersistentTopic.class,
            "messageDeduplication");
    public static final BrokerField SCALABLE_TOPIC_SERVICE = new BrokerField(BrokerService.class,
            "scalableTopicService");
    public static final BrokerField CONTROLLERS = new BrokerField(ScalableTopicService.class, "controllers");
    public static final BrokerField CURRENT_LAYOUT = new BrokerField(ScalableTopicController.class, "currentLayout");
    /** Clocks of the policy's cooldowns. */
    public static final BrokerField LAST_SPLIT = new BrokerField(ScalableTopicController.class, "lastSplitAtMs");
    public static final BrokerField LAST_MERGE = new BrokerField(ScalableTopicController.class, "lastMergeAtMs");
    public static final BrokerField LEADER_ELECTION = new BrokerField(ScalableTopicController.class,
            "leaderElection");
    private static final BrokerField ADMIN_ROOT = new BrokerField(PulsarAdminImpl.class, "root");
    private static final BrokerField ADMIN_AUTH = new BrokerField(PulsarAdminImpl.class, "auth");
    private static final String NOTIFY_SUBSCRIPTIONS = "notifySubscriptions";

    private SelfCheck() {
    }

    /** What is missing, by name; empty when the plugin can work with this broker. */
    static List<String> missing(List<String> further) {
        List<String> missing = new ArrayList<>();
        for (BrokerField f : List.of(MESSAGE_DEDUPLICATION, SCALABLE_TOPIC_SERVICE, CONTROLLERS, CURRENT_LAYOUT,
                LAST_SPLIT, LAST_MERGE, LEADER_ELECTION, ADMIN_ROOT, ADMIN_AUTH)) {
            if (!f.exists()) {
                missing.add(f.name());
            }
        }
        method(missing, ScalableTopicController.class, NOTIFY_SUBSCRIPTIONS, SegmentLayout.class);
        method(missing, ScalableTopicController.class, "runGcTickAsync");
        method(missing, ScalableTopicController.class, "initialize");
        method(missing, ScalableTopicController.class, "isLeader");
        method(missing, ScalableTopicController.class, "splitSegment", long.class);
        method(missing, ScalableTopicController.class, "mergeSegments", long.class, long.class);
        method(missing, ScalableTopicService.class, "getOrCreateController",
                org.apache.pulsar.common.naming.TopicName.class);
        method(missing, PersistentTopic.class, "addReplicationCluster", String.class, ManagedCursor.class,
                String.class);
        method(missing, PersistentTopic.class, "startReplicator", String.class);
        method(missing, PersistentTopic.class, "removeReplicator", String.class);
        method(missing, ManagedLedgerFactoryImpl.class, "getMetaStore");
        method(missing, ManagedLedgerFactoryImpl.class, "getBookKeeper");
        method(missing, PersistentTopic.class, "removeTopicIfLocalClusterNotAllowed");
        method(missing, AbstractTopic.class, "updateTopicPolicyByNamespacePolicy", Policies.class);
        method(missing, MessageDeduplication.class, "resetHighestSequenceIdPushed");
        method(missing, MessageDeduplication.class, "takeSnapshot");
        further.forEach(m -> named(missing, m));
        return missing;
    }

    /** The controller's private hook that tells subscriptions of a new layout. */
    public static Method notifySubscriptions() {
        try {
            Method m = ScalableTopicController.class.getDeclaredMethod(NOTIFY_SUBSCRIPTIONS, SegmentLayout.class);
            m.setAccessible(true);
            return m;
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("this broker has no ScalableTopicController#" + NOTIFY_SUBSCRIPTIONS, e);
        }
    }

    private static void method(List<String> missing, Class<?> owner, String name, Class<?>... parameters) {
        try {
            owner.getDeclaredMethod(name, parameters);
        } catch (NoSuchMethodException | LinkageError e) {
            missing.add(owner.getName() + "#" + name);
        }
    }

    private static void named(List<String> missing, String member) {
        int hash = member.indexOf('#');
        try {
            Class<?> owner = Class.forName(hash < 0 ? member : member.substring(0, hash), false,
                    SelfCheck.class.getClassLoader());
            String name = hash < 0 ? null : member.substring(hash + 1);
            boolean there = name == null || Arrays.stream(owner.getDeclaredFields())
                    .anyMatch(f -> f.getName().equals(name))
                    || Arrays.stream(owner.getDeclaredMethods()).anyMatch(m -> m.getName().equals(name));
            if (!there) {
                missing.add(member);
            }
        } catch (ClassNotFoundException | LinkageError e) {
            missing.add(member);
        }
    }
}
