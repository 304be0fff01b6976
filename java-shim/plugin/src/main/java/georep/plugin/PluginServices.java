// SPDX-License-Identifier: Apache-2.0
package georep.plugin;

import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Parts of the plugin that exist once per broker, each made by the first who asks. One that is being made may ask for
 * others, which a map's own computeIfAbsent refuses where their hashes happen to meet. Thread-safe.
 */
final class PluginServices implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PluginServices.class);

    private final Map<Class<?>, Object> made = new ConcurrentHashMap<>();
    private final List<AutoCloseable> closing = new CopyOnWriteArrayList<>();

    <T> T get(Class<T> type, Supplier<T> make) {
        Object known = made.get(type);
        return type.cast(known != null ? known : makeOnce(type, make));
    }

    private synchronized <T> Object makeOnce(Class<T> type, Supplier<T> make) {
        Object known = made.get(type);
        if (known != null) {
            return known;
        }
        T s = make.get();
        if (s instanceof AutoCloseable c) {
            closing.add(c);
        }
        made.put(type, s);
        return s;
    }

    /** Closes all of them that can be closed. */
    @Override
    public void close() {
        for (AutoCloseable c : closing) {
            try {
                c.close();
            } catch (Exception e) {
                LOG.warn("georep: {} did not close: {}", c.getClass().getSimpleName(), e.toString());
            }
        }
    }
}
