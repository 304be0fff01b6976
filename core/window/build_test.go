// SPDX-License-Identifier: Apache-2.0

package window

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"georep/core/entry"
	"georep/core/keyhash"
	"georep/core/placement"
)

// keyIn returns the n-th key "kN" whose segment hash lies in quarter q ('a'..'d')
// of the ring; scripts write it as a1, b2, …
func keyIn(p keyhash.Profile, name string) string {
	quarter, n := int(name[0]-'a'), int(name[1]-'0')
	for i := 0; ; i++ {
		k := fmt.Sprintf("k%d", i)
		if int(p.Segment(keyhash.Sum([]byte(k)))>>14) == quarter {
			if n--; n <= 0 {
				return k
			}
		}
	}
}

func keyName(p keyhash.Profile, key string) string {
	for q := 'a'; q <= 'd'; q++ {
		for n := '1'; n <= '9'; n++ {
			if name := string(q) + string(n); keyIn(p, name) == key {
				return name
			}
		}
	}
	return key
}

func flagsOf(opts []string) (f placement.Flags) {
	for _, o := range opts {
		switch o {
		case "expired":
			f |= placement.Expired
		case "aborted":
			f |= placement.TxnAborted
		}
	}
	return f
}

func num(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func str(b []byte, field protowire.Number, v string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), v)
}

// buildEntry makes a stored entry: batch a1,b1 | single a1 | chunk U I/N a1, then options.
func buildEntry(p keyhash.Profile, opts []string) []byte {
	m := num(num(str(nil, 1, "producer"), 2, 1), 3, 1000)
	var payload []byte
	switch opts[0] {
	case "batch":
		keys := strings.Split(opts[1], ",")
		lo, hi := uint32(0xffff), uint32(0)
		for i, k := range keys {
			var sm []byte
			if k != "-" {
				key := keyIn(p, k)
				sm = str(sm, 2, key)
				h := uint32(keyhash.Bucket(keyhash.Sum([]byte(key))))
				lo, hi = min(lo, h), max(hi, h)
			} else {
				lo = 0
			}
			body := fmt.Sprintf("v%d", i)
			sm = num(sm, 3, uint64(len(body)))
			payload = binary.BigEndian.AppendUint32(payload, uint32(len(sm)))
			payload = append(append(payload, sm...), body...)
		}
		m = num(num(m, 11, uint64(len(keys))), 9, uint64(len(payload)))
		if p == keyhash.PIP486 {
			m = num(num(m, 33, uint64(lo)), 34, uint64(hi))
		}
		if keys[0] != "-" {
			m = str(m, 6, keyIn(p, keys[0]))
		}
	case "single":
		if opts[1] != "-" {
			m = str(m, 6, keyIn(p, opts[1]))
		}
		payload = []byte("value")
	case "chunk":
		id, of, _ := strings.Cut(opts[2], "/")
		i, _ := strconv.Atoi(id)
		n, _ := strconv.Atoi(of)
		m = num(num(num(str(m, 26, opts[1]), 27, uint64(n)), 28, uint64(n*5)), 29, uint64(i))
		m = str(m, 6, keyIn(p, opts[3]))
		payload = []byte("chunk")
	case "garbage":
		return []byte{0, 0, 0, 99, 1}
	}
	for _, o := range opts[1:] {
		k, v, _ := strings.Cut(o, "=")
		switch k {
		case "from":
			m = str(m, 5, v)
		case "to":
			m = str(m, 7, v)
		case "schema":
			m = str(m, 16, v)
		case "encrypted":
			m = str(m, 13, string(str(str(nil, 1, "k"), 2, "v")))
		}
	}
	body := binary.BigEndian.AppendUint32(nil, uint32(len(m)))
	body = append(append(body, m...), payload...)
	out := binary.BigEndian.AppendUint16(nil, 0x0e01)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli)))
	out = append(out, body...)
	if slices.Contains(opts, "damaged") {
		out[len(out)-1] ^= 1
	}
	return out
}

func describe(a *Action) string {
	switch a.Kind {
	case Send:
		part := strconv.FormatInt(a.Part, 10)
		if a.Part == entry.Whole {
			part = "whole"
		}
		return fmt.Sprintf("send #%d %v/%s -> segment %d bucket %d %v n=%d%s", a.SendID, a.Position, part, a.Segment,
			a.Bucket, a.Path, a.Messages, partKeys(a))
	case Delete, Release:
		return fmt.Sprintf("%v %v", a.Kind, a.Position)
	case AskBudget:
		return fmt.Sprintf("%v %d bytes", a.Kind, a.Bytes)
	case AskWatermark, CloseProducer:
		return fmt.Sprintf("%v segment %d", a.Kind, a.Segment)
	case AskSchema:
		return fmt.Sprintf("%v %s", a.Kind, a.Version)
	case Parked:
		return fmt.Sprintf("%v %v %v", a.Kind, a.Position, a.Reason)
	}
	return a.Kind.String()
}

// partKeys lists the keys of a part, read back from the bytes to be sent.
func partKeys(a *Action) string {
	raw := append(append([]byte(nil), a.Header...), a.Payload...)
	f, err := entry.ParseFrame(raw, 1<<20)
	if err != nil {
		return " BAD FRAME " + err.Error()
	}
	if f.ComputeChecksum() != f.Checksum {
		return " BAD CHECKSUM"
	}
	var m entry.Metadata
	if err := m.Parse(f.Metadata); err != nil {
		return " BAD METADATA " + err.Error()
	}
	o, ok, err := entry.FindOrigin(f.Metadata)
	if !ok || err != nil || o.Position != a.Position || o.Part != a.Part {
		return fmt.Sprintf(" BAD ORIGIN %+v %v", o, err)
	}
	if a.Path != placement.Rebatch {
		return ""
	}
	var keys []string
	r := entry.NewBatchReader(f.Payload, int(m.NumMessages))
	for msg := (entry.Message{}); r.Next(&msg); {
		keys = append(keys, keyName(keyhash.PIP486, string(msg.Single.PartitionKey)))
	}
	if r.Err() != nil {
		return " BAD BATCH " + r.Err().Error()
	}
	return " keys=" + strings.Join(keys, ",")
}

func nonZero(c Counters) string {
	var out []string
	v := reflect.ValueOf(c)
	for i := range v.NumField() {
		if f := v.Field(i); f.Kind() == reflect.Uint64 && f.Uint() > 0 {
			out = append(out, fmt.Sprintf("%s=%d", v.Type().Field(i).Name, f.Uint()))
		}
	}
	return strings.Join(out, " ")
}
