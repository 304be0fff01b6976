// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Addresses of a cluster that is down: every connection is taken and closed at once, as the balancer in front of a dead
 * cluster does, and counted, for a refused one could not be.
 */
final class DeadPorts implements AutoCloseable {
    private final List<ServerSocket> sockets = new ArrayList<>();
    private final AtomicInteger attempts = new AtomicInteger();

    DeadPorts(int... ports) throws IOException {
        for (int port : ports) {
            ServerSocket s = new ServerSocket();
            s.setReuseAddress(true);
            s.bind(new InetSocketAddress("127.0.0.1", port));
            sockets.add(s);
            Thread t = new Thread(() -> take(s), "dead-port-" + port);
            t.setDaemon(true);
            t.start();
        }
    }

    private void take(ServerSocket s) {
        while (!s.isClosed()) {
            try (Socket c = s.accept()) {
                c.setSoLinger(true, 0); // leaves nothing that keeps the port from its owner
                attempts.incrementAndGet();
            } catch (IOException e) {
                // closed, or the caller was gone first
            }
        }
    }

    /** Connections since the cluster went down. */
    int attempts() {
        return attempts.get();
    }

    @Override
    public void close() throws IOException {
        for (ServerSocket s : sockets) {
            s.close();
        }
    }
}
