// SPDX-License-Identifier: Apache-2.0
package georep.crash;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * What {@code georep verify} says of both clusters' logs.
 *
 * @param status its exit status: 0 equal, 1 different, above: it could not read
 */
record Verification(int status, JsonNode report) {
    private static final int MINUTES = 5;

    static Verification run(Path command, String adminA, String adminB, String topic)
            throws IOException, InterruptedException {
        Process p = new ProcessBuilder(List.of(command.toString(), "verify", "--admin-url", adminA, "--admin-url",
                adminB, "--json", topic)).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        p.getOutputStream().close();
        byte[] out = p.getInputStream().readAllBytes();
        if (!p.waitFor(MINUTES, TimeUnit.MINUTES)) {
            p.destroyForcibly();
            throw new IOException("georep verify does not end");
        }
        return new Verification(p.exitValue(), new ObjectMapper().readTree(out));
    }

    boolean equal() {
        return status == 0;
    }

    /** Of both directions together. */
    long total(String field) {
        return report.path("total").path(field).asLong();
    }

    String differences() {
        StringBuilder s = new StringBuilder();
        report.path("differences").forEach(d -> s.append("  ").append(d).append('\n'));
        return s.toString();
    }
}
