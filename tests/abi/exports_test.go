// SPDX-License-Identifier: Apache-2.0

package abi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var prototype = regexp.MustCompile(`(?m)^(georep_status|uint32_t) (georep_\w+)\(([^;]*)\);`)

// prototypes returns each function of the header as "status|u32 (types)", types
// reduced to what crosses the ABI: "ptr" or the width of the number.
func prototypes(t *testing.T) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, m := range prototype.FindAllStringSubmatch(header(t), -1) {
		var types []string
		for arg := range strings.SplitSeq(m[3], ",") {
			arg = strings.Join(strings.Fields(arg), " ")
			switch {
			case arg == "void":
			case strings.Contains(arg, "*"):
				types = append(types, "ptr")
			default:
				types = append(types, width(t, arg[:strings.LastIndex(arg, " ")]))
			}
		}
		out[m[2]] = width(t, m[1]) + " (" + strings.Join(types, ", ") + ")"
	}
	return out
}

func width(t *testing.T, ctype string) string {
	t.Helper()
	switch ctype {
	case "uint32_t":
		return "u32"
	case "georep_status", "int32_t":
		return "i32"
	case "int64_t":
		return "i64"
	case "uint64_t", "georep_layout", "georep_budget", "georep_window", "georep_gate", "georep_dedup", "georep_converge",
		"georep_exchange", "georep_bootstrap":
		return "u64"
	}
	t.Fatalf("type %q in the header", ctype)
	return ""
}

// exports returns the same of the //export functions in cgo.
func exports(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../../cgo/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in cgo: %v", err)
	}
	out := make(map[string]string)
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Doc == nil || !strings.Contains(commentText(fn.Doc), "//export "+fn.Name.Name) {
				continue
			}
			var types []string
			for _, p := range fn.Type.Params.List {
				for range p.Names {
					types = append(types, goWidth(t, p.Type))
				}
			}
			result := "none"
			if r := fn.Type.Results; r != nil && len(r.List) == 1 {
				result = goWidth(t, r.List[0].Type)
			}
			out[fn.Name.Name] = result + " (" + strings.Join(types, ", ") + ")"
		}
	}
	return out
}

func commentText(g *ast.CommentGroup) string {
	var b strings.Builder
	for _, c := range g.List {
		b.WriteString(c.Text + "\n")
	}
	return b.String()
}

func goWidth(t *testing.T, e ast.Expr) string {
	t.Helper()
	switch x := e.(type) {
	case *ast.StarExpr:
		return "ptr"
	case *ast.Ident:
		if x.Name == "status" {
			return "i32"
		}
	case *ast.SelectorExpr:
		if p, ok := x.X.(*ast.Ident); ok && p.Name == "unsafe" {
			return "ptr"
		}
		return width(t, x.Sel.Name)
	}
	t.Fatalf("type %T in an export", e)
	return ""
}

func TestExportsMatchHeader(t *testing.T) {
	want, got := prototypes(t), exports(t)
	got["georep_start"], got["georep_abi_version"] = "i32 ()", "u32 ()" // in C: build/portable
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: the header has %s, cgo %q", name, want[name], got[name])
		}
	}
	for name := range got {
		if want[name] == "" {
			t.Errorf("%s is exported and not in the header", name)
		}
	}
	if len(want) < 45 {
		t.Errorf("only %d prototypes were found", len(want))
	}
}

// TestJNITable compares Java's native methods with the shim's table, and both
// with the header: one method for each function.
func TestJNITable(t *testing.T) {
	read := func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	java := read("../../java-shim/nativelib/src/main/java/georep/nativelib/Native.java")
	shim := read("../../java-shim/nativelib/src/main/c/georep_jni.c")
	table := make(map[string]string)
	for _, m := range regexp.MustCompile(`\{"(\w+)", "([^"]+)", \(void \*\)j_(\w+)\}`).FindAllStringSubmatch(shim, -1) {
		if m[1] != m[3] {
			t.Errorf("%s is bound to j_%s", m[1], m[3])
		}
		table[m[1]] = m[2]
	}
	protos := prototypes(t)
	letter := map[string]string{"int": "I", "long": "J", "java.nio.Buffer": "Ljava/nio/Buffer;", "java.nio.ByteBuffer": "Ljava/nio/ByteBuffer;"}
	upper := regexp.MustCompile(`[A-Z]`)
	methods := 0
	for _, m := range regexp.MustCompile(`(?s)static native (\S+) (\w+)\(([^)]*)\);`).FindAllStringSubmatch(java, -1) {
		sig := "("
		for arg := range strings.SplitSeq(m[3], ",") {
			if f := strings.Fields(arg); len(f) == 2 {
				sig += letter[f[0]]
			}
		}
		sig += ")" + letter[m[1]]
		if table[m[2]] != sig {
			t.Errorf("%s: Java declares %s, the shim registers %q", m[2], sig, table[m[2]])
		}
		delete(table, m[2])
		if m[2] == "address" || m[2] == "view" {
			continue
		}
		methods++
		c := "georep_" + upper.ReplaceAllStringFunc(m[2], func(s string) string { return "_" + strings.ToLower(s) })
		want := protos[c]
		want = want[strings.Index(want+"(", "("):]
		for from, to := range map[string]string{"ptr": "J", "u64": "J", "i64": "J", "u32": "I", "i32": "I", ", ": ""} {
			want = strings.ReplaceAll(want, from, to)
		}
		if want+"I" != sig {
			t.Errorf("%s: Java has %s, the header's %s makes %sI", m[2], sig, c, want)
		}
		delete(protos, c)
	}
	for name := range table {
		t.Errorf("%s is registered and not declared in Java", name)
	}
	for _, name := range []string{"georep_join", "georep_plan", "georep_diff"} {
		delete(protos, name) // for other hosts; the broker's machine plans by itself
	}
	for name := range protos {
		t.Errorf("%s has no method in Java", name)
	}
	if methods < 45 {
		t.Errorf("only %d methods were found", methods)
	}
}
