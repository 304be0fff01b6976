// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Properties;
import org.junit.jupiter.api.Test;

class GeorepConfigTest {
    private static GeorepConfig of(String... keysAndValues) {
        Properties p = new Properties();
        for (int i = 0; i < keysAndValues.length; i += 2) {
            p.setProperty(keysAndValues[i], keysAndValues[i + 1]);
        }
        return new GeorepConfig(p);
    }

    @Test
    void defaults() {
        GeorepConfig c = of();
        assertThat(c.rebatchBytesPerSecond()).isEqualTo(64L << 20);
        assertThat(c.rebatchBurstBytes()).isEqualTo(c.rebatchBytesPerSecond());
        assertThat(c.keepCodec()).isTrue();
        assertThat(c.placeEncryptedBatch()).isFalse();
        assertThat(c.parkedPass()).isFalse();
        assertThat(c.stallSeconds()).isEqualTo(60);
        assertThat(c.unknownKeys()).isEmpty();
    }

    @Test
    void valuesAreTaken() {
        GeorepConfig c = of("georepSlowPathBytesPerSecond", " 1000 ", "georepKeepCodec", "FALSE",
                "georepEncryptedBatchPolicy", "place", "georepParkedPolicy", "pass", "georepStallSeconds", "5");
        assertThat(c.rebatchBytesPerSecond()).isEqualTo(1000);
        assertThat(c.rebatchBurstBytes()).isEqualTo(1000);
        assertThat(c.keepCodec()).isFalse();
        assertThat(c.placeEncryptedBatch()).isTrue();
        assertThat(c.parkedPass()).isTrue();
        assertThat(c.stallSeconds()).isEqualTo(5);
    }

    @Test
    void badValuesNameTheKey() {
        assertThatThrownBy(() -> of("georepSlowPathBytesPerSecond", "0"))
                .isInstanceOf(IllegalArgumentException.class).hasMessageContaining("georepSlowPathBytesPerSecond=0");
        assertThatThrownBy(() -> of("georepSlowPathConcurrency", "two"))
                .hasMessageContaining("georepSlowPathConcurrency=two").hasMessageContaining("whole number");
        assertThatThrownBy(() -> of("georepParkedPolicy", "skip"))
                .hasMessageContaining("georepParkedPolicy=skip").hasMessageContaining("stop, pass");
        assertThatThrownBy(() -> of("georepInFlightBytes", "1048576", "georepInFlightBytesPerRemote", "2097152"))
                .hasMessageContaining("georepInFlightBytesPerRemote=2097152");
    }

    @Test
    void unknownKeysAreFound() {
        assertThat(of("georepSlowPathBytePerSecond", "5", "brokerName", "x", "georepKeepCodec", "true").unknownKeys())
                .containsExactly("georepSlowPathBytePerSecond");
    }
}
