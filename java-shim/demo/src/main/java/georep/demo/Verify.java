// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import georep.it.Cluster;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs {@code georep verify}, a process of its own that knows two addresses and a topic. */
final class Verify {
    /** Its exit status (0 equal, 1 different) and report. */
    record Answer(int status, JsonNode report) {
        long total(String field) {
            return report.path("total").path(field).asLong();
        }
    }

    private Verify() {
    }

    static Answer run(Path command, Cluster a, Cluster b, String topic) throws IOException, InterruptedException {
        Process p = new ProcessBuilder(List.of(command.toString(), "verify", "--admin-url",
                a.broker.getWebServiceAddress(), "--admin-url", b.broker.getWebServiceAddress(), "--json", topic))
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        p.getOutputStream().close();
        byte[] out = p.getInputStream().readAllBytes();
        if (!p.waitFor(1, TimeUnit.MINUTES)) {
            p.destroyForcibly();
            throw new IOException("georep verify does not end");
        }
        if (p.exitValue() > 1) {
            throw new IOException("georep verify ended with " + p.exitValue());
        }
        return new Answer(p.exitValue(), new ObjectMapper().readTree(out));
    }
}
