// SPDX-License-Identifier: Apache-2.0
package georep.bench.e2e;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Comparator;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** Whose CPU it was: that of this process since an instance was made, by threads of like names. */
final class ThreadTimes {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final OperatingSystemMXBean OS =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final int SHOWN = 12;

    private final Map<Long, Long> before = now();
    private final long process = OS.getProcessCpuTime();

    private static Map<Long, Long> now() {
        Map<Long, Long> all = new HashMap<>();
        for (long id : THREADS.getAllThreadIds()) {
            all.put(id, THREADS.getThreadCpuTime(id));
        }
        return all;
    }

    /** The groups that took most, and what was no Java thread's: collector, compiler, the library's own. */
    @Override
    public String toString() {
        double total = (OS.getProcessCpuTime() - process) / 1e9;
        Map<String, Double> groups = new TreeMap<>();
        double java = 0;
        for (Map.Entry<Long, Long> t : now().entrySet()) {
            var info = THREADS.getThreadInfo(t.getKey());
            double s = (t.getValue() - before.getOrDefault(t.getKey(), 0L)) / 1e9;
            if (info != null && s > 0) {
                groups.merge(info.getThreadName().replaceAll("[-0-9:.]+", "-"), s, Double::sum);
                java += s;
            }
        }
        return String.format(Locale.ROOT, "%.2f CPU s, %.2f not of Java threads; ", total, total - java)
                + groups.entrySet().stream().sorted(Map.Entry.comparingByValue(Comparator.reverseOrder())).limit(SHOWN)
                .map(e -> String.format(Locale.ROOT, "%s %.2f", e.getKey(), e.getValue()))
                .collect(Collectors.joining(", "));
    }
}
