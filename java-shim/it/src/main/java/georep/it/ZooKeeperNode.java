// SPDX-License-Identifier: Apache-2.0
package georep.it;

import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** One real ZooKeeper server in this JVM: sessions, ephemeral nodes and elections that tell several brokers apart. */
public final class ZooKeeperNode implements AutoCloseable {
    private static final int TICK_MILLIS = 2000;

    private final ServerCnxnFactory connections;
    public final String url;

    public ZooKeeperNode(Path dir) throws Exception {
        System.setProperty("zookeeper.forceSync", "no"); // nothing here outlives the machine
        Files.createDirectories(dir);
        ZooKeeperServer server = new ZooKeeperServer(dir.toFile(), dir.toFile(), TICK_MILLIS);
        connections = ServerCnxnFactory.createFactory(new InetSocketAddress("127.0.0.1", 0), 0);
        connections.startup(server);
        url = "zk:127.0.0.1:" + connections.getLocalPort();
    }

    @Override
    public void close() {
        connections.shutdown();
    }
}
