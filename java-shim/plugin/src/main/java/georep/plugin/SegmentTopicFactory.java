// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.TopicFactory;
import org.apache.pulsar.broker.service.nonpersistent.NonPersistentTopic;
import org.apache.pulsar.broker.service.persistent.ReplicatedSegmentTopic;
import org.apache.pulsar.common.naming.TopicName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * broker.conf: {@code topicFactoryClassName=georep.plugin.SegmentTopicFactory}. Every segment of a scalable topic
 * becomes a {@link ReplicatedSegmentTopic}; every other topic stays the broker's own (null means that).
 */
public final class SegmentTopicFactory implements TopicFactory {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentTopicFactory.class);

    private volatile boolean complained;

    @Override
    public <T extends Topic> T create(String topic, ManagedLedger ledger, BrokerService brokerService, Class<T> type) {
        try {
            if (type == NonPersistentTopic.class || !TopicName.get(topic).isSegment()) {
                return null;
            }
            return type.cast(new ReplicatedSegmentTopic(topic, ledger, brokerService));
        } catch (LinkageError e) { // another broker version: its topics must load nevertheless
            if (!complained) {
                complained = true;
                LOG.error("georep does not fit this broker, its segments are the broker's own: {}", e.toString());
            }
            return null;
        }
    }
}
