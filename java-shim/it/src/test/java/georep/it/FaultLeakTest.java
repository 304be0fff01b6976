// SPDX-License-Identifier: Apache-2.0
package georep.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Buffers that are forgotten, in a JVM of its own where Netty follows all of them; number as in tests/faults. */
@Tag("slow")
class FaultLeakTest {
    @Test
    @Timeout(value = 180, unit = TimeUnit.SECONDS)
    void fault47NoBufferIsForgotten() throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx1g",
                "-XX:MaxDirectMemorySize=1g", "-Dio.netty.tryReflectionSetAccessible=true",
                "-Dpulsar.allocator.pooled=true", "-Dio.netty.leakDetection.level=paranoid",
                "-Dio.netty.leakDetection.targetRecords=40", "-cp", System.getProperty("java.class.path")));
        for (String p : List.of("georep.nar.dir", "georep.it.dir", "georep.library")) {
            String v = System.getProperty(p);
            if (v != null && !v.isEmpty()) {
                command.add(1, "-D" + p + "=" + v);
            }
        }
        command.add(LeakRun.class.getName());
        Process run = new ProcessBuilder(command).redirectErrorStream(true).start();
        try {
            String out = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            assertThat(run.waitFor()).as(out).isZero();
            assertThat(out).contains("found deliberate 1\n", "leaks of georep 0\n");
        } finally {
            run.destroyForcibly();
        }
    }
}
