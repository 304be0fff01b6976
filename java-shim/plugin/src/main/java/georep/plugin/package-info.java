// SPDX-License-Identifier: Apache-2.0
/** Entry points of the broker plugin: topic factory, servlet, start-up self-check, configuration. */
package georep.plugin;
