// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Which remotes the patterns in a namespace's properties let a topic go to. */
public final class TopicFilter {
    /** Properties of other names say nothing. */
    public static final String ALLOW = "georep.allow.";
    public static final String DENY = "georep.deny.";

    /**
     * @param denied   the remotes that it must not go to, and why; a sentence for people
     * @param troubles a line for each pattern that is not valid and counts for nothing
     */
    public record Verdicts(Map<String, String> denied, List<String> troubles) {
        /** Every remote is allowed. */
        public static final Verdicts NONE = new Verdicts(Map.of(), List.of());
    }

    private TopicFilter() {}

    /** @param topic its local name */
    public static Verdicts of(String topic, Collection<String> remotes, Map<String, String> properties) {
        Wire request = new Wire().string(1, topic);
        remotes.forEach(r -> request.string(2, r));
        properties.forEach((k, v) -> request.bytes(3, new Wire().string(1, k).string(2, v).bytes()));
        byte[] b = Scratch.local().bytes(1024, (out, cap, len, err) -> Scratch.with(request.bytes(), (in, n) ->
                Native.topicFilter(in, n, out, cap, len, err)));
        Map<String, String> denied = new LinkedHashMap<>();
        List<String> troubles = new ArrayList<>();
        Wire.Reader in = new Wire.Reader(b);
        while (in.next()) {
            switch (in.field()) {
                case 1 -> verdict(in.message(), denied);
                case 2 -> troubles.add(in.string());
                default -> in.skip();
            }
        }
        return new Verdicts(Collections.unmodifiableMap(denied), Collections.unmodifiableList(troubles));
    }

    private static void verdict(Wire.Reader in, Map<String, String> denied) {
        String remote = "";
        boolean no = false;
        String why = "";
        while (in.next()) {
            switch (in.field()) {
                case 1 -> remote = in.string();
                case 2 -> no = in.varint() != 0;
                case 3 -> why = in.string();
                default -> in.skip();
            }
        }
        if (no) {
            denied.put(remote, why);
        }
    }
}
