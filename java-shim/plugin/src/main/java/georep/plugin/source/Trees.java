// SPDX-License-Identifier: Apache-2.0
package georep.plugin.source;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.bookkeeper.mledger.Position;
import org.apache.bookkeeper.mledger.PositionFactory;

/** Messages of georep.proto as JSON trees, and georep.v1.Position among them. */
public final class Trees {
    private Trees() {
    }

    public static ObjectNode node() {
        return ReplicationStatus.mapper().createObjectNode();
    }

    /** The library's own JSON. */
    public static JsonNode parse(String json) {
        return ReplicationStatus.parse(json);
    }

    public static JsonNode text(String s) {
        return ReplicationStatus.mapper().getNodeFactory().textNode(s);
    }

    public static Position position(JsonNode n) {
        return PositionFactory.create(n.path("ledger").asLong(), n.path("entry").asLong());
    }

    public static JsonNode of(Position p) {
        return node().put("ledger", p.getLedgerId()).put("entry", p.getEntryId());
    }

    /** The position right behind. */
    public static Position behind(Position p) {
        return PositionFactory.create(p.getLedgerId(), p.getEntryId() + 1);
    }
}
