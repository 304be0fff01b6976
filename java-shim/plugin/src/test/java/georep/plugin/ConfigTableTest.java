// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** The README's table of keys is what the plugin reads. */
class ConfigTableTest {
    private static final GeorepConfig CONFIG = new GeorepConfig(new Properties());
    /** Defaults that follow from other keys or from the machine, as the table says them. */
    private static final Map<String, Function<GeorepConfig, Object>> SAID = Map.of(
            "one second's worth", GeorepConfig::rebatchBytesPerSecond,
            "number of processors, at least 2", c -> Math.max(2, Runtime.getRuntime().availableProcessors()),
            "4 x threads, at least 16", c -> Math.max(16, 4 * c.threads()));

    /** A row: key, default, effect, dynamic? */
    private static List<List<String>> rows() throws IOException {
        return Files.readAllLines(Path.of("../../README.md")).stream().filter(l -> l.startsWith("| `georep"))
                .map(l -> Arrays.stream(l.substring(2, l.length() - 2).split("\\|", -1)).map(String::trim).toList())
                .toList();
    }

    @Test
    void keysAndDefaults() throws IOException {
        Map<String, String> table = new TreeMap<>();
        for (List<String> row : rows()) {
            String said = row.get(1);
            String was = table.put(row.get(0).replace("`", ""), SAID.containsKey(said)
                    ? String.valueOf(SAID.get(said).apply(CONFIG)) : said);
            assertThat(was).as("%s is there twice", row.get(0)).isNull();
        }
        assertThat(table).containsExactlyInAnyOrderEntriesOf(CONFIG.defaults());
    }

    /** Nothing of the configuration can change while the broker runs, and every row says so. */
    @Test
    void everyRowSaysWhatItDoesAndWhetherItIsDynamic() throws IOException {
        assertThat(Files.readString(Path.of("../../README.md"))).contains("| key | default | effect | dynamic? |");
        for (List<String> row : rows()) {
            assertThat(row).as("%s", row).hasSize(4);
            assertThat(row.get(2)).as("effect of %s", row.get(0)).isNotEmpty();
            assertThat(row.get(3)).as("%s is dynamic", row.get(0)).isEqualTo("no");
        }
    }
}
