// SPDX-License-Identifier: Apache-2.0
package georep.it;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.zip.GZIPInputStream;

/**
 * Stands before a cluster's web port, as a network does that cannot be relied on: its plan says what becomes of each
 * call with layouts; everything else passes. Thread-safe.
 *
 * <pre>
 *   the other cluster --POST exchange--> plan --> the cluster
 *                     <------------------------- its answer
 * </pre>
 */
final class ExchangeProxy implements AutoCloseable {
    /** What becomes of a call. */
    enum Fate {
        PASS,
        /** It never arrives, and its connection ends. The caller's HTTP client tries again at once, a few times. */
        LOSE,
        /** It never arrives, and the caller is told so. */
        REFUSE,
        /** It arrives; the connection ends before the answer is there. */
        LOSE_ANSWER,
        /** It arrives twice, at the same time. */
        REPEAT,
        /** It waits until a call in the other direction comes. */
        HOLD,
        /** Its answer waits so. */
        HOLD_ANSWER,
        /** The caller is told that it never arrived; it does, behind a later call that says something else. */
        OVERTAKE
    }

    private static final String EXCHANGE = "/admin/v2/scalable-repl/exchange";
    private static final int OK = 200;
    private static final int BAD_GATEWAY = 502;
    private static final int GATEWAY_TIMEOUT = 504;
    /** Headers of one connection; the client at the other side makes its own. */
    private static final Set<String> HOP = Set.of("connection", "content-length", "expect", "host", "keep-alive",
            "transfer-encoding", "upgrade");

    private final URI cluster;
    private final HttpServer server;
    private final ExecutorService threads = Executors.newCachedThreadPool(r -> {
        Thread t = new Thread(r, "exchange-proxy");
        t.setDaemon(true);
        return t;
    });
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private final Map<Fate, AtomicInteger> counts = new ConcurrentHashMap<>();
    private final AtomicInteger answered = new AtomicInteger();
    private final AtomicReference<CompletableFuture<Void>> nextCall = new AtomicReference<>(new CompletableFuture<>());
    private final ConcurrentLinkedQueue<Call> overtaken = new ConcurrentLinkedQueue<>();
    private final List<String> late = new CopyOnWriteArrayList<>();
    private volatile Supplier<Fate> plan = () -> Fate.PASS;
    private volatile ExchangeProxy opposite;
    private volatile Held hold;
    private volatile String last;

    /** A call on its way: what is to be sent, as often as it has to. */
    private record Call(HttpRequest request, String body) { }

