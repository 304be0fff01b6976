// SPDX-License-Identifier: Apache-2.0
package georep.it;

import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.TopicFactory;
import org.apache.pulsar.broker.service.nonpersistent.NonPersistentTopic;
import org.apache.pulsar.common.naming.TopicName;

/** Stands in for the plugin's factory where a broker's own parts have to fail. */
public final class FaultTopicFactory implements TopicFactory {
    @Override
    public <T extends Topic> T create(String topic, ManagedLedger ledger, BrokerService brokerService, Class<T> type) {
        return type == NonPersistentTopic.class || !TopicName.get(topic).isSegment() ? null
                : type.cast(new FaultTopic(topic, ledger, brokerService));
    }

    @Override
    public void close() {
        // nothing is open
    }
}
