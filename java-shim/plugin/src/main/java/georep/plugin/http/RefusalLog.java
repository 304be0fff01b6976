// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import georep.plugin.GeorepPlugin;
import jakarta.servlet.http.HttpServletRequest;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.pulsar.broker.web.AuthenticationFilter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Says who was refused what, and why. A caller that is refused all the time fills no disk: after a hundred lines it
 * gets one a second, and the next line counts what was left out. One per broker; thread-safe.
 */
final class RefusalLog {
    private static final Logger LOG = LoggerFactory.getLogger(RefusalLog.class);
    private static final int BURST = 100;
    private static final int MAX_TEXT = 500;

    private final CallerBuckets lines = new CallerBuckets(BURST, 1, System::nanoTime);
    private final AtomicLong left = new AtomicLong();

    static RefusalLog of(GeorepPlugin plugin) {
        return plugin.service(RefusalLog.class, p -> new RefusalLog());
    }

    /** Role and address of who calls, for logs: null@… without credentials. */
    static String who(HttpServletRequest r) {
        return r.getAttribute(AuthenticationFilter.AuthenticatedRoleAttributeName) + "@" + r.getRemoteAddr();
    }

    void refused(HttpServletRequest r, String why) {
        String who = who(r);
        if (lines.take(who) > 0) {
            left.incrementAndGet();
            return;
        }
        long before = left.getAndSet(0);
        LOG.warn("{} {} from {} refused: {}{}", r.getMethod(), printable(r.getRequestURI()), printable(who),
                printable(why), before == 0 ? "" : " (and " + before + " refusals before that are not shown)");
    }

    /** What a caller said makes no lines of its own, and no long ones. */
    private static String printable(String s) {
        StringBuilder b = new StringBuilder();
        s.codePoints().limit(MAX_TEXT).forEach(c -> b.appendCodePoint(Character.isISOControl(c) ? '?' : c));
        return b.toString();
    }
}
