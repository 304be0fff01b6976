// SPDX-License-Identifier: Apache-2.0
package georep.it.interop;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.it.Cluster;
import georep.it.ClusterSpec;
import georep.it.Federation;
import georep.it.SegmentLog;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import org.apache.pulsar.common.util.ObjectMapperFactory;

/** One stock broker, its logs, and the Java clients; serves requests until standard input ends. */
public final class InteropHost {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String NAMESPACE = "public/default";

    private final Cluster cluster;
    private final Logs logs;
    private final V4 v4;
    private final V5 v5;

    private InteropHost(Cluster cluster) throws Exception {
        this.cluster = cluster;
        logs = new Logs(cluster);
        v4 = new V4(cluster.broker.getBrokerServiceUrl());
        v5 = new V5(cluster.broker.getBrokerServiceUrl());
    }

    /** The argument is a folder for the cluster's files. */
    public static void main(String[] args) throws Exception {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // answers have standard output for themselves
        try (Cluster c = ClusterSpec.named("interop").stock().start(Path.of(args[0]))) {
            Federation.introduce(c);
            Federation.create(NAMESPACE, c);
            new InteropHost(c).serve(out);
        }
        System.exit(0);
    }

    private void serve(PrintStream out) throws Exception {
        out.println(JSON.createObjectNode().put("url", cluster.broker.getBrokerServiceUrl()));
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                out.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            }
        }
        v4.close();
        v5.close();
    }

    private ObjectNode answer(JsonNode q) {
        ObjectNode a = JSON.createObjectNode();
        try {
            answer(q, a);
        } catch (Exception e) {
            a.put("error", e.toString());
            e.printStackTrace();
        }
        return a;
    }

    private void answer(JsonNode q, ObjectNode a) throws Exception {
        String topic = q.get("topic").asText();
        boolean five = q.path("client").asText().equals("java-v5");
        switch (q.get("op").asText()) {
            case "produce" -> {
                if (five) {
                    v5.produce(q);
                } else {
                    v4.produce(q);
                }
            }
            case "consume" -> a.set("messages", five ? v5.consume(q) : v4.consume(q));
            case "create" -> {
                Federation.topic(topic, q.get("segments").asInt(), cluster);
                a.set("segments", JSON.valueToTree(SegmentLog.segments(cluster, topic)));
                a.put("layout", ObjectMapperFactory.getMapper().writer()
                        .writeValueAsString(cluster.admin().scalableTopics().getMetadata(topic)));
            }
            case "log" -> a.set("entries", logs.read(topic));
            case "compacted" -> a.set("entries", logs.compacted(topic));
            case "store" -> logs.store(topic, q.get("entries"));
            default -> throw new IllegalArgumentException("op");
        }
    }
}
