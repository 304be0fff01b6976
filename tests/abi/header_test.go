// SPDX-License-Identifier: Apache-2.0

// Package abi holds the hosts that use the library from outside (run.sh) and the
// tests that its header, its exports, its JNI table and the core say the same.
package abi

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"georep/core/dedup"
	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/placement"
	"georep/core/window"
)

const headerFile = "../../include/georep.h"

func header(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(headerFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var define = regexp.MustCompile(`(?m)^#define (GEOREP_[A-Z0-9_]+) +(\d+)u?\b(?: +/\* ([^*]*) \*/)?`)

// constants returns the header's numbers and the comment behind each.
func constants(t *testing.T) (numbers map[string]int, comments map[string]string) {
	t.Helper()
	numbers, comments = make(map[string]int), make(map[string]string)
	for _, m := range define.FindAllStringSubmatch(header(t), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := numbers[m[1]]; ok {
			t.Errorf("%s is defined twice", m[1])
		}
		numbers[m[1]], comments[m[1]] = n, m[3]
	}
	return numbers, comments
}

func TestConstantsAreTheCores(t *testing.T) {
	want := map[string]int{
		"PROFILE_M1": int(keyhash.M1), "PROFILE_PIP486": int(keyhash.PIP486),
		"ENTRY_EXPIRED": int(placement.Expired), "ENTRY_TXN_ABORTED": int(placement.TxnAborted),

		"OUTCOME_ACKED": int(window.Acked), "OUTCOME_DUPLICATE": int(window.Duplicate),
		"OUTCOME_REFUSED": int(window.Refused), "OUTCOME_UNKNOWN": int(window.Unknown),
		"OUTCOME_TOO_LARGE": int(window.TooLarge), "OUTCOME_CHECKSUM_ERROR": int(window.ChecksumError),

		"WATERMARK_KNOWN": int(window.WatermarkKnown), "WATERMARK_NONE": int(window.WatermarkNone),
		"WATERMARK_NOT_FINAL": int(window.WatermarkNotFinal), "WATERMARK_GONE": int(window.WatermarkGone),
		"WATERMARK_FAILED": int(window.WatermarkFailed),

		"BLOCK_HANDSHAKE": int(window.BlockHandshake), "BLOCK_UNSUPPORTED": int(window.BlockUnsupported),
		"BLOCK_INCOMPATIBLE": int(window.BlockIncompatible), "BLOCK_DENIED": int(window.BlockDenied),

		"DO_SEND": int(window.Send), "DO_DELETE": int(window.Delete), "DO_RELEASE": int(window.Release),
		"DO_ASK_BUDGET": int(window.AskBudget), "DO_RETURN_BUDGET": int(window.ReturnBudget),
		"DO_ASK_WATERMARK": int(window.AskWatermark), "DO_ASK_SCHEMA": int(window.AskSchema),
		"DO_CLOSE_PRODUCER": int(window.CloseProducer), "DO_PARKED": int(window.Parked), "DO_LAPSE": int(window.Lapse),

		"VERDICT_NEW": int(dedup.Fresh), "VERDICT_DUPLICATE": int(dedup.Duplicate),
		"VERDICT_UNKNOWN": int(dedup.Unknown), "VERDICT_FULL": int(dedup.Full),
	}
	for a := placement.Verbatim; a <= placement.Drop; a++ {
		want["ACTION_"+strings.ToUpper(a.String())] = int(a)
	}
	numbers, comments := constants(t)
	for name, n := range want {
		if got, ok := numbers["GEOREP_"+name]; !ok || got != n {
			t.Errorf("GEOREP_%s is %d (defined: %v), the core has %d", name, got, ok, n)
		}
	}
	reasons := 0
	for name := range numbers {
		if strings.HasPrefix(name, "GEOREP_REASON_") {
			reasons++
		}
	}
	if all := placement.Reasons(); len(all) != reasons {
		t.Errorf("the header has %d reasons, the core %d", reasons, len(all))
	}
	for _, r := range placement.Reasons() {
		name := "GEOREP_REASON_" + strings.ToUpper(strings.ReplaceAll(r.String(), "-", "_"))
		if got, ok := numbers[name]; !ok || got != int(r) || comments[name] != r.String() {
			t.Errorf("%s is %d /* %s */ (defined: %v), the core has %d %s", name, got, comments[name], ok, r, r)
		}
	}
	if !strings.Contains(header(t), "#define GEOREP_WHOLE INT64_MAX") || entry.Whole != 1<<63-1 {
		t.Errorf("GEOREP_WHOLE is not entry.Whole = %d", entry.Whole)
	}
}

// TestJavaNames compares the names that Java prints with the core's.
func TestJavaNames(t *testing.T) {
	b, err := os.ReadFile("../../java-shim/nativelib/src/main/java/georep/nativelib/Placement.java")
	if err != nil {
		t.Fatal(err)
	}
	list := func(array string) []string {
		m := regexp.MustCompile(`(?s)` + array + ` = \{(.*?)\}`).FindSubmatch(b)
		if m == nil {
			t.Fatalf("no %s in Placement.java", array)
		}
		var out []string
		for _, q := range regexp.MustCompile(`"([^"]*)"`).FindAllSubmatch(m[1], -1) {
			out = append(out, string(q[1]))
		}
		return out
	}
	var reasons []string
	for _, r := range placement.Reasons() {
		reasons = append(reasons, r.String())
	}
	if got := list("REASONS"); !slices.Equal(got, reasons) {
		t.Errorf("reasons in Java: %q\nin the core: %q", got, reasons)
	}
	actions := []string{"none"}
	for a := placement.Verbatim; a <= placement.Drop; a++ {
		actions = append(actions, a.String())
	}
	if got := list("ACTIONS"); !slices.Equal(got, actions) {
		t.Errorf("actions in Java: %q\nin the core: %q", got, actions)
	}
}

// TestJavaConstants compares the numbers in Java's Window and Status with the header's.
func TestJavaConstants(t *testing.T) {
	numbers, _ := constants(t)
	for file, prefixes := range map[string][]string{
		"Actions.java":     {"DO_"},
		"Window.java":      {"OUTCOME_", ""},
		"EventBuffer.java": {"EV_"},
		"Status.java":      {"E_", ""},
		"Placement.java":   {"ACTION_"},
	} {
		b, err := os.ReadFile("../../java-shim/nativelib/src/main/java/georep/nativelib/" + file)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, m := range regexp.MustCompile(`static final int ([A-Z_]+) = (\d+);`).FindAllStringSubmatch(string(b), -1) {
			for _, p := range prefixes {
				n, ok := numbers["GEOREP_"+p+m[1]]
				if !ok {
					continue
				}
				found++
				if m[2] != fmt.Sprint(n) {
					t.Errorf("%s: %s = %s, the header has GEOREP_%s%s %d", file, m[1], m[2], p, m[1], n)
				}
				break
			}
		}
		if found < 6 {
			t.Errorf("%s: only %d constants were compared", file, found)
		}
	}
}
