// SPDX-License-Identifier: Apache-2.0
package georep.plugin.control;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import georep.nativelib.Exchange;
import georep.nativelib.Json;
import georep.nativelib.Result;
import georep.nativelib.StatusException;
import georep.plugin.GeorepPlugin;
import georep.plugin.source.PeerClient;
import georep.plugin.source.RemoteClients;
import georep.plugin.source.SerialExecutor;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.LongAdder;
import org.apache.pulsar.broker.PulsarService;
import org.apache.pulsar.client.admin.PulsarAdmin;
import org.apache.pulsar.client.admin.PulsarAdminException;
import org.apache.pulsar.common.util.FutureUtil;
import org.apache.pulsar.common.util.ObjectMapperFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries the layouts of this broker's topics to other clusters and back: runs the core's exchange machine, which puts
 * many topics into one call, and makes its calls through this broker's admin clients for the clusters. One
 * per broker; thread-safe, nothing blocks.
 *
 * <pre>
 *   topic's driver --push--> machine --call--> POST exchange of another cluster
 *   topic's driver <-event-- machine <-------- its response, or a call that came here
 * </pre>
 */
public final class PeerExchange implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(PeerExchange.class);
    private static final ObjectMapper JSON = ObjectMapperFactory.getMapper().getObjectMapper();
    /** Answers that mean "no such call here". */
    private static final Set<Integer> NO_CALL = Set.of(404, 405);
    private static final int JITTER = 1001;
    /** Characters: what the core makes is shorter. */
    private static final int MAX_RESPONSE = 8 << 20;

    private final GeorepPlugin plugin;
    private final PulsarService pulsar;
    private final ScheduledExecutorService executor;
    private final Exchange machine;
    private final SerialExecutor serial;
    private final Map<String, ConvergeDriver> drivers = new ConcurrentHashMap<>();
    private final Map<String, LongAdder> bytes = new ConcurrentHashMap<>(); // by cluster
    // what follows is touched by the serial executor's tasks only
    private final Map<Long, CompletableFuture<String>> calls = new HashMap<>();
    private long lastCall;
    private boolean closed;
    private final WakeUp wakeUp;

    private PeerExchange(GeorepPlugin plugin) {
        this.plugin = plugin;
        this.pulsar = plugin.pulsar();
        this.executor = pulsar.getExecutor();
        this.machine = Exchange.open(Json.toProto("ExchangeConfig", JSON.createObjectNode()
                .put("cluster", pulsar.getConfiguration().getClusterName()).toString()));
        this.serial = new SerialExecutor(executor, this::settle, e -> { });
        this.wakeUp = new WakeUp(executor, () -> serial.execute(this::tick));
    }

    public static PeerExchange of(GeorepPlugin plugin) {
        return plugin.service(PeerExchange.class, PeerExchange::new);
    }

    // ------------------------------------------------------------------ topics led here

    /** The topic's events go to this driver from now on. */
    void enter(String topic, ConvergeDriver driver) {
        drivers.put(topic, driver);
    }

    /** The topic is not led here any more; what it sent ends without an event. Before another driver of it begins. */
    CompletableFuture<Void> leave(String topic, ConvergeDriver driver) {
        CompletableFuture<Void> left = new CompletableFuture<>();
        drivers.remove(topic, driver);
        serial.execute(() -> {
            try {
                step("forget", JSON.getNodeFactory().textNode(topic));
            } finally {
                left.complete(null);
            }
        });
        return left;
    }

    /** Whether the topic takes part, led by this broker. */
    public boolean leads(String topic) {
        return drivers.containsKey(topic);
    }

    /** The bytes of a ConvergeSend, as the topic's machine gave it. */
    void push(byte[] send) {
        serial.execute(() -> {
            if (!closed) {
                machine.push(now(), send);
            }
        });
    }

    /** The bytes of a ConvergeReply, as the topic's machine gave it. */
    void replied(byte[] reply) {
        serial.execute(() -> {
            if (!closed) {
                machine.replied(now(), reply);
            }
        });
    }

    // ------------------------------------------------------------------ calls from other clusters

    /**
     * The bytes of an ExchangeRequest that has just come: whether it keeps the rules and there is room for it, before
     * anything is done for it.
     *
     * @throws StatusException as {@link #received} fails
     */
    public void offer(byte[] request) {
        machine.offer(now(), request);
    }

    /**
     * The bytes of an ExchangeRequest whose topics are led here, or by nobody; the ExchangeResponse, as JSON. Fails
     * with a StatusException for what breaks a rule, is beyond a cap, or comes while too many are being answered.
     */
    public CompletableFuture<String> received(byte[] request) {
        CompletableFuture<String> response = new CompletableFuture<>();
        serial.execute(() -> {
            if (closed) {
                response.completeExceptionally(new IllegalStateException("the broker is closing"));
                return;
            }
            long call = ++lastCall;
            calls.put(call, response);
            try {
                machine.received(now(), call, request);
            } catch (StatusException e) {
                calls.remove(call);
                response.completeExceptionally(e);
            }
        });
        return response;
    }

    // ------------------------------------------------------------------ the machine

    /** An event that does not come with every round of every topic; those that do never become JSON. */
    private void step(String event, JsonNode content) {
        if (closed) {
            return;
        }
        ObjectNode n = JSON.createObjectNode().put("nowMillis", now());
        n.set(event, content);
        machine.step(Json.toProto("ExchangeEvent", n.toString()));
    }

    private static long now() {
        return System.currentTimeMillis();
    }

    private void settle() {
        if (closed) {
            return;
        }
        Result result = machine.result();
        result.actions().forEach(this::act);
        wakeUp.at(result.wakeAtMillis());
    }

    private void act(Result.Action a) {
        switch (a.kind()) {
            case Exchange.CALL -> call(Exchange.Call.of(a.message()));
            case Exchange.DELIVER -> deliver(Exchange.Delivery.of(a.message()));
            case Exchange.RESPOND -> {
                Exchange.Response r = Exchange.Response.of(a.message());
                CompletableFuture<String> f = calls.remove(r.call());
                if (f != null) {
                    f.completeAsync(() -> Json.fromProto("ExchangeResponse", r.response()), executor);
                }
            }
            default -> LOG.error("unknown action {} of the exchange", a.kind());
        }
    }

    private void deliver(Exchange.Delivery delivery) {
        String topic = delivery.topic();
        ConvergeDriver d = drivers.get(topic);
        if (d != null) {
            d.deliver(delivery.event());
            return;
        }
        JsonNode event = parse(Json.fromProto("ConvergeEvent", delivery.event()));
        if (event.has("received")) {
            JsonNode reply = JSON.createObjectNode().put("token", event.path("received").path("token").asText())
                    .set("answer", answer(topic, "CONVERGE_CODE_NO_TOPIC", "its layout does not converge here"));
            serial.execute(() -> step("replied", reply));
        }
    }

    /** An ExchangeAnswer without a state. */
    public static JsonNode answer(String topic, String code, String text) {
        return JSON.createObjectNode().put("topic", topic).put("code", code).put("text", text);
    }

    private void call(Exchange.Call call) {
        LongAdder carried = bytes.computeIfAbsent(call.cluster(), c -> new LongAdder());
        admin(call.cluster()).thenCompose(admin -> {
            String request = Json.fromProto("ExchangeRequest", call.request());
            carried.add(request.length());
            return PeerClient.of(admin).exchange(request);
        }).thenApply(text -> {
            carried.add(text.length());
            return response(text);
        }).whenComplete((response, e) -> serial.execute(() -> returned(call, response, e)));
    }

    private void returned(Exchange.Call call, byte[] response, Throwable e) {
        if (closed) {
            return;
        }
        Throwable failure = e;
        if (e == null) {
            try {
                machine.returned(now(), call.id(), response);
                return;
            } catch (StatusException bad) {
                failure = bad;
            }
        }
        failed(call, FutureUtil.unwrapCompletionException(failure));
    }

    private static byte[] response(String text) {
        if (text.length() > MAX_RESPONSE) {
            throw new IllegalStateException("a response of " + text.length() + " characters");
        }
        return Json.toProto("ExchangeResponse", text);
    }

    private void failed(Exchange.Call call, Throwable e) {
        LOG.debug("{} does not answer: {}", call.cluster(), e.toString());
        int status = e instanceof PulsarAdminException p ? p.getStatusCode() : 0;
        step("failed", JSON.createObjectNode().put("call", call.id()).put("unsupported", NO_CALL.contains(status))
                .put("text", String.valueOf(e.getMessage()))
                .put("jitter", ThreadLocalRandom.current().nextInt(JITTER)));
    }

    private void tick() {
        if (!closed) {
            machine.tick(now());
        }
    }

    /** The client for a cluster, as that is registered now. */
    CompletableFuture<PulsarAdmin> admin(String cluster) {
        return pulsar.getPulsarResources().getClusterResources().getClusterAsync(cluster)
                .thenApply(data -> RemoteClients.of(plugin).get(cluster, data).admin());
    }

    /** Bytes of calls to a cluster and of its responses, since the start; JSON, and but for names ASCII. */
    public long bytes(String cluster) {
        LongAdder n = bytes.get(cluster);
        return n == null ? 0 : n.sum();
    }

    /** ExchangeStatus, now; empty once closed. */
    public JsonNode status() {
        try {
            return parse(Json.fromProto("ExchangeStatus", machine.status(now())));
        } catch (StatusException | IllegalStateException e) {
            return JSON.createObjectNode();
        }
    }

    private static JsonNode parse(String json) {
        try {
            return JSON.readTree(json);
        } catch (IOException e) {
            throw new IllegalStateException(e); // what the library has written
        }
    }

    @Override
    public void close() {
        serial.execute(() -> {
            closed = true;
            wakeUp.cancel();
            machine.close();
            calls.values().forEach(f -> f.completeExceptionally(new IllegalStateException("the broker is closing")));
        });
    }
}
