// SPDX-License-Identifier: Apache-2.0

package window

// maxSchemas bounds the remembered translations; beyond it they are asked again.
const maxSchemas = 1024

// schemas translates schema versions of the source cluster into the remote's.
type schemas struct {
	known   map[string][]byte
	asked   string // version that the driver is asked for
	asking  bool
	failed  bool
	retryAt int64
	now     int64
}

func (s *schemas) tick(now int64) { s.now = now }

// ready says whether it can be sent as far as its schema is concerned, and asks
// for the translation if it is missing.
func (s *schemas) ready(w *Window, it *item) bool {
	if !it.meta.HasSchemaVersion {
		return true
	}
	if _, ok := s.known[string(it.meta.SchemaVersion)]; ok {
		return true
	}
	if !s.asking && s.now >= s.retryAt {
		s.asking, s.asked = true, string(it.meta.SchemaVersion)
		w.counters.SchemaAsks++
		w.push(Action{Kind: AskSchema, Position: it.pos, Version: it.meta.SchemaVersion})
	}
	return false
}

// of returns the remote's version for it, and whether the entry has one at all.
func (s *schemas) of(it *item) ([]byte, bool) {
	if !it.meta.HasSchemaVersion {
		return nil, false
	}
	return s.known[string(it.meta.SchemaVersion)], true
}

// forget drops what the remote has said: its versions belong to its topic.
func (s *schemas) forget() { s.known, s.asking, s.failed, s.retryAt = nil, false, false, 0 }

// SchemaMapped tells the remote's version of the schema version local. Both are copied.
func (w *Window) SchemaMapped(local, remote []byte) {
	s := &w.schemas
	if s.known == nil || len(s.known) >= maxSchemas {
		s.known = make(map[string][]byte)
	}
	s.known[string(local)] = append([]byte(nil), remote...)
	if s.asking && s.asked == string(local) {
		s.asking, s.failed = false, false
	}
}

// SchemaFailed tells that the remote does not have, and does not take, the
// schema version local now. It is asked again after a while.
func (w *Window) SchemaFailed(local []byte) {
	s := &w.schemas
	if s.asking && s.asked == string(local) {
		s.asking, s.failed = false, true
		s.retryAt = w.now + w.cfg.RetryMillis*10
		w.counters.SchemaFailures++
	}
}