    private ExchangeProxy(Cluster to) throws IOException {
        cluster = URI.create(to.broker.getWebServiceAddress());
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    /** Proxies before two clusters, in their order; what waits for the other direction waits for the other proxy. */
    static List<ExchangeProxy> before(Cluster a, Cluster b) throws IOException {
        ExchangeProxy toA = new ExchangeProxy(a);
        ExchangeProxy toB = new ExchangeProxy(b);
        toA.opposite = toB;
        toB.opposite = toA;
        return List.of(toA, toB);
    }

    /** The address by which the other cluster is to know this one. */
    String url() {
        return "http://" + server.getAddress().getHostString() + ":" + server.getAddress().getPort();
    }

    // ------------------------------------------------------------------ plans

    /** Asked once for each call from now on. */
    void plan(Supplier<Fate> next) {
        plan = next;
    }

    /** All of these in an order of the seed's, again and again, each time in another one. */
    static Supplier<Fate> dealt(long seed, Fate... deck) {
        Random random = new Random(seed);
        List<Fate> left = new ArrayList<>();
        return () -> {
            synchronized (left) {
                if (left.isEmpty()) {
                    left.addAll(Arrays.asList(deck));
                    Collections.shuffle(left, random);
                }
                return left.remove(left.size() - 1);
            }
        };
    }

    /** The next call, which waits for the test, and its caller with it. */
    Held holdNext() {
        Held h = new Held();
        hold = h;
        return h;
    }

    /** A call that the test holds up. */
    static final class Held {
        private final CompletableFuture<String> came = new CompletableFuture<>();
        private final CompletableFuture<Void> open = new CompletableFuture<>();
        private final CompletableFuture<String> response = new CompletableFuture<>();

        /** What it says, once it has come. */
        CompletableFuture<String> came() {
            return came;
        }

        /** Lets it go; what the cluster answers. */
        CompletableFuture<String> open() {
            open.complete(null);
            return response;
        }
    }

    // ------------------------------------------------------------------ what happened

    /** How many calls had this fate to its end. */
    int count(Fate f) {
        AtomicInteger n = counts.get(f);
        return n == null ? 0 : n.get();
    }

    /** Calls whose callers have an answer of the cluster's that is no refusal. */
    int answered() {
        return answered.get();
    }

    /** Calls that wait to be overtaken. */
    int toBeOvertaken() {
        return overtaken.size();
    }

    /** What the cluster answered to calls that had been overtaken. */
    List<String> late() {
        return late;
    }

    /** The last call that has arrived. */
    String last() {
        return last;
    }

    private void happened(Fate f) {
        counts.computeIfAbsent(f, x -> new AtomicInteger()).incrementAndGet();
    }

    // ------------------------------------------------------------------ calls

    private void handle(HttpExchange x) throws IOException {
        boolean done = false;
        try {
            byte[] body = x.getRequestBody().readAllBytes();
            Call c = new Call(request(x, body), new String(body, StandardCharsets.UTF_8));
            if (x.getRequestMethod().equals("POST") && x.getRequestURI().getPath().equals(EXCHANGE)) {
                done = exchange(x, c);
            } else {
                answer(x, send(c).join());
                done = true;
            }
        } catch (CompletionException e) {
            if (!(e.getCause() instanceof IOException)) {
                throw e;
            } // the cluster is down: so is its network
        } finally {
            if (!done) {
                x.close(); // without an answer: the connection ends
            }
        }
    }

    /** Whether the caller has been answered. */
    private boolean exchange(HttpExchange x, Call c) throws IOException {
        // before this one is known to have come: of two calls that wait for each other's direction one goes on
        CompletableFuture<Void> other = opposite.nextCall.get();
        nextCall.getAndSet(new CompletableFuture<>()).complete(null);
        Held h = hold;
        if (h != null && h.came.complete(c.body)) {
            return held(x, c, h);
        }
        Fate f = plan.get();
        switch (f) {
            case LOSE -> {
                happened(f);
                return false;
            }
            case REFUSE -> {
                happened(f);
                return told(x, BAD_GATEWAY);
            }
            case OVERTAKE -> {
                overtaken.add(c);
                return told(x, GATEWAY_TIMEOUT);
            }
            case HOLD -> waitFor(other, f);
            default -> { }
        }
        CompletableFuture<HttpResponse<byte[]>> twin = f == Fate.REPEAT ? arrive(c) : null;
        HttpResponse<byte[]> r = arrive(c).join();
        if (twin != null) {
            r = twin.join();
        }
        if (f == Fate.HOLD_ANSWER) {
            waitFor(other, f);
        } else if (f != Fate.HOLD) {
            happened(f);
        }
        if (f != Fate.LOSE_ANSWER) {
            answerCall(x, r);
        }
        deliverBehind(c);
        return f != Fate.LOSE_ANSWER;
    }

    private boolean held(HttpExchange x, Call c, Held h) throws IOException {
        h.open.join();
        HttpResponse<byte[]> r = arrive(c).join();
        h.response.complete(text(r));
        answerCall(x, r);
        return true;
    }

    private void answerCall(HttpExchange x, HttpResponse<byte[]> r) throws IOException {
        if (r.statusCode() == OK) {
            answered.incrementAndGet(); // first: whose caller counts it has it
        }
        answer(x, r);
    }

    /** Until the call in the other direction has come, which may be the case. The caller has no answer yet. */
    private void waitFor(CompletableFuture<Void> other, Fate f) {
        boolean waits = !other.isDone();
        other.join();
        happened(waits ? f : Fate.PASS);
    }

    /** What this call has overtaken arrives now. */
    private void deliverBehind(Call c) throws IOException {
        for (Call old : List.copyOf(overtaken)) {
            if (!old.body.equals(c.body) && overtaken.remove(old)) {
                late.add(text(arrive(old).join()));
                happened(Fate.OVERTAKE);
            }
        }
    }

    /** Lets a call that has arrived before arrive once more; what the cluster answers. */
    String again(String body) throws IOException {
        HttpRequest r = HttpRequest.newBuilder(cluster.resolve(EXCHANGE)).header("Content-Type", "application/json")
                .POST(BodyPublishers.ofString(body)).build();
        return text(arrive(new Call(r, body)).join());
    }

    private CompletableFuture<HttpResponse<byte[]>> arrive(Call c) {
        last = c.body;
        return send(c);
    }

    private CompletableFuture<HttpResponse<byte[]>> send(Call c) {
        return client.sendAsync(c.request, BodyHandlers.ofByteArray());
    }

    private static String text(HttpResponse<byte[]> r) throws IOException {
        boolean zipped = r.headers().firstValue("content-encoding").filter("gzip"::equals).isPresent();
        try (InputStream in = new ByteArrayInputStream(r.body());
                InputStream plain = zipped ? new GZIPInputStream(in) : in) {
            return new String(plain.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private HttpRequest request(HttpExchange x, byte[] body) {
        HttpRequest.Builder b = HttpRequest.newBuilder(cluster.resolve(x.getRequestURI())).method(x.getRequestMethod(),
                body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
        x.getRequestHeaders().forEach((name, values) -> {
            if (!HOP.contains(name.toLowerCase(Locale.ROOT))) {
                values.forEach(v -> b.header(name, v));
            }
        });
        return b.build();
    }

    private static boolean told(HttpExchange x, int status) throws IOException {
        x.sendResponseHeaders(status, -1);
        return true;
    }

    private static void answer(HttpExchange x, HttpResponse<byte[]> r) throws IOException {
        r.headers().map().forEach((name, values) -> {
            if (!HOP.contains(name.toLowerCase(Locale.ROOT))) {
                x.getResponseHeaders().put(name, values);
            }
        });
        byte[] body = r.body();
        x.sendResponseHeaders(r.statusCode(), body.length == 0 ? -1 : body.length);
        if (body.length > 0) {
            try (OutputStream out = x.getResponseBody()) {
                out.write(body);
            }
        }
    }

    @Override
    public void close() {
        nextCall.get().complete(null);
        if (hold != null) {
            hold.open.complete(null);
        }
        server.stop(0);
        threads.shutdownNow();
    }
}
