// SPDX-License-Identifier: Apache-2.0
package georep.it;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Runs the command {@code georep}, a process of its own that knows what it is told. */
public final class Command {
    private static final int MINUTES = 2;

    private final Path binary;

    public Command(Path binary) throws IOException {
        if (!Files.isExecutable(binary)) {
            throw new IOException(binary + " is missing: make cli");
        }
        this.binary = binary;
    }

    /** The one that system property georep.command names. */
    public static Command built() throws IOException {
        return new Command(Path.of(System.getProperty("georep.command")));
    }

    /** What it printed, and its exit status. */
    public record Result(int status, String out, String err) {
        public JsonNode json() throws IOException {
            return new ObjectMapper().readTree(out);
        }

        @Override
        public String toString() {
            return "exit " + status + "\n" + out + err;
        }
    }

    public Result run(String... args) throws IOException, InterruptedException {
        List<String> line = new ArrayList<>(List.of(binary.toString()));
        line.addAll(List.of(args));
        Path out = Files.createTempFile("georep", ".out");
        Path err = Files.createTempFile("georep", ".err");
        try {
            ProcessBuilder b = new ProcessBuilder(line).redirectOutput(out.toFile()).redirectError(err.toFile());
            b.environment().keySet().removeIf(k -> k.startsWith("GEOREP_"));
            Process p = b.start();
            p.getOutputStream().close();
            if (!p.waitFor(MINUTES, TimeUnit.MINUTES)) {
                p.destroyForcibly();
                throw new IOException(line + " does not end");
            }
            return new Result(p.exitValue(), Files.readString(out, StandardCharsets.UTF_8),
                    Files.readString(err, StandardCharsets.UTF_8));
        } finally {
            Files.delete(out);
            Files.delete(err);
        }
    }
}
