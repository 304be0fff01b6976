// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Go and the JVM share one process: its signals, its threads, its end. What the JVM turns into exceptions must stay
 * exceptions, what Go turns into errors must stay errors, and diagnosis must work as without the library.
 */
@Timeout(180)
class JvmSafetyTest {
    @TempDir
    Path dir;

    private static String run(int jdk, List<String> options, String mode) throws Exception {
        try (ChildJvm c = ChildJvm.start(jdk, options, Safety.class, mode)) {
            return c.end(0);
        }
    }

    private static long number(String out, String name) {
        return out.lines().filter(l -> l.startsWith(name + " ")).map(l -> l.substring(name.length() + 1).strip())
                .mapToLong(Long::parseLong).findFirst().orElseThrow(() -> new AssertionError(out));
    }

    @ParameterizedTest(name = "JDK {0}")
    @ValueSource(ints = {17, 25})
    void exceptionsAndFaultsKeepTheirMeaning(int jdk) throws Exception {
        String out = run(jdk, List.of(), "exceptions");
        assertThat(out).contains("nulls 150000 overflows 61 faults 600");
        assertThat(number(out, "deep calls")).isGreaterThan(1_000);
    }

    @ParameterizedTest(name = "JDK {0}")
    @ValueSource(ints = {17, 25})
    void shortLivedThreadsLeaveNothing(int jdk) throws Exception {
        String out = run(jdk, List.of("-Xmx64m"), "threads");
        assertThat(number(out, "os threads")).isLessThan(100);
        assertThat(number(out, "grown KiB")).as("9,000 threads later").isLessThan(32 << 10);
    }

    @ParameterizedTest(name = "JDK {0}")
    @ValueSource(ints = {17, 25})
    void threadDumpsWork(int jdk) throws Exception {
        try (ChildJvm c = ChildJvm.start(jdk, List.of(), Safety.class, "until-told")) {
            c.await("ready");
            for (int i = 0; i < 3; i++) {
                c.signal("QUIT");
                c.await("Full thread dump");
                c.await("JNI global refs");
            }
            assertThat(c.end(0)).contains("calls go on");
        }
    }

    @ParameterizedTest(name = "JDK {0}")
    @ValueSource(ints = {17, 25})
    void aTerminatedProcessRunsItsHooks(int jdk) throws Exception {
        try (ChildJvm c = ChildJvm.start(jdk, List.of(), Safety.class, "until-told")) {
            c.await("ready");
            c.signal("TERM");
            c.await("hook fdc6602a");
            c.end(128 + 15);
        }
    }

    @ParameterizedTest(name = "JDK {0}")
    @ValueSource(ints = {17, 25})
    void checkedJniFindsNothing(int jdk) throws Exception {
        assertThat(run(jdk, List.of("-Xcheck:jni"), "exercise")).contains("exercised ")
                .doesNotContain("FATAL ERROR", "WARNING in native method");
    }

    @ParameterizedTest(name = "JDK {0}")
    @ValueSource(ints = {17, 25})
    void flightRecorderRuns(int jdk) throws Exception {
        Path file = dir.resolve("recording.jfr");
        String out = run(jdk, List.of("-XX:StartFlightRecording:settings=profile,filename=" + file), "exercise");
        assertThat(out).contains("exercised ");
        assertThat(Files.size(file)).isGreaterThan(10_000);
    }

    @ParameterizedTest(name = "JDK {0}")
    @ValueSource(ints = {17, 25})
    void noPanicLeavesTheLibrary(int jdk) throws Exception {
        String library = System.getProperty("georep.panics", "");
        assumeThat(library).as("a library that panics: TAGS=panics build/native.sh, -Dgeorep.panics").isNotEmpty();
        String out = run(jdk, List.of("-Dgeorep.library=" + library), "panics");
        assertThat(out).contains("georep: panic: panic: injected");
        long natives = Arrays.stream(Native.class.getDeclaredMethods()).filter(m -> Modifier.isNative(m.getModifiers()))
                .count();
        assertThat(number(out, "exports")).isEqualTo(natives - 4).isGreaterThan(40);
    }
}
