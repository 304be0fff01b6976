// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * Finds and loads libgeorep once.
 *
 * <p>Order: {@code -Dgeorep.library=/path/libgeorep.so}; then the jar resource
 * {@code /native/<os>-<arch>[-musl]/libgeorep.so}, or the one without {@code -musl} where that one was built to serve
 * both libcs (it has a {@code .portable} file beside it). A resource is checked against its {@code .sha256} and
 * extracted into a new directory that only this user can enter ({@code -Dgeorep.tmpdir}, default java.io.tmpdir).
 * Whatever does not fit ends in an UnsatisfiedLinkError that says what was looked for and what to do.
 */
final class NativeLoader {
    static final String LIBRARY = "libgeorep.so";
    static final String OVERRIDE = "georep.library";
    static final String TMPDIR = "georep.tmpdir";

    private static String loadedFrom;

    private NativeLoader() {}

    static synchronized void load() {
        if (loadedFrom != null) {
            return;
        }
        String override = System.getProperty(OVERRIDE);
        if (override != null && !override.isBlank()) {
            loadOverride(Path.of(override).toAbsolutePath());
        } else {
            loadResource(platform(), isMusl());
        }
    }

    /** Where the library came from: a path or a resource name; null before the first load. */
    static synchronized String loadedFrom() {
        return loadedFrom;
    }

    private static void loadOverride(Path file) {
        if (!Files.isRegularFile(file)) {
            throw new UnsatisfiedLinkError("-D" + OVERRIDE + "=" + file + ": no such file");
        }
        requireComplete(file);
        systemLoad(file, isMusl());
        loadedFrom = file.toString();
    }

    private static void requireComplete(Path file) {
        try {
            long want = ElfFile.declaredLength(file);
            long got = Files.size(file);
            if (got < want) {
                throw new UnsatisfiedLinkError(file + " is cut off: it has " + got + " bytes of " + want);
            }
        } catch (IOException e) {
            UnsatisfiedLinkError u = new UnsatisfiedLinkError("cannot read " + file + ": " + e);
            u.initCause(e);
            throw u;
        }
    }

    private static void loadResource(String platform, boolean musl) {
        String resource = find(NativeLoader.class.getClassLoader(), platform, musl);
        if (resource == null) {
            throw new UnsatisfiedLinkError("this jar holds no libgeorep for " + platform
                    + (musl ? " with musl libc" : "") + "; build one (build/native.sh) and name it with -D"
                    + OVERRIDE + "=/path/" + LIBRARY);
        }
        try {
            Path dir = privateDirectory();
            Path file = dir.resolve(LIBRARY);
            try {
                extract(NativeLoader.class.getClassLoader(), resource, file);
                systemLoad(file, musl);
            } finally { // a mapped file may be unlinked: nothing is left behind, not even by a crash
                Files.deleteIfExists(file);
                Files.deleteIfExists(dir);
            }
        } catch (IOException e) {
            UnsatisfiedLinkError u = new UnsatisfiedLinkError("cannot extract " + resource + ": " + e
                    + " (choose another directory with -D" + TMPDIR + ")");
            u.initCause(e);
            throw u;
        }
        loadedFrom = resource;
    }

    /** The resource that serves this platform, or null. */
    static String find(ClassLoader loader, String platform, boolean musl) {
        String base = "native/" + platform;
        if (musl) {
            String own = base + "-musl/" + LIBRARY;
            if (loader.getResource(own) != null) {
                return own;
            }
            return loader.getResource(base + "/" + LIBRARY + ".portable") != null ? base + "/" + LIBRARY : null;
        }
        return loader.getResource(base + "/" + LIBRARY) != null ? base + "/" + LIBRARY : null;
    }

    private static Path privateDirectory() throws IOException {
        Path parent = Path.of(System.getProperty(TMPDIR, System.getProperty("java.io.tmpdir")));
        return Files.createTempDirectory(parent, "georep-",
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    }

    /** Copies a resource to file and compares its SHA-256 with the text of resource.sha256. */
    static void extract(ClassLoader loader, String resource, Path file) throws IOException {
        MessageDigest sha = sha256();
        try (InputStream in = loader.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IOException("no resource " + resource);
            }
            Files.copy(new DigestInputStream(in, sha), file);
        }
        String want = "";
        try (InputStream in = loader.getResourceAsStream(resource + ".sha256")) {
            if (in != null) {
                want = new String(in.readAllBytes(), StandardCharsets.US_ASCII).strip().split("\\s", 2)[0];
            }
        }
        String got = HexFormat.of().formatHex(sha.digest());
        if (!got.equalsIgnoreCase(want)) {
            Files.deleteIfExists(file);
            throw new IOException("checksum mismatch: " + resource + " is " + got + ", its .sha256 says "
                    + (want.isEmpty() ? "nothing" : want));
        }
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every JDK has it
        }
    }

    private static void systemLoad(Path file, boolean musl) {
        try {
            System.load(file.toString());
        } catch (UnsatisfiedLinkError e) {
            String text = String.valueOf(e.getMessage());
            UnsatisfiedLinkError u = new UnsatisfiedLinkError(text + hint(text, file, musl));
            u.initCause(e);
            throw u;
        }
    }

    private static String hint(String message, Path file, boolean musl) {
        if (message.contains("failed to map segment") || message.contains("Operation not permitted")) {
            return " (is " + file.getParent() + " mounted noexec? choose another directory with -D" + TMPDIR + ")";
        }
        if (message.contains("GLIBC_")) {
            return " (this build needs a newer glibc than this host has; build one here with build/native.sh)";
        }
        if (musl) {
            return " (on musl libgeorep_tls.so must be in LD_PRELOAD)";
        }
        // glibc's libc.so is a text for the linker, so what was linked with musl's finds that or nothing.
        return message.contains("libc.so: ") || message.contains("libc.musl") ? " (this build is for musl, and this "
                + "host has glibc; build one here with build/native.sh)" : "";
    }

    /** os-arch of this JVM, as used in resource names. */
    static String platform() {
        String os = System.getProperty("os.name", "").toLowerCase(Locale.ROOT);
        String arch = System.getProperty("os.arch", "").toLowerCase(Locale.ROOT);
        String a = switch (arch) {
            case "amd64", "x86_64" -> "x86_64";
            case "aarch64", "arm64" -> "aarch64";
            default -> arch;
        };
        return (os.startsWith("linux") ? "linux" : os.replaceAll("[^a-z0-9]+", "")) + "-" + a;
    }

    /** Whether this process runs on musl: what is mapped into it counts, not what lies on the disk. */
    static boolean isMusl() {
        try (Stream<String> lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.anyMatch(l -> l.contains("/ld-musl-") || l.contains("/libc.musl-"));
        } catch (IOException e) {
            return false;
        }
    }
}
