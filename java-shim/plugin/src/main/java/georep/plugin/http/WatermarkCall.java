// SPDX-License-Identifier: Apache-2.0
package georep.plugin.http;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.plugin.dest.Mark;
import georep.plugin.dest.OriginKey;
import jakarta.ws.rs.core.Response;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.pulsar.broker.web.RestException;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/** JSON of georep.v1.WatermarkRequest, WatermarkResponse and OriginKeys. */
final class WatermarkCall {
    static final String KNOWN = "WATERMARK_STATUS_KNOWN";
    static final String NONE = "WATERMARK_STATUS_NONE";
    static final String NOT_FINAL = "WATERMARK_STATUS_NOT_FINAL";
    static final String GONE = "WATERMARK_STATUS_GONE";

    private WatermarkCall() {
    }

    /** What is asked: this destination segment, for that stream. */
    record Request(long segment, OriginKey key) {
    }

    /** Fails with a 400 that names the field. */
    static Request parse(String json) {
        JsonNode n;
        try {
            n = ObjectMapperFactory.getMapper().reader().readTree(json == null ? "" : json);
        } catch (IOException e) {
            throw bad("body", "not JSON");
        }
        if (n == null || !n.isObject()) {
            throw bad("body", "not an object");
        }
        JsonNode k = n.get("key");
        if (k == null || !k.isObject()) {
            throw bad("key", "missing");
        }
        return new Request(number(n, "segment", ""), key(k));
    }

    /** The keys of a georep.v1.OriginKeys. */
    static List<OriginKey> keys(String json) {
        List<OriginKey> all = new ArrayList<>();
        for (JsonNode k : SegmentStatus.tree(json).path("keys")) {
            all.add(key(k));
        }
        return all;
    }

    private static OriginKey key(JsonNode k) {
        return new OriginKey(text(k, "cluster"), text(k, "instance"), number(k, "segment", "key."),
                number(k, "generation", "key."));
    }

    private static String text(JsonNode n, String field) {
        JsonNode v = n.get(field);
        if (v == null || !v.isTextual() || v.textValue().isEmpty()) {
            throw bad("key." + field, "missing");
        }
        return v.textValue();
    }

    /** 64-bit numbers are text in proto3's JSON, plain numbers are taken too; absent is 0, as there. */
    private static long number(JsonNode n, String field, String prefix) {
        JsonNode v = n.get(field);
        if (v == null || v.isNull()) {
            return 0;
        }
        try {
            return Long.parseUnsignedLong(v.asText());
        } catch (NumberFormatException e) {
            throw bad(prefix + field, "not a number");
        }
    }

    private static RestException bad(String field, String why) {
        return new RestException(Response.Status.BAD_REQUEST, field + ": " + why);
    }

    static String answer(String status) {
        return ObjectMapperFactory.getMapper().getObjectMapper().createObjectNode().put("status", status).toString();
    }

    static String answer(Optional<Mark> mark) {
        if (mark.isEmpty()) {
            return answer(NONE);
        }
        Mark m = mark.get();
        ObjectNode n = ObjectMapperFactory.getMapper().getObjectMapper().createObjectNode().put("status", KNOWN);
        n.putObject("position").put("ledger", Long.toString(m.ledger())).put("entry", Long.toString(m.entry()));
        if (m.part() != Mark.WHOLE) {
            n.put("part", Long.toString(m.part())); // absent: whole
        }
        return n.toString();
    }
}
