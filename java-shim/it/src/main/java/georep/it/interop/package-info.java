// SPDX-License-Identifier: Apache-2.0
/**
 * A broker and the two Java clients behind standard input and output, for tests/interop: one JSON object a line asks,
 * one answers. What is asked and answered is described in tests/interop/README.md.
 */
package georep.it.interop;
