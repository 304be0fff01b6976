// SPDX-License-Identifier: Apache-2.0
package georep.crash;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A broker's place in a cluster: its addresses stay, its process comes and goes. */
final class BrokerProcess {
    private static final int START_SECONDS = 90;
    private static final int START_ATTEMPTS = 5;

    final int binaryPort;
    final int httpPort;
    private final String cluster;
    private final String metadataUrl;
    private final Path dir;
    private final Path log;
    private Process process;
    private BufferedReader out;
    private volatile boolean ready;

    BrokerProcess(String cluster, int slot, String metadataUrl, Path dir, Path log, int binaryPort, int httpPort) {
        this.cluster = cluster;
        this.metadataUrl = metadataUrl;
        this.dir = dir.resolve("broker-" + slot);
        this.log = log.resolve("crash-loop-" + cluster + slot + ".log");
        this.binaryPort = binaryPort;
        this.httpPort = httpPort;
    }

    /** Returns when the broker is up. */
    void start() throws IOException {
        Files.createDirectories(dir);
        for (int i = 1; ; i++) {
            if (tryStart()) {
                return;
            }
            kill();
            if (i == START_ATTEMPTS) {
                throw new IOException("broker " + this + " does not start: see " + log);
            }
        }
    }

    private boolean tryStart() throws IOException {
        List<String> command = new ArrayList<>(List.of(Path.of(System.getProperty("java.home"), "bin", "java")
                .toString(), "-Xmx512m", "-XX:MaxDirectMemorySize=256m", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-Dio.netty.leakDetection.level=paranoid",
                "-Dpulsar.allocator.leak_detection=Paranoid", "-Dio.netty.tryReflectionSetAccessible=true",
                "-Dgeorep.nar.dir=" + System.getProperty("georep.nar.dir"),
                "-Dgeorep.library=" + System.getProperty("georep.library", ""), "-cp",
                System.getProperty("java.class.path"), BrokerMain.class.getName(), cluster, metadataUrl, dir.toString(),
                String.valueOf(binaryPort), String.valueOf(httpPort)));
        process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.appendTo(log.toFile())).start();
        out = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.US_ASCII));
        ready = "ready".equals(line(START_SECONDS));
        return ready;
    }

    /** Null: it ended or took too long. */
    private String line(int seconds) {
        BufferedReader from = out;
        try {
            return CompletableFuture.supplyAsync(() -> {
                try {
                    return from.readLine();
                } catch (IOException e) {
                    return null;
                }
            }).get(seconds, TimeUnit.SECONDS);
        } catch (Exception e) {
            return null;
        }
    }

    boolean isUp() {
        return ready && process.isAlive();
    }

    /** SIGKILL. */
    void kill() {
        ready = false;
        process.destroyForcibly();
        try {
            process.waitFor();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Leaks that this process has found so far. */
    int leaks() throws IOException {
        process.getOutputStream().write('\n');
        process.getOutputStream().flush();
        String n = line(60);
        if (n == null) {
            throw new IOException("broker " + this + " does not answer");
        }
        return Integer.parseInt(n);
    }

    /** Leaks that all processes of this place have written to their log. */
    long leaksInLog() throws IOException {
        try (var lines = Files.lines(log, StandardCharsets.ISO_8859_1)) {
            return lines.filter(l -> l.startsWith("LEAK ")).count();
        }
    }

    @Override
    public String toString() {
        return cluster + "/" + dir.getFileName();
    }
}
