// SPDX-License-Identifier: Apache-2.0
package georep.crash;

import georep.it.ClusterSpec;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import java.util.logging.LogManager;
import org.apache.pulsar.broker.PulsarService;

/**
 * One broker in a process of its own. Prints {@code ready}; answers each line of standard input with the number of
 * leaks found so far; ends, without closing anything, with its parent.
 */
public final class BrokerMain {
    private static final int SESSION_MILLIS = 5000;
    private static final int COLLECT_MILLIS = 15_000;

    private BrokerMain() {
    }

    /** Arguments: cluster, metadata URL, folder, binary port, HTTP port. */
    public static void main(String[] args) throws Exception {
        LeakCounter.install();
        LogManager.getLogManager().reset();
        try {
            broker(args).start();
        } catch (Exception | LinkageError e) {
            e.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
        System.out.println("ready");
        Thread collector = new Thread(BrokerMain::collect, "collect");
        collector.setDaemon(true);
        collector.start();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        while (in.readLine() != null) {
            for (int i = 0; i < 3; i++) {
                find();
            }
            System.out.println(LeakCounter.found());
        }
        Runtime.getRuntime().halt(0);
    }

    static PulsarService broker(String[] args) {
        // apart: what is cut all the time is tried harder; CRASH_CONVERGE=1 tries the controllers
        ClusterSpec spec = ClusterSpec.named(args[0]).realBookies().dedup(args[0].equals("b"));
        return new PulsarService((System.getenv("CRASH_CONVERGE") == null ? spec.apart() : spec).with(c -> {
            c.setBrokerServicePort(Optional.of(Integer.parseInt(args[3])));
            c.setWebServicePort(Optional.of(Integer.parseInt(args[4])));
            c.setMetadataStoreSessionTimeoutMillis(SESSION_MILLIS);
        }).configuration(args[1], Path.of(args[2])));
    }

    /** A leak is seen when its buffer has been collected; a process that is killed has none left to tell. */
    private static void collect() {
        try {
            while (true) {
                Thread.sleep(COLLECT_MILLIS);
                find();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    static void find() {
        System.gc();
        System.runFinalization();
        UnpooledByteBufAllocator.DEFAULT.directBuffer(16).release(); // the detector looks when something is allocated
        io.netty.buffer.PooledByteBufAllocator.DEFAULT.directBuffer(16).release();
        org.apache.pulsar.common.allocator.PulsarByteBufAllocator.DEFAULT.directBuffer(16).release();
        Unpooled.buffer(16).release();
    }
}
