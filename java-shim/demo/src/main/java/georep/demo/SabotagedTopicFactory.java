// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import org.apache.bookkeeper.mledger.ManagedLedger;
import org.apache.pulsar.broker.service.BrokerService;
import org.apache.pulsar.broker.service.Topic;
import org.apache.pulsar.broker.service.TopicFactory;
import org.apache.pulsar.broker.service.nonpersistent.NonPersistentTopic;
import org.apache.pulsar.common.naming.TopicName;

/** Stands in for the plugin's factory on B in a sabotaged run. */
public final class SabotagedTopicFactory implements TopicFactory {
    @Override
    public <T extends Topic> T create(String topic, ManagedLedger ledger, BrokerService brokerService, Class<T> type) {
        return type == NonPersistentTopic.class || !TopicName.get(topic).isSegment() ? null
                : type.cast(new SabotagedTopic(topic, ledger, brokerService));
    }

    @Override
    public void close() {
        // nothing is open
    }
}
