// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

func code(err error) int {
	if se, ok := errors.AsType[*statusError](err); ok {
		return int(se.code)
	}
	return 0
}

const eHandle, eState = 2, 9 // GEOREP_E_*; the header's test compares the numbers

func TestTableKnowsStaleHandles(t *testing.T) {
	one, two := table[string]{kind: 1}, table[string]{kind: 2}
	a, err := one.put("a")
	if err != nil || a == 0 {
		t.Fatalf("put = %#x, %v", a, err)
	}
	if v, err := one.get(a); v != "a" || err != nil {
		t.Errorf("get = %q, %v", v, err)
	}
	b, _ := two.put("b")
	for _, h := range []uint64{0, 1, a + 1, a ^ 1<<40, b, ^uint64(0)} {
		if v, err := one.get(h); code(err) != eHandle || v != "" {
			t.Errorf("get(%#x) = %q, %v", h, v, err)
		}
		if _, err := one.take(h); code(err) != eHandle {
			t.Errorf("take(%#x): %v", h, err)
		}
	}
	if v, err := one.take(a); v != "a" || err != nil {
		t.Errorf("take = %q, %v", v, err)
	}
	c, _ := one.put("c") // in the same slot
	if uint32(c) != uint32(a) || c == a {
		t.Errorf("handles %#x and %#x", a, c)
	}
	if _, err := one.get(a); code(err) != eHandle {
		t.Errorf("the old handle finds something: %v", err)
	}
}

func TestTableGrowsInBlocks(t *testing.T) {
	var tab table[int]
	handles := make([]uint64, 3*blockSlots)
	for i := range handles {
		h, err := tab.put(i)
		if err != nil {
			t.Fatal(err)
		}
		handles[i] = h
	}
	for i, h := range handles {
		if v, err := tab.get(h); v != i || err != nil {
			t.Fatalf("get of number %d = %d, %v", i, v, err)
		}
	}
}

// TestTableFromManyThreads: a handle that is live in one thread is never lost or
// mixed up by the others, and each is taken once.
func TestTableFromManyThreads(t *testing.T) {
	var tab table[uint64]
	var wg sync.WaitGroup
	var taken atomic.Int64
	shared, _ := tab.put(1)
	for g := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				want := uint64(g)<<32 | uint64(i)
				h, err := tab.put(want)
				if err != nil {
					t.Error(err)
					return
				}
				if v, err := tab.get(h); v != want || err != nil {
					t.Errorf("get = %#x, %v, want %#x", v, err, want)
				}
				if v, err := tab.take(h); v != want || err != nil {
					t.Errorf("take = %#x, %v, want %#x", v, err, want)
				}
				if _, err := tab.get(h); code(err) != eHandle {
					t.Errorf("taken and still there: %v", err)
				}
			}
			if _, err := tab.take(shared); err == nil {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if taken.Load() != 1 {
		t.Errorf("one handle was taken %d times", taken.Load())
	}
}

func TestMachineIsAloneAndEndsAfterAPanic(t *testing.T) {
	tab := table[*machine[*int]]{kind: 3}
	var h uint64
	n := new(int)
	if err := create(&tab, &h, n); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				if err := with(&tab, h, func(m *int) error { *m++; return nil }); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if *n != 8000 {
		t.Errorf("%d calls counted", *n)
	}
	wrong := errors.New("refused")
	if err := with(&tab, h, func(*int) error { return wrong }); !errors.Is(err, wrong) {
		t.Errorf("an error is %v", err)
	}
	if err := with(&tab, h, func(*int) error { return nil }); err != nil {
		t.Errorf("after an error: %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_ = with(&tab, h, func(*int) error { panic("half done") })
	}()
	if err := with(&tab, h, func(*int) error { return nil }); code(err) != eState {
		t.Errorf("after a panic: %v", err)
	}
	if err := discard(&tab, h); err != nil {
		t.Errorf("free: %v", err)
	}
	if err := with(&tab, h, func(*int) error { return nil }); code(err) != eHandle {
		t.Errorf("after free: %v", err)
	}
}

// TestFreeWaitsForTheCallInside: what a window borrowed is the host's again only
// when no call can touch it any more.
func TestFreeWaitsForTheCallInside(t *testing.T) {
	tab := table[*machine[*int]]{kind: 3}
	var h uint64
	if err := create(&tab, &h, new(int)); err != nil {
		t.Fatal(err)
	}
	inside, leave, freed := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var left atomic.Bool
	go func() {
		_ = with(&tab, h, func(*int) error {
			close(inside)
			<-leave
			left.Store(true)
			return nil
		})
	}()
	<-inside
	go func() {
		if err := discard(&tab, h); err != nil || !left.Load() {
			t.Errorf("free returned while a call was inside: %v", err)
		}
		close(freed)
	}()
	close(leave)
	<-freed
}

func TestFencesTurnPanicsIntoStatuses(t *testing.T) {
	var nothing *int
	for name, f := range map[string]func() error{
		"panic": func() error { panic("bug") },
		"nil":   func() error { *nothing = 1; return nil },
		"index": func() error { _ = make([]int, 1)[len(name())]; return nil },
		"error": func() error { panic(fmt.Errorf("an error")) },
	} {
		if s := fenced(nil, f); s != 6 { // GEOREP_E_PANIC
			t.Errorf("%s: status %d", name, s)
		}
	}
	e := new(errText)
	e.struct_size = 512
	if s := fenced(e, func() error { panic("bug 17") }); s != 6 || e.code != 6 {
		t.Errorf("status %d, code %d", s, e.code)
	}
	var b strings.Builder
	for _, c := range e.text {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	if !strings.Contains(b.String(), "bug 17") {
		t.Errorf("text %q", b.String())
	}
}

func name() string { return "long enough to be out of range" }

func TestErrorTextEndsAtACharacter(t *testing.T) {
	e := new(errText)
	e.struct_size = 512
	fail(e, bad(3, "%s", strings.Repeat("é", 400))) // two bytes each
	n := 0
	for n < len(e.text) && e.text[n] != 0 {
		n++
	}
	if n != 502 || byte(e.text[n-1]) != "é"[1] {
		t.Errorf("%d bytes, the last is %#x", n, byte(e.text[n-1]))
	}
}
