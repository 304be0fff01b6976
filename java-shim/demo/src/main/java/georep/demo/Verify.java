// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import com.fasterxml.jackson.databind.JsonNode;
import georep.it.Cluster;
import georep.it.Command;
import java.io.IOException;
import java.nio.file.Path;

/** Runs {@code georep verify}, a process of its own that knows two addresses and a topic. */
final class Verify {
    /** Its exit status (0 equal, 1 different) and report. */
    record Answer(int status, JsonNode report) {
        long total(String field) {
            return report.path("total").path(field).asLong();
        }

        /** Messages that one cluster has published, and the other should have. */
        long published(String origin) {
            for (JsonNode p : report.path("pairs")) {
                if (p.path("origin").asText().equals(origin)) {
                    return p.path("messages").asLong();
                }
            }
            return 0;
        }
    }

    private Verify() {
    }

    static Answer run(Path command, Cluster a, Cluster b, String topic) throws IOException, InterruptedException {
        Command.Result r = new Command(command).run("verify", "--admin-url", a.adminUrl(), "--admin-url", b.adminUrl(),
                "--json", topic);
        System.err.print(r.err());
        if (r.status() > 1) {
            throw new IOException("georep verify ended with " + r.status());
        }
        return new Answer(r.status(), r.json());
    }
}
