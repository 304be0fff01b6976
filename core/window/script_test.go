// SPDX-License-Identifier: Apache-2.0

package window

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/layout"
	"georep/core/placement"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected output of testdata/*.txt")

// TestScripts runs every testdata/*.txt: blocks of one command per line, a line
// "----", and what the window answered.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { runScript(t, f) })
	}
}

func runScript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t}
	var out bytes.Buffer
	for n, block := range blocks(string(text)) {
		in, want, found := strings.Cut(block, "\n----\n")
		in = strings.TrimSuffix(in, "\n----")
		if allComments(in) {
			fmt.Fprintf(&out, "%s\n\n", in)
			continue
		}
		got := strings.TrimSpace(s.run(in))
		fmt.Fprintf(&out, "%s\n----\n%s\n\n", in, got)
		if !*rewrite && (!found && got != "" || strings.TrimSpace(want) != got) {
			t.Errorf("%s, block %d:\n%s\ngot:\n%s\nwant:\n%s", file, n+1, in, got, want)
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, append(bytes.TrimSpace(out.Bytes()), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func blocks(text string) []string {
	text = strings.ReplaceAll(text, "----\n\n\n", "----\n\n") // no output
	return strings.Split(strings.TrimSpace(text), "\n\n")
}

func allComments(block string) bool {
	for line := range strings.SplitSeq(block, "\n") {
		if !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

type script struct {
	t       *testing.T
	w       *Window
	profile keyhash.Profile
	now     int64
}

func (s *script) run(block string) string {
	var out strings.Builder
	for line := range strings.SplitSeq(block, "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.command(strings.Fields(line), &out); err != nil {
			fmt.Fprintf(&out, "error: %v\n", err)
		}
		s.drain(&out)
	}
	return out.String()
}

func (s *script) command(f []string, out *strings.Builder) error {
	switch f[0] {
	case "want", "status", "counters", "needs-tick":
		fmt.Fprintln(out, s.show(f[0]))
	case "window":
		return s.open(f[1:])
	case "remote":
		return s.remote(f[1:])
	case "instance":
		s.w.RemoteInstance(f[1])
	case "gate":
		s.w.SetGate(f[1] == "open")
	case "block":
		s.w.Block(map[string]Block{"handshake": BlockHandshake, "unsupported": BlockUnsupported, "incompatible": BlockIncompatible,
			"denied": BlockDenied}[f[1]])
	case "pause":
		s.w.Pause(f[1] == "on")
	case "offer":
		data := buildEntry(s.profile, f[2:])
		return s.w.Offer(s.pos(f[1]), flagsOf(f[2:]), data)
	case "ack", "dup", "refuse", "lose", "toolarge", "checksum":
		o := map[string]Outcome{"ack": Acked, "dup": Duplicate, "refuse": Refused, "lose": Unknown,
			"toolarge": TooLarge, "checksum": ChecksumError}[f[0]]
		for _, id := range f[1:] {
			s.w.Outcome(uint64(s.int(id)), o)
		}
	case "sealed":
		s.w.SegmentSealed(uint64(s.int(f[1])))
	case "watermark":
		return s.watermark(f[1:])
	case "granted":
		s.w.Granted()
	case "ended":
		s.w.SourceEnded()
	case "schema":
		if len(f) == 3 {
			s.w.SchemaMapped([]byte(f[1]), []byte(f[2]))
		} else {
			s.w.SchemaFailed([]byte(f[1]))
		}
	case "deleted":
		for _, p := range f[1:] {
			s.w.Deleted(s.pos(p))
		}
	case "delete-failed":
		s.w.DeleteFailed(s.pos(f[1]))
	case "cursor":
		s.w.CursorAt(s.pos(f[1]), uint64(s.int(f[2])))
	case "skip":
		return s.w.Skip(s.pos(f[1]))
	case "tick":
		s.now += s.int(f[1])
		s.w.Tick(s.now)
	default:
		s.t.Fatalf("unknown command %q", f[0])
	}
	return nil
}

func (s *script) show(what string) string {
	switch what {
	case "want":
		e, b := s.w.Want()
		return fmt.Sprintf("entries=%d bytes=%d", e, b)
	case "needs-tick":
		return fmt.Sprint(s.w.NeedsTick())
	case "counters":
		return nonZero(s.w.Counters())
	}
	st := s.w.Status()
	by := 0
	for _, n := range st.ParkedBy {
		by += n
	}
	for _, p := range st.Parked {
		if st.ParkedBy[p.Reason] == 0 {
			by = -1
		}
	}
	if by != st.ParkedN {
		s.t.Errorf("parked %d, by reason %v", st.ParkedN, st.ParkedBy)
	}
	return fmt.Sprintf("%v waiting=%q parked=%v entries=%d in-flight=%d held=%d", st.State, st.Waiting, st.Parked,
		st.Entries, st.InFlight, st.HeldBytes)
}

func (s *script) int(v string) int64 {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) pos(v string) entry.Position {
	p, err := entry.ParsePosition(v)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func (s *script) open(opts []string) error {
	c := Config{Source: placement.Source{Cluster: "a", Remote: "b", Segment: 7, Range: layout.Range{Start: 0, End: 0xffff}},
		Topic: "topic://t/n/x", Instance: "i1", Generation: 1, KeepCodec: true,
		SentBefore: entry.Position{Ledger: 0, Entry: 9}}
	s.profile = keyhash.PIP486
	for _, o := range opts {
		k, v, _ := strings.Cut(o, "=")
		switch k {
		case "range":
			c.Source.Range = parseRange(s.t, v)
		case "profile":
			p, err := keyhash.ParseProfile(v)
			if err != nil {
				return err
			}
			s.profile = p
		case "sent-before":
			c.SentBefore = s.pos(v)
		case "pass":
			c.ParkedPass = true
		case "place":
			c.PlaceEncryptedBatch = true
		case "inflight":
			c.MaxInFlightEntries = int(s.int(v))
		case "bytes":
			c.MaxInFlightBytes = s.int(v)
		case "age":
			c.MaxUnitMillis = s.int(v)
		case "units":
			c.MaxOpenUnits = int(s.int(v))
		}
	}
	c.Source.Profile = s.profile
	w, err := New(c)
	s.w, s.now = w, 0
	return err
}

// remote E ID:RANGE[/buckets][!|?] … : "!" = sealed, "?" = sealed and legacy.
func (s *script) remote(f []string) error {
	var segs []layout.Segment
	for _, d := range f[1:] {
		seg := layout.Segment{State: layout.Active, Profile: s.profile, BucketsKnown: true}
		if strings.HasSuffix(d, "!") {
			d, seg.State = strings.TrimSuffix(d, "!"), layout.Sealed
		}
		if strings.HasSuffix(d, "?") {
			d, seg.State, seg.Legacy = strings.TrimSuffix(d, "?"), layout.Sealed, "persistent://t/ns/old"
		}
		id, rest, _ := strings.Cut(d, ":")
		rng, buckets, _ := strings.Cut(rest, "/")
		seg.ID, seg.Range = uint64(s.int(id)), parseRange(s.t, rng)
		if buckets != "" {
			seg.Buckets = layout.EqualWidth(int(s.int(buckets)))
		}
		segs = append(segs, seg)
	}
	l, err := layout.New(uint64(s.int(f[0])), segs)
	if err != nil {
		return err
	}
	return s.w.SetRemote(l, 5<<20)
}

func parseRange(t *testing.T, v string) layout.Range {
	var a, b uint16
	if _, err := fmt.Sscanf(v, "%x-%x", &a, &b); err != nil {
		t.Fatal(err)
	}
	return layout.Range{Start: a, End: b}
}

func (s *script) watermark(f []string) error {
	seg := uint64(s.int(f[0]))
	switch f[1] {
	case "none":
		s.w.Watermark(seg, WatermarkNone, entry.Position{}, 0)
	case "not-final":
		s.w.Watermark(seg, WatermarkNotFinal, entry.Position{}, 0)
	case "gone":
		s.w.Watermark(seg, WatermarkGone, entry.Position{}, 0)
	case "failed":
		s.w.Watermark(seg, WatermarkFailed, entry.Position{}, 0)
	default:
		part := entry.Whole
		if len(f) > 2 {
			part = s.int(f[2])
		}
		s.w.Watermark(seg, WatermarkKnown, s.pos(f[1]), part)
	}
	return nil
}

func (s *script) drain(out *strings.Builder) {
	for {
		acts, _, needed := s.w.Ready(nil, make([]byte, 0, 1<<16))
		if needed > 0 {
			s.t.Fatalf("needs %d", needed)
		}
		if len(acts) == 0 {
			return
		}
		for _, a := range acts {
			fmt.Fprintln(out, describe(&a))
		}
	}
}
