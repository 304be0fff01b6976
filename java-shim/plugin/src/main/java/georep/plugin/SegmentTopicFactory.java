// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.TopicFactory;
import org.apache.pulsar.broker.service.nonpersistent.NonPersistentTopic;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.common.naming.TopicName;

/**
 * broker.conf: {@code topicFactoryClassName=georep.plugin.SegmentTopicFactory}. Every segment of a scalable topic
 * becomes a {@link ReplicatedSegmentTopic}; every other topic stays the broker's own (null means that).
 */
public final class SegmentTopicFactory implements TopicFactory {
    @Override
    public <T extends Topic> T create(String topic, ManagedLedger ledger, BrokerService brokerService, Class<T> type) {
        if (type == NonPersistentTopic.class || !TopicName.get(topic).isSegment()) {
            return null;
        }
        return type.cast(new ReplicatedSegmentTopic(topic, ledger, brokerService));
    }
}
