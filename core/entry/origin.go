// SPDX-License-Identifier: Apache-2.0

package entry

import (
	"bytes"
	"strconv"
	"strings"
)

const (
	// OriginProperty is the key of the property that holds the origin record.
	OriginProperty = "__GEOREP_ORIGIN"
	// SourcePositionProperty is the key of Pulsar's own property: "ledger:entry",
	// or "ledger:entry:part" for a part of an entry.
	SourcePositionProperty = "__MSG_PROP_REPL_SOURCE_POSITION"
)

const originVersion = '1'

// Origin is the record that every replicated entry carries: where it comes from
// and which topic it was written for. A copy that a consumer publishes
// elsewhere keeps the record but is not bound to its topic, so it counts for
// nothing there.
//
//	1|cluster|instance|segment|generation|ledger:entry[:part]|boundTopic
//
// '|' and '%' inside the names are written %7C and %25.
type Origin struct {
	Cluster    string // the cluster where the entry was first published
	Instance   string // the topic's life there
	Segment    uint64 // the segment there
	Generation uint64 // raised by enabling, cursor reset and bootstrap
	Position   Position
	Part       int64  // Whole, or the rank of the part's last message
	BoundTopic string // the destination segment's topic
}

// AppendValue appends the property's value to dst.
func (o Origin) AppendValue(dst []byte) []byte {
	return o.appendTail(o.AppendSourcePosition(o.appendHead(dst)))
}

// appendHead appends the value up to the position.
func (o *Origin) appendHead(dst []byte) []byte {
	dst = append(dst, originVersion, '|')
	dst = append(appendEscaped(dst, o.Cluster), '|')
	dst = append(appendEscaped(dst, o.Instance), '|')
	dst = append(strconv.AppendUint(dst, o.Segment, 10), '|')
	return append(strconv.AppendUint(dst, o.Generation, 10), '|')
}

// appendTail appends what follows the position.
func (o *Origin) appendTail(dst []byte) []byte {
	return appendEscaped(append(dst, '|'), o.BoundTopic)
}

// AppendSourcePosition appends the value of SourcePositionProperty.
func (o Origin) AppendSourcePosition(dst []byte) []byte {
	dst = o.Position.Append(dst)
	if o.Part != Whole {
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, o.Part, 10)
	}
	return dst
}

// AppendFields appends what marks a replicated entry to a MessageMetadata:
// replicated_from and the two properties.
func (o Origin) AppendFields(dst []byte) []byte {
	dst = AppendStringField(dst, fieldReplicatedFrom, o.Cluster)
	n := o.sourcePositionLen()
	dst = appendPropertyHead(dst, fieldProperties, SourcePositionProperty, n)
	dst = o.AppendSourcePosition(dst)
	n += 2 + escapedLen(o.Cluster) + 1 + escapedLen(o.Instance) + 1 +
		decimalLen(o.Segment) + 1 + decimalLen(o.Generation) + 1 + 1 + escapedLen(o.BoundTopic)
	dst = appendPropertyHead(dst, fieldProperties, OriginProperty, n)
	return o.AppendValue(dst)
}

// NamesBound returns the bytes that the names of o take at most in what
// AppendFields appends; all else of it has 256 bytes at most.
func (o *Origin) NamesBound() int {
	return len(o.Cluster) + 3*(len(o.Cluster)+len(o.Instance)+len(o.BoundTopic))
}

func (o Origin) sourcePositionLen() int {
	n := intLen(o.Position.Ledger) + 1 + intLen(o.Position.Entry)
	if o.Part != Whole {
		n += 1 + intLen(o.Part)
	}
	return n
}

func intLen(v int64) int {
	if v < 0 {
		return 1 + decimalLen(-uint64(v))
	}
	return decimalLen(uint64(v))
}

// ParseOrigin reads a value that AppendValue wrote; no other spelling of the
// same record is accepted. The strings are copies.
//
// Errors: ErrOriginVersion for another leading number, else a *FormatError.
func ParseOrigin(v []byte) (Origin, error) {
	const field = "origin"
	var o Origin
	var parts [7][]byte
	version, rest, more := bytes.Cut(v, []byte{'|'})
	if _, tail, ok := cutDecimal(version, 1<<32); !ok || len(tail) > 0 {
		return o, malformed(0, field, "no version")
	}
	if len(version) != 1 || version[0] != originVersion {
		return o, ErrOriginVersion
	}
	parts[0] = version
	for i := 1; i < len(parts); i++ {
		if !more {
			return o, malformed(len(v), field, "less than seven fields")
		}
		parts[i], rest, more = bytes.Cut(rest, []byte{'|'})
	}
	if more {
		return o, malformed(len(v)-len(rest)-1, field, "more than seven fields")
	}
	return o, o.parse(v, &parts)
}

func (o *Origin) parse(v []byte, parts *[7][]byte) error {
	offset := func(i int) int { // of part i in v
		n := i
		for _, p := range parts[:i] {
			n += len(p)
		}
		return min(n, len(v))
	}
	for _, s := range []struct {
		i    int
		dst  *string
		name string
	}{{1, &o.Cluster, "cluster"}, {2, &o.Instance, "instance"}, {6, &o.BoundTopic, "bound topic"}} {
		text, ok := unescape(parts[s.i])
		if !ok {
			return malformed(offset(s.i), "origin "+s.name, "bad escape")
		}
		*s.dst = text
	}
	for _, n := range []struct {
		i    int
		dst  *uint64
		name string
	}{{3, &o.Segment, "segment"}, {4, &o.Generation, "generation"}} {
		val, tail, ok := cutDecimal(parts[n.i], 1<<64-1)
		if !ok || len(tail) > 0 {
			return malformed(offset(n.i), "origin "+n.name, "no number")
		}
		*n.dst = val
	}
	var err error
	o.Position, o.Part, err = parsePosition(parts[5])
	return shifted(err, offset(5))
}

// FindOrigin returns the origin record of a MessageMetadata; the last
// occurrence wins, as replication strips all others before it writes its own.
// It allocates the record's strings.
func FindOrigin(meta []byte) (Origin, bool, error) {
	var last []byte
	found := false
	err := EachProperty(meta, func(key, value []byte) bool {
		if string(key) == OriginProperty {
			last, found = value, true
		}
		return true
	})
	if err != nil || !found {
		return Origin{}, false, err
	}
	o, err := ParseOrigin(last)
	return o, err == nil, err
}

// plain reports whether s needs no escapes, which is the rule.
func plain(s string) bool {
	return strings.IndexByte(s, '|') < 0 && strings.IndexByte(s, '%') < 0
}

func appendEscaped(dst []byte, s string) []byte {
	if plain(s) {
		return append(dst, s...)
	}
	for i := range len(s) {
		switch s[i] {
		case '|':
			dst = append(dst, "%7C"...)
		case '%':
			dst = append(dst, "%25"...)
		default:
			dst = append(dst, s[i])
		}
	}
	return dst
}

func escapedLen(s string) int {
	n := len(s)
	if plain(s) {
		return n
	}
	for i := range len(s) {
		if s[i] == '|' || s[i] == '%' {
			n += 2
		}
	}
	return n
}

func unescape(b []byte) (string, bool) {
	if bytes.IndexByte(b, '%') < 0 {
		return string(b), true
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		if b[i] != '%' {
			out = append(out, b[i])
			continue
		}
		switch {
		case bytes.HasPrefix(b[i:], []byte("%7C")):
			out = append(out, '|')
		case bytes.HasPrefix(b[i:], []byte("%25")):
			out = append(out, '%')
		default:
			return "", false
		}
		i += 2
	}
	return string(out), true
}
