// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class PluginServicesTest {
    private final PluginServices services = new PluginServices();

    /** A service of this type, which asks for one of the next type, and so on: more than a map has places at first. */
    private <T> T chain(Class<T> type, int left) {
        return services.get(type, () -> {
            if (left > 0) {
                chain(type.arrayType(), left - 1);
            }
            return type.cast(Array.newInstance(type.componentType(), left));
        });
    }

    @Test
    void aServiceThatIsBeingMadeMayAskForOthers() {
        int[] first = chain(int[].class, 100);
        assertThat(first).hasSize(100);
        assertThat(chain(int[].class, 0)).as("made once").isSameAs(first);
        assertThat(chain(int[][][].class, 0).length).as("the third of the chain").isEqualTo(98);
    }

    @Test
    void oneThatCannotBeMadeIsTriedAgain() {
        assertThatThrownBy(() -> services.get(String.class, () -> {
            throw new IllegalStateException("not yet");
        })).hasMessage("not yet");
        assertThat(services.get(String.class, () -> "now")).isEqualTo("now");
    }

    @Test
    void closeClosesAllThatCanBeAlthoughOneFails() {
        List<String> closed = new ArrayList<>();
        services.get(AutoCloseable.class, () -> () -> {
            throw new IllegalStateException("stuck");
        });
        services.get(java.io.Closeable.class, () -> () -> closed.add("second"));
        services.get(String.class, () -> "nothing to close");
        services.close();
        assertThat(closed).containsExactly("second");
    }
}
