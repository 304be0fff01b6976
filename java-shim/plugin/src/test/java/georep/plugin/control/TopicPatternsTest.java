// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.Set;
import org.apache.pulsar.common.naming.TopicName;
import org.apache.pulsar.common.policies.data.BacklogQuota;
import org.apache.pulsar.common.policies.data.Policies;
import org.apache.pulsar.common.policies.data.RetentionPolicies;
import org.apache.pulsar.common.policies.data.impl.BacklogQuotaImpl;
import org.apache.pulsar.common.policies.data.impl.DispatchRateImpl;
import org.junit.jupiter.api.Test;

class TopicPatternsTest {
    private final TopicPatterns patterns = new TopicPatterns();

    private static Policies policies(Map<String, String> properties) {
        Policies p = new Policies();
        p.replication_clusters = Set.of("a", "b", "c");
        p.properties.putAll(properties);
        p.retention_policies = new RetentionPolicies(7, 8);
        p.message_ttl_in_seconds = 9;
        p.deduplicationEnabled = true;
        p.replicatorDispatchRate.put("a", DispatchRateImpl.builder().dispatchThrottlingRateInMsg(5)
                .dispatchThrottlingRateInByte(6).ratePeriodInSecond(2).build());
        p.backlog_quota_map.put(BacklogQuota.BacklogQuotaType.destination_storage, BacklogQuotaImpl.builder()
                .limitSize(11).retentionPolicy(BacklogQuota.RetentionPolicy.producer_exception).build());
        return p;
    }

    private Policies of(Policies p, String topic) {
        return patterns.of(p, TopicName.get("topic://t/n/" + topic), "a");
    }

    @Test
    void policiesThatDenyNothingAreTheirOwn() {
        Policies p = policies(Map.of("georep.deny.b", "no-.*", "another", ".*", "georep.deny.a", ".*"));
        assertThat(of(p, "orders")).isSameAs(p);
    }

    @Test
    void onlyTheDeniedClusterIsMissing() {
        Policies p = policies(Map.of("georep.deny.b", "no-.*"));
        Policies own = of(p, "no-1");
        assertThat(own.replication_clusters).containsExactlyInAnyOrder("a", "c");
        assertThat(p.replication_clusters).as("those of the namespace").containsExactlyInAnyOrder("a", "b", "c");
        own.replication_clusters = p.replication_clusters;
        assertThat(own).isEqualTo(p);
    }

    @Test
    void anInvalidPatternIsTold() {
        Policies p = policies(Map.of("georep.allow.*", "(", "georep.deny.c", "x"));
        var v = patterns.verdicts(p, TopicName.get("topic://t/n/x"), Set.of("b", "c"));
        assertThat(v.denied()).isEqualTo(Map.of("c", "denied by pattern georep.deny.c"));
        assertThat(v.troubles()).singleElement().asString().startsWith("georep.allow.* counts for nothing");
    }
}
