// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"georep/benchmarks/corpus"
	"georep/benchmarks/paired"
	"georep/benchmarks/row"
	"georep/core/codec"
	"georep/internal/entrytest"
)

// hostRow is a row that the native host measures, by its name there.
type hostRow struct {
	name, unit string
	nanos      float64 // of the unit
	ours, peer []float64
	bytes      [2]int64
	peerName   string
	skipped    string
}

// hostRows are in the order in which the host measures them.
func hostRows() map[string]*hostRow {
	return map[string]*hostRow{
		"place-1KiB":   {name: "f/native/place/64x1KiB", unit: "ns/entry", nanos: 1},
		"place-1MiB":   {name: "f/native/place/64x1MiB", unit: "ns/entry", nanos: 1},
		"rebatch-none": {name: "f/native/rebatch/1000x1KiB/none", unit: "us/entry", nanos: 1000},
		"rebatch-lz4":  {name: "f/native/rebatch/1000x1KiB/lz4", unit: "us/entry", nanos: 1000},
	}
}

// nativeRows lets the native host measure table f.
func nativeRows(s *settings) ([]row.Row, error) {
	if s.native == "" || !s.wants("f/native") {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "bench-native")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for name, data := range hostFiles() {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			return nil, err
		}
	}
	cmd := exec.Command(s.native, dir, strconv.Itoa(s.Rounds), strconv.FormatFloat(s.Span.Seconds()*1000, 'f', 3, 64))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.native, err)
	}
	return readHost(string(out))
}

// hostFiles are a layout of four segments, entries that fit into the first, and batches
// that have to be cut into four.
func hostFiles() map[string][]byte {
	var segments []string
	for i := range rebatchParts {
		segments = append(segments, fmt.Sprintf(`"%d":{"segmentId":%d,"hashRange":{"start":%d,"end":%d},"state":"ACTIVE",`+
			`"entryBucketSplits":[]}`, i, i, i<<16/rebatchParts, (i+1)<<16/rebatchParts-1))
	}
	files := map[string][]byte{"layout.json": []byte(`{"epoch":1,"segments":{` + strings.Join(segments, ",") + `}}`)}
	for name, size := range map[string]int{"place-1KiB": 1 << 10, "place-1MiB": 1 << 20} {
		files[name] = (&entrytest.Batch{Messages: corpus.Messages(1, size), Stamp: true}).Bytes()
	}
	for name, with := range map[string]codec.Codec{"rebatch-none": codec.None, "rebatch-lz4": codec.LZ4} {
		files[name] = (&entrytest.Batch{Messages: corpus.Messages(1000, 1024), Stamp: true, Codec: with}).Bytes()
	}
	return files
}

// readHost makes rows of what the host printed; benchmarks/native/bench.c says what
// that is.
func readHost(out string) ([]row.Row, error) {
	hosts := hostRows()
	for line := range strings.Lines(out) {
		kind, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, value, _ := strings.Cut(rest, " ")
		h := hosts[name]
		if h == nil {
			return nil, fmt.Errorf("the native host: %q", line)
		}
		var err error
		switch kind {
		case "round":
			var a, b float64
			if _, err = fmt.Sscan(value, &a, &b); err == nil {
				h.ours, h.peer = append(h.ours, a), append(h.peer, b)
			}
		case "bytes":
			_, err = fmt.Sscan(value, &h.bytes[0], &h.bytes[1])
		case "peer":
			h.peerName = value
		case "skipped":
			h.skipped = value
		default:
			err = errors.New("what is that?")
		}
		if err != nil {
			return nil, fmt.Errorf("the native host: %q: %w", line, err)
		}
	}
	var rows []row.Row
	for name, h := range hosts {
		if h.skipped != "" {
			rows = append(rows, row.Row{Name: h.name, Unit: h.unit, Note: h.skipped})
			continue
		}
		result, err := paired.Of(h.ours, h.peer)
		if err != nil {
			return nil, fmt.Errorf("the native host: %s: %w", name, err)
		}
		r := result.Row(h.name, h.unit, h.nanos, h.peerName)
		if h.bytes[0] > 0 {
			r.OursOutBytes, r.PeerOutBytes = row.Of(h.bytes[0]), row.Of(h.bytes[1])
		}
		rows = append(rows, r)
	}
	return rows, nil
}
