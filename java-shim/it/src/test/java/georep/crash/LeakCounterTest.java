// SPDX-License-Identifier: Apache-2.0
package georep.crash;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.pulsar.common.allocator.PulsarByteBufAllocator;
import org.junit.jupiter.api.Test;

/** What the crash loop says of leaks is worth something: a buffer that is dropped is found. */
class LeakCounterTest {
    /** A process of its own: the detector is chosen before the first buffer. */
    static final class Probe {
        private Probe() {
        }

        public static void main(String[] args) {
            LeakCounter.install();
            for (int i = 0; i < Integer.parseInt(args[0]); i++) {
                drop();
            }
            BrokerMain.find();
            BrokerMain.find();
            System.out.println(LeakCounter.found());
            Runtime.getRuntime().halt(0);
        }

        private static void drop() {
            PulsarByteBufAllocator.DEFAULT.directBuffer(100).writeByte(1);
        }
    }

    private static String found(int dropped) throws Exception {
        Process p = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m",
                "-Dpulsar.allocator.leak_detection=Paranoid", "-cp", System.getProperty("java.class.path"),
                Probe.class.getName(), String.valueOf(dropped)).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        String out = new String(p.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).trim();
        assertThat(p.waitFor()).isZero();
        return out;
    }

    @Test
    void aDroppedBufferIsFound() throws Exception {
        assertThat(found(1)).isEqualTo("1");
        assertThat(found(0)).isEqualTo("0");
    }
}
