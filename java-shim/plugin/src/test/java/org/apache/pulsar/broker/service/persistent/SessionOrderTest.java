// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class SessionOrderTest {
    private static final String NAME = "pulsar.repl.cluster-a.7";
    private final SessionOrder order = new SessionOrder();

    private boolean send(long sequence) {
        boolean follows = order.follows(NAME, sequence);
        if (follows) {
            order.accepted(NAME, sequence);
        }
        return follows;
    }

    @Test
    void nothingFollowsARefusalUntilTheProducerConnectsAgain() {
        Object first = new Object();
        Object second = new Object();
        order.begin(NAME, first);
        assertThat(send(0)).isTrue();
        assertThat(send(1)).isTrue();
        // 2 was refused
        assertThat(send(3)).isFalse();
        assertThat(send(4)).isFalse();
        order.begin(NAME, second);
        order.end(NAME, first); // told late
        assertThat(send(0)).isTrue();
        assertThat(send(2)).isFalse();
        assertThat(send(1)).isTrue();
    }

    @Test
    void theFirstEntryCountsToo() {
        order.begin(NAME, this);
        assertThat(send(1)).isFalse();
        order.end(NAME, this);
        assertThat(send(17)).isTrue(); // no session, no rule
    }

    @Test
    void classicReplicatorsNumberAsTheyLike() {
        String classic = "pulsar.repl.cluster-a-->cluster-b";
        order.begin(classic, this);
        assertThat(order.follows(classic, 9)).isTrue();
    }
}
