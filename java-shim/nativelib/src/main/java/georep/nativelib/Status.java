// SPDX-License-Identifier: Apache-2.0
package georep.nativelib;

/** Status numbers of georep.h. */
public final class Status {
    public static final int OK = 0;
    public static final int ARG = 1;
    public static final int HANDLE = 2;
    public static final int FORMAT = 3;
    public static final int LIMIT = 4;
    public static final int SPACE = 5;
    public static final int PANIC = 6;
    public static final int ABI = 7;
    public static final int UNSUPPORTED = 8;
    public static final int STATE = 9;
    public static final int EVENT = 10;
    public static final int FAULT = 11;

    private Status() {}
}
