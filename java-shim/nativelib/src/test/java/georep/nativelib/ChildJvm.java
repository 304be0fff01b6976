// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** A JVM of a given version with the tests' class path: what ends a process is tried in one of its own. */
final class ChildJvm implements AutoCloseable {
    private final Process process;
    private final BufferedReader out;
    private final StringBuilder seen = new StringBuilder();

    private ChildJvm(Process process) {
        this.process = process;
        this.out = process.inputReader();
    }

    /** Starts the main class; standard error goes with standard output. */
    static ChildJvm start(int version, List<String> options, Class<?> main, String... args) throws IOException {
        List<String> command = new ArrayList<>(List.of(home(version).resolve("bin/java").toString(), "-cp",
                System.getProperty("java.class.path")));
        if (version >= 24) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(options);
        command.add(main.getName());
        command.addAll(List.of(args));
        return new ChildJvm(new ProcessBuilder(command).redirectErrorStream(true).start());
    }

    /** Where a JDK of that version is; a test for one that is not there is skipped. */
    private static Path home(int version) throws IOException {
        if (Runtime.version().feature() == version) {
            return Path.of(System.getProperty("java.home"));
        }
        String named = System.getenv("JAVA_HOME_" + version);
        List<Path> found = new ArrayList<>(named == null ? List.of() : List.of(Path.of(named)));
        Path all = Path.of("/usr/lib/jvm");
        if (Files.isDirectory(all)) {
            try (Stream<Path> dirs = Files.list(all)) {
                dirs.sorted().filter(d -> release(d).contains("JAVA_VERSION=\"" + version)).forEach(found::add);
            }
        }
        if (found.isEmpty()) {
            System.out.println("skipped on JDK " + version + ": none in JAVA_HOME_" + version + " or " + all);
        }
        assumeThat(found).as("a JDK %d", version).isNotEmpty();
        return found.get(0);
    }

    private static String release(Path jdk) {
        try {
            return Files.readString(jdk.resolve("release"));
        } catch (IOException noJdk) {
            return "";
        }
    }

    /** Reads until a line has the text; fails where the process ends before. */
    void await(String text) throws IOException {
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            seen.append(line).append('\n');
            if (line.contains(text)) {
                return;
            }
        }
        assertThat(seen.toString()).as("output of the child").contains(text);
    }

    /** Sends a signal by name. */
    void signal(String name) throws Exception {
        Process kill = new ProcessBuilder("kill", "-" + name, Long.toString(process.pid())).start();
        assertThat(kill.waitFor()).as("kill -" + name).isZero();
    }

    /** Closes its standard input, waits for its end, and returns all that it wrote. */
    String end(int status) throws Exception {
        process.getOutputStream().close();
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            seen.append(line).append('\n');
        }
        assertThat(process.waitFor()).as(seen.toString()).isEqualTo(status);
        return seen.toString();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
