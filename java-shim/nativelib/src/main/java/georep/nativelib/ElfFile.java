// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/** How long a shared library has to be. */
final class ElfFile {
    private static final int HEADER = 64;
    private static final int MAGIC = 0x7f454c46;
    private static final byte CLASS_64 = 2;
    private static final int LOAD = 1;

    private ElfFile() {}

    /**
     * The bytes that a 64-bit ELF file says it has; 0 for any other file, which the loader refuses by itself. A file
     * that is shorter, because it is still being copied, would be mapped and end the process with SIGBUS.
     */
    static long declaredLength(Path file) throws IOException {
        try (FileChannel in = FileChannel.open(file)) {
            ByteBuffer h = read(in, 0, HEADER);
            if (h.limit() < HEADER || h.getInt(0) != MAGIC || h.get(4) != CLASS_64) {
                return 0;
            }
            h.order(h.get(5) == 2 ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN);
            int size = h.getShort(54) & 0xffff;
            int count = h.getShort(56) & 0xffff;
            long end = h.getLong(40) + (h.getShort(58) & 0xffffL) * (h.getShort(60) & 0xffffL);
            ByteBuffer p = read(in, h.getLong(32), size * count).order(h.order());
            for (int at = 0; at + size <= p.limit() && size >= 56; at += size) {
                if (p.getInt(at) == LOAD) {
                    end = Math.max(end, p.getLong(at + 8) + p.getLong(at + 32));
                }
            }
            return end;
        }
    }

    private static ByteBuffer read(FileChannel in, long from, int n) throws IOException {
        ByteBuffer b = ByteBuffer.allocate(n);
        while (b.hasRemaining() && from >= 0 && in.read(b, from + b.position()) > 0) {
            continue;
        }
        return b.flip();
    }
}
