// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
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

    /** The library itself, spoilt in the ways in which files are. */
    @Test
    void refusesASpoiltLibrary() throws Exception {
        byte[] good = library();
        Path half = Files.write(dir.resolve("half.so"), Arrays.copyOf(good, good.length / 2));
        assertThat(run("-Dgeorep.library=" + half)).contains("half.so is cut off: it has " + good.length / 2
                + " bytes of " + good.length);
        Path empty = Files.write(dir.resolve("empty.so"), new byte[0]);
        assertThat(run("-Dgeorep.library=" + empty)).contains("empty.so: file too short");
        byte[] foreign = good.clone();
        foreign[0x12] = (byte) 0xb7; // e_machine: aarch64
        Path other = Files.write(dir.resolve("other.so"), foreign);
        assertThat(run("-Dgeorep.library=" + other)).contains("UnsatisfiedLinkError").contains("other.so");

        byte[] flipped = good.clone();
        flipped[good.length / 2] ^= 1;
        put(RESOURCE, "");
        Files.write(dir.resolve(RESOURCE), flipped);
        put(RESOURCE + ".sha256", HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(good)));
        assertThat(runBehind(dir, "-Dgeorep.library=")).contains("checksum mismatch: " + RESOURCE);
    }

    @Test
    void refusesALibraryForANewerGlibc() throws Exception {
        byte[] b = library();
        String text = new String(b, StandardCharsets.ISO_8859_1);
        var needed = Pattern.compile("GLIBC_2\\.(3\\d)\0").matcher(text);
        assertThat(needed.find()).as("a version that the library needs").isTrue();
        String old = "GLIBC_2." + needed.group(1);
        replace(b, old.getBytes(StandardCharsets.US_ASCII), "GLIBC_9.99".substring(0, old.length())
                .getBytes(StandardCharsets.US_ASCII));
        replace(b, hash(old), hash("GLIBC_9.99"));
        Path file = Files.write(dir.resolve("newer.so"), b);
        assertThat(run("-Dgeorep.library=" + file)).contains("`GLIBC_9.99' not found")
                .contains("this build needs a newer glibc than this host has");
    }

    @Test
    void refusesALibraryOfAnotherVersion() throws Exception {
        String code = "int Java_georep_nativelib_Native_abiVersion(void *e, void *c) { return 2 << 16 | 3; }\n";
        assertThat(run("-Dgeorep.library=" + compile("gcc", code))).contains("libgeorep has ABI 2.3, this jar needs "
                + Native.ABI_MAJOR + "." + Native.ABI_MINOR);
    }

    @Test
    void refusesALibraryForMusl() throws Exception {
        Path so = compile("musl-gcc", "#include <stdio.h>\nint f(void) { return puts(\"\"); }\n");
        assertThat(run("-Dgeorep.library=" + so)).contains("this build is for musl, and this host has glibc");
    }

    /** A shared library of this C code; the test is skipped where the compiler is missing. */
    private Path compile(String compiler, String code) throws Exception {
        boolean there = Stream.of(System.getenv("PATH").split(":")).anyMatch(p -> Files.isExecutable(
                Path.of(p, compiler)));
        assumeThat(there).as(compiler).isTrue();
        Path c = Files.writeString(dir.resolve("stub.c"), code);
        Path so = dir.resolve("stub.so");
        Process p = new ProcessBuilder(compiler, "-shared", "-fPIC", "-o", so.toString(), c.toString()).inheritIO()
                .start();
        assertThat(p.waitFor()).isZero();
        return so;
    }

    private static byte[] library() throws IOException {
        try (InputStream in = NativeLoader.class.getClassLoader().getResourceAsStream(RESOURCE)) {
            return in.readAllBytes();
        }
    }

    private static void replace(byte[] b, byte[] from, byte[] to) {
        for (int i = 0; i + from.length <= b.length; i++) {
            if (Arrays.equals(b, i, i + from.length, from, 0, from.length)) {
                System.arraycopy(to, 0, b, i, to.length);
            }
        }
    }

    /** ELF's hash of a version name, as a file has it. */
    private static byte[] hash(String name) {
        int h = 0;
        for (int i = 0; i < name.length(); i++) {
            h = (h << 4) + name.charAt(i);
            int g = h & 0xf0000000;
            h = (h ^ g >>> 24) & ~g;
        }
        return ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(h).array();
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

    private static String run(String... options) throws Exception {
        try (ChildJvm c = ChildJvm.start(Runtime.version().feature(), List.of(options), Main.class)) {
            return c.end(0);
        }
    }

    /** The same with a folder in front of the class path. */
    private static String runBehind(Path folder, String option) throws Exception {
        return run(option, "-cp", folder + ":" + System.getProperty("java.class.path"));
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
