// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeLoaderTest {
    private static final String RESOURCE = "native/linux-x86_64/libgeorep.so";

    @TempDir
    Path dir;

    @Test
    void loadsFromTheResourceOrTheOverride() {
        assertThat(Georep.version()).matches("\\d+\\.\\d+\\.\\d+");
        assertThat(Georep.abiVersion() >>> 16).isEqualTo(Native.ABI_MAJOR);
        assertThat(Georep.loadedFrom()).endsWith("libgeorep.so");
        assertThat(NativeLoader.platform()).matches("linux-(x86_64|aarch64)");
    }

    @Test
    void refusesAnotherAbi() {
        Native.checkVersion(Native.ABI_MAJOR << 16 | Native.ABI_MINOR + 1);
        for (int v : new int[] {(Native.ABI_MAJOR + 1) << 16, 0, (Native.ABI_MAJOR - 1) << 16 | 9}) {
            assertThatThrownBy(() -> Native.checkVersion(v)).isInstanceOf(UnsatisfiedLinkError.class)
                    .hasMessageContaining("has ABI " + (v >>> 16) + "." + (v & 0xffff))
                    .hasMessageContaining("needs " + Native.ABI_MAJOR + "." + Native.ABI_MINOR)
                    .hasMessageContaining(".so");
        }
    }

    @Test
    void extractsWhatMatchesItsChecksum() throws Exception {
        put(RESOURCE, "library");
        put(RESOURCE + ".sha256", sha("library") + "  libgeorep.so\n");
        Path to = dir.resolve("out.so");
        NativeLoader.extract(loader(), RESOURCE, to);
        assertThat(to).hasContent("library");
    }

    @Test
    void refusesAWrongOrMissingChecksum() throws Exception {
        put(RESOURCE, "library");
        Path to = dir.resolve("out.so");
        assertThatThrownBy(() -> NativeLoader.extract(loader(), RESOURCE, to)).isInstanceOf(IOException.class)
                .hasMessageContaining("checksum mismatch").hasMessageContaining("nothing");
        put(RESOURCE + ".sha256", sha("another"));
        assertThatThrownBy(() -> NativeLoader.extract(loader(), RESOURCE, to)).isInstanceOf(IOException.class)
                .hasMessageContaining(sha("library")).hasMessageContaining(sha("another"));
        assertThat(to).doesNotExist();
    }

    @Test
    void tellsLibcsApart() throws Exception {
        assertThat(NativeLoader.find(loader(), "linux-x86_64", false)).isNull();
        put(RESOURCE, "x");
        assertThat(NativeLoader.find(loader(), "linux-x86_64", false)).isEqualTo(RESOURCE);
        assertThat(NativeLoader.find(loader(), "linux-x86_64", true)).as("a glibc build on musl").isNull();
        assertThat(NativeLoader.find(loader(), "linux-aarch64", false)).isNull();
        put(RESOURCE + ".portable", "");
        assertThat(NativeLoader.find(loader(), "linux-x86_64", true)).isEqualTo(RESOURCE);
        put("native/linux-x86_64-musl/libgeorep.so", "x");
        assertThat(NativeLoader.find(loader(), "linux-x86_64", true))
                .isEqualTo("native/linux-x86_64-musl/libgeorep.so");
    }

    /** A process of its own, because a library is loaded once. */
    @Test
    void refusesClearly() throws Exception {
        Path text = Files.writeString(dir.resolve("text.so"), "no library");
        assertThat(run("-Dgeorep.library=" + dir.resolve("none.so"))).contains("none.so: no such file");
        assertThat(run("-Dgeorep.library=" + text)).contains("UnsatisfiedLinkError").contains("text.so");
        assertThat(run("-Dos.arch=sparc")).contains("this jar holds no libgeorep for linux-sparc")
                .contains("-Dgeorep.library=");
        Path notThere = dir.resolve("no/such/dir");
        assertThat(run("-Dgeorep.tmpdir=" + notThere, "-Dgeorep.library=")).contains("cannot extract")
                .contains("-Dgeorep.tmpdir");
    }

    @Test
    void leavesNothingBehind() throws Exception {
        Path tmp = Files.createDirectory(dir.resolve("tmp"));
        assertThat(run("-Dgeorep.tmpdir=" + tmp)).contains("version " + Georep.version());
        try (var files = Files.list(tmp)) {
            assertThat(files).isEmpty();
        }
    }

    /** Prints the version, or what was thrown. */
    public static final class Main {
        private Main() {}

        public static void main(String[] args) {
            try {
                System.out.println("version " + Georep.version());
            } catch (Throwable t) {
                for (Throwable c = t; c != null; c = c.getCause()) {
                    System.out.println(c);
                }
            }
        }
    }

    private String run(String... options) throws Exception {
        List<String> command = new java.util.ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
                System.getProperty("java.class.path")));
        command.addAll(List.of(options));
        command.add(Main.class.getName());
        Process p = new ProcessBuilder(command).redirectErrorStream(true).start();
        String out = new String(p.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertThat(p.waitFor()).as(out).isZero();
        return out;
    }

    private ClassLoader loader() throws Exception {
        return new URLClassLoader(new URL[] {dir.toUri().toURL()}, null);
    }

    private void put(String name, String content) throws IOException {
        Path p = dir.resolve(name);
        Files.createDirectories(p.getParent());
        Files.writeString(p, content);
    }

    private static String sha(String s) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(Entries.utf8(s)));
    }
}
