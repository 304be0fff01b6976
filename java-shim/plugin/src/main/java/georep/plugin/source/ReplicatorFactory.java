// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import org.apache.bookkeeper.mledger.ManagedCursor;
import org.apache.pulsar.broker.PulsarServerException;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.persistent.PersistentReplicator;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.impl.PulsarClientImpl;

/** Makes the replicator of one (source segment, remote cluster). */
@FunctionalInterface
public interface ReplicatorFactory {
    /**
     * Called under the topic's read lock; must not block. The replicator asks
     * {@link ReplicatedSegmentTopic#sourceIdentity(String)} for instance and generation before it reads an entry.
     */
    PersistentReplicator create(ReplicatedSegmentTopic topic, ManagedCursor cursor, String localCluster,
                                String remoteCluster, BrokerService brokerService, PulsarClientImpl client,
                                PulsarAdmin admin) throws PulsarServerException;
}
