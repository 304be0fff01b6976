// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"slices"
	"sort"
)

// Compare compares two logs that number their keys together: what a published
// with b's copies of it, what b published with a's copies, and what both have of
// other clusters. a should have been read first: what it published later is then
// counted as newer and is no difference.
func Compare(a, b *Log) Report {
	r := Report{Pairs: []Pair{}, Differences: []Difference{}}
	r.pair(a, b, a.self)
	r.pair(b, a, b.self)
	for third := range a.keys.clusters {
		if n := int32(third); n != a.self && n != b.self {
			r.pair(a, b, n)
		}
	}
	r.Equal = r.Total.Differences() == 0
	return r
}

func (r *Report) pair(src, dst *Log, origin int32) {
	c := newComparison(r, src, dst, origin)
	for i := range dst.entries {
		if e := &dst.entries[i]; e.copied && e.of.origin == origin {
			c.meet(e)
		}
	}
	c.finish()
	r.Pairs = append(r.Pairs, Pair{Origin: src.keys.clusters[origin], Copy: dst.Cluster, Counts: c.n})
	r.Total.add(c.n)
}

// comparison matches the copies in dst of one origin's messages in src.
type comparison struct {
	report   *Report
	src, dst *Log
	origin   int32
	n        Counts

	group []int32  // entries of src, by where they were published
	rank  []int32  // by message of src: its place in its key's sequence, from 1
	met   []bool   // by message of src
	find  []int32  // messages of src: those of each entry by digest, then index
	last  []int32  // by key: highest rank met so far
	odd   []oddity // copies that are like nothing in the origin
}

// oddity is a message of dst whose contents the origin does not have.
type oddity struct {
	entry *stored
	index int32
	key   int32
	of    id
}

func newComparison(r *Report, src, dst *Log, origin int32) *comparison {
	c := &comparison{
		report: r, src: src, dst: dst, origin: origin,
		rank: make([]int32, len(src.messages)),
		met:  make([]bool, len(src.messages)),
		find: make([]int32, len(src.messages)),
		last: make([]int32, len(src.keys.texts)),
	}
	next := make([]int32, len(src.keys.texts))
	for i := range src.entries {
		e := &src.entries[i]
		if e.of.origin != origin || e.lostOrigin {
			continue
		}
		c.group = append(c.group, int32(i))
		for m := e.first; m < e.first+e.n; m++ {
			k := src.messages[m].key
			next[k]++
			c.rank[m] = next[k]
			c.find[m] = m
		}
		slices.SortFunc(c.find[e.first:e.first+e.n], func(x, y int32) int {
			if n := src.messages[x].digest.compare(src.messages[y].digest); n != 0 {
				return n
			}
			return cmp.Compare(x, y)
		})
	}
	slices.SortStableFunc(c.group, func(x, y int32) int {
		return src.entries[x].of.compare(src.entries[y].of.Place)
	})
	return c
}

func (p Place) compare(o Place) int {
	if n := cmp.Compare(p.Segment, o.Segment); n != 0 {
		return n
	}
	return p.Position.Compare(o.Position)
}

// entries returns the entries of src that were published at p: one, or the
// parts that src itself got.
func (c *comparison) entries(p Place) []int32 {
	lo := sort.Search(len(c.group), func(i int) bool { return c.src.entries[c.group[i]].of.compare(p) >= 0 })
	hi := lo
	for hi < len(c.group) && c.src.entries[c.group[hi]].of.Place == p {
		hi++
	}
	return c.group[lo:hi]
}

// meet matches the messages of one copied entry.
func (c *comparison) meet(e *stored) {
	if e.misplaced > 0 {
		c.n.Misplaced += int(e.misplaced)
		c.list(Misplaced, nil, 0, e, e.wrong)
	}
	if e.lostOrigin {
		c.n.Unexpected += int(e.n)
		c.list(Unexpected, nil, 0, e, 0)
		return
	}
	group := c.entries(e.of.Place)
	if len(group) == 0 {
		c.outside(e)
		return
	}
	for i := range e.n {
		c.match(group, e, i)
	}
}

// outside counts an entry that src does not have.
func (c *comparison) outside(e *stored) {
	read, ok := c.src.spans[e.of.Segment]
	switch own := c.origin == c.src.self; {
	case own && (c.src.layout.Get(e.of.Segment) == nil || ok && e.of.Position.Compare(read.first) < 0):
		c.n.Trimmed += int(e.n)
	case own && (!ok || e.of.Position.Compare(read.last) > 0):
		c.n.Newer += int(e.n)
	default:
		c.n.Unexpected += int(e.n)
		c.list(Unexpected, nil, 0, e, 0)
	}
}

