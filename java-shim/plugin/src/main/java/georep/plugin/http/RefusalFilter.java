// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import georep.plugin.GeorepPlugin;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.container.ContainerResponseFilter;
import jakarta.ws.rs.core.Context;
import java.util.Set;
import org.apache.pulsar.common.policies.data.ErrorData;

/** A log line and a count for every call of the plugin that is refused for what the caller is or says. */
public final class RefusalFilter implements ContainerResponseFilter {
    /** Not 404: a topic that is gone is nobody's fault. */
    private static final Set<Integer> REFUSED = Set.of(400, 401, 403, 405, 413, 415, 429);

    private final GeorepPlugin plugin;
    @Context
    private HttpServletRequest request;

    public RefusalFilter(GeorepPlugin plugin) {
        this.plugin = plugin;
    }

    @Override
    public void filter(ContainerRequestContext in, ContainerResponseContext out) {
        if (REFUSED.contains(out.getStatus())) {
            plugin.counters().refused.increment();
            String why = out.getEntity() instanceof ErrorData e ? e.reason : out.getStatusInfo().getReasonPhrase();
            RefusalLog.of(plugin).refused(request, out.getStatus() + " " + why);
        }
    }
}
