// SPDX-License-Identifier: Apache-2.0
package georep.it.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/** Messages as the protocol spells them: what a client is told to send, and what it says that it received. */
final class Sent {
    /** Key of the message that ends a topic. */
    static final String END = "__end";

    private Sent() {
    }

    static byte[] bytes(JsonNode m, String field) {
        JsonNode n = m.get(field);
        return n == null || n.isNull() ? null : Base64.getDecoder().decode(n.asText());
    }

    static Map<String, String> properties(JsonNode m) {
        Map<String, String> p = new LinkedHashMap<>();
        m.path("props").properties().forEach(e -> p.put(e.getKey(), e.getValue().asText()));
        return p;
    }

    static ObjectNode received(byte[] value, String producer, long published, Map<String, String> properties) {
        ObjectNode o = JsonNodeFactory.instance.objectNode();
        if (value == null) {
            o.putNull("value");
        } else {
            o.put("value", Base64.getEncoder().encodeToString(value));
        }
        o.put("producer", producer).put("published", published);
        ObjectNode p = o.putObject("props");
        new TreeMap<>(properties).forEach(p::put);
        return o;
    }

    /** How often the end has come. */
    static boolean ended(ArrayNode messages, int ends) {
        int n = 0;
        for (JsonNode m : messages) {
            n += m.path("key").asText().equals(END) ? 1 : 0;
        }
        return n >= ends;
    }
}
