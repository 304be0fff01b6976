// SPDX-License-Identifier: Apache-2.0
package org.apache.pulsar.broker.service.persistent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.HashMap;
import java.util.Map;
import org.apache.bookkeeper.mledger.PositionFactory;
import org.junit.jupiter.api.Test;

class WatermarkSnapshotTest {
    @Test
    void throughPropertiesAndBack() {
        byte[] all = new byte[256];
        for (int i = 0; i < all.length; i++) {
            all[i] = (byte) i;
        }
        for (byte[] bytes : new byte[][] {{}, {1}, {(byte) 0xff, (byte) 0xfe}, all}) {
            Map<String, Long> p = new HashMap<>(new WatermarkSnapshot(PositionFactory.create(7, -1), bytes)
                    .properties());
            p.put("something else", 3L);
            WatermarkSnapshot s = WatermarkSnapshot.of(p);
            assertThat(s.upTo()).isEqualTo(PositionFactory.create(7, -1));
            assertThat(s.bytes()).isEqualTo(bytes);
        }
    }

    @Test
    void absentAndBroken() {
        assertThat(WatermarkSnapshot.of(Map.of("app", 5L))).isNull();
        for (String k : new String[] {"georep.watermarks/1/", "georep.watermarks/1/5", "georep.watermarks/1/5/1:2",
            "georep.watermarks/1/x:1/AA", "georep.watermarks/1/5:1/%%"}) {
            assertThatThrownBy(() -> WatermarkSnapshot.of(Map.of(k, 1L))).as(k)
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }
}
