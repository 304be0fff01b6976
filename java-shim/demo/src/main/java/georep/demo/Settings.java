// SPDX-License-Identifier: Apache-2.0
package georep.demo;

import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;

/**
 * What a run is made of, out of the environment.
 *
 * @param messages how many are published (MESSAGES)
 * @param home     the source tree: command, NAR and outputs are below it (DEMO_HOME)
 * @param sabotage what happens to one entry on B, to see that the verdict notices (DEMO_SABOTAGE)
 */
record Settings(int messages, Path home, Sabotage.Kind sabotage) {
    private static final int DEFAULT_MESSAGES = 120_000;
    private static final int MAX_MESSAGES = 50_000_000;

    static Settings of(Map<String, String> env) {
        String n = env.getOrDefault("MESSAGES", "").trim();
        int messages;
        try {
            messages = n.isEmpty() ? DEFAULT_MESSAGES : Integer.parseInt(n);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("MESSAGES=" + n + ": not a whole number", e);
        }
        if (messages < 1000 || messages > MAX_MESSAGES) {
            throw new IllegalArgumentException("MESSAGES=" + n + ": must be 1000.." + MAX_MESSAGES);
        }
        String s = env.getOrDefault("DEMO_SABOTAGE", "").trim();
        return new Settings(messages, Path.of(env.getOrDefault("DEMO_HOME", ".")).toAbsolutePath().normalize(),
                s.isEmpty() ? Sabotage.Kind.NONE : Sabotage.Kind.valueOf(s.toUpperCase(Locale.ROOT)));
    }

    /** The load is spread over so long, at least: every split needs traffic beside it. */
    double loadSeconds() {
        return Math.min(15, Math.max(8, messages / 8000.0));
    }

    /** What is published once the layouts are the same, in small batches; numbers go on from the others'. */
    int quietMessages() {
        return messages / 4;
    }

    /** At least so many entries of these must arrive unopened. */
    int quietEntries() {
        return Math.min(10_000, messages / 12);
    }

    Path command() {
        return home.resolve("build/lib/georep");
    }

    Path reportOfThree() {
        return home.resolve("build/reports/demo-three.json");
    }

    Path reportOfBootstrap() {
        return home.resolve("build/reports/demo-bootstrap.json");
    }

    Path report() {
        return home.resolve("build/reports/demo.json");
    }

    Path data() {
        return home.resolve("build/data/demo");
    }

    Path plugins() {
        return home.resolve("java-shim/nar/target/plugins");
    }
}
