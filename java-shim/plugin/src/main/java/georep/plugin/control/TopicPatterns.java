// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import georep.nativelib.TopicFilter;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.Policies;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The namespace properties {@code georep.allow.REMOTE} and {@code georep.deny.REMOTE}: the core says what they mean.
 * What is not valid is logged once for a namespace, and when it is another. Thread-safe.
 */
final class TopicPatterns {
    private static final Logger LOG = LoggerFactory.getLogger(TopicPatterns.class);

    private final Map<String, List<String>> told = new ConcurrentHashMap<>(); // by namespace

    /** Of these remotes of a topic. */
    TopicFilter.Verdicts verdicts(Policies policies, TopicName topic, Set<String> remotes) {
        Map<String, String> patterns = patterns(policies);
        TopicFilter.Verdicts v = patterns.isEmpty() || remotes.isEmpty() ? TopicFilter.Verdicts.NONE
                : TopicFilter.of(topic.getLocalName(), remotes, patterns);
        if (v.troubles().isEmpty()) {
            told.remove(topic.getNamespace());
        } else if (!v.troubles().equals(told.put(topic.getNamespace(), v.troubles()))) {
            LOG.warn("[{}] namespace properties: {}", topic.getNamespace(), v.troubles());
        }
        return v;
    }

    private static Map<String, String> patterns(Policies policies) {
        return policies.properties == null ? Map.of() : policies.properties.entrySet().stream()
                .filter(e -> e.getValue() != null && (e.getKey().startsWith(TopicFilter.ALLOW)
                        || e.getKey().startsWith(TopicFilter.DENY)))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    /** The policies as they are for the topic: without the clusters that it must not go to. */
    Policies of(Policies policies, TopicName topic, String local) {
        Set<String> denied = verdicts(policies, topic, TopicRecords.remotes(policies, local)).denied().keySet();
        if (denied.isEmpty()) {
            return policies;
        }
        Policies own = ObjectMapperFactory.getMapper().getObjectMapper().convertValue(policies, Policies.class);
        own.replication_clusters = policies.replication_clusters.stream().filter(c -> !denied.contains(c))
                .collect(Collectors.toSet());
        return own;
    }
}