// match finds message i of e among the messages of group. Of those that look
// alike the first that was not met is meant: twins have one key, so the copy has
// them in the origin's order.
func (c *comparison) match(group []int32, e *stored, i int32) {
	msg := c.dst.messages[e.first+i]
	again := false
	for _, g := range group {
		s := &c.src.entries[g]
		twins := c.twins(s, msg.digest)
		// They are met in order, so the met ones come first.
		if n := sort.Search(len(twins), func(k int) bool { return !c.met[twins[k]] }); n < len(twins) {
			c.met[twins[n]] = true
			c.ordered(s, twins[n], e, i)
			return
		}
		again = again || len(twins) > 0
	}
	if again {
		c.n.Duplicates++
		c.list(Duplicate, &c.src.entries[group[0]], 0, e, i)
		return
	}
	c.odd = append(c.odd, oddity{e, i, msg.key, e.of})
}

// twins returns the messages of s with this digest, by index.
func (c *comparison) twins(s *stored, d digest) []int32 {
	all := c.find[s.first : s.first+s.n]
	lo := sort.Search(len(all), func(k int) bool { return c.src.messages[all[k]].digest.compare(d) >= 0 })
	hi := lo
	for hi < len(all) && c.src.messages[all[hi]].digest == d {
		hi++
	}
	return all[lo:hi]
}

// ordered checks the place of message m of src, now met, in its key's sequence.
func (c *comparison) ordered(s *stored, m int32, e *stored, i int32) {
	k := c.src.messages[m].key
	if k == 0 {
		return
	}
	if c.rank[m] < c.last[k] {
		c.n.OrderViolations++
		c.list(Order, s, m-s.first, e, i)
		return
	}
	c.last[k] = c.rank[m]
}

// finish counts what was not met. A message that was not met, and one of its key
// and entry that is like nothing there, are one that was changed.
func (c *comparison) finish() {
	odd := map[id][]int{}
	for i, o := range c.odd {
		odd[o.of] = append(odd[o.of], i)
	}
	for _, g := range c.group {
		e := &c.src.entries[g]
		if c.src.pending(e) {
			c.n.Pending += int(e.n)
			continue
		}
		if !c.src.wanted(e, c.dst.Cluster) {
			c.unwanted(e)
			continue
		}
		c.n.Messages += int(e.n)
		for i := range e.n {
			if m := e.first + i; !c.met[m] {
				c.missed(e, i, c.take(odd, e.of, c.src.messages[m].key))
			}
		}
	}
	for i := range c.odd {
		if o := &c.odd[i]; o.entry != nil {
			c.n.Unexpected++
			c.list(Unexpected, nil, 0, o.entry, o.index)
		}
	}
}

// take returns an oddity of the same entry and key, once.
func (c *comparison) take(odd map[id][]int, of id, key int32) *oddity {
	for j, i := range odd[of] {
		if c.odd[i].key == key {
			found := c.odd[i]
			c.odd[i].entry = nil
			odd[of] = slices.Delete(odd[of], j, j+1)
			return &found
		}
	}
	return nil
}

// unwanted counts copies of what must not travel: aborted, or meant for others.
func (c *comparison) unwanted(e *stored) {
	for i := range e.n {
		if c.met[e.first+i] {
			c.n.Unexpected++
			c.list(Unexpected, e, i, nil, 0)
		}
	}
}

func (c *comparison) missed(e *stored, i int32, changed *oddity) {
	if changed != nil {
		c.n.ContentDifferences++
		c.list(Content, e, i, changed.entry, changed.index)
		return
	}
	c.n.Lost++
	c.list(Lost, e, i, nil, 0)
}

// list adds a difference to the report while there is room: message i of the
// origin's entry s, message j of the copy's entry d; either may be nil.
func (c *comparison) list(kind Kind, s *stored, i int32, d *stored, j int32) {
	if len(c.report.Differences) >= MaxDifferences {
		return
	}
	out := Difference{Kind: kind, Origin: c.src.keys.clusters[c.origin], Copy: c.dst.Cluster, Index: int(i)}
	if s != nil {
		out.Segment, out.Position = &s.of.Segment, s.of.Position.String()
		out.Key = c.src.keys.keyText(c.src.messages[s.first+i].key)
	}
	if d != nil {
		out.CopySegment, out.CopyPosition = &d.at.Segment, d.at.Position.String()
		if s == nil || kind == Duplicate {
			out.Index = int(j)
			out.Key = c.dst.keys.keyText(c.dst.messages[d.first+j].key)
		}
	}
	c.report.Differences = append(c.report.Differences, out)
}
